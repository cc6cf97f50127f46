"""Figures of the record say in words what they show."""

import re

import pytest

from specmini.advisor.errors import (
    calibrated_errors,
    errors_by,
    largest_misses,
    uncalibrated_errors,
)
from specmini.configuration.defaults import configure
from specmini.figures import record


def test_the_record_names_its_misses():
    figure = record.foretold_record(named=3)
    errors = uncalibrated_errors()
    assert f"{errors.right_side:.0%} of {errors.rows} settings from 30 reports" in figure.claim
    unknown = errors_by("acceptance")["not told"].right_side
    assert f"{unknown:.0%} where E was not told" in figure.claim
    for number, miss in enumerate(largest_misses(3), start=1):
        assert f"{number}: {miss.setting}, measured" in figure.description
    assert "fitted without their own report" in figure.description
    [axes] = figure.drawing.axes
    drawn = sum(len(line.get_xdata()) for line in axes.lines if line.get_label()[0] != "_")
    assert drawn == errors.rows


def test_every_point_of_the_record_is_inside_of_the_axes():
    for left_out in (True, False):
        [axes] = record.foretold_record(left_out=left_out).drawing.axes
        low, high = axes.get_xlim()
        for line in axes.lines:
            assert all(low <= value <= high for value in line.get_xdata())
            assert all(low <= value <= high for value in line.get_ydata())


@pytest.mark.parametrize("reader", ["latencies", "server"])
def test_the_grid_tells_its_errors(reader):
    figure = record.foretold_grid(reader)
    assert f"within {calibrated_errors(reader).median:.1%}" in figure.claim
    assert "In 24 cells requests wait for memory" in figure.description


def test_an_advice_marks_its_best_length():
    one = configure("27B", "MTP", machine="RTX 3090", engine="llama.cpp", draft_length="2",
                    acceptance="2.5")  # fmt: skip
    figure = record.advice_by_length(one)
    best = int(re.search(r"K = (\d+)", figure.claim)[1])
    markers = [line for line in figure.drawing.axes[0].lines if line.get_marker() == "D"]
    assert float(markers[0].get_xdata()[0]) == best
    hopeless = configure("27B", "MTP", machine="Apple M1", engine="MLX", acceptance="1.05")
    assert record.advice_by_length(hopeless).claim == "Plain decoding is the fastest"
