"""Student's t against the incomplete beta function in 50 digits, and its range."""

import mpmath
import pytest

from specmini.student import student_t


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
