"""Student's t: how far a mean of few samples may lie from the truth, in standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specmini.checks import FloatArray

__all__ = ["mean_difference", "student_t"]


def student_t(level: float, freedom: int) -> float:
    """The t that ``abs(T)`` stays below with a given chance; for a two-sided interval.

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


def mean_difference(
    first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray, level: float = 0.95
) -> tuple[float, float]:
    """Difference of the means of two independent samples, and its margin by Welch's t.

    The degrees of freedom are rounded down, which makes the margin a little wider.

    Source: Welch 1947, "The generalization of 'Student's' problem when several different
    population variances are involved", Biometrika 34.

    Args:
        first: (N,) values, N at least 2.
        second: (M,) values, M at least 2.
        level: chance that the interval difference ± margin holds the true difference, in (0, 1).

    Returns:
        The mean of ``first`` minus that of ``second``, and the margin.

    Raises:
        ValueError: fewer than two values in a sample, or a level outside (0, 1).
    """
    samples = [np.asarray(sample, dtype=float) for sample in (first, second)]
    for name, sample in zip(("first", "second"), samples, strict=True):
        if sample.ndim != 1 or sample.size < 2:
            raise ValueError(f"{name} must be a list of at least 2, got shape {sample.shape}")
    gap = float(samples[0].mean() - samples[1].mean())
    parts = [float(sample.var(ddof=1)) / sample.size for sample in samples]
    if not any(parts):
        return gap, 0.0
    weights = [part**2 / (sample.size - 1) for part, sample in zip(parts, samples, strict=True)]
    freedom = max(1, math.floor(sum(parts) ** 2 / sum(weights)))
    return gap, student_t(level, freedom) * math.sqrt(sum(parts))


def _chance_inside(angle: float, freedom: int) -> float:
    """P(abs(T) < sqrt(freedom) tan(angle)), a finite sum (Abramowitz and Stegun 1964, 26.7.3-4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term, powers = 1.0, 0.0
    for below in range(2 + freedom % 2, freedom + 1, 2):
        powers += term
        term *= (below - 1) / below * cosine**2
    if freedom % 2:
        return 2 / math.pi * (angle + sine * cosine * powers)
    return sine * powers
