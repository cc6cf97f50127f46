"""The best tree: which N guesses are worth checking, and how many.

A node's *value* is the chance that the target accepts the whole path to it. A round gains one
token and one for each accepted node, so it yields E = 1 + the sum of all values. If the chance to
accept the child of rank r of a node at depth d is a(d, r), whatever the text, then a value is a
product of these, the *positional acceptance* assumption of Chen et al. 2024, "Sequoia",
arXiv:2402.12374. No node is worth more than its parent, nor, if a falls with the rank, more than
an earlier sibling. So the N nodes of the highest value are a tree, no tree of N nodes yields more,
and the best tree of N + 1 nodes is that tree and one node more. Where a does not fall with the
rank it would take Sequoia's dynamic program; draws from q, and likeliest tokens in order, fall.

A larger tree always yields more and always costs more. With a draft model that runs once a level,
a round costs c for each level and v, the pass over N + 1 tokens. As long as a pass is limited by
memory v stays near 1 and the tree may grow; past the knee of the roofline each node costs its
arithmetic.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.theory.topology import check_parents, depths

__all__ = [
    "TreeChoice",
    "best_by_size",
    "best_choice",
    "best_tree",
    "expected_tokens",
    "node_values",
    "sizes_near_best",
]


@dataclass(frozen=True)
class TreeChoice:
    """A tree and what it does.

    Attributes:
        shape: parent of each node, -1 for those that follow the text; most valuable nodes first.
        tokens_per_round: E.
        round_cost: r, in plain decoding steps.
    """

    shape: tuple[int, ...]
    tokens_per_round: float
    round_cost: float

    @property
    def levels(self) -> int:
        """Most nodes on a path."""
        return int(depths(self.shape).max()) + 1

    @property
    def speedup(self) -> float:
        """E / r."""
        return self.tokens_per_round / self.round_cost


def node_values(shape: Sequence[int], acceptance: ArrayLike) -> FloatArray:
    """Chance that the target accepts the path to each node, (N,).

    Args:
        shape: parent of each node, -1 for those that follow the text, before its children.
        acceptance: (D, R) chance that the child of rank r of a node at depth d is accepted, given
            that the node was; the children of the text are those at d = 0. The sum over ranks is
            at most 1, since one child at most is accepted.

    Raises:
        ValueError: a chance is outside [0, 1], a row sums to more than 1, a parent does not come
            before its child, or a node is deeper or has more children than ``acceptance`` knows.
    """
    chances = _chances(acceptance)
    check_parents(shape)
    levels, born = depths(shape), [0] * (len(shape) + 1)
    values = np.ones(len(shape) + 1)  # (N + 1,) the last is the text's
    for node, (parent, level) in enumerate(zip(shape, levels.tolist(), strict=True)):
        rank, born[parent] = born[parent], born[parent] + 1
        if level >= chances.shape[0] or rank >= chances.shape[1]:
            raise ValueError(
                f"shape must fit acceptance of shape {chances.shape}, got node {node} of depth "
                f"{level} and rank {rank}"
            )
        values[node] = values[parent] * chances[level, rank]
    return values[:-1]


def expected_tokens(shape: Sequence[int], acceptance: ArrayLike) -> float:
    """E, mean tokens a round of this tree yields, the target's own included.

    Args:
        shape: as in ``node_values``.
        acceptance: (D, R), as in ``node_values``.

    Raises:
        ValueError: as ``node_values``.
    """
    return 1.0 + float(node_values(shape, acceptance).sum())


def best_tree(acceptance: ArrayLike, nodes: int) -> tuple[int, ...]:
    """The tree that yields most of all with so many nodes; fewer if no other is worth anything.

    Args:
        acceptance: (D, R), as in ``node_values``, never rising along a row.
        nodes: N, at least 1.

    Returns:
        Parent of each node, most valuable first: the first n are the best tree of n nodes.

    Raises:
        ValueError: as ``node_values``, a chance that rises with the rank, or N below 1.
    """
    count = checks.single("nodes", checks.whole_number("nodes", nodes, minimum=1))
    return tuple(_best_first(_falling(acceptance), count)[0])


def best_choice(acceptance: ArrayLike, cost_ratio: float, verify_costs: ArrayLike) -> TreeChoice:
    """The tree with the highest speedup, of all sizes and numbers of levels.

    Args:
        acceptance: (D, R), as in ``best_tree``.
        cost_ratio: c, time of a draft pass over a level over time of a target step, in [0, inf).
        verify_costs: (N,) v of a pass over 2, 3, ..., N + 1 tokens, as ``Deployment.verify_cost``
            gives it for draft lengths 1 to N.

    Raises:
        ValueError: as ``best_tree``, no tree that is worth anything, or a cost out of range.
    """
    choices = best_by_size(acceptance, cost_ratio, verify_costs)
    return max(choices, key=lambda choice: choice.speedup)


def best_by_size(
    acceptance: ArrayLike, cost_ratio: float, verify_costs: ArrayLike
) -> tuple[TreeChoice, ...]:
    """Of the trees of 1, 2, ..., N nodes those with the highest speedup, over numbers of levels.

    Args:
        acceptance: as in ``best_choice``.
        cost_ratio: as in ``best_choice``.
        verify_costs: as in ``best_choice``.

    Returns:
        One for each number of nodes; fewer where no larger tree is worth anything more.

    Raises:
        ValueError: as ``best_choice``.
    """
    chances = _falling(acceptance)
    cost = checks.single("cost_ratio", checks.non_negative("cost_ratio", cost_ratio))
    verify = checks.positive("verify_costs", verify_costs)
    if verify.ndim != 1 or not verify.size or not chances[0, 0] > 0:
        raise ValueError(
            "verify_costs must have shape (N,), N at least 1, and acceptance a first chance above "
            f"0, got {verify.shape} and {chances[0, 0]}"
        )
    best: list[TreeChoice] = []
    for levels in range(1, len(chances) + 1):
        shape, values = _best_first(chances[:levels], len(verify))
        tokens = 1.0 + np.cumsum(values)  # (N,)
        passes = 1 + np.maximum.accumulate(depths(shape))  # (N,)
        with np.errstate(over="ignore"):
            costs = passes * cost + verify[: len(shape)]  # (N,)
        for size, (gained, spent) in enumerate(
            zip(tokens.tolist(), costs.tolist(), strict=True), start=1
        ):
            if size > len(best) or gained / spent > best[size - 1].speedup:
                best[size - 1 : size] = [TreeChoice(tuple(shape[:size]), gained, spent)]
    return tuple(best)


def sizes_near_best(choices: Sequence[TreeChoice], within: float = 0.02) -> tuple[int, int]:
    """Fewest and most nodes that gain nearly as much as the best size.

    Args:
        choices: as ``best_by_size`` gives them, at least one.
        within: share of the best speedup that may be missing, in [0, 1].

    Raises:
        ValueError: there are no choices, or the share is out of range.
    """
    if not choices:
        raise ValueError("choices must hold at least one tree, got none")
    share = checks.single("within", checks.probability("within", within))
    gains = np.array([choice.speedup for choice in choices])  # (N,)
    near = np.flatnonzero(gains >= (1.0 - share) * gains.max())
    return len(choices[near[0]].shape), len(choices[near[-1]].shape)


def _best_first(chances: FloatArray, count: int) -> tuple[list[int], list[float]]:
    """Parents and values of the most valuable nodes, in falling order."""
    shape: list[int] = []
    values: list[float] = []
    # (-value, turn, parent, value of the parent, depth, rank): of equals the first that came up
    slots = [(-float(chances[0, 0]), 0, -1, 1.0, 0, 0)]
    turn = 0
    while slots and len(shape) < count and slots[0][0] < 0:
        negative, _, parent, above, level, rank = heapq.heappop(slots)
        node, value = len(shape), -negative
        shape.append(parent)
        values.append(value)
        for place in ((parent, above, level, rank + 1), (node, value, level + 1, 0)):
            if place[2] < chances.shape[0] and place[3] < chances.shape[1]:
                turn += 1
                worth = place[1] * float(chances[place[2], place[3]])
                heapq.heappush(slots, (-worth, turn, *place))
    return shape, values


def _chances(acceptance: ArrayLike) -> FloatArray:
    """Acceptance by depth and rank, checked."""
    chances = checks.probability("acceptance", acceptance)
    if chances.ndim != 2 or not chances.size:
        raise ValueError(f"acceptance must have shape (D, R), got {chances.shape}")
    if chances.sum(1).max() > 1 + 1e-9:
        raise ValueError(f"acceptance must sum to at most 1 a row, got {chances.sum(1).max()}")
    return chances


def _falling(acceptance: ArrayLike) -> FloatArray:
    """The same, never rising with the rank."""
    chances = _chances(acceptance)
    if (np.diff(chances, axis=1) > 0).any():
        level, rank = np.argwhere(np.diff(chances, axis=1) > 0)[0].tolist()
        raise ValueError(
            "acceptance must not rise with the rank, or a later child would be worth more, got "
            f"{chances[level, rank + 1]} after {chances[level, rank]} at depth {level}"
        )
    return chances
