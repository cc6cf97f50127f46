"""The portable engine: a GPT with its cache, on whatever device torch has.

It runs the module as it is, so it is the reference for every faster kernel and the fallback where
none of them exists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specmini.engine.cached_model import check_length, check_room
from specmini.engine.tree_model import Branches
from specmini.gpt import GPT, Cache
from specmini.verify.chain import check_tokens

__all__ = ["TorchModel"]


class TorchModel:
    """A ``TreeModel`` and ``FeatureModel`` around a GPT; only the weights are shared.

    Args:
        model: on any device and in any floating-point type.
    """

    def __init__(self, model: GPT) -> None:
        self._model = model.eval()
        weight = model.wte.weight
        self._device = weight.device
        self._cache = Cache(model.config, dtype=weight.dtype, device=weight.device)
        self._features = np.zeros((model.config.context, model.config.width), np.float32)  # (C, D)
        self._branches = Branches()

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
        return self._cache.length - len(self._branches)

    @property
    def features(self) -> NDArray[np.float32]:
        """(length, D), what the head read after each token seen."""
        return self._features[: self.length]

    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        check_tokens(np.asarray(tokens), self.vocabulary)
        self.keep(())
        return self._logits(tokens)

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self.keep(())
        self._cache.truncate(length)

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> NDArray[np.float32]:
        """See N more nodes: (N, V) logits. Raises ``ValueError`` as ``TreeModel``."""
        check_room(self, tokens, len(self._branches))
        check_tokens(np.asarray(tokens), self.vocabulary)
        length = self.length
        depths, sees = self._branches.add(tokens, parents)
        mask = np.pad(sees, ((0, 0), (length, 0)), constant_values=True)  # (N, length + M + N)
        return self._logits(
            tokens,
            torch.from_numpy(length + depths).to(self._device),
            torch.from_numpy(mask).to(self._device),
        )

    def keep(self, path: Sequence[int]) -> None:
        """Add a path of the tree to the text, and forget the tree."""
        length = self.length
        rows = [length + node for node in self._branches.take(path)]
        self._cache.move(rows, length)
        self._features[length : length + len(rows)] = self._features[rows]

    @torch.inference_mode()
    def _logits(self, tokens: Sequence[int], *tree: Tensor) -> NDArray[np.float32]:
        """(T, V) of tokens, which follow the text or have positions and a mask."""
        ids = torch.tensor([list(tokens)], dtype=torch.int64, device=self._device)  # (1, T)
        past = self._cache.length
        features = self._model.features(ids, self._cache, *tree)[0]  # (T, D)
        logits = self._model.logits(features)  # (T, V)
        # NumPy has no bfloat16
        self._features[past : past + len(tokens)] = features.float().cpu().numpy()
        array: NDArray[np.float32] = logits.float().cpu().numpy()  # (T, V)
        return array
