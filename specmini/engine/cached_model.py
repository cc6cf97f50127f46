"""What the engine asks of a language model: run new tokens, and forget the last ones.

A model that keeps its past in a cache has two verbs here. ``forward`` takes the tokens that follow
what it has seen and gives a row of logits after each. ``truncate`` says how many tokens to keep;
that is how a rejected draft is taken back. Lengths are counted from the front, since "drop the
last n" keeps nothing, or everything, when n is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

__all__ = ["CachedModel", "FeatureModel", "check_length", "check_room"]


class CachedModel(Protocol):
    """A language model with a memory of one sequence."""

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""

    @property
    def context(self) -> int:
        """Most tokens it can have seen, C."""

    @property
    def length(self) -> int:
        """Tokens it has seen."""

    def forward(self, tokens: Sequence[int]) -> NDArray[Any]:
        """See T more tokens.

        Args:
            tokens: T ids, T at least 1, that follow those seen before.

        Returns:
            (T, V) logits; row t is about the token after tokens[t].

        Raises:
            ValueError: no token, or more than the context has room for.
        """

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens.

        Raises:
            ValueError: ``length`` is negative, or more than was seen.
        """


class FeatureModel(CachedModel, Protocol):
    """A language model that shows what its head reads, for drafters that build on it."""

    @property
    def features(self) -> NDArray[Any]:
        """(length, D), row t what the head read after the t-th token seen; do not write to it."""


def check_room(model: CachedModel, tokens: Sequence[int], branches: int = 0) -> None:
    """Check that a model can see these tokens.

    Args:
        model: has seen some already.
        tokens: new ones.
        branches: nodes of a tree that its cache holds behind the text.

    Raises:
        ValueError: no token, or more than the context has room for.
    """
    stored = model.length + branches
    room = model.context - stored
    if not 1 <= len(tokens) <= room:
        raise ValueError(
            f"tokens must have length in [1, {room}] after {stored} of {model.context}, "
            f"got {len(tokens)}"
        )


def check_length(model: CachedModel, length: int) -> None:
    """Check that a model has seen this many tokens.

    Raises:
        ValueError: ``length`` is negative, or more than was seen.
    """
    if not 0 <= length <= model.length:
        raise ValueError(f"length must be in [0, {model.length}], got {length}")
