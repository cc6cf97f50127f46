"""Tokens per round, accepted share and acceptance rate, each from the other.

They hold for rounds that all draft exactly K tokens, except ``tokens_from_counts``. Public
names are available from ``specmini.conversions`` too.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks
from specmini.checks import FloatArray
from specmini.theory.acceptance import Numbers
from specmini.theory.positions import falling_survival
from specmini.theory.roots import acceptance_rate_for


def tokens_from_share(accepted_share: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """Tokens per round when every round drafts exactly K, E = 1 + K rho.

    Args:
        accepted_share: rho in [0, 1], any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.

    Returns:
        E in [1, K + 1].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    share, length = _share_and_length(accepted_share, draft_length)
    return 1.0 + share * length


def share_from_tokens(tokens_per_round: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """Accepted over drafted tokens when every round drafts exactly K, rho = (E - 1) / K.

    Args:
        tokens_per_round: E in [1, K + 1], any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.

    Returns:
        rho in [0, 1].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    tokens, length = _tokens_and_length(tokens_per_round, draft_length)
    return (tokens - 1.0) / length


def tokens_from_survival(survival: ArrayLike) -> Numbers:
    """Tokens per round from acceptance per position as vLLM prints it: E = 1 + the sum.

    Args:
        survival: last axis is position 1..K; unconditional chance that a round accepts at
            least i drafts, in [0, 1], never rising.

    Returns:
        E, without the last axis.

    Raises:
        ValueError: a value is outside [0, 1], rises, or there is no axis of positions.
    """
    chances = falling_survival("survival", survival)
    return cast(Numbers, np.asarray(1.0 + chances.sum(axis=-1))[()])


def tokens_from_counts(output_tokens: ArrayLike, accepted_drafts: ArrayLike) -> Numbers:
    """Tokens per round from two counters, n / (n - accepted), also with early stop.

    Each round adds exactly one token that was not drafted, so there were n - accepted rounds.
    The first token of an output comes from reading the prompt, not from a round: leave it out
    of n, or the result is low by about one round.

    Args:
        output_tokens: n, tokens of the output that came from rounds, whole number >= 1, any shape.
        accepted_drafts: how many of them were drafted, below n, any shape that broadcasts.

    Returns:
        E >= 1.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    total = checks.whole_number("output_tokens", output_tokens, minimum=1)
    drafted = checks.whole_number("accepted_drafts", accepted_drafts)
    checks.broadcast_shape(output_tokens=total, accepted_drafts=drafted)
    _check_below("accepted_drafts", drafted, total - 1, "output_tokens - 1")
    return total / (total - drafted)


def acceptance_rate_from_tokens(tokens_per_round: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """The alpha that yields E tokens a round if every position accepts alike.

    Inverse of ``specmini.theory.tokens_per_round``.

    Args:
        tokens_per_round: E in [1, K + 1], any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.

    Returns:
        alpha in [0, 1].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    tokens, length = _tokens_and_length(tokens_per_round, draft_length)
    return _solve(tokens - 1.0, length)


def acceptance_rate_from_share(accepted_share: ArrayLike, draft_length: ArrayLike) -> Numbers:
    """The alpha that yields this accepted share if every position accepts alike.

    Inverse of ``specmini.theory.accepted_share``. alpha is at least rho.

    Args:
        accepted_share: rho in [0, 1], any shape.
        draft_length: K, whole number >= 1, any shape that broadcasts.

    Returns:
        alpha in [0, 1].

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    share, length = _share_and_length(accepted_share, draft_length)
    return _solve(share * length, length)


def _check_below(
    name: str, given: NDArray[np.generic], most: NDArray[np.generic], bound: str
) -> None:
    values, limits = np.broadcast_arrays(given, most)
    wrong = values > limits
    if wrong.any():
        first = np.unravel_index(int(wrong.argmax()), wrong.shape)
        raise ValueError(
            f"{name} must be at most {bound} = {limits[first].item()!r}, "
            f"got {values[first].item()!r}"
        )


def _share_and_length(
    accepted_share: ArrayLike, draft_length: ArrayLike
) -> tuple[FloatArray, NDArray[np.int64]]:
    share = checks.probability("accepted_share", accepted_share)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    checks.broadcast_shape(accepted_share=share, draft_length=length)
    return share, length


def _tokens_and_length(
    tokens_per_round: ArrayLike, draft_length: ArrayLike
) -> tuple[FloatArray, NDArray[np.int64]]:
    tokens = checks.at_least("tokens_per_round", tokens_per_round, 1.0)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    checks.broadcast_shape(tokens_per_round=tokens, draft_length=length)
    _check_below("tokens_per_round", tokens, length + 1, "draft_length + 1")
    return tokens, length


def _solve(accepted: FloatArray, length: NDArray[np.int64]) -> Numbers:
    accepted, length = np.broadcast_arrays(accepted, length)
    return cast(Numbers, acceptance_rate_for(accepted, length)[()])
