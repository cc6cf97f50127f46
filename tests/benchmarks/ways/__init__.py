"""Ways of decoding that take turns on the same prompts: ours, transformers' and vLLM's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Decode", "Rounds", "Way"]

Decode = Callable[[Sequence[int]], list[int]]


@dataclass
class Rounds:
    """What the rounds of a way did, as far as its engine tells.

    Attributes:
        drafted: tokens drafted in each round that drafted any.
        accepted: how many of them were accepted, in the same order.
    """

    drafted: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def add(self, drafted: int, accepted: int) -> None:
        """Count a round, unless nothing was drafted in it."""
        if drafted:
            self.drafted.append(drafted)
            self.accepted.append(accepted)

    def counters(self, draft_length: int) -> NDArray[np.int64]:
        """Rounds, tokens drafted, accepted, and rounds that accepted at least 1, ..., K tokens."""
        survived = [sum(one >= i for one in self.accepted) for i in range(1, draft_length + 1)]
        return np.array([len(self.drafted), sum(self.drafted), sum(self.accepted), *survived])


@dataclass
class Way:
    """One way of decoding, and what it did on each prompt."""

    whose: str
    numbers: str
    drafting: str
    decode: Decode
    seconds: list[float] = field(default_factory=list)
    outputs: list[list[int]] = field(default_factory=list)

    @property
    def plain(self) -> bool:
        """Whether nothing is drafted."""
        return self.drafting == "plain"

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all texts over the time of all calls, prompts included."""
        return sum(map(len, self.outputs)) / sum(self.seconds)

    def run(self, prompt: Sequence[int]) -> None:
        """Continue a prompt, and time the whole call."""
        begun = time.perf_counter()
        output = self.decode(prompt)
        self.seconds.append(time.perf_counter() - begun)
        self.outputs.append(output)
