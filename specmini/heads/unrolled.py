"""All rounds of a text at once: how a head that feeds on itself is trained as it is used.

In pass s every position plays the s-th guess of a round (EAGLE-3's training-time test: Li et al.
2025, arXiv:2503.01840, section 3). Its attention sees what was read with features of the target,
as far back as those reach, and after that the guesses of its own round alone.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor

from specmini.gpt import Block

__all__ = ["later", "one_pass"]


def one_pass(block: Block, x: Tensor, earlier: list[tuple[Tensor, Tensor]]) -> Tensor:
    """A block in pass s of a round.

    Args:
        block: the weights.
        x: (B, T, d).
        earlier: keys and values of this block in the passes before, each (B, H, T, d/H); those of
            this one join.

    Returns:
        (B, T, d).
    """
    x = x + _attend(block, x, earlier)  # (B, T, d)
    return cast(Tensor, x + block.mlp(block.ln_2(x)))


def _attend(block: Block, x: Tensor, earlier: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Attention of pass s, which sees the first pass far back and each later one once.

    Query t of pass s (counted from 0) looks at keys of pass 0 up to position t - s, and then, for
    each pass r from 1 to s, at the key of position t - s + r: the guesses of its own round.

    Args:
        block: the weights.
        x: (B, T, d).
        earlier: keys and values of passes before, each (B, H, T, d/H); those of this one join.

    Returns:
        (B, T, d).
    """
    batch, length, width = x.shape
    qkv = block.attn.c_attn(block.ln_1(x)).view(batch, length, 3, block.attn.heads, -1)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, H, T, d/H)
    earlier.append((k, v))
    now = len(earlier) - 1
    keys, values = earlier[0]
    visible = torch.ones(length, length, dtype=torch.bool).tril(-now)  # (T, T)
    scores = (q @ keys.mT).masked_fill(~visible, -math.inf)  # (B, H, T, T)
    guessed = [
        (later(k, now - r, -2), later(v, now - r, -2))
        for r, (k, v) in enumerate(earlier[1:], start=1)
    ]
    own = [(q * k).sum(-1, keepdim=True) for k, _ in guessed]  # each (B, H, T, 1)
    weights = (torch.cat([scores, *own], -1) / math.sqrt(q.shape[-1])).softmax(-1)
    mixed = weights[..., :length] @ values  # (B, H, T, d/H)
    for place, (_, v) in enumerate(guessed):
        mixed = mixed + weights[..., length + place, None] * v
    return cast(Tensor, block.attn.c_proj(mixed.transpose(1, 2).reshape(batch, length, width)))


def later(x: Tensor, steps: int, dim: int = 1) -> Tensor:
    """Rows moved to later positions, zeros in front: row t of the result is row t - steps."""
    if steps == 0:
        return x
    front = torch.zeros_like(x.narrow(dim, 0, steps))
    return torch.cat([front, x.narrow(dim, 0, x.shape[dim] - steps)], dim)
