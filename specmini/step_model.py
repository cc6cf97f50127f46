"""A ``CachedModel`` out of forward passes that somebody else wrote.

A *step* computes logits for new tokens, given a cache and how much of it is filled, and shows what
its head read. What is left to do is the same for every step: to keep the cache and these features,
count their length and refuse what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from specmini.cached_model import check_length, check_room
from specmini.gpt import Config
from specmini.verify import check_tokens

__all__ = ["Array", "Step", "StepModel", "new_cache"]

Array = NDArray[np.float32]
# from tokens, cache and past to logits (T, V) and what the head read, (T, D)
Step = Callable[[Sequence[int], Array, int], tuple[Array, Array]]


def new_cache(config: Config) -> Array:
    """Room for the keys and values of one sequence: (L, 2, H, C, D/H)."""
    head = config.width // config.heads
    return np.zeros((config.layers, 2, config.heads, config.context, head), dtype=np.float32)


class StepModel:
    """A ``FeatureModel`` in float32 on the CPU, for one sequence.

    Args:
        config: shape of the model that the steps compute.
        decode: the step for one token.
        verify: the step for several; both fill the same cache.
    """

    def __init__(self, config: Config, decode: Step, verify: Step) -> None:
        self._config = config
        self._decode = decode
        self._verify = verify
        self._cache = new_cache(config)
        self._features = np.zeros((config.context, config.width), np.float32)  # (C, D)
        self._length = 0

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._config.vocabulary

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._config.context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return self._length

    @property
    def features(self) -> Array:
        """(length, D), what the head read after each token seen."""
        return self._features[: self._length]

    def forward(self, tokens: Sequence[int]) -> Array:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        check_tokens(np.asarray(tokens), self.vocabulary)
        step = self._decode if len(tokens) == 1 else self._verify
        logits, features = step(tokens, self._cache, self._length)  # (T, V) and (T, D)
        end = self._length + len(tokens)
        self._features[self._length : end] = features
        self._length = end
        return logits

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self._length = length
