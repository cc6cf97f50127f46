"""Acceptance position by position: what measured rounds show and one rate cannot.

In a real round the chance that a draft is accepted changes with its position: it falls when
the drafter feeds on its own guesses and rises when surviving that far means an easy context.
Arrays of positions have position 1..K on their last axis; leading axes are free.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.theory.acceptance import Numbers, one_length


def survival(conditional_rates: ArrayLike) -> FloatArray:
    """Chance that a round accepts at least i drafts, for i = 1..K.

    The running product of the conditional rates; vLLM prints this as acceptance per position.

    Args:
        conditional_rates: last axis is position 1..K; each is the chance that this draft is
            accepted given that the ones before it were, in [0, 1].

    Returns:
        Array of the same shape.

    Raises:
        ValueError: a rate is outside [0, 1] or there is no axis of positions.
    """
    rates = _positions("conditional_rates", conditional_rates)
    return cast(FloatArray, np.cumprod(rates, axis=-1))


def conditional_rates_from_survival(survival: ArrayLike) -> FloatArray:
    """Acceptance rate at each position given that the positions before it were accepted.

    Args:
        survival: last axis is position 1..K; unconditional chance that the round accepts at
            least i drafts, in [0, 1], never rising along the axis.

    Returns:
        Array of the same shape. NaN where no round ever reaches the position, because the
        survival before it is 0.

    Raises:
        ValueError: a value is outside [0, 1], a value is above its predecessor, or there is
            no axis of positions.
    """
    chances = falling_survival("survival", survival)
    earlier = np.ones_like(chances)
    earlier[..., 1:] = chances[..., :-1]
    unreached = np.full_like(chances, np.nan)
    return np.divide(chances, earlier, out=unreached, where=earlier > 0.0)


def tokens_per_round_by_position(conditional_rates: ArrayLike) -> Numbers:
    """Mean number of tokens a round yields when each position has its own rate.

    Args:
        conditional_rates: last axis is position 1..K, values in [0, 1]. An empty axis is K = 0.

    Returns:
        1 + the sum of ``survival(conditional_rates)``, without the last axis.

    Raises:
        ValueError: a rate is outside [0, 1] or there is no axis of positions.
    """
    mean = np.asarray(1.0 + survival(conditional_rates).sum(axis=-1))
    return cast(Numbers, mean[()])


def tokens_variance_by_position(conditional_rates: ArrayLike) -> Numbers:
    """Variance of the number of tokens in one round when each position has its own rate.

    Args:
        conditional_rates: last axis is position 1..K, values in [0, 1].

    Returns:
        Variance in tokens squared, without the last axis.

    Raises:
        ValueError: a rate is outside [0, 1] or there is no axis of positions.
    """
    # Sum of squared distances from the mean: second moment minus squared mean would cancel.
    chances = tokens_distribution_by_position(conditional_rates)
    tokens = np.arange(1, chances.shape[-1] + 1, dtype=np.float64)
    mean = np.asarray(tokens_per_round_by_position(conditional_rates))[..., None]
    return cast(Numbers, np.asarray((chances * (tokens - mean) ** 2).sum(axis=-1))[()])


def tokens_distribution_by_position(conditional_rates: ArrayLike) -> FloatArray:
    """Chance of each number of tokens when each position has its own rate.

    Args:
        conditional_rates: last axis is position 1..K, values in [0, 1].

    Returns:
        P(T = 1), ..., P(T = K + 1) along the last axis, which has length K + 1 and sums to 1.

    Raises:
        ValueError: a rate is outside [0, 1] or there is no axis of positions.
    """
    rates = _positions("conditional_rates", conditional_rates)
    reached = np.ones((*rates.shape[:-1], rates.shape[-1] + 1))
    np.cumprod(rates, axis=-1, out=reached[..., 1:])
    reached[..., :-1] *= 1.0 - rates
    return reached


def conditional_rates_beta(
    mean: ArrayLike, concentration: ArrayLike, draft_length: ArrayLike
) -> FloatArray:
    """Conditional rates by position when contexts differ in how easy they are.

    The acceptance rate is constant inside a round and Beta(a, b)-distributed between rounds,
    a = mean * concentration, b = (1 - mean) * concentration. A round that is still alive at
    position i has shown itself easy, so its rate there is (a + i - 1) / (a + b + i - 1): it
    rises from ``mean`` towards 1.

    Args:
        mean: mean acceptance rate of a context, in [0, 1], any shape.
        concentration: a + b in (0, inf]; small means that contexts differ a lot, infinity
            gives the constant rate of the textbook. Any shape that broadcasts.
        draft_length: K, one whole number >= 0.

    Returns:
        Array of the broadcast shape + (K,).

    Raises:
        ValueError: an argument is out of range, shapes do not broadcast, or ``draft_length``
            is an array.

    Source: posterior mean of a Beta prior after i - 1 successes (conjugacy); sequential
    survival is the Beta-geometric distribution.
    """
    average = checks.probability("mean", mean)
    total = checks.positive("concentration", concentration, infinite=True)
    checks.broadcast_shape(mean=average, concentration=total)
    earlier = np.arange(one_length(draft_length), dtype=np.float64)
    average, total = average[..., None], total[..., None]
    # (m k + j) / (k + j) written as a sum: exact for k = inf and for j = 0, where m k may not be.
    return average + (1.0 - average) * (earlier / (total + earlier))


def falling_survival(name: str, value: ArrayLike) -> FloatArray:
    """Return survival chances by position after checking that they never rise."""
    chances = _positions(name, value)
    rises = chances[..., 1:] > chances[..., :-1]
    if rises.any():
        place = tuple(int(axis[0]) for axis in np.nonzero(rises))
        later, before = chances[..., 1:][place], chances[..., :-1][place]
        raise ValueError(
            f"{name} must not rise along its last axis (a round that accepts i drafts has "
            f"accepted i - 1), got {float(later)!r} after {float(before)!r} "
            f"at position {place[-1] + 2}; allowed here: [0, {float(before)!r}]"
        )
    return chances


def _positions(name: str, value: ArrayLike) -> FloatArray:
    rates = checks.probability(name, value)
    if rates.ndim == 0:
        raise ValueError(
            f"{name} must have an axis of positions (numbers in [0, 1]), got the scalar {rates}"
        )
    return rates
