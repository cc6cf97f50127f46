"""The forward pass over many sequences, in three ways that compute the same.

One product serves the tokens of all sequences, packed without padding, so a matrix is read once for
all. ``NumpyBatchStep`` has the cheapest calls, ``TorchBatchStep`` the fastest products with
NumPy's attention between them, ``CompiledBatchStep`` no Python in between at all.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor, nn

from specmini.batch.attention import Integers, Places, attention, lowest
from specmini.engine.kernels import Kernel
from specmini.engine.numpy_model import NumpyStep, _times
from specmini.engine.step_model import Array
from specmini.engine.torch_step import AfterAttention, BeforeAttention, compiled
from specmini.gpt import GPT, Block

__all__ = ["CompiledBatchStep", "NumpyBatchStep", "TorchBatchStep"]


class NumpyBatchStep(NumpyStep):
    """A ``BatchStep`` in NumPy.

    Args:
        model: the weights, which are copied.
    """

    def run(
        self,
        tokens: Integers,
        cache: Array,
        places: Places,
        last_only: bool,
        joined: Array | None = None,
    ) -> tuple[Array, Array]:
        """As ``BatchStep``."""
        attend = attention(places)
        x = self._embedded(tokens, places.positions)  # (N, D)
        if joined is not None:
            x += joined
        count, heads = len(tokens), cache.shape[3]
        for matrices, stored in zip(self._blocks, cache, strict=True):
            qkv = _times(self._normed(x), matrices.qkv)  # (N, 3D)
            mixed = attend(qkv.reshape(count, 3, heads, -1), stored)  # (N, D)
            padded = self._input(*mixed.shape)  # (N, D + 1)
            padded[:, :-1] = mixed
            x += _times(padded, matrices.mixed)
            x += self._hidden(x, matrices)
        return self._read_out(x, places.last if last_only else slice(None))


class TorchBatchStep:
    """A ``BatchStep`` with torch's products around NumPy's attention.

    Args:
        model: the weights, which are shared or packed.
        kernel: multiplies by its matrices.
    """

    def __init__(self, model: GPT, kernel: Kernel) -> None:
        self._heads = model.config.heads
        self._scale = np.float32(1 / math.sqrt(model.config.width // self._heads))
        embeddings = model.wte.weight.detach()  # (V, D)
        self._embeddings = embeddings.numpy()  # (V, D)
        self._positions = model.wpe.weight.detach().numpy()  # (C, D)
        blocks = [block for block in model.h if isinstance(block, Block)]
        self._before = [compiled(BeforeAttention(block, kernel)) for block in blocks]
        self._after = [compiled(AfterAttention(block, kernel)) for block in blocks]
        head = kernel(embeddings, torch.zeros(model.config.vocabulary))
        self._read_out = compiled(_ReadOut(model.ln_f, head))

    @torch.inference_mode()
    def __call__(
        self,
        tokens: Integers,
        cache: Array,
        places: Places,
        last_only: bool,
        joined: Array | None = None,
    ) -> tuple[Array, Array]:
        """As ``BatchStep``."""
        attend = attention(places)
        rows = self._embeddings[tokens] + self._positions[places.positions]  # (N, D)
        if joined is not None:
            rows += joined
        x = torch.from_numpy(rows)  # (N, D)
        for before, after, stored in zip(self._before, self._after, cache, strict=True):
            qkv = before(x).numpy().reshape(len(tokens), 3, self._heads, -1)  # (N, 3, H, D/H)
            qkv[:, 0] *= self._scale
            x = after(x, torch.from_numpy(attend(qkv, stored)))
        logits, features = self._read_out(x, torch.from_numpy(places.last) if last_only else None)
        return logits.numpy(), features.numpy()


class CompiledBatchStep:
    """A ``BatchStep`` that is one compiled call.

    Args:
        model: the weights, which are shared or packed.
        kernel: multiplies by its matrices.
    """

    def __init__(self, model: GPT, kernel: Kernel) -> None:
        self._run = compiled(_Whole(model, kernel))

    @torch.inference_mode()
    def __call__(
        self,
        tokens: Integers,
        cache: Array,
        places: Places,
        last_only: bool,
        joined: Array | None = None,
    ) -> tuple[Array, Array]:
        """As ``BatchStep``."""
        masks = [
            torch.from_numpy(np.where(sees, np.float32(0), lowest))  # (T, W)
            for sees in places.sees or ()
        ]
        logits, features = self._run(
            torch.from_numpy(tokens),
            torch.from_numpy(places.positions),
            torch.from_numpy(cache),
            places.slots,
            places.past,
            places.new,
            masks,
            torch.from_numpy(places.last) if last_only else None,
            None if joined is None else torch.from_numpy(joined),
        )  # (N, V) or (R, V), and (N, D)
        return logits.numpy(), features.numpy()


class _ReadOut(nn.Module):
    """What stands behind the blocks."""

    def __init__(self, norm: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.norm, self.head = norm, head

    def forward(self, x: Tensor, last: Tensor | None) -> tuple[Tensor, Tensor]:
        """The stream (N, D) to logits of all rows or of the last ones, and features (N, D)."""
        features = self.norm(x)  # (N, D)
        rows = features if last is None else features[last]
        return self.head(rows), features


class _Whole(nn.Module):
    """All of a pass, written for TorchScript."""

    def __init__(self, model: GPT, kernel: Kernel) -> None:
        super().__init__()
        self.embeddings = model.wte.weight.detach()  # (V, D)
        self.positions = model.wpe.weight.detach()  # (C, D)
        self.blocks = nn.ModuleList(
            _BatchBlock(block, kernel) for block in model.h if isinstance(block, Block)
        )
        head = kernel(self.embeddings, torch.zeros(model.config.vocabulary))
        self.read_out = _ReadOut(model.ln_f, head)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        cache: Tensor,
        slots: list[int],
        past: list[int],
        new: list[int],
        masks: list[Tensor],
        last: Tensor | None,
        joined: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """(N,) packed tokens and positions, the cache and places to logits and features."""
        x = F.embedding(tokens, self.embeddings) + F.embedding(positions, self.positions)  # (N, D)
        if joined is not None:
            x = x + joined
        layers = cache.unbind(0)  # each (2, S, H, C, D/H)
        for layer, block in enumerate(self.blocks):
            x = block(x, layers[layer], slots, past, new, masks)
        found: tuple[Tensor, Tensor] = self.read_out(x, last)
        return found


class _BatchBlock(nn.Module):
    """One block for many sequences; attention runs sequence by sequence."""

    def __init__(self, block: Block, kernel: Kernel) -> None:
        super().__init__()
        self.heads = block.attn.heads
        self.before = BeforeAttention(block, kernel)
        self.after = AfterAttention(block, kernel)

    def forward(
        self,
        x: Tensor,
        cache: Tensor,
        slots: list[int],
        past: list[int],
        new: list[int],
        masks: list[Tensor],
    ) -> Tensor:
        """(N, D) to (N, D); cache is (2, S, H, C, D/H), a mask of a tree (T, W)."""
        count, width = x.shape[0], x.shape[1]
        qkv = self.before(x).view(count, 3, self.heads, -1)  # (N, 3, H, D/H)
        mixed = torch.empty([count, self.heads, qkv.shape[3]])  # (N, H, D/H)
        scale = 1.0 / math.sqrt(qkv.shape[3])
        start = 0
        for row in range(len(slots)):
            stop, seen = start + new[row], past[row]
            stored = cache[:, slots[row], :, : seen + new[row]]  # (2, H, past + T, D/H)
            part = qkv[start:stop].permute(1, 2, 0, 3)  # (3, H, T, D/H)
            stored[:, :, seen:] = part[1:]
            keys, values = stored.unbind(0)  # each (H, past + T, D/H)
            scores = torch.bmm(part[0] * scale, keys.transpose(1, 2))  # (H, T, past + T)
            if len(masks) > 0:
                scores[:, :, -masks[row].shape[1] :] += masks[row]
            elif new[row] > 1:
                future = torch.full([new[row], new[row]], -float("inf")).triu_(1)  # (T, T)
                scores[:, :, seen:] += future
            mixed[start:stop] = torch.bmm(torch.softmax(scores, -1), values).transpose(0, 1)
            start = stop
        y: Tensor = self.after(x, mixed.view(count, width))
        return y
