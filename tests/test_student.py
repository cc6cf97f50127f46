"""Student's t against the incomplete beta function in 50 digits, and its range."""

import mpmath
import pytest

from specmini.measure.student import mean_difference, student_t


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 29, 30, 39, 200])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.95, 0.999])
def test_chance_inside_is_the_level(level, freedom):
    t = mpmath.mpf(student_t(level, freedom))
    with mpmath.workdps(50):
        half = mpmath.mpf(freedom) / 2
        outside = mpmath.betainc(half, 0.5, 0, freedom / (freedom + t**2), regularized=True)
        assert abs(1 - outside - level) < 1e-13


def test_tabled_values():
    """As every printed table has them."""
    tabled = [student_t(0.95, freedom) for freedom in (1, 2, 5, 10, 30)]
    assert tabled == pytest.approx([12.706, 4.303, 2.571, 2.228, 2.042], abs=5e-4)


@pytest.mark.parametrize(
    ("level", "freedom", "message"),
    [
        (0.0, 3, r"level must be in \(0, 1\), got 0.0"),
        (1.0, 3, r"level must be in \(0, 1\), got 1.0"),
        (float("nan"), 3, r"level must be in \(0, 1\), got nan"),
        (0.9, 0, "freedom must be at least 1, got 0"),
    ],
)
def test_student_t_refuses(level, freedom, message):
    with pytest.raises(ValueError, match=message):
        student_t(level, freedom)


def test_alike_samples_give_the_pooled_degrees_of_freedom():
    gap, margin = mean_difference([2, 3, 4], [1, 2, 3])  # variances 1, freedom 4
    assert gap == pytest.approx(1)
    assert margin == pytest.approx(2.7764451 * (2 / 3) ** 0.5)


def test_a_sample_without_spread_leaves_the_freedom_of_the_other():
    gap, margin = mean_difference([0, 0, 0, 0], [1, 2, 3])
    assert gap == pytest.approx(-2)
    assert margin == pytest.approx(student_t(0.95, 2) * (1 / 3) ** 0.5)
    assert mean_difference([1, 1], [2, 2]) == (-1, 0)


@pytest.mark.parametrize("few", [[1.0], [], [[1.0, 2.0]]])
def test_too_few_values_are_refused(few):
    with pytest.raises(ValueError, match="second must be a list of at least 2"):
        mean_difference([1.0, 2.0], few)
