import numpy as np
import pytest

from specmini import catalog
from specmini.figures import roofline as figures
from specmini.roofline import pass_time

BATCHES = [1, 64, 256]


@pytest.fixture(scope="module")
def passes():
    machine, model = catalog.machine("h100"), catalog.model("llama-3.1-8b")
    return [pass_time(machine, model, BATCHES, new, 1024) for new in (1, 5)]


def test_bills_add_up_to_the_time_of_the_pass(passes):
    [axes] = figures.pass_bills("bills", "A claim", BATCHES, *passes).drawing.axes
    tops = {}
    for bar in axes.patches:
        center = round(bar.get_x() + bar.get_width() / 2, 6)
        tops[center] = max(tops.get(center, 0.0), bar.get_y() + bar.get_height())
    for place in range(len(BATCHES)):
        assert tops[place - 0.2] == pytest.approx(1e3 * passes[0].time[place])
        assert tops[place + 0.2] == pytest.approx(1e3 * passes[1].time[place])


def test_bills_say_what_bounds_the_weights(passes):
    description = figures.pass_bills("bills", "A claim", BATCHES, *passes).description
    # at batch 256 the check computes for 19.42 ms and the step still reads for 4.48
    assert "check, weights, bound by arithmetic: 0.00, 4.85, 19.42 ms" in description
    assert "step, weights, bound by reading: 4.48, 4.48, 4.48 ms" in description


def test_bills_need_a_time_for_each_batch(passes):
    with pytest.raises(ValueError, match=r"step must have shape \(2,\), got \(3,\)"):
        figures.pass_bills("bills", "A claim", [1, 2], *passes)


def load_figure(**changed):
    given = {
        "loads": [1, 2, 4, 8],
        "curves": {"one": [1.0, 3.0, 2.0, 0.5], "two": [1.0, 2.0, np.nan, np.nan]},
        "across": "batch",
        "upward": "speedup (×)",
    }
    return figures.by_load("loads", "A claim", **given | changed)


def test_by_load_draws_the_curves_and_says_their_ends_and_peaks():
    figure = load_figure(level=1)
    [axes] = figure.drawing.axes
    drawn = {line.get_label(): line for line in axes.lines}
    assert drawn["one"].get_xdata().tolist() == [1, 2, 4, 8]
    np.testing.assert_array_equal(drawn["two"].get_ydata(), [1.0, 2.0, np.nan, np.nan])
    assert "one: 1.00 at 1, 3.00 at 2, 0.50 at 8" in figure.description
    assert "two: 1.00 at 1, 2.00 at 2." in figure.description


def test_by_load_marks_what_was_measured_without_joining_it():
    figure = load_figure(measured={"seen": {1: 0.5, 8: 1.25}})
    [axes] = figure.drawing.axes
    [marks] = [line for line in axes.lines if line.get_label() == "seen"]
    assert marks.get_xdata().tolist() == [1, 8]
    assert marks.get_linestyle() == "None"
    assert "seen: 0.50 at 1, 1.25 at 8." in figure.description
    with pytest.raises(ValueError, match="curves must hold 1 to 4 series, got 5"):
        load_figure(measured={name: {1: 1.0} for name in "abc"})


def test_by_load_says_that_nothing_fits():
    assert "none: nowhere" in load_figure(curves={"none": [np.nan] * 4}).description


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loads": [1, 1, 2, 4]}, r"loads must be at least 1 and rise, got \[1, 1, 2, 4\]"),
        ({"loads": [0, 1, 2, 4]}, "loads must be at least 1"),
        ({"curves": {"short": [1.0]}}, r"curves must each have shape \(4,\), .* \['short'\]"),
        ({"curves": {}}, "curves must hold 1 to 4 series, got 0"),
    ],
)
def test_by_load_refuses(changed, message):
    with pytest.raises(ValueError, match=message):
        load_figure(**changed)
