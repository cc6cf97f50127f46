"""The plain curve: what one pass takes against its tokens, learned from plain decoding alone.

A pass over n tokens takes t(n) = (w^p + (g n)^p)^(1/p): the floor w while memory limits it, g a
token once arithmetic does, and a bend between the two that is the rounder the smaller p is. For
p to infinity it is the roofline max(w, g n); for p = 1 reading and arithmetic do not overlap.

Plain decoding at batch B runs n = B tokens a pass, so that a table of latencies against
concurrency is this curve, sampled. A verification runs n = B (K + 1): the same curve, further
right. Nothing about speculation has to be measured to know what checking costs. It is a model
with two blind spots. What costs a sequence, not a token (its cache, its share of the
scheduler's work), is taken for a cost of tokens. And beyond the largest n of the fit it
extrapolates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks, theory
from specmini.checks import FloatArray

__all__ = ["PlainCurve", "fit_plain_curve"]

TRIED_POWERS = 600  # of a grid from 1 to the sharpest
SHARPEST = 16.0  # at the knee within 5 % of max(w, g n): a table cannot tell more from infinity


@dataclass(frozen=True)
class PlainCurve:
    """Time of a pass against its tokens, t(n) = (w^p + (g n)^p)^(1/p).

    Attributes:
        floor: w, time of a pass over few tokens; its unit is that of all times here.
        per_token: g, time a token adds far beyond the knee.
        sharpness: p, at least 1.

    Raises:
        ValueError: floor or per_token is not positive, or sharpness is below 1.
    """

    floor: float
    per_token: float
    sharpness: float

    def __post_init__(self) -> None:
        checked = {
            "floor": checks.positive("floor", self.floor),
            "per_token": checks.positive("per_token", self.per_token),
            "sharpness": checks.at_least("sharpness", self.sharpness, 1.0),
        }
        for name, numbers in checked.items():
            object.__setattr__(self, name, checks.single(name, numbers))

    @property
    def knee(self) -> float:
        """Tokens at which floor and slope meet, w / g."""
        return self.floor / self.per_token

    def seconds(self, tokens: ArrayLike) -> FloatArray:
        """Time of a pass over n tokens.

        Args:
            tokens: n in [0, inf), any shape; a mean over passes need not be whole.

        Raises:
            ValueError: a number is negative or not finite.
        """
        slope = self.per_token * checks.non_negative("tokens", tokens)
        larger = np.maximum(self.floor, slope)  # taken out, or large powers overflow
        power = self.sharpness
        parts = (self.floor / larger) ** power + (slope / larger) ** power
        return np.asarray(larger * parts ** (1 / power))[()]

    def verify_cost(self, batch: ArrayLike, draft_length: ArrayLike) -> FloatArray:
        """v: time of a pass over B (K + 1) tokens over that of a pass over B.

        Args:
            batch: B, sequences that decode at once, in (0, inf), any shape; it may be a mean.
            draft_length: K, whole number >= 0, any shape that broadcasts.

        Raises:
            ValueError: an argument is out of range or the shapes do not broadcast.
        """
        sequences = checks.positive("batch", batch)
        length = checks.whole_number("draft_length", draft_length)
        checks.broadcast_shape(batch=sequences, draft_length=length)
        checked = self.seconds(sequences * (length + 1.0))
        return np.asarray(checked / self.seconds(sequences))[()]

    def speedup(
        self,
        batch: ArrayLike,
        draft_length: ArrayLike,
        cost_ratio: ArrayLike,
        tokens_per_round: ArrayLike,
    ) -> FloatArray:
        """Speedup of a token, E / (K c + v), with v of this curve.

        Args:
            batch: B in (0, inf), any shape.
            draft_length: K, whole number >= 0, any shape that broadcasts.
            cost_ratio: c in [0, inf), any shape that broadcasts.
            tokens_per_round: E, at least 1 and at most K + 1, any shape that broadcasts.

        Raises:
            ValueError: an argument is out of range or the shapes do not broadcast.
        """
        length = checks.whole_number("draft_length", draft_length)
        gained = checks.at_least("tokens_per_round", tokens_per_round, 1.0)
        if np.any(gained > length + 1):
            raise ValueError(
                f"tokens_per_round must be at most draft_length + 1, got {tokens_per_round!r} "
                f"for {draft_length!r}"
            )
        verify = self.verify_cost(batch, length)
        return np.asarray(gained / theory.round_cost(cost_ratio, length, verify))[()]


def fit_plain_curve(
    tokens: ArrayLike, seconds: ArrayLike, sharpness: float | None = None
) -> PlainCurve:
    """The curve that fits measured times best.

    For each p of a fine grid from 1 to 16, w^p and g^p solve a linear least-squares problem in the
    relative errors of t^p; the p with the least sum of squares of log(fitted / measured) wins.

    Args:
        tokens: n of each pass, shape (N,), at least 4 different ones, or 2 if p is told.
        seconds: its time, shape (N,), any unit.
        sharpness: p, at least 1, if too few sizes were measured to find it.

    Raises:
        ValueError: too few sizes, a number out of range, or times that do not rise with
            tokens.
    """
    sizes = checks.positive("tokens", tokens).ravel()
    times = checks.positive("seconds", seconds).ravel()
    fewest, powers = 4, np.geomspace(1.0, SHARPEST, TRIED_POWERS)
    if sharpness is not None:
        fewest, powers = 2, np.ravel(checks.at_least("sharpness", sharpness, 1.0))
    if sizes.shape != times.shape or len(np.unique(sizes)) < fewest:
        raise ValueError(
            f"tokens and seconds must be as many, with at least {fewest} different tokens, "
            f"got {sizes.size} and {times.size}"
        )
    scale = float(times.max())
    best, least = None, np.inf
    for power in powers.tolist():
        raised = (times / scale) ** power  # (N,)
        reach = float(sizes.max()) ** power
        columns = np.stack([np.ones_like(sizes), sizes**power / reach], axis=1)  # (N, 2)
        relative = columns / raised[:, None]  # (N, 2)
        (floor, slope), *_ = np.linalg.lstsq(relative, np.ones_like(times), rcond=None)
        if floor <= 0 or slope <= 0:
            continue
        curve = PlainCurve(
            scale * floor ** (1 / power), scale * (slope / reach) ** (1 / power), power
        )
        error = float((np.log(curve.seconds(sizes) / times) ** 2).sum())
        if error < least:
            best, least = curve, error
    if best is None:
        raise ValueError(f"seconds must rise with tokens, got {times.tolist()}")
    return best
