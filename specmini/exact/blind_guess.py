"""How well one can guess a token without knowing the one before it.

A Medusa head looks past a token that it does not know. With chance w_x that token is x, and then
the target's distribution is p_x. Whatever the head has learned, it must choose one q for all x, and
is accepted with chance Σ_x w_x Σ_v min(p_x(v), q(v)). This module finds the q for which that is
largest, so it tells what training can and cannot do.

The sum over v of a concave function of q(v) is largest where its slopes are equal: the slope at
q(v) is the weight of those x that would use more of v, P(p_x(v) > q(v)). So there is one level λ,
and q(v) is the value that the p_x(v) exceed with weight λ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.verify.chain import check_rows

__all__ = ["best_blind_guess", "blind_acceptance"]


def blind_acceptance(weights: ArrayLike, target_probs: ArrayLike, draft_probs: ArrayLike) -> float:
    """Chance that a token drawn from one q is accepted, averaged over the unknown token.

    Args:
        weights: (M,) chance of each unknown token, with sum 1.
        target_probs: (M, V) the target's distribution after each.
        draft_probs: (V,) q.

    Raises:
        ValueError: shapes that do not fit, or rows that are no distributions.
    """
    w, p = _checked(weights, target_probs)
    q = np.asarray(draft_probs, dtype=np.float64)  # (V,)
    if q.shape != p.shape[1:]:
        raise ValueError(f"draft_probs must have shape {p.shape[1:]}, got {q.shape}")
    check_rows("draft_probs", q[None])
    return float(w @ np.minimum(p, q).sum(-1))


def best_blind_guess(weights: ArrayLike, target_probs: ArrayLike) -> FloatArray:
    """The q with the largest ``blind_acceptance``, (V,).

    Args:
        weights: (M,) chance of each unknown token, with sum 1.
        target_probs: (M, V) the target's distribution after each.

    Raises:
        ValueError: shapes that do not fit, or rows that are no distributions.
    """
    w, p = _checked(weights, target_probs)
    order = np.argsort(-p, axis=0)  # (M, V) largest first
    falling = np.take_along_axis(p, order, 0)  # (M, V)
    reached = np.cumsum(w[order], axis=0)  # (M, V) weight of those that are at least as large

    def at(level: float) -> FloatArray:
        """For each token the value that the rows exceed with that weight: (V,)."""
        place = (reached < level - 1e-12).sum(0)  # (V,)
        found: FloatArray = falling[np.minimum(place, len(w) - 1), np.arange(p.shape[1])]
        return found

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() > 1 else (low, middle)
    less, more = at(high), at(low)  # sums at most 1, and above
    spare = more.sum() - less.sum()
    share = (1 - less.sum()) / spare if spare > 0 else 0.0
    q = less + share * (more - less)  # (V,)
    guess: FloatArray = q / q.sum()
    return guess


def _checked(weights: ArrayLike, target_probs: ArrayLike) -> tuple[FloatArray, FloatArray]:
    w = checks.probability("weights", weights)  # (M,)
    p = np.asarray(target_probs, dtype=np.float64)  # (M, V)
    if w.ndim != 1 or p.ndim != 2 or len(w) != len(p) or not p.size:
        raise ValueError(
            "weights and target_probs must have shapes (M,) and (M, V), "
            f"got {w.shape} and {p.shape}"
        )
    check_rows("weights", w[None])
    check_rows("target_probs", p)
    return w, p
