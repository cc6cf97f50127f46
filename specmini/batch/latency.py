"""The time of a batched pass by itself: forecasts at a batch size without a single round.

``latency.pass_times`` times a model for one sequence. ``AllSlots`` shows it a batch in which every
slot sees the same number of tokens; the times then count tokens *a slot*. ``latency.forecast``
takes them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specmini.batch.draws import draw_each
from specmini.batch.model import BatchModel
from specmini.sampling import Sampling

__all__ = ["AllSlots"]


class AllSlots:
    """A ``CachedModel`` that runs all slots of a batch alike.

    Args:
        model: the batch; what it has seen is forgotten.
        sampling: if given, a pass includes what decoding does with its logits: to turn them into
            probabilities and to draw a token for each slot.
        rng: source of these draws.
    """

    def __init__(
        self, model: BatchModel, rng: np.random.Generator, sampling: Sampling | None = None
    ) -> None:
        self._model, self._rng, self._sampling = model, rng, sampling
        self._slots = range(len(model.lengths))
        self.truncate(0)

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._model.vocabulary

    @property
    def context(self) -> int:
        """Most tokens a slot can have seen."""
        return self._model.context

    @property
    def length(self) -> int:
        """Tokens each slot has seen."""
        return self._model.lengths[0]

    def forward(self, tokens: Sequence[int]) -> NDArray[Any]:
        """See T more tokens in each of S slots: (S T, V) logits, packed."""
        logits = self._model.forward(self._slots, [tokens] * len(self._slots))  # (S T, V)
        if self._sampling is not None:
            probs = self._sampling.probs(logits)  # (S T, V)
            draw_each(probs[len(tokens) - 1 :: len(tokens)], [self._rng] * len(self._slots))
        return logits

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens of every slot."""
        for slot in self._slots:
            self._model.truncate(slot, min(length, self._model.lengths[slot]))
