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

from specmini.engine.cached_model import CachedModel
from specmini.verify.chain import check_tokens

__all__ = ["BatchModel", "SideBySide", "check_pass", "check_slot_length"]


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


class SideBySide:
    """A ``BatchModel`` out of models for one sequence, which run one after the other.

    It saves nothing. It is what the others are compared with, and it batches any model.

    Args:
        models: one a slot, with one vocabulary and context; what they have seen is kept.

    Raises:
        ValueError: no model, or models of different shapes.
    """

    def __init__(self, models: Sequence[CachedModel]) -> None:
        shapes = {(model.vocabulary, model.context) for model in models}
        if len(shapes) != 1:
            raise ValueError(
                f"models must share one vocabulary and context, got {sorted(shapes)} "
                f"of {len(models)} models"
            )
        self._models = tuple(models)

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._models[0].vocabulary

    @property
    def context(self) -> int:
        """Most tokens a slot can have seen."""
        return self._models[0].context

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens each slot has seen."""
        return tuple(model.length for model in self._models)

    def forward(
        self, slots: Sequence[int], tokens: Sequence[Sequence[int]], *, last_only: bool = False
    ) -> NDArray[Any]:
        """See more tokens: packed logits. Raises ``ValueError`` as ``BatchModel.forward``."""
        check_pass(self, slots, tokens)
        rows = []
        for slot, new in zip(slots, tokens, strict=True):
            logits = self._models[slot].forward(new)  # (T, V)
            rows.append(logits[-1:] if last_only else logits)
        return np.concatenate(rows) if len(rows) > 1 else rows[0]  # (N, V) or (R, V)

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a slot."""
        check_slot_length(self, slot, length)
        self._models[slot].truncate(length)


def check_pass(model: BatchModel, slots: Sequence[int], tokens: Sequence[Sequence[int]]) -> None:
    """Check that a model can see these tokens in these slots.

    Raises:
        ValueError: no slot, an unknown or repeated one, another number of slots than of rows of
            tokens, an unknown token, none, or more than a slot has room for.
    """
    lengths, context = model.lengths, model.context
    known = len(lengths)
    if not slots or len(set(slots)) != len(slots) or not 0 <= min(slots) <= max(slots) < known:
        raise ValueError(
            f"slots must be different numbers in [0, {known}), at least one, got {list(slots)}"
        )
    if len(tokens) != len(slots):
        raise ValueError(
            f"tokens must have a row for each of {len(slots)} slots, got {len(tokens)}"
        )
    for slot, new in zip(slots, tokens, strict=True):
        if not 1 <= len(new) <= context - lengths[slot]:
            raise ValueError(
                f"tokens must have length in [1, {context - lengths[slot]}] in slot {slot} after "
                f"{lengths[slot]} of {context}, got {len(new)}"
            )
    check_tokens(list(chain.from_iterable(tokens)), model.vocabulary)


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
