"""The time of a pass by itself, and the roofline through it: forecasts without a single round.

``pass_times`` runs one model alone, over 1, 2, ... tokens, at one length of its past. That is what
one can measure before any speculation exists. The two ratios the theory needs follow from it. That
they come out smaller than in the loop is a finding with two causes: there the models take turns
with the caches, and after a full acceptance the draft's first pass takes in two tokens, its own
last guess and the target's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini import theory
from specmini.checks import FloatArray
from specmini.engine.cached_model import CachedModel
from specmini.engine.threads import single_thread
from specmini.sampling import Sampling, draw

__all__ = ["FittedRoofline", "PassTimes", "fit_roofline", "forecast", "pass_times"]


@dataclass(frozen=True)
class PassTimes:
    """Time of a model's pass against the tokens it takes in at once.

    Attributes:
        tokens: numbers of tokens, rising.
        seconds: median time of a pass over that many.
        low: lower quartile of that time.
        high: upper quartile.
    """

    tokens: tuple[int, ...]
    seconds: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def over(self, tokens: int) -> float:
        """Median time of a pass over this many tokens, in seconds.

        Raises:
            ValueError: it was not measured.
        """
        if tokens not in self.tokens:
            raise ValueError(f"tokens must be one of {list(self.tokens)}, got {tokens}")
        return self.seconds[self.tokens.index(tokens)]


@dataclass(frozen=True)
class FittedRoofline:
    """Pass time as a floor and a slope: max(floor, floor + per_token (n - knee)).

    Up to the knee a pass lasts as long as reading the weights, and more tokens are free; past it
    each token adds its arithmetic. What the calls themselves cost is in the floor.

    Attributes:
        floor: time of a pass over few tokens, in seconds.
        per_token: time each token past the knee adds, in seconds.
        knee: tokens from which on arithmetic sets the pace.
    """

    floor: float
    per_token: float
    knee: float

    def seconds(self, tokens: ArrayLike) -> FloatArray:
        """Time of a pass over n tokens, any shape."""
        past = np.maximum(np.asarray(tokens, dtype=np.float64) - self.knee, 0.0)
        return self.floor + self.per_token * past

    def error(self, times: PassTimes) -> float:
        """Mean of ``abs(log(fitted / measured))``, about the mean relative error."""
        return float(np.abs(np.log(self.seconds(times.tokens) / np.array(times.seconds))).mean())


def pass_times(
    model: CachedModel,
    tokens: Sequence[int],
    *,
    past: int,
    repeats: int,
    rng: np.random.Generator,
    sampling: Sampling | None = None,
) -> PassTimes:
    """Time a model's passes, alone on one core; the numbers of tokens take turns.

    Args:
        model: any model; what it has seen is forgotten.
        tokens: numbers of tokens to take in at once, each at least 1.
        past: tokens seen before each pass, at least 1.
        repeats: passes of each size, at least 1.
        rng: source of the random tokens and of the order.
        sampling: if given, a pass includes what a step of decoding does with its logits: to turn
            them into probabilities and to draw a token.

    Raises:
        ValueError: sizes, past or repeats below 1, or more tokens than the context has room for.
    """
    sizes = sorted(set(tokens))
    if not sizes or sizes[0] < 1:
        raise ValueError(f"tokens must be numbers of at least 1, got {list(tokens)}")
    if past < 1:
        raise ValueError(f"past must be at least 1, got {past}")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    ids = rng.integers(model.vocabulary, size=past + sizes[-1]).tolist()
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    model.truncate(0)
    model.forward(ids[:past])
    with single_thread():
        for turn in range(repeats + 1):
            for size in rng.permutation(sizes).tolist():
                begun = time.perf_counter()
                logits = model.forward(ids[past : past + size])
                if sampling is not None:
                    draw(sampling.probs(logits)[-1], rng)
                ended = time.perf_counter()
                model.truncate(past)
                if turn:  # the first turn warms up
                    taken[size].append(ended - begun)
    low, middle, high = np.quantile([taken[size] for size in sizes], [0.25, 0.5, 0.75], axis=1)
    return PassTimes(
        tokens=tuple(sizes),
        seconds=tuple(middle.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
    )


def fit_roofline(times: PassTimes) -> FittedRoofline:
    """The floor and slope that fit measured times best, by squares of relative errors.

    Args:
        times: at least three sizes.

    Raises:
        ValueError: fewer than three sizes.
    """
    if len(times.tokens) < 3:
        raise ValueError(f"times must have at least 3 sizes, got {list(times.tokens)}")
    tokens, seconds = np.array(times.tokens, dtype=np.float64), np.array(times.seconds)  # (S,)
    best, least = FittedRoofline(float(seconds.mean()), 0.0, float(tokens[-1])), np.inf
    for knee in np.geomspace(tokens[0], tokens[-2], 400).tolist():
        columns = np.stack([np.ones_like(tokens), np.maximum(tokens - knee, 0.0)], axis=1)  # (S, 2)
        weighted = columns / seconds[:, None]  # (S, 2)
        (floor, slope), *_ = np.linalg.lstsq(weighted, np.ones_like(seconds), rcond=None)
        error = float(((weighted @ [floor, slope] - 1) ** 2).sum())
        if floor > 0 and slope >= 0 and error < least:
            best, least = FittedRoofline(float(floor), float(slope), knee), error
    return best


def forecast(
    acceptance_rate: float, draft_length: int, target: PassTimes, draft: PassTimes
) -> float:
    """Speedup that the theory predicts from times measured alone, before any round was run.

    Args:
        acceptance_rate: α, for example from ``overlap``.
        draft_length: K; the target was measured over 1 and K + 1 tokens.
        target: times of the target.
        draft: times of the draft, over 1 token.

    Raises:
        ValueError: a size is missing, or an argument is out of range.
    """
    step = target.over(1)
    cost, verify = draft.over(1) / step, target.over(draft_length + 1) / step
    return float(theory.speedup(acceptance_rate, cost, draft_length, verify))
