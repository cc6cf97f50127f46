"""Where a drafter stands on the map of acceptance rate against cost.

A chain of K drafts with acceptance rate α and cost ratio c is a point, and its speedup follows. For
other drafters, what was measured are E and r, tokens and plain steps a round. They stand where the
*equivalent chain* does: the chain of as many steps that would yield and cost the same,

    (1 − α^(K + 1)) / (1 − α) = E   and   c = (r − 1) / K,

where K is the number of steps that are drafted one after another: the levels of a tree, not its
nodes. Then E / r is the speedup again, and nothing is lost. α is no chance of a token any more: two
siblings in a tree raise it, a lookup that finds nothing lowers it. And c is the overhead per draft
e, with whatever the check costs beyond a plain step in it, since no source takes it apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks, theory
from specmini.checks import FloatArray
from specmini.theory.hit_rate import round_cost
from specmini.theory.hit_rate import speedup as mixed_speedup

__all__ = [
    "CHEAPEST",
    "LEVELS",
    "DrafterPoint",
    "contour",
    "equivalent_chain",
    "nearest",
    "speedup_at",
]

# A logarithmic axis has no 0: whatever is cheaper stands here, one five-hundredth of a step.
CHEAPEST: Final = 0.002
# Speedups whose lines are drawn.
LEVELS: Final = (1.2, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True)
class DrafterPoint:
    """One drafter on the map.

    Attributes:
        name: of drafter and target, short.
        rung: what drafts.
        acceptance_rate: α of the chain, or of the equivalent one.
        cost_ratio: c of the chain; of an equivalent one the overhead per draft. May be negative
            where a round was measured to cost less than a plain step.
        draft_length: K, or the levels of a tree.
        speedup: as measured.
        engine: what ran it, and plain decoding too: a fast one makes the same drafter gain less.
        source: address of the numbers; empty for a measurement of this package.
        tree: whether several tokens are offered for one place.
        exact: whether the text is distributed as the target's.
    """

    name: str
    rung: str
    acceptance_rate: float
    cost_ratio: float
    draft_length: int
    speedup: float
    engine: str
    source: str = ""
    tree: bool = False
    exact: bool = True


def equivalent_chain(
    tokens_per_round: float, steps_per_round: float, draft_length: int
) -> tuple[float, float]:
    """α and c of the chain of K drafts that yields and costs as much as a round.

    Args:
        tokens_per_round: E, in [1, K + 1].
        steps_per_round: r, time of a round in plain steps, in (0, inf).
        draft_length: K, at least 1: steps that are drafted one after another.

    Returns:
        α in [0, 1], and (r − 1) / K, which is negative where r is below 1.

    Raises:
        ValueError: an argument is out of range.
    """
    length = checks.single(
        "draft_length", checks.whole_number("draft_length", draft_length, minimum=1)
    )
    cost = checks.single("steps_per_round", checks.positive("steps_per_round", steps_per_round))
    tokens = checks.single("tokens_per_round", checks.real("tokens_per_round", tokens_per_round))
    if not 1 <= tokens <= length + 1:
        raise ValueError(f"tokens_per_round must be in [1, {length + 1}], got {tokens}")
    return float(_rate(tokens - 1.0, length)), (cost - 1.0) / length


def speedup_at(
    acceptance_rate: ArrayLike,
    cost_ratio: ArrayLike,
    draft_length: ArrayLike,
    verify_cost: ArrayLike = 1.0,
    hit_rate: ArrayLike = 1.0,
) -> FloatArray:
    """Speedup of a drafter that proposes in a share of the rounds; 1 at K = 0, plain decoding.

    Args:
        acceptance_rate: α given a proposal, in [0, 1], any shape.
        cost_ratio: c in [0, inf), any shape that broadcasts.
        draft_length: K, whole number >= 0, any shape that broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts.
        hit_rate: h in [0, 1], any shape that broadcasts. A round without a proposal costs 1.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    length = checks.whole_number("draft_length", draft_length)
    drafting = np.maximum(length, 1)
    gains = mixed_speedup(hit_rate, acceptance_rate, cost_ratio, drafting, verify_cost)
    return np.where(length == 0, 1.0, gains)


def contour(
    level: float,
    cost_ratios: ArrayLike,
    draft_lengths: Sequence[int],
    verify_cost: float = 1.0,
    hit_rate: float = 1.0,
) -> FloatArray:
    """The acceptance rate at which a drafter reaches a speedup, at the best of some lengths.

    Args:
        level: the speedup, in (0, inf).
        cost_ratios: (n,) c in [0, inf).
        draft_lengths: K, each at least 1; one of them is best at each c.
        verify_cost: v in (0, inf), the same for every K.
        hit_rate: h in (0, 1].

    Returns:
        (n,) α in [0, 1]; NaN where not even α = 1 reaches it.

    Raises:
        ValueError: an argument is out of range.
    """
    wanted = checks.single("level", checks.positive("level", level))
    hit = checks.single("hit_rate", checks.positive("hit_rate", hit_rate))
    cost = checks.non_negative("cost_ratios", cost_ratios)[:, None]  # (n, 1)
    length = checks.whole_number("draft_lengths", draft_lengths, minimum=1)  # (L,)
    spent = round_cost(hit, cost, length, verify_cost)  # (n, L)
    rates = _rate((wanted * spent - 1.0) / hit, length)  # (n, L)
    found: FloatArray = np.where(np.isnan(rates), np.inf, rates).min(axis=1)  # (n,)
    return np.where(np.isinf(found), np.nan, found)


def nearest(
    points: Sequence[DrafterPoint], acceptance_rate: float, cost_ratio: float, count: int = 3
) -> tuple[DrafterPoint, ...]:
    """The points that stand nearest on the map, whose cost axis is logarithmic.

    Args:
        points: to choose from.
        acceptance_rate: α in [0, 1].
        cost_ratio: c in [0, inf).
        count: how many, at least 1; fewer if there are not so many.

    Raises:
        ValueError: an argument is out of range.
    """
    rate = checks.single("acceptance_rate", checks.probability("acceptance_rate", acceptance_rate))
    cost = checks.single("cost_ratio", checks.non_negative("cost_ratio", cost_ratio))
    most = checks.single("count", checks.whole_number("count", count, minimum=1))
    decades = -np.log10(CHEAPEST)

    def distance(point: DrafterPoint) -> float:
        up = np.log10(max(point.cost_ratio, CHEAPEST) / max(cost, CHEAPEST)) / decades
        return float(np.hypot(point.acceptance_rate - rate, up))

    return tuple(sorted(points, key=distance)[:most])


def _rate(accepted: ArrayLike, length: ArrayLike) -> FloatArray:
    """α at which a round accepts so many drafts; 0 if none are needed, NaN if K are too few."""
    # a free draft whose check costs 1 + accepted breaks even exactly there
    needed = np.maximum(np.asarray(accepted, dtype=np.float64), 0.0)
    return np.asarray(theory.break_even_acceptance(0.0, length, 1.0 + needed))
