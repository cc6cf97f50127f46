"""A GPT forward pass in torch with as few calls as it takes, compiled to TorchScript.

No Python runs between the calls of a compiled step. The cache is a NumPy array, so that it can be
shared with ``NumpyStep``.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor, nn

from specmini.engine.kernels import Kernel
from specmini.engine.step_model import Array, Step
from specmini.engine.tree_model import Placed
from specmini.gpt import GPT, Block

__all__ = ["AfterAttention", "BeforeAttention", "TorchStep", "compiled", "torch_step"]


class BeforeAttention(nn.Module):
    """A block up to its attention: what each position asks for and stores.

    Args:
        block: the weights, which are shared or packed.
        kernel: multiplies by its matrices.
    """

    def __init__(self, block: Block, kernel: Kernel) -> None:
        super().__init__()
        self.ln_1 = block.ln_1
        self.c_attn = kernel(block.attn.c_attn.weight.detach(), block.attn.c_attn.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        """(T, D) to (T, 3D): queries, keys and values."""
        qkv: Tensor = self.c_attn(self.ln_1(x))
        return qkv


class AfterAttention(nn.Module):
    """The rest of a block.

    Args:
        block: the weights, which are shared or packed.
        kernel: multiplies by its matrices.
    """

    def __init__(self, block: Block, kernel: Kernel) -> None:
        super().__init__()
        self.ln_2 = block.ln_2
        self.attn_proj, self.c_fc, self.mlp_proj = (
            kernel(linear.weight.detach(), linear.bias.detach())
            for linear in (block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj)
        )

    def forward(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The stream before the block and what attention mixed, each (T, D), to (T, D)."""
        x = x + self.attn_proj(mixed)
        x = x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))
        return x


class _TorchBlock(nn.Module):
    """One block for one sequence, its matrices behind a kernel."""

    def __init__(self, block: Block, kernel: Kernel) -> None:
        super().__init__()
        self.heads = block.attn.heads
        self.before = BeforeAttention(block, kernel)
        self.after = AfterAttention(block, kernel)

    def forward(self, x: Tensor, stored: Tensor, past: int, mask: Tensor | None) -> Tensor:
        """(T, D) to (T, D); stored is (2, 1, H, past + T, D/H)."""
        new, width = x.shape[0], x.shape[1]
        qkv = self.before(x).view(1, new, 3, self.heads, -1)  # (1, T, 3, H, D/H)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (1, H, T, D/H)
        keys, values = stored.unbind(0)  # each (1, H, past + T, D/H)
        keys[:, :, past:] = k
        values[:, :, past:] = v
        y = F.scaled_dot_product_attention(q, keys, values, mask)  # (1, H, T, D/H)
        x = self.after(x, y.transpose(1, 2).reshape(new, width))
        return x


class TorchStep(nn.Module):
    """The forward pass for one sequence, written for TorchScript.

    Args:
        model: the weights, which are shared or packed.
        kernel: multiplies by its matrices.
    """

    def __init__(self, model: GPT, kernel: Kernel) -> None:
        super().__init__()
        self.embeddings = model.wte.weight.detach()  # (V, D)
        self.positions = model.wpe.weight.detach()  # (C, D)
        self.blocks = nn.ModuleList(
            _TorchBlock(block, kernel) for block in model.h if isinstance(block, Block)
        )
        self.ln_f = model.ln_f
        self.head = kernel(self.embeddings, torch.zeros(model.config.vocabulary))

    def forward(
        self,
        tokens: Tensor,
        cache: Tensor,
        past: int,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """(T,) ids and the (L, 2, 1, H, C, D/H) cache to (T, V) and what the head read, (T, D).

        Positions and mask are as in ``GPT.forward``.
        """
        end = past + tokens.shape[0]
        if positions is None:
            x = F.embedding(tokens, self.embeddings) + self.positions[past:end]  # (T, D)
        else:
            x = F.embedding(tokens, self.embeddings) + F.embedding(positions, self.positions)
        if mask is None and tokens.shape[0] > 1:
            mask = torch.full([tokens.shape[0], end], -float("inf")).triu_(past + 1)
        stored = cache[:, :, :, :, :end].unbind(0)  # each (2, 1, H, past + T, D/H)
        for layer, block in enumerate(self.blocks):
            x = block(x, stored[layer], past, mask)
        features: Tensor = self.ln_f(x)  # (T, D)
        return self.head(features), features


def compiled(module: nn.Module) -> Callable[..., Any]:
    """A module as TorchScript; a torch without it runs the same module, more slowly."""
    run: Callable[..., Any] = module.eval()
    with warnings.catch_warnings():
        # deprecated in favor of compilers that need C++ on the reader's machine
        warnings.simplefilter("ignore")
        with contextlib.suppress(AttributeError, RuntimeError):
            run = torch.jit.script(module)
    return run


def torch_step(model: GPT, kernel: Kernel) -> Step:
    """A compiled ``TorchStep`` that takes and gives NumPy arrays."""
    module = compiled(TorchStep(model, kernel))

    @torch.inference_mode()
    def step(
        tokens: Sequence[int], cache: Array, past: int, placed: Placed | None = None, /
    ) -> tuple[Array, Array]:
        stored = torch.from_numpy(cache).unsqueeze(2)  # (L, 2, 1, H, C, D/H)
        ids = torch.tensor(tokens, dtype=torch.int64)  # (T,)
        if placed is None:
            logits, features = module(ids, stored, past)  # (T, V) and (T, D)
        else:
            text = past + len(tokens) - placed.sees.shape[1]
            positions = torch.from_numpy(text + placed.depths)  # (T,)
            mask = np.pad(placed.sees, ((0, 0), (text, 0)), constant_values=True)  # (T, past + T)
            logits, features = module(ids, stored, past, positions, torch.from_numpy(mask))
        return logits.numpy(), features.numpy()

    return step
