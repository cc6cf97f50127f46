"""A ``TreeModel`` out of forward passes that somebody else wrote.

A *step* computes logits for new tokens, given a cache and how much of it is filled, and shows what
its head read. What is left to do is the same for every step: to keep the cache and these features,
count their length and refuse what does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specmini.engine.cached_model import check_length, check_room
from specmini.engine.tree_model import Branches, Placed
from specmini.gpt import Config
from specmini.verify.chain import check_tokens

__all__ = ["Array", "Step", "StepModel", "new_cache"]

Array = NDArray[np.float32]


class Step(Protocol):
    """A forward pass over one sequence."""

    def __call__(
        self, tokens: Sequence[int], cache: Array, past: int, placed: Placed | None = None, /
    ) -> tuple[Array, Array]:
        """Logits after each of T tokens, whose keys and values join the cache.

        Args:
            tokens: T ids in the vocabulary, with room for them in the cache.
            cache: (L, 2, H, C, D/H), as ``new_cache`` makes it.
            past: number of positions stored before.
            placed: where they stand in a tree; one after the other if not given.

        Returns:
            (T, V), and (T, D) what the head read.
        """


def new_cache(config: Config) -> Array:
    """Room for the keys and values of one sequence: (L, 2, H, C, D/H)."""
    head = config.width // config.heads
    return np.zeros((config.layers, 2, config.heads, config.context, head), dtype=np.float32)


class StepModel:
    """A ``TreeModel`` and ``FeatureModel`` in float32 on the CPU, for one sequence.

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
        self._branches = Branches()

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
        self.keep(())
        logits = self._run(tokens, self._length)  # (T, V)
        self._length += len(tokens)
        return logits

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self.keep(())
        self._length = length

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Array:
        """See N more nodes: (N, V) logits. Raises ``ValueError`` as ``TreeModel``."""
        stored = self._length + len(self._branches)
        check_room(self, tokens, len(self._branches))
        check_tokens(np.asarray(tokens), self.vocabulary)
        placed = self._branches.add(tokens, parents)
        return self._run(tokens, stored, placed)

    def keep(self, path: Sequence[int]) -> None:
        """Add a path of the tree to the text, and forget the tree."""
        rows = [self._length + node for node in self._branches.take(path)]
        if rows:
            end = self._length + len(rows)
            self._cache[:, :, :, self._length : end] = self._cache[:, :, :, rows]
            self._features[self._length : end] = self._features[rows]
            self._length = end

    def _run(self, tokens: Sequence[int], past: int, placed: Placed | None = None) -> Array:
        """The step for so many tokens: (T, V); their features are kept."""
        step = self._decode if len(tokens) == 1 else self._verify
        logits, features = step(tokens, self._cache, past, placed)  # (T, V) and (T, D)
        self._features[past : past + len(tokens)] = features
        return logits
