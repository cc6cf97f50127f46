"""Verify a draft as a block: the same text, and never fewer accepted tokens.

``verify`` decides token by token, and a token that p likes more than q is accepted with chance 1:
what p / q has above 1 is lost. A block keeps it. The first i tokens are worth

    w(0) = 1,    w(i) = min(1, w(i - 1) p(x) / q(x)) for the i-th token x,

so a token that p likes more makes up for one before it that p likes less. The longest accepted
beginning is looked for from the right. With

    m(i) = Σ max(w(i) p - q, 0),    p and q after i tokens, and q = 0 after the whole draft,

the first i tokens are accepted with chance m(i) / (m(i) + 1 - w(i)) if no longer beginning was,
and the next token is drawn from max(w(i) p - q, 0), normalized (Sun et al. 2024,
arXiv:2403.10444, algorithm 2).

*Why it is exact.* Let n be the number of accepted tokens. Given a drafted beginning of i tokens,
n is at least i with chance w(i). This holds for the whole draft, where m = w. If it holds for
i + 1, then n > i has chance a = Σ q min(1, w(i) p / q) = Σ min(w(i) p, q), so m(i) = w(i) - a, and
n is at least i with chance a + (1 - a) m(i) / (m(i) + 1 - w(i)) = a + m(i) = w(i). Now let Q be
the chance that a text of i tokens is drafted. It is drafted and accepted with chance Q w(i); its
next token is then x from the draft with chance Q min(w(i) p(x), q(x)), and x from the target with
chance Q max(w(i) p(x) - q(x), 0). The sum is Q w(i) p(x): the next token is distributed as p.

*Why no rule accepts more.* Let A be the chance that a text is drafted and accepted, under any
exact rule. A is at most Q, and A of a text and one more token x is at most A p(x): where a round
ends before x the target goes on by itself and writes x with chance p(x), so more from the draft
would be too much. Both bounds together are Q w, and block verification reaches them at every text
(theorem 2 of the paper). For ``verify``, A is Q times the product of min(1, p / q), which is less
wherever a token with p > q follows one with p < q.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray
from specmini.sampling import draw
from specmini.verify.chain import Draft, Verdict, checked_probs, excess

__all__ = ["verify_block"]


def verify_block(target_probs: ArrayLike, draft: Draft, rng: np.random.Generator) -> Verdict:
    """Accept the longest beginning of a draft that the block rule allows, and add a token.

    It takes the place of ``verify``. Where drafts are named with certainty, or the target decodes
    greedily, both accept the same number of tokens on average.

    Args:
        target_probs: (K + 1, V); row i is p at the position of draft token i, the last row that
            after the draft.
        draft: K tokens.
        rng: source of randomness: one uniform number for each beginning looked at, one for the
            token that is added.

    Raises:
        ValueError: as ``verify``.
    """
    p, q = checked_probs(target_probs, draft)  # (K + 1, V) and (K, V)
    tokens: list[int] = draft.tokens.tolist()
    worth = [1.0]
    for position, token in enumerate(tokens):
        drafted = 1.0 if q is None else float(q[position, token])
        worth.append(min(1.0, worth[-1] * float(p[position, token]) / drafted))

    def wanted(accepted: int) -> FloatArray:
        """Weights of the token that is added after so many, (V,)."""
        share: FloatArray = worth[accepted] * p[accepted]  # (V,)
        if accepted == len(draft):
            return share
        return excess(share, None if q is None else q[accepted], tokens[accepted])

    n_accepted = len(draft)
    weights = wanted(n_accepted)  # (V,)
    # no quotient, which would be 0 / 0 where p and q are equal
    while n_accepted and (rng.random() * (weights.sum() + 1 - worth[n_accepted]) >= weights.sum()):
        n_accepted -= 1
        weights = wanted(n_accepted)  # (V,)
    # as in ``residual``: only rounding leads to an empty one, and only at the start
    return Verdict(n_accepted, draw(weights if np.count_nonzero(weights) else p[0], rng))
