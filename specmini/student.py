"""Student's t: how far a mean of few samples may lie from the truth, in standard errors."""

from __future__ import annotations

import math

__all__ = ["student_t"]


def student_t(level: float, freedom: int) -> float:
    """The t that |T| stays below with a given chance; for a two-sided interval.

    Args:
        level: that chance, in (0, 1).
        freedom: degrees of freedom, a whole number of at least 1.

    Raises:
        ValueError: an argument outside its range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    if freedom < 1:
        raise ValueError(f"freedom must be at least 1, got {freedom}")
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _chance_inside(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _chance_inside(angle: float, freedom: int) -> float:
    """P(|T| < sqrt(freedom) tan(angle)), a finite sum (Abramowitz and Stegun 1964, 26.7.3-4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term, powers = 1.0, 0.0
    for below in range(2 + freedom % 2, freedom + 1, 2):
        powers += term
        term *= (below - 1) / below * cosine**2
    if freedom % 2:
        return 2 / math.pi * (angle + sine * cosine * powers)
    return sine * powers
