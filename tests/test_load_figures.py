"""Figures of the simulated server draw what the sweep says, and claim no more."""

import numpy as np
import pytest
from test_load import HEAD, TARGET

from specmini.figures.load import gain_by_rate, tail_by_rate
from specmini.load.policy import Fixed, LoadAware
from specmini.load.sweep import sweep


@pytest.fixture(scope="module")
def loads():
    return sweep(
        TARGET, HEAD, [20, 150, 200], {"K = 4": Fixed(4), "by load": LoadAware()},
        prompt_tokens=256, output_tokens=64, acceptance_rate=0.7, seconds=4,
    )  # fmt: skip


def lines(figure):
    (axes,) = figure.drawing.axes
    return {
        line.get_label(): line.get_xydata() for line in axes.lines if line.get_label()[0] != "_"
    }


def test_gain_is_drawn_and_its_flip_claimed(loads):
    figure = gain_by_rate(loads)
    drawn = lines(figure)
    assert list(drawn) == ["K = 4", "by load"]
    assert drawn["K = 4"][:, 0].tolist() == [20, 150, 200]
    assert np.array_equal(drawn["K = 4"][:, 1], loads.gain("K = 4"))
    assert f"K = 4 wins up to {loads.flip('K = 4'):.0f} requests a second" in figure.claim
    assert f"20: {loads.gain('K = 4')[0]:.2f}" in figure.description


def test_the_tail_names_the_slowest(loads):
    figure = tail_by_rate(loads)
    assert list(lines(figure)) == ["plain", "K = 4", "by load"]
    slowest = loads.quantiles("K = 4", "latency", 0.95)[-1]
    assert f"5% of the requests wait longer than {slowest:.1f} s with K = 4" in figure.claim


def test_policies_that_never_win_are_called_so():
    never = sweep(
        TARGET, HEAD, [1, 2], {"K = 4": Fixed(4)},
        prompt_tokens=64, output_tokens=8, acceptance_rate=0.0, seconds=1,
    )  # fmt: skip
    assert gain_by_rate(never).claim == "K = 4 never wins"
    assert "wait longer" in tail_by_rate(never).claim
