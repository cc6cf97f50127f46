"""Measured rungs on the map, from a small ladder made up for the test."""

import math
from dataclasses import dataclass, replace

import pytest

from specmini import theory
from specmini.figures.drafters import drafter_map
from specmini.ladder.points import ladder_columns, measured_points
from specmini.tables import Table


@dataclass(frozen=True)
class MadeUp:
    rung: str
    draft_length: int
    tokens_per_round: float
    speedup: float
    acceptance_rate: float = math.nan
    is_tree: bool = False
    hit_rate: float = 1.0
    drafting_cost: float = 0.4
    verify_cost: float = 1.2
    predicted: float = 1.5

    @property
    def interval(self):
        return self.speedup - 0.1, self.speedup + 0.1


ROWS = (
    MadeUp("lookup", 8, 1.3, 1.15, 0.6, hit_rate=0.2, drafting_cost=0.001, verify_cost=1.1),
    MadeUp("draft model", 4, 2.8, 1.6, 0.7),
    MadeUp("static tree", 8, 3.1, 1.4, is_tree=True),
)


def test_a_rung_stands_where_its_clock_puts_it():
    points = measured_points(ROWS, {"static tree": 3}, "here")
    for row, point in zip(ROWS, points, strict=True):
        gain = theory.speedup(point.acceptance_rate, point.cost_ratio, point.draft_length)
        assert float(gain) == pytest.approx(row.speedup, rel=1e-9)
        assert point.source == ""
    assert [point.draft_length for point in points] == [8, 4, 3]
    assert [point.tree for point in points] == [False, False, True]


def test_a_tree_without_levels_has_no_place():
    with pytest.raises(ValueError, match="levels must hold the tree 'static tree', got"):
        measured_points(ROWS, {}, "here")


def test_measured_points_are_drawn_as_diamonds():
    figure = drafter_map(measured_points(ROWS, {"static tree": 3}, "here"), [1.5, 2])
    [axes] = figure.drawing.axes
    assert sum(line.get_marker() == "D" for line in axes.lines) == 3
    assert "3 static tree" in figure.description


def test_the_table_shows_every_rung_and_no_rate_of_a_tree():
    table = Table(ladder_columns(ROWS), digits=2)
    assert [row[0] for row in table.rows] == ["lookup", "draft model", "static tree"]
    assert [row[3] for row in table.rows] == ["0.60", "0.70", "–"]
    unknown = replace(ROWS[2], predicted=math.nan)
    assert ladder_columns([*ROWS, unknown])["predicted"] == ["1.50"] * 3 + ["–"]
    assert table.rows[1][-1] == "1.50–1.70"
    with pytest.raises(ValueError, match="rows must hold at least one rung"):
        ladder_columns([])
