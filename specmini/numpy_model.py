"""A GPT forward pass in NumPy: for a small model, the calls cost more than the arithmetic.

A NumPy call takes about a microsecond, a torch call several, and a draft step is some thirty
calls. Two exact rewritings of the weights remove calls. What every block adds to the residual
stream is centered beforehand, so LayerNorm needs no mean; its gain and bias go into the matrix
that follows (Jiang et al. 2023, arXiv:2305.14858, section 3). Results agree with the module's to
float32 rounding.

BLAS threads: at these sizes a second thread only spins, and then even a lone step takes several
times longer. Wrap what is timed in ``single_thread``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from specmini.cached_model import check_length, check_room
from specmini.gpt import GPT, Block
from specmini.verify import check_tokens

__all__ = ["NumpyModel", "single_thread"]

Array = NDArray[np.float32]


@contextmanager
def single_thread() -> Iterator[None]:
    """Run the body on one processor core: torch and every BLAS; the old limits come back after."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


class _Linear(NamedTuple):
    """A matrix that multiplies from the right, and a bias: (M, N) and (N,)."""

    matrix: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        """(T, M) to (T, N)."""
        # a vector times a matrix is a faster call than one row times a matrix
        y: Array = x @ self.matrix if len(x) > 1 else np.dot(x[0], self.matrix)[None]
        y += self.bias
        return y


class NumpyModel:
    """A ``CachedModel`` in float32 NumPy, for one sequence on the CPU.

    Args:
        model: the weights, which are copied.
    """

    def __init__(self, model: GPT) -> None:
        self._config = config = model.config
        self._epsilon = model.ln_f.eps
        self._embeddings = _array(_centered(model.wte.weight))  # (V, D)
        self._positions = _array(_centered(model.wpe.weight))  # (C, D)
        self._blocks = [
            (
                _after_norm(block.ln_1, block.attn.c_attn.weight, block.attn.c_attn.bias),
                _before_stream(block.attn.c_proj),
                _after_norm(block.ln_2, block.mlp.c_fc.weight, block.mlp.c_fc.bias),
                _before_stream(block.mlp.c_proj),
            )
            for block in model.h
            if isinstance(block, Block)
        ]
        self._head = _after_norm(model.ln_f, model.wte.weight)
        cached = (config.layers, 2, config.heads, config.context, config.width // config.heads)
        self._cache = np.zeros(cached, dtype=np.float32)  # (L, 2, H, C, D/H)
        self._length = 0

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._config.vocabulary

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._config.context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return self._length

    def forward(self, tokens: Sequence[int]) -> Array:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        ids = np.asarray(tokens)  # (T,)
        check_tokens(ids, self.vocabulary)
        end = self._length + len(ids)
        x = self._embeddings[ids] + self._positions[self._length : end]  # (T, D)
        for layer, (c_attn, attn_proj, c_fc, mlp_proj) in enumerate(self._blocks):
            x += attn_proj(self._attend(layer, c_attn(self._normed(x))))
            x += mlp_proj(_gelu(c_fc(self._normed(x))))
        self._length = end
        logits: Array = self._head(self._normed(x))  # (T, V)
        return logits

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self._length = length

    def _normed(self, x: Array) -> Array:
        """LayerNorm of centered rows without gain and bias: (T, D) to (T, D)."""
        width = x.shape[1]
        if len(x) == 1:
            return x * np.float32(1 / math.sqrt(np.dot(x[0], x[0]) / width + self._epsilon))
        square = np.einsum("td,td->t", x, x)[:, None]  # (T, 1)
        normed: Array = x / np.sqrt(square / np.float32(width) + np.float32(self._epsilon))
        return normed

    def _attend(self, layer: int, qkv: Array) -> Array:
        """Store new keys and values and mix each position with those before: (T, 3D) to (T, D)."""
        new, past = len(qkv), self._length
        heads, head = self._cache.shape[2], self._cache.shape[4]
        q, k, v = qkv.reshape(new, 3, heads, head).transpose(1, 2, 0, 3)  # each (H, T, D/H)
        keys, values = self._cache[layer, :, :, : past + new]  # each (H, past + T, D/H)
        keys[:, past:] = k
        values[:, past:] = v
        scores = q @ keys.transpose(0, 2, 1)  # (H, T, past + T)
        scores *= np.float32(1 / math.sqrt(head))
        if new > 1:
            scores[:, :, past:] += np.triu(np.full((new, new), -np.inf, np.float32), 1)
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        mixed = scores @ values  # (H, T, D/H)
        mixed /= scores.sum(-1, keepdims=True)
        rows: Array = mixed.transpose(1, 0, 2).reshape(new, heads * head)  # (T, D)
        return rows


def _array(weight: Tensor) -> Array:
    """A copy in float32, its rows contiguous."""
    array: Array = weight.detach().cpu().double().numpy().astype(np.float32, order="C")
    return array


def _centered(rows: Tensor) -> Tensor:
    """Rows less their mean, in float64, so that what they add to the stream has mean 0."""
    double = rows.detach().double()
    return double - double.mean(-1, keepdim=True)


def _after_norm(norm: nn.LayerNorm, weight: Tensor, bias: Tensor | None = None) -> _Linear:
    """A matrix (N, M) with the gain and the bias of the norm before it worked in."""
    double = weight.detach().double()
    shift = double @ norm.bias.detach().double()  # (N,)
    if bias is not None:
        shift = shift + bias.detach().double()
    return _Linear(_array((double * norm.weight.detach()).T), _array(shift))


def _before_stream(linear: nn.Linear) -> _Linear:
    """A matrix whose outputs, which go to the residual stream, have mean 0."""
    return _Linear(_array(_centered(linear.weight.T)), _array(_centered(linear.bias)))


def _gelu(x: Array) -> Array:
    """GELU in its tanh form, in place: (T, N) to (T, N)."""
    # x (1 + tanh z) / 2 = x / (1 + exp(-2z)) with z = √(2/π) (x + 0.044715 x³)
    slope = np.float32(-2 * math.sqrt(2 / math.pi))
    power = x * x  # (T, N)
    power *= slope * np.float32(0.044715)
    power += slope
    power *= x
    with np.errstate(over="ignore"):  # x / inf is the right answer
        np.exp(power, out=power)
    power += np.float32(1)
    x /= power
    return x
