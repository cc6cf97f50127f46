"""What the engine asks of a language model that serves many sequences at once.

A model has *slots*, each the memory of one sequence. One pass takes in new tokens of several slots;
how many may differ from slot to slot, and so may what the slots have seen. That is all that ragged
acceptance needs: after a round each slot is truncated to a length of its own.

Tokens of a pass are *packed*: the logits of the first slot's tokens, then those of the second, and
so on, with nothing in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specmini.theory.topology import check_parents
from specmini.verify.chain import check_tokens

__all__ = [
    "BatchEngine",
    "BatchModel",
    "FeatureBatch",
    "TreeBatch",
    "check_pass",
    "check_slot_length",
    "check_slots",
    "check_trees",
]


class BatchModel(Protocol):
    """A language model with a memory for each of S sequences."""

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""

    @property
    def context(self) -> int:
        """Most tokens a slot can have seen, C."""

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens each slot has seen, S numbers."""

    def forward(
        self, slots: Sequence[int], tokens: Sequence[Sequence[int]], *, last_only: bool = False
    ) -> NDArray[Any]:
        """See more tokens in some slots.

        Args:
            slots: R different slots, at least one.
            tokens: for each of them at least one id, to follow those it saw before.
            last_only: give the logits after each slot's last token only.

        Returns:
            (N, V) logits, packed, of the N tokens; (R, V) if only the last ones are asked for.

        Raises:
            ValueError: no slot, an unknown or repeated one, no token, or more than it has room for.
        """

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a slot.

        Raises:
            ValueError: ``slot`` is unknown, or ``length`` negative or more than it has seen.
        """


class FeatureBatch(BatchModel, Protocol):
    """A ``BatchModel`` that shows what its head reads, for drafters that build on it."""

    def features(self, slots: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[Any]:
        """What the head read after some of the tokens seen.

        Args:
            slots: (N,) where.
            places: (N,) of the tokens in their slots, each below what the slot has seen.

        Returns:
            (N, D).
        """


class TreeBatch(BatchModel, Protocol):
    """A ``BatchModel`` that can also hold a tree of guesses behind each slot's text.

    ``lengths`` count the texts alone. ``forward`` and ``truncate`` are about the texts, and forget
    the trees of their slots.
    """

    def forward_tree(
        self,
        slots: Sequence[int],
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]],
    ) -> NDArray[Any]:
        """See more nodes of some slots' trees.

        A tree may come in several calls; its nodes are numbered through, from 0.

        Args:
            slots: R different slots, at least one.
            tokens: for each of them at least one id.
            parents: for each token the number of the node before it, as in ``TreeModel``.

        Returns:
            (N, V) logits, packed; those of a node are about the token after the path to it.

        Raises:
            ValueError: as ``forward``, another number of parents than of tokens, or a parent that
                does not come before.
        """

    def keep(self, slots: Sequence[int], paths: Sequence[Sequence[int]]) -> None:
        """Add a path of each slot's tree to its text, and forget the trees.

        Args:
            slots: R different ones.
            paths: for each of them numbers of nodes, as in ``TreeModel``.

        Raises:
            ValueError: a path is none.
        """


class BatchEngine(FeatureBatch, TreeBatch, Protocol):
    """Both: whatever drafts, head or tree, finds in it what it needs."""


def check_pass(
    model: BatchModel,
    slots: Sequence[int],
    tokens: Sequence[Sequence[int]],
    branches: Sequence[int] = (),
) -> None:
    """Check that a model can see these tokens in these slots.

    Args:
        model: has seen some already.
        slots: where.
        tokens: new ones of each slot.
        branches: nodes of a tree that each slot holds behind its text; none if not given.

    Raises:
        ValueError: no slot, an unknown or repeated one, another number of slots than of rows of
            tokens, an unknown token, none, or more than a slot has room for.
    """
    check_slots(model, slots, tokens)
    lengths, context = model.lengths, model.context
    for place, (slot, new) in enumerate(zip(slots, tokens, strict=True)):
        stored = lengths[slot] + (branches[place] if branches else 0)
        if not 1 <= len(new) <= context - stored:
            raise ValueError(
                f"tokens must have length in [1, {context - stored}] in slot {slot} after "
                f"{stored} of {context}, got {len(new)}"
            )
    check_tokens(list(chain.from_iterable(tokens)), model.vocabulary)


def check_slots(model: BatchModel, slots: Sequence[int], tokens: Sequence[Sequence[int]]) -> None:
    """Check that slots are there, each once, and each has a row of tokens.

    Raises:
        ValueError: no slot, an unknown or repeated one, or another number of rows.
    """
    known = len(model.lengths)
    if not slots or len(set(slots)) != len(slots) or not 0 <= min(slots) <= max(slots) < known:
        raise ValueError(
            f"slots must be different numbers in [0, {known}), at least one, got {list(slots)}"
        )
    if len(tokens) != len(slots):
        raise ValueError(
            f"tokens must have a row for each of {len(slots)} slots, got {len(tokens)}"
        )


def check_trees(
    tokens: Sequence[Sequence[int]], parents: Sequence[Sequence[int]], known: Sequence[int]
) -> None:
    """Check that new nodes of several trees come after their parents.

    Args:
        tokens: of each tree.
        parents: of each tree, the node before each token.
        known: nodes each has already.

    Raises:
        ValueError: another number of trees or nodes, or a parent that does not come before.
    """
    if list(map(len, parents)) != list(map(len, tokens)):
        raise ValueError(
            f"parents must be as many as tokens in each slot, {list(map(len, tokens))}, "
            f"got {list(map(len, parents))}"
        )
    for above, earlier in zip(parents, known, strict=True):
        check_parents(above, earlier)


def check_slot_length(model: BatchModel, slot: int, length: int) -> None:
    """Check that a slot has seen this many tokens.

    Raises:
        ValueError: ``slot`` is unknown, or ``length`` negative or more than it has seen.
    """
    known = len(model.lengths)
    if not 0 <= slot < known:
        raise ValueError(f"slot must be in [0, {known}), got {slot}")
    if not 0 <= length <= model.lengths[slot]:
        raise ValueError(
            f"length must be in [0, {model.lengths[slot]}] in slot {slot}, got {length}"
        )
