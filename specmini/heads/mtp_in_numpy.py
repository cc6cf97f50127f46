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

__all__ = ["MtpJoin", "as_gpt", "mtp_engine"]


def mtp_engine(module: MtpModule) -> FeatureEngine:
    """An engine for an MTP module, whose weights are copied.

    Raises:
        ValueError: no target has lent the module its embedding.
    """
    module.check_lent()
    return FeatureEngine(_MtpStep(module), module.config, module.config.width)


class MtpJoin:
    """The ``Join`` of an MTP module, whose weights are copied; it is as wide as the target, d = D.

    Attributes:
        named: (V, D) what each token is before anything joins it, rows of mean 0.
    """

    def __init__(self, module: MtpModule) -> None:
        with torch.no_grad():
            named = module.from_token(module.token_norm(module.embedding))  # (V, D)
        self.named = _array(_centered(named))  # (V, D)
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
        """The same."""
        return self.from_target(own) if len(own) > 1 else self._one(own[0])[None]

    def _one(self, row: Array) -> Array:
        """The same for one, (D,) to (D,), in the fewest calls."""
        centered = row - np.add.reduce(row) / len(row)  # (D,)
        centered /= math.sqrt(np.dot(centered, centered) / len(row) + self._feature_epsilon)
        joined: Array = np.dot(centered, self._matrix)  # (D,)
        joined += self._shift
        return joined


class _MtpStep(MtpJoin, JoinedStep):
    """The ``FeatureStep`` of an MTP module."""

    def __init__(self, module: MtpModule) -> None:
        JoinedStep.__init__(self, as_gpt(module))
        MtpJoin.__init__(self, module)
        self._embeddings = self.named


def as_gpt(module: MtpModule) -> GPT:
    """The module's block between the target's positions and head."""
    with torch.device("meta"):  # no memory: every weight is replaced
        made = GPT(module.config)
    made.h, made.ln_f = module.h, module.ln_f
    made.wte.weight = nn.Parameter(module.embedding, requires_grad=False)
    made.wpe.weight = nn.Parameter(module.positions, requires_grad=False)
    return made
