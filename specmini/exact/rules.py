"""What becomes of one drafted token under each of the three rules of ``ModelDrafter``.

For every token x of the vocabulary: the chance that x is drafted, and the chance that it is
drafted and accepted. What is drafted beyond that is rejected. What the target wants beyond that
is recovered after a rejection: accepted and recovered chances sum to p at every token, and that
is why none of the rules changes the target's text.

Source of the first rule: Leviathan et al. 2023, arXiv:2211.17192, section 2.3 and appendix A.1.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray, choice
from specmini.drafters.model import AcceptanceRule

__all__ = ["RULES", "accepted", "drafted"]

RULES: tuple[AcceptanceRule, ...] = get_args(AcceptanceRule)


def drafted(rule: AcceptanceRule, draft_probs: ArrayLike) -> FloatArray:
    """Chance of each token to be drafted: q, or 1 at its likeliest token (the first of equals).

    Args:
        rule: one of ``RULES``.
        draft_probs: (..., V) q.

    Returns:
        (..., V); each row sums to 1.

    Raises:
        ValueError: an unknown rule.
    """
    choice("rule", rule, RULES)
    q = np.asarray(draft_probs, dtype=np.float64)  # (..., V)
    if rule != "greedy draft":
        return q
    certain: FloatArray = np.zeros_like(q)  # (..., V)
    np.put_along_axis(certain, q.argmax(-1)[..., None], 1.0, axis=-1)
    return certain


def accepted(rule: AcceptanceRule, target_probs: ArrayLike, draft_probs: ArrayLike) -> FloatArray:
    """Chance of each token to be drafted and accepted; their sum is the acceptance rate β.

    Args:
        rule: one of ``RULES``.
        target_probs: (..., V) p.
        draft_probs: (..., V) q.

    Returns:
        (..., V): min(p, q) under the textbook rule, else p times the chance to be drafted.

    Raises:
        ValueError: an unknown rule, or the shapes differ.
    """
    p, guesses = np.asarray(target_probs, dtype=np.float64), drafted(rule, draft_probs)
    if p.shape != guesses.shape:
        raise ValueError(
            f"target_probs must have shape {guesses.shape} as draft_probs, got {p.shape}"
        )
    kept: FloatArray = np.minimum(p, guesses) if rule == "textbook" else p * guesses  # (..., V)
    return kept
