"""Figures of the simulated server draw what the runs say, and claim no more."""

import numpy as np
import pytest
from test_load import HEAD, TARGET

from specmini.figures.load import requests_over_time
from specmini.load.policy import Fixed
from specmini.load.sweep import sweep


@pytest.fixture(scope="module")
def services():
    loads = sweep(
        TARGET, HEAD, [200], {"K = 4": Fixed(4)},
        prompt_tokens=256, output_tokens=64, acceptance_rate=0.7, seconds=3,
    )  # fmt: skip
    return {name: one[0] for name, one in loads.services.items()}


def test_requests_are_counted_and_the_longest_queue_is_named(services):
    figure = requests_over_time(services, 200)
    (axes,) = figure.drawing.axes
    drawn = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert list(drawn) == ["plain", "K = 4"]
    for name, one in services.items():
        end = one.workload.arrivals[-1]
        assert drawn[name][-1, 1] == (one.finish > end).sum() > 0
        assert np.all(drawn[name][:, 1] >= 0)
    slowest = max(services, key=lambda name: drawn[name][-1, 1])
    assert f"{drawn[slowest][-1, 1]:.0f} requests are in the server" in figure.claim
    assert f"with “{slowest}”" in figure.claim


def test_runs_of_other_arrivals_are_refused(services):
    other = sweep(
        TARGET, HEAD, [100], {},
        prompt_tokens=64, output_tokens=8, acceptance_rate=0.5, seconds=1,
    ).services["plain"][0]  # fmt: skip
    with pytest.raises(ValueError, match="of the same arrivals"):
        requests_over_time({"one": services["plain"], "two": other}, 100)
    with pytest.raises(ValueError, match="of the same arrivals"):
        requests_over_time({"one": other}, 100)
