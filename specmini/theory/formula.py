"""When does speculative decoding win? What a round costs, the speedup, and its bounds.

A round costs r = K c + v plain decoding steps: K draft steps of c each and one checking pass
of v. It yields E tokens. So the speedup over plain decoding is E / r. The names:

- ``acceptance_rate`` alpha, chance that a draft is accepted given that those before it were
- ``draft_length`` K, tokens drafted in a round
- ``cost_ratio`` c, time of one draft step over time of one target step
- ``verify_cost`` v, time of a target pass over K + 1 positions over time of a pass over one

E is in ``specmini.theory.acceptance`` and ``specmini.theory.positions``, inverse questions are in
``specmini.theory.optimum``. Arguments broadcast; scalars in give ``np.float64`` out. NumPy is the
only dependency.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.theory.acceptance import Numbers, mean_accepted

__all__ = [
    "arithmetic_growth",
    "oracle_speedup",
    "overhead_per_draft",
    "round_cost",
    "speedup",
    "speedup_bound",
]


def round_cost(
    cost_ratio: ArrayLike, draft_length: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Cost of one round in plain decoding steps, r = K c + v.

    Args:
        cost_ratio: c, time of a draft step over time of a target step, in [0, inf), any shape.
        draft_length: K, whole number >= 0, any shape that broadcasts.
        verify_cost: v, time of the checking pass over time of a plain step, in (0, inf), any
            shape that broadcasts. For K = 0 the checking pass is a plain step, so v = 1 there;
            the formula takes what it is given.

    Returns:
        Plain steps per round; ``inf`` if beyond the largest double.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan, Kalman and Matias 2023, arXiv 2211.17192, Theorem 3.8 (there v = 1).
    """
    cost = checks.non_negative("cost_ratio", cost_ratio)
    length = checks.whole_number("draft_length", draft_length)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(cost_ratio=cost, draft_length=length, verify_cost=verify)
    with np.errstate(over="ignore"):
        return length * cost + verify


def overhead_per_draft(
    cost_ratio: ArrayLike, draft_length: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """What one draft costs a round in plain steps, all included: e = (r - 1) / K.

    Speedup > 1 exactly when ``accepted_share`` > e.

    Args:
        cost_ratio: c in [0, inf), any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts.

    Returns:
        Plain steps per draft. Equals c where v = 1; negative where a round is cheaper than a
        plain step. With v below 1 this is a difference: near 0 it is exact only to the rounding
        of its two terms.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: E = 1 + K rho and r = 1 + K e, so E / r > 1 is rho > e.
    """
    cost = checks.non_negative("cost_ratio", cost_ratio)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(cost_ratio=cost, draft_length=length, verify_cost=verify)
    with np.errstate(over="ignore"):
        return cost + (verify - 1.0) / length


def speedup(
    acceptance_rate: ArrayLike,
    cost_ratio: ArrayLike,
    draft_length: ArrayLike,
    verify_cost: ArrayLike = 1.0,
) -> Numbers:
    """Time of plain decoding over time of speculative decoding, E / (K c + v).

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        cost_ratio: c in [0, inf), any shape that broadcasts.
        draft_length: K, whole number >= 0, any shape that broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts. For K = 0 plain decoding has
            v = 1; the formula takes what it is given.

    Returns:
        Ratio; above 1 speculation wins.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, Theorem 3.8 (there v = 1).
    """
    rate = checks.probability("acceptance_rate", acceptance_rate)
    cost = checks.non_negative("cost_ratio", cost_ratio)
    length = checks.whole_number("draft_length", draft_length)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(
        acceptance_rate=rate, cost_ratio=cost, draft_length=length, verify_cost=verify
    )
    with np.errstate(over="ignore"):
        return (1.0 + mean_accepted(rate, length)) / (length * cost + verify)


def speedup_bound(acceptance_rate: ArrayLike, verify_cost: ArrayLike = 1.0) -> Numbers:
    """Speedup with free drafts of unlimited length, 1 / ((1 - alpha) v).

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        verify_cost: v in (0, inf), any shape that broadcasts.

    Returns:
        No draft length K >= 1 and no cost ratio gives more, for a chain of drafts checked token by
        token; with v > 1 plain decoding may. ``inf`` for alpha = 1.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, Theorem 3.8 for gamma to infinity and c = 0.
    """
    rate = checks.probability("acceptance_rate", acceptance_rate)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(acceptance_rate=rate, verify_cost=verify)
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(1.0, (1.0 - rate) * verify)


def oracle_speedup(
    acceptance_rate: ArrayLike, cost_ratio: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Numbers:
    """Speedup if each round stopped drafting exactly at its last accepted token.

    A round then drafts alpha / (1 - alpha) tokens on average, all accepted, and yields
    1 / (1 - alpha); the ratio is 1 / ((1 - alpha) v + alpha c).

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        cost_ratio: c in [0, inf), any shape that broadcasts.
        verify_cost: v in (0, inf), the same for every K, any shape that broadcasts.

    Returns:
        Ratio. With v = 1 and c <= 1 no rule for choosing K does better. With v > 1 plain decoding
        may, since it pays no check; with c > v this oracle drafts tokens that cost more than
        checking them. ``inf`` for alpha = 1 and c = 0.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: the oracle choice of gamma discussed by Leviathan et al. 2023, with the drafting
    cost kept.
    """
    rate = checks.probability("acceptance_rate", acceptance_rate)
    cost = checks.non_negative("cost_ratio", cost_ratio)
    verify = checks.positive("verify_cost", verify_cost)
    checks.broadcast_shape(acceptance_rate=rate, cost_ratio=cost, verify_cost=verify)
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(1.0, (1.0 - rate) * verify + rate * cost)


def arithmetic_growth(
    acceptance_rate: ArrayLike, arithmetic_ratio: ArrayLike, draft_length: ArrayLike
) -> Numbers:
    """Arithmetic per token, speculative over plain: (K a + K + 1) / E.

    Args:
        acceptance_rate: alpha in [0, 1], any shape.
        arithmetic_ratio: a, operations a token in the draft over those in the target (c-hat of
            the paper), in [0, inf), any shape that broadcasts.
        draft_length: K, whole number >= 0, any shape that broadcasts.

    Returns:
        Ratio, at least 1.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, Theorem 3.11.
    """
    rate = checks.probability("acceptance_rate", acceptance_rate)
    ratio = checks.non_negative("arithmetic_ratio", arithmetic_ratio)
    length = checks.whole_number("draft_length", draft_length)
    checks.broadcast_shape(acceptance_rate=rate, arithmetic_ratio=ratio, draft_length=length)
    with np.errstate(over="ignore"):
        return (length * ratio + (length + 1.0)) / (1.0 + mean_accepted(rate, length))
