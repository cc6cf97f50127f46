"""A decoder without a cache: slow on purpose, to show what a slow baseline does to a speedup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specmini.engine.cached_model import CachedModel, check_length, check_room
from specmini.engine.tree_model import Branches
from specmini.verify.chain import check_tokens

__all__ = ["UncachedModel"]


class UncachedModel:
    """A ``TreeModel`` that runs over the whole text again in every pass.

    It computes the same logits up to rounding, so the text is the same; only the clock differs.
    Of a tree it runs every path by itself: this is what tree attention must agree with.

    Args:
        model: does the work; what it has seen is forgotten at each pass.
    """

    def __init__(self, model: CachedModel) -> None:
        self._model = model
        self._seen: list[int] = []
        self._branches = Branches()
        self._guesses: list[int] = []

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
        logits = self._run([*self._seen, *tokens])  # (length + T, V)
        self.keep(())
        self._seen += tokens
        return logits[-len(tokens) :]

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self.keep(())
        del self._seen[length:]

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> NDArray[Any]:
        """See N more nodes: (N, V) logits. Raises ``ValueError`` as ``TreeModel``."""
        known = len(self._branches)
        check_room(self, tokens, known)
        check_tokens(np.asarray(tokens), self.vocabulary)
        self._branches.add(tokens, parents)
        self._guesses += tokens
        paths = [self._branches.path_to(known + new) for new in range(len(tokens))]
        texts = [[*self._seen, *(self._guesses[node] for node in path)] for path in paths]
        return np.array([self._run(text)[-1] for text in texts])  # (N, V)

    def keep(self, path: Sequence[int]) -> None:
        """Add a path of the tree to the text, and forget the tree."""
        self._seen += [self._guesses[node] for node in self._branches.take(path)]
        self._guesses.clear()

    def _run(self, text: Sequence[int]) -> NDArray[Any]:
        """(T, V) of a whole text."""
        self._model.truncate(0)
        return self._model.forward(text)
