"""An MTP module in NumPy, for decoding: the same function with cheap calls.

What the module makes of a token before anything joins it depends on the token alone, so it stands
in a table, computed once: a guess multiplies no matrix for it. The norm of a state is worked into
the matrix behind it, as ``numpy_model`` does.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from specmini.engine.numpy_model import _after_norm, _array, _centered
from specmini.engine.step_model import Array
from specmini.gpt import GPT
from specmini.heads.in_numpy import FeatureEngine, JoinedStep
from specmini.heads.mtp_module import MtpModule

__all__ = ["mtp_engine"]


def mtp_engine(module: MtpModule) -> FeatureEngine:
    """An engine for an MTP module, whose weights are copied.

    Raises:
        ValueError: no target has lent the module its embedding.
    """
    module.check_lent()
    return FeatureEngine(_MtpStep(module), module.config, module.config.width)


class _MtpStep(JoinedStep):
    """The ``FeatureStep`` of an MTP module; its features are as wide as itself, d = D."""

    def __init__(self, module: MtpModule) -> None:
        super().__init__(_as_gpt(module))
        with torch.no_grad():
            named = module.from_token(module.token_norm(module.embedding))  # (V, D)
        self._embeddings = _array(_centered(named))  # (V, D)
        joins = _after_norm(module.feature_norm, module.from_feature.weight)  # (D + 1, D)
        *matrix, shift = _centered(joins)
        self._matrix, self._shift = _array(torch.stack(matrix)), _array(shift)  # (D, D), (D,)
        self._feature_epsilon = module.feature_norm.eps

    def from_target(self, features: Array) -> Array:
        """LayerNorm and a matrix: (T, D) to (T, D)."""
        centered = features - features.mean(-1, keepdims=True)  # (T, D)
        square = np.einsum("td,td->t", centered, centered)[:, None]  # (T, 1)
        centered /= np.sqrt(square / np.float32(features.shape[1]) + self._feature_epsilon)
        joined: Array = np.dot(centered, self._matrix)  # (T, D)
        joined += self._shift
        return joined

    def from_self(self, own: Array) -> Array:
        """The same for one row, (1, D) to (1, D), in the fewest calls."""
        row = own[0]  # (D,)
        centered = row - np.add.reduce(row) / len(row)  # (D,)
        centered /= math.sqrt(np.dot(centered, centered) / len(row) + self._feature_epsilon)
        joined: Array = np.dot(centered, self._matrix)  # (D,)
        joined += self._shift
        return joined[None]


def _as_gpt(module: MtpModule) -> GPT:
    """The module's block between the target's positions and head."""
    with torch.device("meta"):  # no memory: every weight is replaced
        made = GPT(module.config)
    made.h, made.ln_f = module.h, module.ln_f
    made.wte.weight = nn.Parameter(module.embedding, requires_grad=False)
    made.wpe.weight = nn.Parameter(module.positions, requires_grad=False)
    return made
