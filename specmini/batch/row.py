"""A text in a batch while it is written."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specmini.generate import Ending, Generation, Round

__all__ = ["BatchRow"]


@dataclass
class BatchRow:
    """A text that is being written.

    Attributes:
        request: number of its request.
        slot: where the target sees it.
        text: its tokens so far, those of the prompt among them.
        prompt_length: tokens of the prompt.
        new_tokens: most tokens to add.
        limit: length at which it ends.
        rng: its own source of randomness.
        prefill_seconds: time for its prompt.
        stopped: whether it has met a stop token.
        rounds: what it gained, in order.
    """

    request: int
    slot: int
    text: list[int]
    prompt_length: int
    new_tokens: int
    limit: int
    rng: np.random.Generator
    prefill_seconds: float = 0.0
    stopped: bool = False
    rounds: list[Round] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.stopped or len(self.text) >= self.limit

    @property
    def generation(self) -> Generation:
        """What was written."""
        tokens = tuple(self.text[self.prompt_length :])
        ending: Ending = "length" if len(tokens) == self.new_tokens else "context"
        return Generation(
            tokens=tokens,
            rounds=tuple(self.rounds),
            ending="stop token" if self.stopped else ending,
            prefill_seconds=self.prefill_seconds,
        )
