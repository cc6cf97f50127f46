"""What a round yields under two rules, exactly: token by token, and a block at once.

Of a drafted beginning of i tokens, ``verify`` accepts all with the chance Π min(1, p / q), and
``verify_block`` with the chance w(i), where w(i) = min(1, w(i - 1) p / q). Both are summed here
over all beginnings that the draft can write, each weighted by its chance Q. The sums need no walk
through verdicts: Q times the first product is Π min(p, q), and M = Q w obeys
M(i) = min(Q(i), M(i - 1) p).
Source: Sun et al. 2024, arXiv:2403.10444; the derivation is in ``verify.block``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.verify.chain import check_rows

__all__ = ["RuleYield", "rule_yield"]

most_texts: Final = 10**7  # numbers held at once


@dataclass(frozen=True)
class RuleYield:
    """Tokens per round of one draft under both rules.

    Attributes:
        token_by_token: E of ``verify``.
        block: E of ``verify_block``; no exact rule for chains has more.
    """

    token_by_token: float
    block: float

    @property
    def gain(self) -> float:
        """What the block adds, as a share of what each token alone yields."""
        # never below 0, but two sums of the same numbers may differ in the last bit
        return max(0.0, self.block / self.token_by_token - 1.0)


def rule_yield(
    target_table: ArrayLike, draft_table: ArrayLike, draft_length: int, starts: ArrayLike
) -> RuleYield:
    """Mean tokens of a round whose draft looks back on one token.

    Args:
        target_table: (V, V) p after each token.
        draft_table: (V, V) q after each token.
        draft_length: K, at least 1.
        starts: (V,) chance of each token to be the last before the round.

    Raises:
        ValueError: a shape is another, a row is no distribution, or there are more than 10^7 texts
            of K tokens after the starts, V^(K + 1).
    """
    p = np.asarray(target_table, dtype=np.float64)  # (V, V)
    q = np.asarray(draft_table, dtype=np.float64)  # (V, V)
    first = np.asarray(starts, dtype=np.float64)  # (V,)
    length = checks.single(
        "draft_length", checks.whole_number("draft_length", draft_length, minimum=1)
    )
    size = first.size
    if p.shape != (size, size) or q.shape != p.shape:
        raise ValueError(
            f"tables must have shape ({size}, {size}) for {size} starts, "
            f"got {p.shape} and {q.shape}"
        )
    for name, rows in (("target_table", p), ("draft_table", q), ("starts", first[None])):
        check_rows(name, rows)
    if size ** (length + 1) > most_texts:
        raise ValueError(
            f"draft_length must keep V ** (K + 1) within {most_texts} for V = {size}, "
            f"got {draft_length}"
        )
    both: FloatArray = np.minimum(p, q)  # (V, V)
    drafted = worth = first  # (V, ..., V) texts so far, the last axis is their last token
    kept = first  # (V,) the same for single tokens, whose past does not matter
    alone = block = 1.0
    for _ in range(length):
        kept = kept @ both  # (V,)
        worth = np.minimum(drafted[..., None] * q, worth[..., None] * p)  # (V, ..., V)
        drafted = drafted[..., None] * q  # (V, ..., V)
        alone += float(kept.sum())
        block += float(worth.sum())
    return RuleYield(alone, block)
