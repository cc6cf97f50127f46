"""How far a second guess for the same place helps: acceptance by rank, exactly.

A tree offers several tokens for one place. They can be had from q in three ways, and ``tree``
verifies each without loss:

* *drawn*: one after another, each token at most once (Chen et al. 2024, "Sequoia",
  arXiv:2402.12374; Jeon et al. 2024, arXiv:2402.14160).
* *drawn again*: every time from the whole of q (Miao et al. 2023, "SpecInfer", arXiv:2305.09781).
* *named*: the likeliest tokens of q, in order, as if q were certain of each.

Here the chance that the r-th sibling is the one that stands is added up over everything that can be
drawn. No random number is used; a small vocabulary is needed where draws must be walked through.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.verify.chain import check_rows, excess

__all__ = ["Siblings", "acceptance_by_rank"]

Siblings = Literal["drawn", "drawn again", "named"]
most_orders: Final = 10**6  # a second or so


def acceptance_by_rank(
    target_probs: ArrayLike, draft_probs: ArrayLike, ranks: int, siblings: str
) -> FloatArray:
    """Chance that the sibling of each rank is accepted, given that their parent was.

    Args:
        target_probs: (V,) p.
        draft_probs: (V,) q.
        ranks: R, siblings that are offered, in [1, V].
        siblings: how they are had, one of ``Siblings``.

    Returns:
        (R,) chances with a sum of at most 1, as ``tree_shape`` takes them in one row. The first is
        Σ min(p, q) of drawn siblings, p(argmax q) of named ones.

    Raises:
        ValueError: the shapes differ, a row is no distribution, R is out of range, the way is
            unknown, or drawn siblings would need more than 10^6 orders of draws, V^(R - 1).
    """
    checks.choice("siblings", siblings, get_args(Siblings))
    p = np.asarray(target_probs, dtype=np.float64)  # (V,)
    q = np.asarray(draft_probs, dtype=np.float64)  # (V,)
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(
            f"target_probs and draft_probs must have one shape (V,), got {p.shape} and {q.shape}"
        )
    check_rows("target_probs", p[None])
    check_rows("draft_probs", q[None])
    count = checks.single("ranks", checks.whole_number("ranks", ranks, minimum=1))
    if count > p.size:
        raise ValueError(f"ranks must be in [1, {p.size}], got {ranks}")
    if siblings == "named":
        best: FloatArray = p[np.argsort(-q, kind="stable")[:count]]  # (R,)
        return best
    if siblings == "drawn again":
        return _drawn_again(p, q, count)
    if p.size ** (count - 1) > most_orders:
        raise ValueError(
            f"ranks must keep V ** (ranks - 1) within {most_orders} for V = {p.size}, got {ranks}"
        )
    return _drawn(p, q, count)


def _drawn_again(p: FloatArray, q: FloatArray, ranks: int) -> FloatArray:
    """What is left to wish for after each rejection is the same whichever token was rejected."""
    found = np.zeros(ranks)  # (R,)
    reached = 1.0
    for rank in range(ranks):
        accepted = float(np.minimum(p, q).sum())
        found[rank] = reached * accepted
        wanted = excess(p, q, 0)  # (V,)
        if not np.count_nonzero(wanted):  # p and q agree: nothing was rejected
            break
        reached *= 1.0 - accepted
        p = wanted / wanted.sum()  # (V,)
    return found


def _drawn(p: FloatArray, q: FloatArray, ranks: int) -> FloatArray:
    """Walk through the first token, which is gone for the others, and go on with what is left."""
    found = np.zeros(ranks)  # (R,)
    found[0] = np.minimum(p, q).sum()
    wanted = excess(p, q, 0)  # (V,)
    if ranks == 1 or not np.count_nonzero(wanted):
        return found
    wanted = wanted / wanted.sum()  # (V,)
    rejected = np.maximum(q - p, 0.0)  # (V,)
    for token in np.flatnonzero(rejected):
        others = q.copy()  # (V,)
        others[token] = 0.0
        if others.sum() > 0:  # else q had one token only, and no second child can be drawn
            found[1:] += rejected[token] * _drawn(wanted, others / others.sum(), ranks - 1)
    return found
