"""When a drafter has nothing to say: hit rate, apart from the acceptance rate.

A lookup proposes only where it finds something. With chance h, the *hit rate*, a round has a
draft; otherwise it is a plain step that costs 1 and yields 1 token. So E and r are mixtures:

    E = 1 + h (E_K - 1)        r = s + h (K c + v) + (1 - h)        speedup = E / r

E_K is what a round with a draft yields, and alpha is the acceptance rate *given a proposal*; s is
the time of the search, paid in every round, in plain steps.

Two things follow. If the search is free, the sign of the gain does not depend on h: speculation
wins exactly where a round with a draft does, and h says how much of that gain is had. And one alpha
for all rounds cannot stand for both. Counting a miss as a rejected first draft gets E right, with
rates by position (h alpha, alpha, alpha, ...), but charges every miss a whole draft and its check.
Pooled into one number (``pooled_acceptance_rate``) it does not even get E right, since accepted
tokens come in runs: E comes out too high at the K that was measured, and the best K too short.

NumPy only; arguments broadcast; scalars in give ``np.float64`` out.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.theory.acceptance import Numbers, mean_accepted

__all__ = [
    "break_even_hit_rate",
    "pooled_acceptance_rate",
    "round_cost",
    "round_cost_by_length",
    "speedup",
    "tokens_per_round",
    "tokens_per_round_by_length",
]


def tokens_per_round(
    hit_rate: ArrayLike, acceptance_rate: ArrayLike, draft_length: ArrayLike
) -> Numbers:
    """Mean number of tokens a round yields, drafts and misses together, 1 + h (E_K - 1).

    Args:
        hit_rate: h, share of rounds in which something is proposed, in [0, 1], any shape.
        acceptance_rate: alpha given a proposal, in [0, 1], any shape that broadcasts.
        draft_length: K of the rounds with a proposal, whole number >= 1, any shape that
            broadcasts. Proposals of different lengths: ``tokens_per_round_by_length``, since a
            mean of K overstates E, which is concave in K.

    Returns:
        Tokens per target pass, in [1, K + 1].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, arXiv 2211.17192, Eq. 1, averaged over both kinds of rounds.
    """
    hit = checks.probability("hit_rate", hit_rate)
    rate = checks.probability("acceptance_rate", acceptance_rate)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    checks.broadcast_shape(hit_rate=hit, acceptance_rate=rate, draft_length=length)
    return 1.0 + hit * mean_accepted(rate, length)


def round_cost(
    hit_rate: ArrayLike,
    cost_ratio: ArrayLike,
    draft_length: ArrayLike,
    verify_cost: ArrayLike = 1.0,
    search_cost: ArrayLike = 0.0,
) -> Numbers:
    """Mean cost of a round in plain decoding steps, s + h (K c + v) + 1 - h.

    Args:
        hit_rate: h in [0, 1], any shape.
        cost_ratio: c, time a proposed token takes on top of the search over time of a target step,
            in [0, inf), any shape that broadcasts. About 0 for a lookup.
        draft_length: K of the rounds with a proposal, whole number >= 1, any shape that
            broadcasts.
        verify_cost: v, time of a check of K + 1 positions over time of a plain step, in (0, inf),
            any shape that broadcasts.
        search_cost: s, time to look for a proposal over time of a target step, in [0, inf), any
            shape that broadcasts.

    Returns:
        Plain steps per round; ``inf`` if beyond the largest double.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    hit = checks.probability("hit_rate", hit_rate)
    cost = checks.non_negative("cost_ratio", cost_ratio)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    verify = checks.positive("verify_cost", verify_cost)
    search = checks.non_negative("search_cost", search_cost)
    checks.broadcast_shape(
        hit_rate=hit, cost_ratio=cost, draft_length=length, verify_cost=verify, search_cost=search
    )
    with np.errstate(over="ignore"):
        # h before K, so that no miss pays for a draft of infinite cost: 0 * inf is no number
        return search + ((hit * cost) * length + hit * verify) + (1.0 - hit)


def speedup(
    hit_rate: ArrayLike,
    acceptance_rate: ArrayLike,
    cost_ratio: ArrayLike,
    draft_length: ArrayLike,
    verify_cost: ArrayLike = 1.0,
    search_cost: ArrayLike = 0.0,
) -> Numbers:
    """Time of plain decoding over time of decoding with a drafter that may find nothing.

    Args:
        hit_rate: h in [0, 1], any shape.
        acceptance_rate: alpha given a proposal, in [0, 1], any shape that broadcasts.
        cost_ratio: c in [0, inf), any shape that broadcasts.
        draft_length: K of the rounds with a proposal, whole number >= 1, any shape that
            broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts.
        search_cost: s in [0, inf), any shape that broadcasts.

    Returns:
        ``tokens_per_round`` over ``round_cost``; ``inf`` if beyond the largest double. For h = 1
        and s = 0 that is ``theory.speedup``.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    tokens = tokens_per_round(hit_rate, acceptance_rate, draft_length)
    cost = round_cost(hit_rate, cost_ratio, draft_length, verify_cost, search_cost)
    checks.broadcast_shape(tokens=np.asarray(tokens), cost=np.asarray(cost))
    with np.errstate(over="ignore"):
        return tokens / cost


def break_even_hit_rate(
    acceptance_rate: ArrayLike,
    cost_ratio: ArrayLike,
    draft_length: ArrayLike,
    verify_cost: ArrayLike = 1.0,
    search_cost: ArrayLike = 0.0,
) -> Numbers:
    """Smallest hit rate at which looking for proposals does not lose, s / (E_K - K c - v).

    Args:
        acceptance_rate: alpha given a proposal, in [0, 1], any shape.
        cost_ratio: c in [0, inf), any shape that broadcasts.
        draft_length: K of the rounds with a proposal, whole number >= 1, any shape that
            broadcasts.
        verify_cost: v in (0, inf), any shape that broadcasts.
        search_cost: s in [0, inf), any shape that broadcasts.

    Returns:
        h in [0, 1]. 0 where the search is free and a proposal does not lose; NaN where not even
        h = 1 will do.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    search = checks.non_negative("search_cost", search_cost)
    tokens = tokens_per_round(1.0, acceptance_rate, draft_length)
    gain = np.asarray(tokens - round_cost(1.0, cost_ratio, draft_length, verify_cost))
    checks.broadcast_shape(search_cost=search, gain=gain)
    search, gain = np.broadcast_arrays(search, gain)
    unreachable = np.full(gain.shape, np.nan)
    needed = np.divide(search, gain, out=unreachable, where=gain > 0.0)
    # where a proposal gains nothing, looking for one must cost nothing
    needed = np.where((gain == 0.0) & (search == 0.0), 0.0, needed)
    return cast(Numbers, np.where(needed <= 1.0, needed, np.nan)[()])


def tokens_per_round_by_length(length_shares: ArrayLike, acceptance_rate: ArrayLike) -> Numbers:
    """Mean number of tokens a round yields when proposals differ in length.

    Args:
        length_shares: last axis is the length 0, 1, ..., K of the proposal; each is the share of
            rounds that propose so many tokens, in [0, 1], with sum 1. The first is 1 - h.
        acceptance_rate: alpha given a proposal, the same for all lengths, in [0, 1], any shape
            that broadcasts with the other axes.

    Returns:
        The sum over k of share_k E_k, without the last axis.

    Raises:
        ValueError: an argument is out of range, the shares do not sum to 1, or the shapes do not
            broadcast.
    """
    shares = _length_shares(length_shares)
    rate = checks.probability("acceptance_rate", acceptance_rate)[..., None]
    checks.broadcast_shape(length_shares=shares, acceptance_rate=rate)
    lengths = np.arange(shares.shape[-1], dtype=np.float64)  # (K + 1,)
    accepted = np.asarray((shares * mean_accepted(rate, lengths)).sum(-1))
    return cast(Numbers, 1.0 + accepted[()])


def round_cost_by_length(
    length_shares: ArrayLike,
    cost_ratio: ArrayLike,
    verify_cost: ArrayLike = 1.0,
    search_cost: ArrayLike = 0.0,
) -> Numbers:
    """Mean cost of a round in plain steps when proposals differ in length.

    Args:
        length_shares: as in ``tokens_per_round_by_length``.
        cost_ratio: c in [0, inf), any shape that broadcasts with the other axes.
        verify_cost: v of each length 1, ..., K on the last axis, or one number for all; in
            (0, inf). A round without a proposal costs 1.
        search_cost: s in [0, inf), any shape that broadcasts with the other axes.

    Returns:
        s + share_0 + the sum over k of share_k (k c + v_k), without the last axis; ``inf`` if
        beyond the largest double.

    Raises:
        ValueError: an argument is out of range, the shares do not sum to 1, or the shapes do not
            broadcast.
    """
    shares = _length_shares(length_shares)
    cost = checks.non_negative("cost_ratio", cost_ratio)[..., None]
    verify = checks.positive("verify_cost", verify_cost)
    search = checks.non_negative("search_cost", search_cost)
    lengths = np.arange(1, shares.shape[-1], dtype=np.float64)  # (K,)
    checks.broadcast_shape(length_shares=shares[..., 1:], cost_ratio=cost, verify_cost=verify)
    used = shares[..., 1:]
    with np.errstate(over="ignore"):
        drafted = np.asarray(((used * cost) * lengths + used * verify).sum(-1))
        checks.broadcast_shape(search_cost=search, length_shares=drafted)
        return cast(Numbers, search + shares[..., 0] + drafted[()])


def pooled_acceptance_rate(
    hit_rate: ArrayLike, acceptance_rate: ArrayLike, draft_length: ArrayLike
) -> Numbers:
    """The one alpha that comes out if a miss is counted as a draft whose first token was rejected.

    A round with a proposal offers 1 + alpha + ... + alpha^(K-1) tokens to the target, of which it
    accepts alpha times as many; a miss then counts as one more that was offered.

    Args:
        hit_rate: h in [0, 1], any shape.
        acceptance_rate: alpha given a proposal, in [0, 1], any shape that broadcasts.
        draft_length: K of the rounds with a proposal, whole number >= 1, any shape that
            broadcasts.

    Returns:
        a in [0, alpha]. ``theory.tokens_per_round`` of it overstates E for K >= 2, unless h is 0
        or 1, or alpha is 0.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    tokens = tokens_per_round(hit_rate, acceptance_rate, draft_length)
    hit = checks.probability("hit_rate", hit_rate)
    rate = checks.probability("acceptance_rate", acceptance_rate)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    # With S accepted and s complete drafts a round, a (1 + S - s) = S. A constant rate a yields G
    # with G (1 - a) = a (1 - a^K), so G > S exactly where a^K < s = h alpha^K: Bernoulli's
    # inequality, since at most K tokens are offered.
    offered = hit * (1.0 + mean_accepted(rate, length - 1)) + (1.0 - hit)
    return (tokens - 1.0) / offered


def _length_shares(value: ArrayLike) -> FloatArray:
    shares = checks.probability("length_shares", value)
    if shares.ndim == 0:
        raise ValueError(f"length_shares must have an axis of lengths, got the scalar {shares}")
    totals = np.asarray(shares.sum(-1))
    wrong = ~(np.abs(totals - 1.0) <= 1e-9)
    if wrong.any():
        raise ValueError(
            f"length_shares must sum to 1 along the last axis, got {float(totals[wrong][0])!r}"
        )
    return shares
