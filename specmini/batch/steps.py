"""A ``BatchModel`` out of forward passes over many sequences that somebody else wrote.

A *batch step* computes logits for the new tokens of some slots, given the cache of all and where
the tokens belong. What is left to do is the same for every step: to keep the cache, count what each
slot has seen and refuse what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from specmini.batch.attention import Integers, Places, places_of
from specmini.batch.model import check_pass, check_slot_length
from specmini.checks import single, whole_number
from specmini.engine.step_model import Array
from specmini.gpt import Config

__all__ = ["BatchStep", "StepBatch", "new_batch_cache"]

BatchStep = Callable[[Integers, Array, Places, bool], Array]
"""From (N,) packed tokens, the cache, their places, and whether only last ones count, to logits."""


def new_batch_cache(config: Config, slots: int) -> Array:
    """Room for the keys and values of S sequences: (L, 2, S, H, C, D/H)."""
    head = config.width // config.heads
    return np.zeros((config.layers, 2, slots, config.heads, config.context, head), np.float32)


class StepBatch:
    """A ``BatchModel`` in float32 on the CPU.

    Args:
        config: shape of the model that the steps compute.
        slots: number of sequences S.
        choose: gives the step for a pass, from its number of tokens.

    Raises:
        ValueError: ``slots`` is no whole number of at least 1.
    """

    def __init__(self, config: Config, slots: int, choose: Callable[[int], BatchStep]) -> None:
        slots = single("slots", whole_number("slots", slots, minimum=1))
        self._config, self._choose = config, choose
        self._cache = new_batch_cache(config, slots)
        self._lengths = [0] * slots

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._config.vocabulary

    @property
    def context(self) -> int:
        """Most tokens a slot can have seen."""
        return self._config.context

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens each slot has seen."""
        return tuple(self._lengths)

    def forward(
        self, slots: Sequence[int], tokens: Sequence[Sequence[int]], *, last_only: bool = False
    ) -> Array:
        """See more tokens: packed logits. Raises ``ValueError`` as ``BatchModel.forward``."""
        check_pass(self, slots, tokens)
        packed = np.array(list(chain.from_iterable(tokens)), np.int64)  # (N,)
        places = places_of(
            slots, [self._lengths[slot] for slot in slots], [len(row) for row in tokens]
        )
        step = self._choose(len(packed))
        some_are_not_last = len(packed) > len(slots)
        logits = step(
            packed, self._cache, places, last_only and some_are_not_last
        )  # (N, V) or (R, V)
        for slot, new in zip(slots, places.new, strict=True):
            self._lengths[slot] += new
        return logits

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a slot."""
        check_slot_length(self, slot, length)
        self._lengths[slot] = length
