"""The portable engine: a GPT with its cache, on whatever device torch has.

It runs the module as it is, so it is the reference for every faster kernel and the fallback where
none of them exists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from specmini.cached_model import check_length, check_room
from specmini.gpt import GPT, Cache
from specmini.verify import check_tokens

__all__ = ["TorchModel"]


class TorchModel:
    """A ``FeatureModel`` around a GPT; the weights are shared, the cache is its own.

    Args:
        model: on any device and in any floating-point type.
    """

    def __init__(self, model: GPT) -> None:
        self._model = model.eval()
        weight = model.wte.weight
        self._device = weight.device
        self._cache = Cache(model.config, dtype=weight.dtype, device=weight.device)
        self._features = np.zeros((model.config.context, model.config.width), np.float32)  # (C, D)

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._model.config.vocabulary

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._model.config.context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return self._cache.length

    @property
    def features(self) -> NDArray[np.float32]:
        """(length, D), what the head read after each token seen."""
        return self._features[: self.length]

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        check_tokens(np.asarray(tokens), self.vocabulary)
        ids = torch.tensor([list(tokens)], dtype=torch.int64, device=self._device)  # (1, T)
        past = self._cache.length
        features = self._model.features(ids, self._cache)[0]  # (T, D)
        logits = self._model.logits(features)  # (T, V)
        # NumPy has no bfloat16
        self._features[past : self._cache.length] = features.float().cpu().numpy()
        array: NDArray[np.float32] = logits.float().cpu().numpy()  # (T, V)
        return array

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self._cache.truncate(length)
