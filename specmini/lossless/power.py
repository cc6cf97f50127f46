"""What a sample can show: the smallest distance that a comparison of counts would have caught.

Two samples of N texts are counted into C cells and compared by chi-square. If the two sources
differ by d in total variation, the statistic follows a noncentral chi-square distribution with
C - 1 degrees of freedom, for large N, and noncentrality N Σ (p - q)² / (p + q) (Cohen 1988,
"Statistical Power Analysis for the Behavioral Sciences", chapter 7). By the inequality of Cauchy
and Schwarz (Σ abs(p - q))² is at most Σ (p - q)² / (p + q) times Σ (p + q) = 2, so the
noncentrality is at least 2 N d², however the difference is spread over the cells. So the distance
computed here is a guarantee, and most faults of that size are easier to see.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["chi_square_tail", "least_distance", "samples_needed"]


def chi_square_tail(statistic: float, freedom: int, noncentrality: float = 0.0) -> float:
    """Chance of a chi-square variable above ``statistic``.

    Args:
        statistic: at least 0.
        freedom: degrees of freedom, a whole number from 1.
        noncentrality: at least 0; a Poisson mixture of central distributions.
    """
    half, mean = statistic / 2, noncentrality / 2
    shape = 0.5 if freedom % 2 else 1.0
    tail = math.erfc(math.sqrt(half)) if freedom % 2 else math.exp(-half)

    def step() -> float:
        """What two more degrees of freedom add to the tail."""
        return math.exp(shape * math.log(half) - half - math.lgamma(shape + 1)) if half else 0.0

    while shape < freedom / 2:
        tail += step()
        shape += 1
    if not mean:
        return min(tail, 1.0)
    total, seen, place = 0.0, 0.0, 0
    while seen < 1 - 1e-12 and place < mean + 40 * math.sqrt(mean) + 100:
        weight = math.exp(place * math.log(mean) - mean - math.lgamma(place + 1))
        total, seen = total + weight * min(tail, 1.0), seen + weight
        tail += step()
        shape += 1
        place += 1
    return min(total, 1.0)


def least_distance(samples: int, cells: int, level: float, power: float = 0.9) -> float:
    """Smallest total variation distance that is caught with probability ``power``.

    Args:
        samples: texts of each source, N, at least 1.
        cells: outcomes that are told apart, at least 1; a single one is treated as two, since a
            second would show by appearing.
        level: chance of a false alarm, in (0, 1).
        power: in (0, 1).

    Returns:
        In (0, 1]; 1 if not even sources without a common outcome are sure to be caught.
    """
    return min(math.sqrt(_noncentrality(cells, level, power) / (2 * samples)), 1.0)


def samples_needed(distance: float, cells: int, level: float, power: float = 0.9) -> int:
    """Texts of each source that catch a distance with probability ``power``.

    Args:
        distance: total variation, in (0, 1].
        cells: as in ``least_distance``.
        level: chance of a false alarm, in (0, 1).
        power: in (0, 1).
    """
    return math.ceil(_noncentrality(cells, level, power) / (2 * distance**2))


def _noncentrality(cells: int, level: float, power: float) -> float:
    freedom = max(cells - 1, 1)
    alarm = _crossing(lambda x: chi_square_tail(x, freedom) <= level)
    return _crossing(lambda x: chi_square_tail(alarm, freedom, x) >= power)


def _crossing(holds: Callable[[float], bool]) -> float:
    """The number from which on something holds."""
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
