"""The plain curve: its limits, its fit, and what it says of verification."""

import numpy as np
import pytest

from specmini.cost.plain_curve import PlainCurve, fit_plain_curve

SIZES = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])


@pytest.mark.parametrize("power", [1.0, 2.0, 5.0])
def test_curve_is_the_sum_of_powers(power):
    curve = PlainCurve(floor=30.0, per_token=0.15, sharpness=power)
    expected = (30.0**power + (0.15 * SIZES) ** power) ** (1 / power)
    np.testing.assert_allclose(curve.seconds(SIZES), expected, rtol=1e-13)
    assert curve.knee == pytest.approx(200)
    # at the knee both parts are 30, so the time is 30 * 2^(1/p)
    assert curve.seconds(curve.knee) == pytest.approx(30 * 2 ** (1 / power))


def test_a_sharp_curve_is_the_roofline_and_large_powers_do_not_overflow():
    curve = PlainCurve(floor=1e3, per_token=1e3, sharpness=400.0)
    np.testing.assert_allclose(curve.seconds([0.1, 0.5, 3, 10]), [1e3, 1e3, 3e3, 1e4], rtol=1e-12)
    assert curve.seconds(0) == 1e3


@pytest.mark.parametrize("power", [1.2, 3.0, 9.0])
def test_fit_finds_the_curve_that_made_the_times(power):
    made = PlainCurve(floor=34.0, per_token=0.3, sharpness=power)
    found = fit_plain_curve(SIZES, made.seconds(SIZES))
    # the grid of powers has steps of 0.5 %
    np.testing.assert_allclose(found.seconds(SIZES), made.seconds(SIZES), rtol=2e-3)
    assert found.floor == pytest.approx(made.floor, rel=2e-3)
    assert found.sharpness == pytest.approx(power, rel=0.02)


def test_fit_does_not_depend_on_the_unit_of_time():
    times = PlainCurve(floor=34.0, per_token=0.3, sharpness=2.0).seconds(SIZES)
    milli, micro = fit_plain_curve(SIZES, times), fit_plain_curve(SIZES, 1000 * times)
    assert micro.floor == pytest.approx(1000 * milli.floor)
    assert micro.knee == pytest.approx(milli.knee)


def test_verify_cost_is_one_below_the_knee_and_tokens_far_beyond():
    curve = PlainCurve(floor=30.0, per_token=0.1, sharpness=4.0)
    assert curve.verify_cost(1, 4) == pytest.approx(1, abs=1e-6)
    assert curve.verify_cost(1e6, 4) == pytest.approx(5, rel=1e-6)
    assert curve.verify_cost(7, 0) == 1
    rising = curve.verify_cost(SIZES, 4)
    assert np.all(np.diff(rising) > 0)


def test_speedup_dies_with_batch():
    curve = PlainCurve(floor=30.0, per_token=0.1, sharpness=4.0)
    speedup = curve.speedup(SIZES * 16, 4, cost_ratio=0.05, tokens_per_round=2.5)
    assert np.all(np.diff(speedup) < 0)
    # far beyond the knee 2.5 tokens cost 5 + 4 * 0.05 steps; below it 1 + 4 * 0.05
    assert curve.speedup(1e6, 4, 0.05, 2.5) == pytest.approx(2.5 / 5.2, rel=1e-5)
    assert curve.speedup(1e-3, 4, 0.05, 2.5) == pytest.approx(2.5 / 1.2, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PlainCurve(0.0, 0.1, 2.0), r"floor must be .*got 0\.0"),
        (lambda: PlainCurve(1.0, 0.1, 0.9), r"sharpness must be .*\[1\.0, inf\), got 0\.9"),
        (lambda: PlainCurve(1.0, 0.1, 2.0).seconds(-1), r"tokens must be .*got -1"),
        (lambda: PlainCurve(1.0, 0.1, 2.0).verify_cost(0, 2), r"batch must be .*got 0"),
        (lambda: PlainCurve(1.0, 0.1, 2.0).verify_cost(1, 0.5), r"draft_length must be .*got 0\.5"),
        (
            lambda: PlainCurve(1.0, 0.1, 2.0).speedup(1, 2, 0.1, 3.5),
            r"tokens_per_round must be at most draft_length \+ 1, got 3\.5 for 2",
        ),
        (lambda: fit_plain_curve([1, 2, 3], [1, 2, 3]), r"at least 4 different tokens, got 3"),
        (lambda: fit_plain_curve([1, 2, 3, 4], [1, 2, 3]), r"as many, .*got 4 and 3"),
        (lambda: fit_plain_curve([1, 2, 3, 4], [4, 3, 2, 1]), r"seconds must rise with tokens"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
