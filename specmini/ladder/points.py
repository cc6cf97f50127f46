"""Measured rungs as points of the map, and as the columns of one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from specmini.ladder.results import LadderRow
from specmini.theory.drafter_map import DrafterPoint, equivalent_chain

__all__ = ["ladder_columns", "measured_points"]


def measured_points(
    rows: Iterable[LadderRow], levels: Mapping[str, int], engine: str
) -> tuple[DrafterPoint, ...]:
    """The rungs on the map, each at its equivalent chain.

    Args:
        rows: one for each point.
        levels: by rung, levels of its trees; rungs without trees need none.
        engine: what ran them, for the reader.

    Raises:
        ValueError: a tree's levels are missing.
    """
    points = []
    for row in rows:
        length = row.draft_length
        if row.is_tree:
            if row.rung not in levels:
                raise ValueError(f"levels must hold the tree {row.rung!r}, got {sorted(levels)}")
            length = levels[row.rung]
        rate, cost = equivalent_chain(
            row.tokens_per_round, row.tokens_per_round / row.speedup, length
        )
        points.append(
            DrafterPoint(
                name=row.rung,
                rung=row.rung,
                acceptance_rate=rate,
                cost_ratio=cost,
                draft_length=length,
                speedup=row.speedup,
                engine=engine,
                tree=row.is_tree,
            )
        )
    return tuple(points)


def ladder_columns(rows: Sequence[LadderRow]) -> dict[str, list[Any]]:
    """Columns for ``tables.Table``: everything that was measured of some rungs.

    K of a tree is its most nodes, h the hit rate, *drafting* the time in the drafter a round.

    Args:
        rows: in the order of the table, at least one.

    Raises:
        ValueError: there are none.
    """
    if not rows:
        raise ValueError("rows must hold at least one rung, got none")
    return {
        "drafter": [row.rung for row in rows],
        "K": [row.draft_length for row in rows],
        "h": [row.hit_rate for row in rows],
        # of a tree there is no one chance: its E says how well it guesses
        "α": ["–" if row.is_tree else f"{row.acceptance_rate:.2f}" for row in rows],
        "drafting": [row.drafting_cost for row in rows],
        "v": [row.verify_cost for row in rows],
        "E": [row.tokens_per_round for row in rows],
        # of trees that change shape nothing is predicted
        "predicted": [f"{row.predicted:.2f}" if row.predicted > 0 else "–" for row in rows],
        "speedup": [row.speedup for row in rows],
        "95%": [f"{row.interval[0]:.2f}–{row.interval[1]:.2f}" for row in rows],
    }
