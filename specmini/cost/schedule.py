"""Draft lengths by load, from a server's own plain curve: what to write into its settings.

Engines take a list of ranges: up to so many requests in flight draft so many tokens, beyond that
none. The curve says what a check costs at each batch, E what it yields. Memory has to be told
apart, since no curve of times knows it: where a drafter's weights and cache leave room for fewer
requests than asked, the others wait, and the server's output shrinks.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray, IntArray
from specmini.cost.plain_curve import PlainCurve

__all__ = ["best_lengths", "output_gain", "ranges"]


def output_gain(
    curve: PlainCurve,
    requests: ArrayLike,
    cost_ratio: float,
    tokens_per_round: ArrayLike,
    *,
    fits: float = np.inf,
    plain_fits: float = np.inf,
) -> FloatArray:
    """Output of the server with each draft length over that without a drafter.

    Args:
        curve: fitted to plain decoding.
        requests: in flight, (R,) numbers of at least 1.
        cost_ratio: c, in [0, inf).
        tokens_per_round: (L + 1,) E for K = 0 to L, the first of them 1.
        fits: requests that fit into memory beside the drafter, at least 1.
        plain_fits: requests that fit without one, at least ``fits``.

    Returns:
        (R, L + 1) ratios. The first column is 1: with K = 0 no drafter is loaded.

    Raises:
        ValueError: an argument is out of range.
    """
    asked = checks.at_least("requests", requests, 1.0)
    gained = checks.at_least("tokens_per_round", tokens_per_round, 1.0)
    if asked.ndim != 1 or gained.ndim != 1 or gained[0] != 1:
        raise ValueError(
            "requests must have shape (R,) and tokens_per_round shape (L + 1,) with a first entry "
            f"of 1, got shapes {asked.shape} and {gained.shape}"
        )
    room, plain_room = _room("fits", fits), _room("plain_fits", plain_fits)
    if room > plain_room:
        raise ValueError(f"fits must be at most plain_fits, {plain_room:g}, got {room:g}")
    running = np.minimum(asked, room)[:, None]  # (R, 1)
    plain = np.minimum(asked, plain_room)[:, None]  # (R, 1)
    faster = curve.speedup(running, np.arange(len(gained)), cost_ratio, gained)  # (R, L + 1)
    step = np.asarray(curve.seconds(running)) / np.asarray(curve.seconds(plain))  # (R, 1)
    gain: FloatArray = faster * running / plain / step
    gain[:, 0] = 1.0
    return gain


def best_lengths(
    curve: PlainCurve,
    requests: ArrayLike,
    cost_ratio: float,
    tokens_per_round: ArrayLike,
    *,
    fits: float = np.inf,
    plain_fits: float = np.inf,
) -> IntArray:
    """The K with the most output at each load, 0 where drafting loses; (R,) whole numbers.

    The arguments are those of ``output_gain``, and so are the errors.
    """
    gain = output_gain(
        curve, requests, cost_ratio, tokens_per_round, fits=fits, plain_fits=plain_fits
    )
    best: IntArray = gain.argmax(axis=1)
    return best


def ranges(requests: ArrayLike, draft_lengths: ArrayLike) -> list[list[int]]:
    """Lengths by load as engines write them: [first load, last load, K], one range after another.

    Args:
        requests: (R,) whole numbers of at least 1, rising.
        draft_lengths: (R,) K at each.

    Raises:
        ValueError: the shapes differ, or requests do not rise.
    """
    loads = checks.whole_number("requests", requests, minimum=1)
    lengths = checks.whole_number("draft_lengths", draft_lengths)
    if loads.ndim != 1 or loads.shape != lengths.shape or np.any(np.diff(loads) <= 0):
        raise ValueError(
            "requests must rise and have the shape of draft_lengths, (R,), "
            f"got shapes {loads.shape} and {lengths.shape}"
        )
    found = []
    for length, group in groupby(
        zip(loads.tolist(), lengths.tolist(), strict=True), lambda p: p[1]
    ):
        same = [load for load, _ in group]
        found.append([same[0], same[-1], length])
    return found


def _room(name: str, value: float) -> float:
    if not value >= 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
    return float(value)
