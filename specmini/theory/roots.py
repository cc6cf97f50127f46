"""Newton solvers behind the inverse questions, without checks.

Each starts on the side of the root from which Newton falls to it monotonically, because the
function is convex (or concave), so no bracketing is needed. All work on whole arrays at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specmini.checks import FloatArray
from specmini.theory.acceptance import mean_accepted, smallest_normal

most_steps = 100  # far more than any argument needs; the loops stop when nothing moves
longest_told = 1e300  # a longer draft is reported as endless


def acceptance_rate_for(accepted: FloatArray, draft_length: NDArray[np.int64]) -> FloatArray:
    """Solve alpha + alpha^2 + ... + alpha^K = ``accepted`` for alpha, unchecked.

    Args:
        accepted: mean accepted drafts per round, in [0, K].
        draft_length: K >= 1; same shape.

    Returns:
        alpha in [0, 1], relative error of a few rounding units.
    """
    target, length = np.asarray(accepted), np.asarray(draft_length, dtype=np.float64)
    # The sum is at least alpha, so its value is an upper bound; Newton on the convex sum falls
    # from there. It starts on the root where K = 1 or ``accepted`` is 0 or K.
    rate = np.minimum(target, 1.0)
    for _ in range(most_steps):
        step = (mean_accepted(rate, length) - target) / _accepted_slope(rate, length)
        following = np.clip(rate - step, 0.0, 1.0)
        settled = np.abs(following - rate) <= 1e-15 * rate
        rate = following
        if settled.all():
            break
    return rate


def exponent(decay: FloatArray, spare: FloatArray, cost: FloatArray) -> FloatArray:
    """Solve e^y - 1 - y = B for y > 0, with B = decay * spare / cost > 0.

    With A = B + 1 the root is -A - W(-e^(-A)), W the lower real branch of Lambert's function.
    """
    with np.errstate(over="ignore"):
        level = decay * (spare / cost)
    log_level = np.where(
        np.isinf(level),
        np.log(decay) + np.log(spare) - np.log(cost),
        np.log(np.maximum(level, smallest_normal)),
    )
    # Small B: e^y - 1 - y as its series, which starts at y^2 / 2; so the start is above the root
    # and Newton on a convex function falls to it.
    low = np.sqrt(2.0 * np.minimum(level, 1.0))
    for _ in range(8):
        low = low - (_exp_minus_two_terms(low) - np.minimum(level, 1.0)) / np.expm1(low)
    # Large B: y = log(B + 1 + y), written so that B itself may overflow.
    high = np.maximum(log_level, 0.0) + 1.0
    for _ in range(8):
        extra = (1.0 + high) / np.maximum(level, 1.0)
        miss = high - np.maximum(log_level, 0.0) - np.log1p(extra)
        slope = 1.0 - 1.0 / (np.maximum(level, 1.0) + 1.0 + high)
        high = high - miss / slope
    return np.asarray(np.where(level < 1.0, low, high))


def last_break_even(rate: FloatArray, cost: FloatArray, verify: FloatArray) -> FloatArray:
    """Largest real K with E = v + K c, for c > 0 and where some K wins; off by less than 1."""
    sure = rate == 1.0
    inner = np.where(sure, 0.5, rate)
    decay = -np.log(np.maximum(inner, smallest_normal))
    limit = inner / (1.0 - inner)
    # alpha^K = 0 bounds K from above; the gain is concave, so Newton falls to its last zero.
    with np.errstate(over="ignore"):
        length = np.maximum((limit - (verify - 1.0)) / cost, 0.0)
    length = np.minimum(length, longest_told)
    for _ in range(most_steps):
        slope = limit * decay * np.exp(-decay * length) - cost
        gain = mean_accepted(inner, length) - extra_cost(cost, length, verify)
        with np.errstate(over="ignore"):  # a step past every double is cut on the next line
            step = np.where(slope < 0.0, gain / np.where(slope < 0.0, -slope, 1.0), 0.0)
        following = np.clip(length + step, 0.0, longest_told)
        # Only whole K are asked for, and the caller tries the neighbours.
        settled = np.abs(following - length) <= np.maximum(0.25, 1e-15 * length)
        length = following
        if settled.all():
            break
    # alpha = 1: the gain K (1 - c) - (v - 1) is a straight line.
    fall = np.where(sure & (cost > 1.0), cost - 1.0, 1.0)
    line = np.maximum(1.0 - verify, 0.0) / fall
    return np.asarray(np.where(sure, line, length))


def extra_cost(
    cost: FloatArray, length: NDArray[np.float64 | np.int64], verify: FloatArray
) -> FloatArray:
    """K c + (v - 1): what a round costs beyond a plain step. v - 1 first, so v = 1 adds nothing."""
    with np.errstate(over="ignore"):
        return length * cost + (verify - 1.0)


def _accepted_slope(rate: FloatArray, length: FloatArray) -> FloatArray:
    """Derivative of the accepted drafts with respect to alpha, to about 7 digits."""
    gap = 1.0 - rate
    log_rate = np.log(np.maximum(rate, smallest_normal))
    power = np.exp(length * log_rate)
    safe_gap = np.where(gap > 0.0, gap, 1.0)
    direct = (-np.expm1((length + 1.0) * log_rate) - (length + 1.0) * power * gap) / safe_gap**2
    # Near alpha = 1 the direct form cancels; there the K terms i alpha^(i-1) are close to their
    # sum at 1 times alpha to the mean exponent 2 (K - 1) / 3.
    level = 0.5 * length * (length + 1.0) * np.exp(2.0 * (length - 1.0) / 3.0 * log_rate)
    return np.asarray(np.where(-length * log_rate < 1e-3, level, direct))


def _exp_minus_two_terms(value: FloatArray) -> FloatArray:
    """e^y - 1 - y for 0 <= y <= 1.5, without cancellation."""
    total = np.ones_like(value)
    for order in range(24, 2, -1):
        total = 1.0 + total * value / order
    return 0.5 * value * value * total
