"""A GPT forward pass in NumPy: for a small model, the calls cost more than the arithmetic.

A NumPy call takes about a microsecond, a torch call several, and a step is some thirty calls a
block. Rewriting the weights once saves a dozen of them and changes nothing but rounding. What every
block adds to the residual stream is centered beforehand, so LayerNorm needs no mean, and its gain
and bias go into the matrix that follows (Jiang et al. 2023, arXiv:2305.14858, section 3). The
attention's 1/√d goes into the queries' matrix. A bias is one more row of its matrix, met by an
input of 1.

BLAS threads: at these sizes a second thread only spins, and then even a lone step takes several
times longer. Wrap what is timed in ``threads.single_thread``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specmini.engine.step_model import Array, StepModel
from specmini.engine.tree_model import Placed
from specmini.gpt import GPT, Block

__all__ = ["NumpyModel", "NumpyStep"]

Ids = Sequence[int] | NDArray[np.int64]

few_rows: Final = 3  # up to here BLAS is faster row by row: it copies the matrix for a product


class NumpyModel(StepModel):
    """A ``TreeModel`` and ``FeatureModel`` in float32 NumPy, for one sequence on the CPU.

    Args:
        model: the weights, which are copied.
    """

    def __init__(self, model: GPT) -> None:
        step = NumpyStep(model)
        super().__init__(model.config, step, step)


class _Matrices(NamedTuple):
    """A block's matrices, each with its bias as the last row."""

    qkv: Array  # (D + 1, 3D)
    mixed: Array  # (D + 1, D)
    hidden: Array  # (D + 1, 4D)
    out: Array  # (4D + 1, D)


class _Scratch(threading.local):
    """Arrays that are written anew in each step; every thread has its own."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[int, int], Array] = {}


class NumpyStep:
    """The forward pass itself, for a cache that somebody else keeps; threads may share it.

    Args:
        model: the weights, which are copied.
    """

    def __init__(self, model: GPT) -> None:
        self._epsilon = model.ln_f.eps
        self._embeddings = _array(_centered(model.wte.weight))  # (V, D)
        self._positions = _array(_centered(model.wpe.weight))  # (C, D)
        future = np.full((model.config.context,) * 2, -np.inf, np.float32)  # (C, C)
        self._future = np.triu(future, 1)
        self._scratch = _Scratch()
        matrices: list[Tensor] = []
        for block in model.h:
            assert isinstance(block, Block)
            qkv = _after_norm(
                block.ln_1, block.attn.c_attn.weight, block.attn.c_attn.bias
            )  # (D + 1, 3D)
            width = model.config.width
            qkv[:, :width] /= math.sqrt(width // block.attn.heads)
            hidden = _after_norm(
                block.ln_2, block.mlp.c_fc.weight, block.mlp.c_fc.bias
            )  # (D + 1, 4D)
            matrices += [qkv, _to_stream(block.attn.c_proj), hidden, _to_stream(block.mlp.c_proj)]
        head = _after_norm(model.ln_f, model.wte.weight)  # (D + 1, V)
        self._gain, self._bias = _array(model.ln_f.weight), _array(model.ln_f.bias)  # each (D,)
        *blocks, self._head = _side_by_side([*matrices, head])
        self._blocks = [_Matrices(*blocks[i : i + 4]) for i in range(0, len(blocks), 4)]

    def __call__(
        self, tokens: Sequence[int], cache: Array, past: int, placed: Placed | None = None
    ) -> tuple[Array, Array]:
        """The ``Step``: (T, V) logits after each of T tokens, and (T, D) what the head read."""
        new, end = len(tokens), past + len(tokens)
        if placed is None:
            positions: slice | NDArray[np.int64] = slice(past, end)
            hidden = self._future[:new, :new] if new > 1 else None  # (T, T)
        else:
            text = end - placed.sees.shape[1]
            positions = text + placed.depths  # (T,)
            hidden = np.where(placed.sees, zero, -np.inf)  # (T, end - text)
        x = self._embedded(tokens, positions)  # (T, D)
        for matrices, stored in zip(self._blocks, cache[:, :, :, :end], strict=True):
            qkv = _times(self._normed(x), matrices.qkv)  # (T, 3D)
            x += self._attend(qkv, stored, past, hidden, matrices.mixed)
            x += self._hidden(x, matrices)
        return self._read_out(x)

    def _read_out(
        self, x: Array, rows: slice | NDArray[np.int64] = slice(None)
    ) -> tuple[Array, Array]:
        """The stream after the blocks, (T, D), to logits of some rows and features (T, D)."""
        normed = self._normed(x)  # (T, D + 1)
        features = normed[:, :-1] * self._gain  # (T, D)
        features += self._bias
        return _times(normed[rows], self._head), features

    def _embedded(self, tokens: Ids, positions: slice | NDArray[np.int64]) -> Array:
        """Tokens at their positions: T of each to (T, D)."""
        x: Array = self._embeddings.take(tokens, axis=0)  # (T, D)
        x += self._positions[positions]
        return x

    def _hidden(self, x: Array, matrices: _Matrices) -> Array:
        """What a block's two-layer network adds: (T, D) to (T, D)."""
        hidden = _times(self._normed(x), matrices.hidden)  # (T, 4D)
        padded = self._input(*hidden.shape)  # (T, 4D + 1)
        _gelu(hidden, out=padded[:, :-1])
        return _times(padded, matrices.out)

    def _attend(
        self, qkv: Array, stored: Array, past: int, hidden: Array | None, matrix: Array
    ) -> Array:
        """Store new keys and values and mix each position with those before.

        Args:
            qkv: (T, 3D).
            stored: (2, H, past + T, D/H), a block's keys and values.
            past: number of positions stored before.
            hidden: (T, W), -inf where a new position does not see one of the last W, else 0; None
                if all see all.
            matrix: (D + 1, D), applied to the mixtures.

        Returns:
            (T, D).
        """
        heads, head = stored.shape[1], stored.shape[3]
        new = len(qkv)
        parts = qkv.reshape(new, 3, heads, head).transpose(1, 2, 0, 3)  # (3, H, T, D/H)
        stored[:, :, past:] = parts[1:]
        keys, values = stored  # each (H, past + T, D/H)
        scores: Array = np.matmul(parts[0], keys.transpose(0, 2, 1))  # (H, T, past + T)
        if hidden is not None:
            scores[:, :, -hidden.shape[1] :] += hidden
        scores -= np.maximum.reduce(scores, -1, keepdims=True)
        np.exp(scores, out=scores)
        sums = np.add.reduce(scores, -1, keepdims=True)  # (H, T, 1)
        mixed = self._input(new, heads * head)  # (T, D + 1)
        by_head = mixed[:, :-1].reshape(new, heads, head).transpose(1, 0, 2)  # (H, T, D/H)
        np.divide(np.matmul(scores, values), sums, out=by_head)
        return _times(mixed, matrix)

    def _normed(self, x: Array) -> Array:
        """LayerNorm of centered rows without gain and bias, and a 1: (T, D) to (T, D + 1)."""
        new, width = x.shape
        padded = self._input(new, width)  # (T, D + 1)
        if new == 1:
            row = x[0]  # (D,)
            inverse = np.float32(1 / math.sqrt(np.dot(row, row) / width + self._epsilon))
            np.multiply(x, inverse, out=padded[:, :-1])
        else:
            square = np.einsum("td,td->t", x, x)[:, None] / np.float32(width)  # (T, 1)
            np.divide(x, np.sqrt(square + np.float32(self._epsilon)), out=padded[:, :-1])
        return padded

    def _input(self, new: int, width: int) -> Array:
        """A (T, width + 1) array with ones in the last column, overwritten by the next caller."""
        if new > few_rows:
            return np.ones((new, width + 1), np.float32)
        inputs = self._scratch.inputs
        if (new, width) not in inputs:
            inputs[new, width] = np.ones((new, width + 1), np.float32)
        return inputs[new, width]


def _times(x: Array, matrix: Array) -> Array:
    """A matrix product: (T, M) and (M, N) to (T, N)."""
    if not 1 < len(x) <= few_rows:
        product: Array = np.dot(x, matrix)  # (T, N)
        return product
    rows = np.empty((len(x), matrix.shape[1]), np.float32)  # (T, N)
    for row, out in zip(x, rows, strict=True):
        np.dot(row, matrix, out=out)
    return rows


def _gelu(x: Array, out: Array) -> None:
    """GELU in its tanh form: (T, N) to (T, N)."""
    # x (1 + tanh z) / 2 = x / (1 + exp(-2z)) with z = √(2/π) (x + 0.044715 x³)
    power = x * x  # (T, N)
    power *= cubic
    power += linear
    power *= x
    np.minimum(power, largest_power, out=power)
    np.exp(power, out=power)
    power += one
    np.divide(x, power, out=out)


zero: Final = np.float32(0)
one: Final = np.float32(1)
linear: Final = np.float32(-2 * math.sqrt(2 / math.pi))
cubic: Final = np.float32(-2 * math.sqrt(2 / math.pi) * 0.044715)
largest_power: Final = np.float32(80)  # below overflow, and x / exp(80) is nothing beside 1


def _array(weight: Tensor) -> Array:
    """A copy in float32, its rows contiguous."""
    array: Array = weight.detach().cpu().numpy().astype(np.float32, order="C")
    return array


def _side_by_side(matrices: Sequence[Tensor]) -> list[Array]:
    """Copies in float32 that share one block of memory.

    NumPy asks the system for huge pages for a large array, and only for such a one: reading the
    weights is a fifth faster where it gets them.
    """
    line = 16  # numbers in a cache line
    sizes = [-(-matrix.numel() // line) * line for matrix in matrices]
    memory = np.empty(sum(sizes) + line, np.float32)
    start = -memory.ctypes.data // memory.itemsize % line
    arrays = []
    for matrix, size in zip(matrices, sizes, strict=True):
        array = memory[start : start + matrix.numel()].reshape(matrix.shape)
        array[...] = matrix.cpu().numpy()
        arrays.append(array)
        start += size
    return arrays


def _centered(rows: Tensor) -> Tensor:
    """Rows less their mean, in float64, so that what they add to the stream has mean 0."""
    double = rows.detach().double()
    return double - double.mean(-1, keepdim=True)


def _after_norm(norm: nn.LayerNorm, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A matrix with the gain and bias of the norm before it worked in: (M + 1, N) in float64."""
    double = weight.detach().double()  # (N, M)
    shift = double @ norm.bias.detach().double()  # (N,)
    if bias is not None:
        shift += bias.detach()
    return torch.vstack(((double * norm.weight.detach()).T, shift))


def _to_stream(linear: nn.Linear) -> Tensor:
    """A matrix whose results, which go to the residual stream, have mean 0: (M + 1, N)."""
    return _centered(torch.vstack((linear.weight.T, linear.bias)))
