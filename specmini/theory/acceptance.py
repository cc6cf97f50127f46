"""From the acceptance rate to tokens per round: mean, variance, distribution.

One round drafts K tokens. The target accepts a prefix of N of them and adds one token of its
own, so the round yields T = N + 1 tokens, between 1 and K + 1.

Here every position has the same acceptance rate alpha, the simplification of the textbook
(Leviathan, Kalman and Matias 2023, arXiv 2211.17192, Definition 3.1). ``specmini.theory.positions``
has one rate per position.

All arguments broadcast. Scalars in give ``np.float64`` out, arrays give arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks
from specmini.checks import FloatArray

Numbers = np.float64 | FloatArray

smallest_normal = np.finfo(np.float64).tiny


def tokens_per_round(acceptance_rate: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """Mean number of tokens a round yields, E = (1 - alpha^(K+1)) / (1 - alpha).

    Accepted drafts plus the one token that the target adds. Exact for alpha = 0 (1 token),
    alpha = 1 (K + 1 tokens) and K = 0 (1 token).

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        draft_length: K, whole number >= 0, any shape that broadcasts.

    Returns:
        Tokens per round, in [1, min(K + 1, 1 / (1 - alpha))].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, Eq. 1 (their gamma is K).
    """
    return 1.0 + accepted_drafts(acceptance_rate, draft_length)


def accepted_drafts(acceptance_rate: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """Mean number of drafted tokens that a round keeps, alpha (1 - alpha^K) / (1 - alpha).

    This is E - 1, computed directly, so it stays accurate where it is tiny.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        draft_length: K, whole number >= 0, any shape that broadcasts.

    Returns:
        Accepted drafts per round, in [0, K].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, Eq. 1 minus the token that the target adds.
    """
    rate, length = _rate_and_length(acceptance_rate, draft_length)
    return mean_accepted(rate, length)


def accepted_share(acceptance_rate: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """Accepted over drafted tokens, rho = (E - 1) / K. It falls with K; it is not alpha.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.

    Returns:
        Share in [0, alpha].

    Raises:
        ValueError: an argument is out of range (K = 0 drafts nothing, so it has no share) or
            the shapes do not broadcast.
    """
    rate, length = _rate_and_length(acceptance_rate, draft_length, shortest=1)
    return mean_accepted(rate, length) / length


def tokens_variance(acceptance_rate: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """Variance of the number of tokens in one round.

    (alpha - (2K+1) alpha^(K+1) (1 - alpha) - alpha^(2K+2)) / (1 - alpha)^2, rearranged where
    this form cancels. Zero for alpha = 0, alpha = 1 and K = 0.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        draft_length: K, whole number >= 0, any shape that broadcasts.

    Returns:
        Variance in tokens squared.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: second moment of the capped geometric distribution of Leviathan et al. 2023, Eq. 1.
    """
    rate, length = _rate_and_length(acceptance_rate, draft_length)
    rate, length = (np.asarray(a) for a in np.broadcast_arrays(rate, length.astype(np.float64)))
    odd = 2.0 * length + 1.0
    log_rate = np.log(np.maximum(rate, smallest_normal))
    gap = 1.0 - rate
    steps = -0.5 * odd * log_rate

    # The textbook numerator loses every digit when K (1 - alpha) is small: its terms agree to
    # third order. With h = -log(alpha) / 2 and m = 2K + 1 it equals
    # 2 alpha^(K + 3/2) (sinh(m h) - m sinh(h)), and after dropping the common m h from both
    # sinh the remainder of the second is at most 1/9 of the first, so nothing cancels.
    short = np.minimum(steps, 1.0)
    remainder = _sinh_minus_argument(short) - odd * _sinh_minus_argument(short / odd)
    safe_gap = np.where(gap > 0.0, gap, 1.0)
    near_one = 2.0 * np.exp((length + 1.5) * np.maximum(log_rate, -1.0)) * remainder / safe_gap**2

    # Past m h = 1 the terms differ by more than a sixth and the textbook form is safe.
    power = np.exp((length + 1.0) * log_rate)
    plain = (-rate * np.expm1(odd * log_rate) - odd * power * gap) / safe_gap**2

    variance = np.where(steps < 1.0, near_one, plain)
    return np.where((length == 0) | (gap == 0.0), 0.0, variance)[()]


def tokens_distribution(acceptance_rate: ArrayLike, draft_length: ArrayLike) -> FloatArray:
    """Chance of each number of tokens in a round: P(T = 1), ..., P(T = K + 1).

    P(T = j) = alpha^(j-1) (1 - alpha) for j <= K and P(T = K + 1) = alpha^K.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        draft_length: K, one whole number >= 0.

    Returns:
        Array of shape ``acceptance_rate.shape + (K + 1,)``; the last axis sums to 1.

    Raises:
        ValueError: an argument is out of range or ``draft_length`` is an array.

    Source: Leviathan et al. 2023, the capped geometric variable behind Eq. 1.
    """
    rate = checks.probability("acceptance_rate", acceptance_rate)[..., None]
    length = one_length(draft_length)
    chances: FloatArray = np.power(rate, np.arange(length + 1, dtype=np.float64))
    chances[..., :-1] *= 1.0 - rate
    return chances


def mean_accepted(rate: FloatArray, length: NDArray[np.float64 | np.int64]) -> FloatArray:
    """``accepted_drafts`` without checks, for callers that have made them already."""
    gap = 1.0 - rate
    # log and expm1 keep full precision on both ends: log is accurate for a double near 1, and
    # expm1 amplifies no relative error for negative arguments. Raising alpha = 0 to the smallest
    # normal number keeps K log(alpha) finite and leaves the product with alpha exactly 0.
    # In place, because fresh large temporaries take time.
    log_rate = np.log(np.maximum(rate, smallest_normal))
    accepted = np.asarray(log_rate * length, dtype=np.float64)
    np.expm1(accepted, out=accepted)
    with np.errstate(invalid="ignore"):
        np.divide(accepted, -gap, out=accepted)
    np.multiply(accepted, rate, out=accepted)
    certain = gap == 0.0
    if certain.any():
        np.copyto(accepted, length, where=certain)
    single = length == 1
    if single.any():
        # Exact, so that "alpha > c" and "K = 1 wins" cannot disagree by a rounding error.
        np.copyto(accepted, rate, where=single)
    return accepted[()]


def _rate_and_length(
    acceptance_rate: ArrayLike, draft_length: ArrayLike, shortest: int = 0
) -> tuple[FloatArray, NDArray[np.int64]]:
    rate = checks.probability("acceptance_rate", acceptance_rate)
    length = checks.whole_number("draft_length", draft_length, minimum=shortest)
    checks.broadcast_shape(acceptance_rate=rate, draft_length=length)
    return rate, length


def one_length(draft_length: ArrayLike, shortest: int = 0) -> int:
    """Return the single draft length that a function with a position axis needs."""
    length = checks.whole_number("draft_length", draft_length, minimum=shortest)
    return int(checks.single("draft_length", length))


def _sinh_minus_argument(value: FloatArray) -> FloatArray:
    """sinh(x) - x for 0 <= x <= 1, without cancellation."""
    square = value * value
    total = np.ones_like(square)
    for order in range(19, 3, -2):
        total = 1.0 + total * square / (order * (order - 1))
    return value * square * total / 6.0
