"""Requests: when they come, how long they are, and how well their text can be guessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray, IntArray

__all__ = ["Workload", "poisson"]


@dataclass(frozen=True, eq=False)
class Workload:
    """N requests, in the order of their arrival; a recorded trace is given as it is.

    Attributes:
        arrivals: (N,) seconds, none before the one ahead of it.
        prompt_tokens: (N,) tokens of each prompt, at least 1; a single number for all.
        output_tokens: (N,) tokens to write for each, at least 1; a single number for all.
        acceptance_rate: (N,) alpha of each request, in [0, 1]; a single number for all.

    Raises:
        ValueError: a number out of range, no request, shapes that do not fit, or arrivals that
            are not in order.
    """

    arrivals: FloatArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    acceptance_rate: FloatArray

    def __post_init__(self) -> None:
        arrivals = checks.non_negative("arrivals", self.arrivals)
        if arrivals.ndim != 1 or not arrivals.size or (np.diff(arrivals) < 0).any():
            raise ValueError("arrivals must be at least one time, in order, of shape (N,)")
        given = {
            "prompt_tokens": checks.whole_number("prompt_tokens", self.prompt_tokens, minimum=1),
            "output_tokens": checks.whole_number("output_tokens", self.output_tokens, minimum=1),
            "acceptance_rate": checks.probability("acceptance_rate", self.acceptance_rate),
        }
        object.__setattr__(self, "arrivals", arrivals)
        for name, values in given.items():
            if values.shape not in ((), arrivals.shape):
                raise ValueError(f"{name} must have shape {arrivals.shape}, got {values.shape}")
            object.__setattr__(self, name, np.broadcast_to(values, arrivals.shape))

    def __len__(self) -> int:
        """Number of requests, N."""
        return len(self.arrivals)

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt with its output."""
        return int((self.prompt_tokens + self.output_tokens).max())


def poisson(
    rate: float,
    requests: int,
    rng: np.random.Generator,
    *,
    prompt_tokens: ArrayLike,
    output_tokens: ArrayLike,
    acceptance_rate: float,
    spread: float = 0.0,
) -> Workload:
    """Requests that come independently of each other.

    Args:
        rate: requests a second, above 0.
        requests: how many, N.
        rng: of the arrivals, and of the spread.
        prompt_tokens: of each request, (N,), or a number for all.
        output_tokens: of each request, (N,), or a number for all.
        acceptance_rate: mean alpha, in [0, 1].
        spread: standard deviation of alpha from request to request, from a beta distribution; 0
            for none.

    Raises:
        ValueError: a number out of range, or a spread that no beta distribution of that mean has.
    """
    pace = checks.single("rate", checks.positive("rate", rate))
    count = checks.single("requests", checks.whole_number("requests", requests, minimum=1))
    mean = checks.single("acceptance_rate", checks.probability("acceptance_rate", acceptance_rate))
    deviation = checks.single("spread", checks.non_negative("spread", spread))
    most = (mean * (1 - mean)) ** 0.5
    if deviation and deviation >= most:
        raise ValueError(
            f"spread must be in [0, {most:.3f}) for a mean of {mean:g}, got {deviation:g}"
        )
    rates: ArrayLike = mean
    if deviation:
        size = mean * (1 - mean) / deviation**2 - 1  # of the two shape parameters together
        rates = rng.beta(mean * size, (1 - mean) * size, count)  # (N,)
    arrivals = rng.exponential(1 / pace, count).cumsum()  # (N,)
    return Workload(
        arrivals, np.asarray(prompt_tokens), np.asarray(output_tokens), np.asarray(rates)
    )
