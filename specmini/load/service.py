"""What the requests of a simulated server saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specmini.checks import FloatArray, IntArray, probability, single
from specmini.load.workload import Workload

__all__ = ["Rounds", "Service"]


class Rounds(NamedTuple):
    """The rounds of a run, in order; arrays of shape (R,).

    Attributes:
        seconds: length of each.
        batch: sequences in each.
        draft_length: K of each, 0 for a plain step.
        tokens: written in each, by all sequences together.
    """

    seconds: FloatArray
    batch: IntArray
    draft_length: IntArray
    tokens: IntArray


@dataclass(frozen=True, eq=False)
class Service:
    """A workload, served.

    Attributes:
        workload: the requests.
        first_token: (N,) when each had its first token, in seconds.
        finish: (N,) when each was done.
        rounds: what was played.
        prompt_seconds: seconds spent reading prompts.
        slots: requests that could run at once.
        in_system: mean number of requests that waited or ran, over the whole run.
    """

    workload: Workload
    first_token: FloatArray
    finish: FloatArray
    rounds: Rounds
    prompt_seconds: float
    slots: int
    in_system: float

    @property
    def time_to_first_token(self) -> FloatArray:
        """(N,) seconds from arrival to first token: waiting, and reading the prompt."""
        return self.first_token - self.workload.arrivals

    @property
    def time_per_output_token(self) -> FloatArray:
        """Seconds a token after the first, of every request that has more than one."""
        later = self.workload.output_tokens - 1
        several = later > 0
        spent: FloatArray = (self.finish - self.first_token)[several] / later[several]
        return spent

    @property
    def latency(self) -> FloatArray:
        """(N,) seconds from arrival to last token."""
        return self.finish - self.workload.arrivals

    @property
    def throughput(self) -> float:
        """Tokens a second, from the first arrival to the last token."""
        span = self.finish.max() - self.workload.arrivals[0]
        return float(self.workload.output_tokens.sum() / span)

    @property
    def mean_batch(self) -> float:
        """Sequences in a round, on average over time."""
        return float(self.rounds.batch @ self.rounds.seconds / self.rounds.seconds.sum())

    @property
    def mean_draft_length(self) -> float:
        """K of a round, on average over time."""
        return float(self.rounds.draft_length @ self.rounds.seconds / self.rounds.seconds.sum())

    def quantile(self, times: FloatArray, share: float, warmup: float = 0.1) -> float:
        """A quantile over requests, without the first, which found an empty server.

        Args:
            times: one of the arrays of this class, in the order of arrival.
            share: in [0, 1]; 0.5 for the median.
            warmup: share of the requests to leave out, in [0, 1).
        """
        level = single("share", probability("share", share))
        skipped = int(single("warmup", probability("warmup", warmup)) * len(times))
        return float(np.quantile(times[skipped:], level))
