"""A decoder without a cache: slow on purpose, to show what a slow baseline does to a speedup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from specmini.cached_model import CachedModel, check_length, check_room

__all__ = ["UncachedModel"]


class UncachedModel:
    """A ``CachedModel`` that runs over the whole text again in every pass.

    It computes the same logits up to rounding, so the text is the same; only the clock differs.

    Args:
        model: does the work; what it has seen is forgotten at each pass.
    """

    def __init__(self, model: CachedModel) -> None:
        self._model = model
        self._seen: list[int] = []

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._model.vocabulary

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._model.context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return len(self._seen)

    def forward(self, tokens: Sequence[int]) -> NDArray[Any]:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        self._model.truncate(0)
        logits = self._model.forward([*self._seen, *tokens])  # (length + T, V)
        self._seen += tokens
        return logits[-len(tokens) :]

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        del self._seen[length:]
