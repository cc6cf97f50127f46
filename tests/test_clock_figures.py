"""Figures that hold predictions against the clock draw their numbers and claim what these show."""

import re

import numpy as np
import pytest
from test_lab_figures import bars, error_bars, line, made_cell

from specmini.figures import clock


def sweep(*target_seconds):
    """Cells of K = 2, 3, ... whose checks last so long."""
    return [
        made_cell(target_seconds=seconds, draft_length=length)
        for length, seconds in enumerate(target_seconds, start=2)
    ]


def test_best_draft_length_draws_clock_predictions_and_intervals():
    cells = sweep(12.0)
    figure = clock.best_draft_length({"code": cells})
    [axes] = figure.drawing.axes
    [one] = cells
    assert line(axes, "textbook, v = 1").tolist() == [[2, one.predicted.textbook]]
    assert line(axes, "with measured v").tolist() == [[2, one.predicted.with_verify_cost]]
    [measured] = axes.containers
    assert measured.lines[0].get_xydata().tolist() == [[2, one.speedup]]
    low, high = one.interval()
    np.testing.assert_allclose(error_bars(axes), [[low, high]])
    assert axes.get_ylim()[1] > max(high, one.predicted.textbook)
    assert f"K = 2: {one.speedup:.2f}, {one.predicted.with_verify_cost:.2f}" in figure.description


def test_best_draft_length_names_the_best_of_each_curve():
    groups = {"prose": sweep(12.0, 30.0), "code": sweep(30.0, 12.0)}
    figure = clock.best_draft_length(groups)
    clocked, textbook = (
        {
            label: cells[int(np.argmax([pick(one) for one in cells]))].draft_length
            for label, cells in groups.items()
        }
        for pick in (lambda one: one.speedup, lambda one: one.predicted.textbook)
    )
    expected = "Best K by the clock: {prose} on prose, {code} on code; by the textbook: "
    assert figure.claim.startswith(expected.format(**clocked))
    assert figure.claim.endswith("{prose} on prose, {code} on code".format(**textbook))
    assert [axes.get_title() for axes in figure.drawing.axes] == ["prose", "code"]


def test_best_draft_length_refuses_what_it_cannot_draw():
    with pytest.raises(ValueError, match="cells must hold 1 or 2 groups, got 0"):
        clock.best_draft_length({})
    with pytest.raises(ValueError, match=r"K that rises, got \[3, 2\] for code"):
        clock.best_draft_length({"code": sweep(12.0, 12.0)[::-1]})


def test_tellings_draw_the_clock_first_and_count_what_exceeds_it():
    figure = clock.tellings(1.2, {"drafted": 3.0, "about the same": 1.21, "modest": 0.9})
    [axes] = figure.drawing.axes
    assert [width for _, width, _ in bars(axes)] == [1.2, 3.0, 1.21, 0.9]
    assert figure.claim == "1.20× by the clock; 1 of 3 other tellings makes it more: 3.0×"
    shown = re.sub(r"<[^>]+>", " ", figure._repr_svg_())
    assert all(number in shown for number in ("1.20×", "3.00×", "0.90×"))
    assert axes.get_xlim()[1] > 3.0


def test_tellings_count_several():
    figure = clock.tellings(1.0, {"a": 3.04, "b": 2.0})
    assert figure.claim == "1.00× by the clock; 2 of 2 other tellings make it more, up to 3.0×"


def test_tellings_make_nothing_up():
    figure = clock.tellings(2.0, {"drafted": 2.05, "half": 1.0})
    assert figure.claim == "2.00× by the clock, and no other telling here makes it more"


@pytest.mark.parametrize(
    ("honest", "told", "message"),
    [
        (1.0, {}, "told must hold at least one telling, got none"),
        (0.0, {"a": 1.0}, "honest must be"),
        (1.0, {"a": -1.0}, "a must be"),
    ],
)
def test_tellings_refuse(honest, told, message):
    with pytest.raises(ValueError, match=message):
        clock.tellings(honest, told)
