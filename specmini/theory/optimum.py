"""Inverse questions: which K is best, which K still wins, where is break-even.

The speedup of K >= 1 drafts is F(K) = E(K) / (v + K c). Adding one more draft helps exactly
when g(K) = alpha^(K+1) (v + K c) - c E(K) > 0, because E(K+1) = E(K) + alpha^(K+1). And
g(K) - g(K-1) = -alpha^K (1 - alpha) (v + K c) <= 0: g never rises, so it changes sign at most
once and F climbs to one peak and then falls. Every search below rests on this.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks
from specmini.checks import FloatArray
from specmini.theory.acceptance import Numbers, mean_accepted, smallest_normal
from specmini.theory.roots import (
    acceptance_rate_for,
    exponent,
    extra_cost,
    last_break_even,
    longest_told,
)

guard = 2  # integers looked at on either side of a real-valued solution


def best_draft_length(
    acceptance_rate: ArrayLike, cost_ratio: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Draft length with the highest speedup, over all whole K >= 0.

    K = 0 is plain decoding: one target pass a token, speedup exactly 1, whatever
    ``verify_cost`` is. Ties go to the shorter draft; two speedups that agree to 1e-15 are told
    apart by rounding. The peak over K >= 1 is the smallest K at
    which one more draft no longer pays; the search starts just below the real-valued peak of
    ``best_draft_length_real`` and takes the remaining steps one by one.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        cost_ratio: c, time of a draft step over time of a target step, in [0, inf).
        verify_cost: v, time of the checking pass over time of a plain step, in (0, inf);
            the same for every K.

    Returns:
        Whole numbers as float64. ``inf`` where the speedup keeps rising with K: free drafts
        (c = 0, alpha > 0), or alpha = 1 with c < v, provided that it ever exceeds 1.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    rate, cost, verify = _rate_and_costs(acceptance_rate, cost_ratio, verify_cost)
    rate, cost, verify = (np.asarray(a) for a in np.broadcast_arrays(rate, cost, verify))
    peak = _real_peak(rate, cost, verify)
    endless = np.isinf(peak)
    length = np.maximum(np.floor(np.where(endless, 1.0, peak)) - guard, 1.0)
    for _ in range(2 * guard + 1):
        length = length + _another_draft_pays(rate, cost, verify, length)
    wins = _wins(rate, cost, verify, length)
    limit_wins = np.where(rate == 1.0, cost < 1.0, _free_drafts_win(rate, verify))
    best = np.where(wins, length, 0.0)
    return cast(Numbers, np.where(endless, np.where(limit_wins, np.inf, 0.0), best)[()])


def best_draft_length_real(
    acceptance_rate: ArrayLike, cost_ratio: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Real-valued K at which E / (v + K c) peaks.

    With L = -log(alpha), A = 1 + L (v - c) / c and y = -A - W(-e^(-A)), W the lower real branch
    of Lambert's function, the peak is at K = y / L - 1. The code solves the same equation as
    e^y - 1 - y = A - 1, which neither underflows for large A nor cancels for small y.
    The best whole K >= 1 is one of the two neighbours.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        cost_ratio: c in [0, inf).
        verify_cost: v in (0, inf), the same for every K.

    Returns:
        Real numbers in [-1, inf]. At or below 0 means: do not draft. -1 where the speedup only
        falls (alpha = 0, or c >= v); ``inf`` where it only rises (alpha = 1 with c < v, or
        c = 0 with alpha > 0).

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: derived in this package from Leviathan et al. 2023, Theorem 3.8, with 1 replaced
    by v.
    """
    rate, cost, verify = _rate_and_costs(acceptance_rate, cost_ratio, verify_cost)
    rate, cost, verify = (np.asarray(a) for a in np.broadcast_arrays(rate, cost, verify))
    return cast(Numbers, _real_peak(rate, cost, verify)[()])


def longest_winning_draft(
    acceptance_rate: ArrayLike, cost_ratio: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Largest K with speedup > 1.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        cost_ratio: c in [0, inf).
        verify_cost: v in (0, inf), the same for every K.

    Returns:
        Whole numbers as float64: 0 where no K >= 1 wins, ``inf`` where every K from some point
        on wins (or where the last one is beyond 1e300). A speedup within 1e-15 of 1 is told
        from 1 by rounding.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    rate, cost, verify = _rate_and_costs(acceptance_rate, cost_ratio, verify_cost)
    rate, cost, verify = (np.asarray(a) for a in np.broadcast_arrays(rate, cost, verify))
    # The gain E - v - K c is concave in K. With v <= 1 it starts at or above 0, so if any K wins
    # K = 1 does; with v > 1 it may win only around its peak, the last K with alpha^K > c.
    log_rate = np.log(np.maximum(rate, smallest_normal))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turn = np.floor(np.log(cost) / log_rate)
    turn = np.where(np.isfinite(turn), np.maximum(turn, 1.0), 1.0)
    wins = _wins(rate, cost, verify, np.ones_like(rate))
    for step in range(-guard, guard + 1):
        wins |= _wins(rate, cost, verify, np.maximum(turn + step, 1.0))
    search = wins & (cost > 0.0)
    length = np.zeros_like(rate)
    length[search] = last_break_even(rate[search], cost[search], verify[search])
    length = np.floor(length) + guard
    for _ in range(2 * guard + 1):
        length = np.maximum(length - ~_wins(rate, cost, verify, length), 0.0)
    sure = (rate == 1.0) & ((cost < 1.0) | ((cost == 1.0) & (verify < 1.0)))
    free = (cost == 0.0) & _free_drafts_win(rate, verify)
    longest = np.where(search, np.maximum(length, 1.0), 0.0)
    endless = sure | free | (longest >= longest_told)
    return cast(Numbers, np.where(endless, np.inf, longest)[()])


def break_even_acceptance(
    cost_ratio: ArrayLike, draft_length: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Smallest acceptance rate at which drafting K tokens does not lose.

    Args:
        cost_ratio: c in [0, inf), any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts.

    Returns:
        alpha with E = K c + v, in [0, 1]. 0 where the round costs no more than a plain step;
        NaN where even alpha = 1 loses (K c + v > K + 1). With v below 1, an alpha near 0 is
        exact only to the rounding of K c and 1 - v, whose difference it is.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    cost = checks.non_negative("cost_ratio", cost_ratio)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(cost_ratio=cost, draft_length=length, verify_cost=verify)
    needed, length = np.broadcast_arrays(extra_cost(cost, length, verify), length)
    reachable = needed <= length
    rate = acceptance_rate_for(np.clip(needed, 0.0, length), length)
    return cast(Numbers, np.where(reachable, rate, np.nan)[()])


def break_even_cost(
    acceptance_rate: ArrayLike, draft_length: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Largest cost ratio at which drafting K tokens does not lose, (E - v) / K.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts.

    Returns:
        c. Negative where even a free draft loses, because checking alone costs more than E.
        With v above 1, a c near 0 is exact only to the rounding of E and v.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    rate = checks.probability("acceptance_rate", acceptance_rate)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(acceptance_rate=rate, draft_length=length, verify_cost=verify)
    return (mean_accepted(rate, length) - (verify - 1.0)) / length


def _rate_and_costs(
    acceptance_rate: ArrayLike, cost_ratio: ArrayLike, verify_cost: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    rate = checks.probability("acceptance_rate", acceptance_rate)
    cost = checks.non_negative("cost_ratio", cost_ratio)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(acceptance_rate=rate, cost_ratio=cost, verify_cost=verify)
    return rate, cost, verify


def _wins(
    rate: FloatArray, cost: FloatArray, verify: FloatArray, length: FloatArray
) -> NDArray[np.bool_]:
    return np.asarray(mean_accepted(rate, length) > extra_cost(cost, length, verify))


def _free_drafts_win(rate: FloatArray, verify: FloatArray) -> NDArray[np.bool_]:
    """Whether speedup exceeds 1 for some K when drafts cost nothing: 1 / (1 - alpha) > v."""
    with np.errstate(divide="ignore"):
        return np.asarray(rate / (1.0 - rate) > verify - 1.0)


def _another_draft_pays(
    rate: FloatArray, cost: FloatArray, verify: FloatArray, length: FloatArray
) -> NDArray[np.bool_]:
    """Whether K + 1 drafts beat K: alpha^(K+1) (v / c + K) > E(K). Every term is positive."""
    # Two factors, so that neither the power underflows nor v / c overflows before they meet.
    half = np.floor(0.5 * (length + 1.0))
    rest = np.power(rate, length + 1.0 - half)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        gain = np.power(rate, half) * (rest * verify / cost + rest * length)
    return np.asarray(gain > 1.0 + mean_accepted(rate, length))


def _real_peak(rate: FloatArray, cost: FloatArray, verify: FloatArray) -> FloatArray:
    falls = (rate == 0.0) | (cost >= verify)
    rises = ~falls & ((rate == 1.0) | (cost == 0.0))
    plain = ~(falls | rises)
    decay = -np.log(np.where(plain, rate, 0.5))
    cost, verify = np.where(plain, cost, 1.0), np.where(plain, verify, 2.0)
    peak = exponent(decay, verify - cost, cost) / decay - 1.0
    return np.where(falls, -1.0, np.where(rises, np.inf, peak))
