"""A language model that is a table: small enough to know every probability of what it writes.

The next token depends on the last ``order`` tokens only, and the distribution stands in a table.
So the chance of any text can be computed by multiplication, and an engine's output compared with
it. Proofs by experiment start here; a trained network would hide a bug behind its size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray, number_array, positive, single, whole_number
from specmini.engine.cached_model import check_length, check_room
from specmini.verify.chain import check_rows, check_tokens

__all__ = ["TableModel", "random_table"]


class TableModel:
    """A ``CachedModel`` whose logits are the logarithms of a table's rows.

    Args:
        table: (V, ..., V, V): the distribution after the last tokens, oldest first. Its order is
            the number of tokens it looks back on, one less than its dimensions. A text shorter
            than that is continued as if token 0 stood before it.
        context: most tokens it can have seen.

    Raises:
        ValueError: the table is no cube, a row no distribution, or the context below 1.
    """

    def __init__(self, table: ArrayLike, context: int = 256) -> None:
        self._table = number_array("table", table).astype(np.float64)  # (V, ..., V, V)
        if len(set(self._table.shape)) != 1 or self._table.size == 0:
            raise ValueError(f"table must have shape (V, ..., V), got {self._table.shape}")
        self._context: int = single("context", whole_number("context", context, minimum=1))
        check_rows("table", self._table.reshape(-1, self.vocabulary))
        with np.errstate(divide="ignore"):
            self._logits = np.log(self._table)  # (V, ..., V, V)
        self._seen: list[int] = []

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return int(self._table.shape[-1])

    @property
    def order(self) -> int:
        """Number of tokens it looks back on."""
        return self._table.ndim - 1

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return len(self._seen)

    def forward(self, tokens: Sequence[int]) -> FloatArray:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        check_tokens(tokens, self.vocabulary)
        rows = []
        for token in tokens:
            self._seen.append(int(token))
            rows.append(self._logits[self._place()])  # (V,)
        return np.array(rows)  # (T, V)

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        del self._seen[length:]

    def _place(self) -> tuple[int, ...]:
        """Index of the row that the tokens seen lead to."""
        recent = self._seen[-self.order :] if self.order else []
        return (0,) * (self.order - len(recent)) + tuple(recent)


def random_table(
    vocabulary: int, order: int, rng: np.random.Generator, concentration: float = 1.0
) -> FloatArray:
    """A table with rows from a symmetric Dirichlet distribution.

    Args:
        vocabulary: V.
        order: number of tokens to look back on.
        rng: source of randomness.
        concentration: small values give peaked rows.

    Returns:
        (V, ..., V, V) with ``order`` + 1 dimensions.

    Raises:
        ValueError: no token, an order that is negative, or a concentration that is not positive.
    """
    vocabulary = single("vocabulary", whole_number("vocabulary", vocabulary, minimum=1))
    order = single("order", whole_number("order", order))
    concentration = single("concentration", positive("concentration", concentration))
    weights = np.full(vocabulary, concentration)  # (V,)
    return rng.dirichlet(weights, size=(vocabulary,) * order)
