"""Figures of measurements draw the numbers they were given, and claim only what these show."""

import re

import numpy as np
import pytest

from specmini.figures import lab
from specmini.measure.cell import Cell
from specmini.measure.latency import FittedRoofline, PassTimes
from specmini.measure.tallies import Acceptance, Tally

TIMES = PassTimes(
    tokens=(1, 2, 5, 16),
    seconds=(0.002, 0.002, 0.0025, 0.006),
    low=(0.0019, 0.0018, 0.0024, 0.005),
    high=(0.0022, 0.0021, 0.003, 0.008),
)
ROOFLINE = FittedRoofline(floor=0.002, per_token=0.0003, knee=3.0)


def made_cell(target_seconds=12.0, plain_seconds=(10.0, 11.0), draft_length=2):
    """Four full rounds of 2, 2 and 2 seconds' drafts; half of the first drafts accepted."""
    plain = tuple(Tally(10, 10, 0, 0, 0.0, 10 * s - 5, 10 * s) for s in plain_seconds)
    full = Tally(4, 8, 8, 4, 8.0, 4 * target_seconds, 4 * (target_seconds + 3))
    speculative = tuple(Tally(2, 4, 4, 2, 4.0, full.target_seconds / 2, s) for s in (28.0, 32.0))
    return Cell(
        draft_length=draft_length,
        plain=plain,
        speculative=speculative,
        full=full,
        acceptance=Acceptance((4, 2), (2, 2)),
        gained=(2, 0, 2),
        repetition=0.0,
    )


def axes_of(figure, place=0):
    return figure.drawing.axes[place]


def line(axes, label):
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found.get_xydata()


def bars(axes):
    return [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in axes.patches]


def error_bars(axes, place=0):
    """Ends of the vertical lines of one series."""
    return np.array([s[:, 1] for s in axes.containers[place].lines[2][0].get_segments()])


def test_pass_time_draws_medians_quartiles_and_the_roofline():
    figure = lab.pass_time(TIMES, ROOFLINE, 4)
    axes = axes_of(figure)
    assert figure.claim == "A pass over 5 tokens takes 1.25 times as long as over one, not 5 times"
    roof = line(axes, "roofline")
    np.testing.assert_allclose(roof[:, 1], 1e3 * ROOFLINE.seconds(roof[:, 0]))
    points = axes.containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(points, np.transpose([TIMES.tokens, 1e3 * np.array(TIMES.seconds)]))
    np.testing.assert_allclose(error_bars(axes), 1e3 * np.transpose([TIMES.low, TIMES.high]))
    assert axes.get_ylim()[1] > 8
    one_by_one = line(axes, "that many passes, one by one")
    np.testing.assert_allclose(one_by_one[:, 1], 2 * one_by_one[:, 0])


def test_pass_time_does_not_boast_where_passes_are_no_bargain():
    dear = PassTimes((1, 2, 5), *[(0.001, 0.003, 0.006)] * 3)
    assert "as bad as 5 passes" in lab.pass_time(dear, ROOFLINE, 4).claim


def test_pass_time_needs_the_check_it_tells_about():
    with pytest.raises(ValueError, match=r"tokens must be one of \[1, 2, 5, 16\], got 4"):
        lab.pass_time(TIMES, ROOFLINE, 3)


def test_acceptance_draws_rates_and_two_standard_errors():
    counted = Acceptance((100, 50, 20), (50, 20, 10))
    figure = lab.acceptance_by_position({"code": counted})
    assert figure.claim.endswith("within 0.07 of its mean")  # 0.40 at position 2, 80 of 170 in all
    axes = axes_of(figure)
    np.testing.assert_allclose(axes.containers[0].lines[0].get_ydata(), [0.5, 0.4, 0.5])
    spread = 2 * np.sqrt([0.25 / 100, 0.24 / 50, 0.25 / 20])
    np.testing.assert_allclose(error_bars(axes), np.array([[0.5], [0.4], [0.5]]) + np.outer(
        spread, [-1, 1]))  # fmt: skip
    assert "50 of 100, 20 of 50, 10 of 20" in figure.description


def test_positions_nobody_reached_are_left_out():
    figure = lab.acceptance_by_position({"code": Acceptance((10, 0), (0, 0))})
    assert figure.claim.endswith("within 0.00 of its mean")


def test_rules_are_drawn_by_temperature():
    rates = {"textbook": [0.6, 0.7], "greedy draft": [0.6, 0.3]}
    figure = lab.rules_by_temperature([0.0, 1.0], rates)
    assert figure.claim == (
        "One pair, 2 acceptance rates at temperature 1: textbook 0.70, greedy draft 0.30"
    )
    for rule, values in rates.items():
        np.testing.assert_allclose(line(axes_of(figure), rule), np.transpose([[0, 1], values]))
    with pytest.raises(ValueError, match=r"named must be one of \[0.0, 0.5\], got 1.0"):
        lab.rules_by_temperature([0.0, 0.5], rates)


def test_overlap_stands_over_its_token():
    figure = lab.overlap_along_text([0.25, 1.0, 0.5], ["a", " b", "\n"])
    assert figure.claim.startswith("Within one text β runs from 0.25 to 1.00; α = 0.58")
    axes = axes_of(figure)
    assert [height for *_, height in bars(axes)] == [0.25, 1.0, 0.5]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[0] == "a"
    assert not any(label.isspace() for label in labels)
    with pytest.raises(ValueError, match=r"rates must have shape \(2,\), got \(1,\)"):
        lab.overlap_along_text([0.5], ["a", "b"])


def test_predictions_stand_beside_the_measurement():
    cells = [made_cell(), made_cell(target_seconds=20.0)]
    figure = lab.predicted_beside_measured({"code": cells})
    textbook, with_v = (axes.containers[0].lines[0].get_xydata() for axes in figure.drawing.axes)
    measured = [one.speedup for one in cells]
    expected = [one.predicted.textbook for one in cells]
    np.testing.assert_allclose(textbook, np.transpose([expected, measured]))
    expected = [one.predicted.with_verify_cost for one in cells]
    np.testing.assert_allclose(with_v, np.transpose([expected, measured]))
    ratio = np.median(np.array(measured) / expected)
    assert f"{ratio:.2f} with the measured v" in figure.claim
    intervals = [one.interval() for one in cells]
    np.testing.assert_allclose(error_bars(figure.drawing.axes[1]), intervals)
    for axes in figure.drawing.axes:  # nothing lies outside
        low, high = axes.get_xlim()
        assert low < min(*measured, *expected)
        assert high > max(*measured, *expected)


def test_residual_leads_from_the_textbook_to_the_clock():
    one = made_cell()
    figure = lab.residual_steps(one)
    axes, residual = axes_of(figure), one.residual
    reached = residual.textbook
    drawn = bars(axes)
    assert drawn[0][:2] == pytest.approx((0, reached))
    factors = (
        residual.acceptance,
        residual.verification,
        residual.bookkeeping,
        residual.first_and_short_rounds,
    )
    for (start, width, _), factor in zip(drawn[1:5], factors, strict=True):
        assert start == pytest.approx(reached)
        reached *= factor
        assert start + width == pytest.approx(reached)
    assert drawn[5][:2] == pytest.approx((0, one.speedup))
    assert f"to {one.speedup:.2f}× by the clock" in figure.claim


def test_figures_live_on_one_page():
    one = made_cell()
    figures = [
        lab.pass_time(TIMES, ROOFLINE, 4),
        lab.acceptance_by_position({"code": one.acceptance}),
        lab.rules_by_temperature([0.0, 1.0], {"textbook": [0.6, 0.7]}),
        lab.overlap_along_text([0.25, 1.0], ["a", "$b$"]),
        lab.predicted_beside_measured({"code": [one]}),
        lab.residual_steps(one),
    ]
    ids = [i for figure in figures for i in re.findall(r'\bid="([^"]+)"', figure._repr_svg_())]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "draw",
    [
        lambda many: lab.acceptance_by_position(dict.fromkeys(many, Acceptance((1,), (1,)))),
        lambda many: lab.rules_by_temperature([1.0], {key: [0.5] for key in many}),
        lambda many: lab.predicted_beside_measured({key: [made_cell()] for key in many}),
    ],
)
def test_more_series_than_looks_are_refused(draw):
    with pytest.raises(ValueError, match="must hold 1 to 4 series, got 5"):
        draw("abcde")
