"""A ``BatchEngine`` out of forward passes over many sequences that somebody else wrote.

A *batch step* computes logits for the new tokens of some slots, given the cache of all and where
the tokens belong, and shows what its head read. What is left to do is the same for every step: to
keep the cache and these features, count what each slot has seen and refuse what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Protocol

import numpy as np

from specmini.batch.attention import Integers, Places, places_of
from specmini.batch.model import check_pass, check_slot_length, check_slots, check_trees
from specmini.checks import single, whole_number
from specmini.engine.step_model import Array
from specmini.engine.tree_model import Branches
from specmini.gpt import Config

__all__ = ["BatchStep", "StepBatch", "new_batch_cache"]


class BatchStep(Protocol):
    """A forward pass over many sequences."""

    def __call__(
        self,
        tokens: Integers,
        cache: Array,
        places: Places,
        last_only: bool,
        joined: Array | None = None,
        /,
    ) -> tuple[Array, Array]:
        """Logits after packed tokens, whose keys and values join the cache.

        Args:
            tokens: (N,) ids in the vocabulary, with room for them in the cache.
            cache: (L, 2, S, H, C, D/H), as ``new_batch_cache`` makes it.
            places: where they belong.
            last_only: give the logits after each slot's last token only.
            joined: (N, D) added to the embedded tokens, for heads; each row of mean 0.

        Returns:
            (N, V) or (R, V), and (N, D) what the head read.
        """


def new_batch_cache(config: Config, slots: int) -> Array:
    """Room for the keys and values of S sequences: (L, 2, S, H, C, D/H)."""
    head = config.width // config.heads
    return np.zeros((config.layers, 2, slots, config.heads, config.context, head), np.float32)


class StepBatch:
    """A ``BatchEngine`` in float32 on the CPU.

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
        self._features = np.zeros((slots, config.context, config.width), np.float32)  # (S, C, D)
        self._lengths = [0] * slots
        self._branches = [Branches() for _ in range(slots)]

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
        self,
        slots: Sequence[int],
        tokens: Sequence[Sequence[int]],
        *,
        last_only: bool = False,
        joined: Array | None = None,
    ) -> Array:
        """See more tokens: packed logits.

        Args:
            slots: as ``BatchModel.forward``.
            tokens: as ``BatchModel.forward``.
            last_only: as ``BatchModel.forward``.
            joined: (N, D) added to the embedded tokens, for heads; each row of mean 0.

        Raises:
            ValueError: as ``BatchModel.forward``, or ``joined`` has another shape.
        """
        check_pass(self, slots, tokens)
        expected = (sum(map(len, tokens)), self._config.width)
        if joined is not None and joined.shape != expected:
            raise ValueError(f"joined must have shape {expected}, got {joined.shape}")
        for slot in slots:
            self._branches[slot].take(())
        places = places_of(slots, [self._lengths[slot] for slot in slots], list(map(len, tokens)))
        logits = self._run(tokens, places, last_only, joined)  # (N, V) or (R, V)
        for slot, new in zip(slots, places.new, strict=True):
            self._lengths[slot] += new
        return logits

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a slot."""
        check_slot_length(self, slot, length)
        self._branches[slot].take(())
        self._lengths[slot] = length

    def features(self, slots: Integers, places: Integers) -> Array:
        """What the head read after some tokens, (N, D); as ``FeatureBatch.features``."""
        rows: Array = self._features[slots, places]  # (N, D)
        return rows

    def forward_tree(
        self,
        slots: Sequence[int],
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]],
    ) -> Array:
        """See more nodes: packed (N, V). Raises ``ValueError`` as ``TreeBatch.forward_tree``."""
        check_slots(self, slots, tokens)
        known = [len(self._branches[slot]) for slot in slots]
        check_pass(self, slots, tokens, known)
        check_trees(tokens, parents, known)
        past = [self._lengths[slot] + nodes for slot, nodes in zip(slots, known, strict=True)]
        placed = [
            self._branches[slot].add(row, above)
            for slot, row, above in zip(slots, tokens, parents, strict=True)
        ]
        return self._run(tokens, places_of(slots, past, list(map(len, tokens)), placed))

    def keep(self, slots: Sequence[int], paths: Sequence[Sequence[int]]) -> None:
        """Add a path of each slot's tree to its text, and forget the trees."""
        rows: list[int] = []
        old: list[int] = []
        new: list[int] = []
        for slot, path in zip(slots, paths, strict=True):
            length = self._lengths[slot]
            nodes = self._branches[slot].take(path)
            self._lengths[slot] = length + len(nodes)
            # what stands right already stays where it is
            moved = [(length + node, length + place) for place, node in enumerate(nodes)]
            moved = [(here, there) for here, there in moved if here != there]
            rows += [slot] * len(moved)
            old += [here for here, _ in moved]
            new += [there for _, there in moved]
        if rows:
            self._cache[:, :, rows, :, new] = self._cache[:, :, rows, :, old]
            self._features[rows, new] = self._features[rows, old]

    def _run(
        self,
        tokens: Sequence[Sequence[int]],
        places: Places,
        last_only: bool = False,
        joined: Array | None = None,
    ) -> Array:
        """The step for so many tokens: (N, V) or (R, V); their features are kept."""
        packed = np.array(list(chain.from_iterable(tokens)), np.int64)  # (N,)
        step = self._choose(len(packed))
        some_are_not_last = len(packed) > len(tokens)
        logits, features = step(
            packed, self._cache, places, last_only and some_are_not_last, joined
        )  # (N, V) or (R, V), and (N, D)
        self._features[np.array(places.slots)[places.rows], places.cells] = features
        return logits
