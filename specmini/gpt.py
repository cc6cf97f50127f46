"""A tiny GPT in the GPT-2 layout, with a cache that forgets by length.

Radford et al. 2019 (GPT-2): learned positions, LayerNorm before each half of a block, one matrix
for queries, keys and values, GELU (tanh form) and a head tied to the embedding. Parameter names
are those of Hugging Face's ``GPT2LMHeadModel`` without the prefix ``transformer.``; the only other
difference is that their ``Conv1D`` stores the matrices c_attn, c_proj and c_fc transposed.
``to_hugging_face`` applies both.

The cache is an object of its own, so one set of weights can serve several sequences, and a
rejected draft is taken back by saying how many positions to keep: never ``[:-n]``, which keeps
nothing when n is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor, nn

__all__ = ["GPT", "Cache", "Config", "from_hugging_face", "grow", "to_hugging_face"]


@dataclass(frozen=True)
class Config:
    """The shape of a GPT.

    Attributes:
        vocabulary: number of token ids V.
        context: longest sequence C.
        layers: number of blocks L.
        width: size of the residual stream D.
        heads: attention heads H; each has D / H dimensions.

    Raises:
        ValueError: a number is below 1, or ``heads`` does not divide ``width``.
    """

    vocabulary: int
    context: int
    layers: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.width % self.heads:
            raise ValueError(f"heads must divide width {self.width}, got {self.heads}")

    @property
    def parameters(self) -> int:
        """Number of weights, the tied embedding counted once."""
        block = 12 * self.width**2 + 13 * self.width
        return (self.vocabulary + self.context + 2) * self.width + self.layers * block


class Cache:
    """Keys and values of the positions a model has seen.

    Args:
        config: shape of the model that will fill it.
        batch: number of sequences B, all of the same length.
        dtype: type of the stored values.
        device: where they are stored.
    """

    def __init__(
        self,
        config: Config,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        head = config.width // config.heads
        shape = (config.layers, 2, batch, config.heads, config.context, head)
        self._values = torch.zeros(shape, dtype=dtype, device=device)  # (L, 2, B, H, C, D/H)
        self._length = 0

    @property
    def length(self) -> int:
        """Number of positions stored."""
        return self._length

    @property
    def room(self) -> int:
        """Number of positions still free."""
        return self._values.shape[4] - self._length

    def truncate(self, length: int) -> None:
        """Forget all positions from ``length`` on; their memory is used again.

        Raises:
            ValueError: ``length`` is negative or more than is stored.
        """
        if not 0 <= length <= self._length:
            raise ValueError(f"length must be in [0, {self._length}], got {length}")
        self._length = length

    def move(self, rows: Sequence[int], start: int) -> None:
        """Copy some positions to ``start`` and those after it, and forget all beyond them.

        Args:
            rows: positions stored.
            start: where the first of them goes; at most the number stored.
        """
        end = start + len(rows)
        if rows:
            self._values[:, :, :, :, start:end] = self._values[:, :, :, :, rows]
        self._length = end

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store a layer's new positions and return all it has, old and new.

        The length grows with ``advance``, once all layers are stored.

        Args:
            layer: index of the layer.
            keys: (B, H, T, D/H).
            values: (B, H, T, D/H).
        """
        end = self._length + keys.shape[2]
        self._values[layer, 0, :, :, self._length : end] = keys
        self._values[layer, 1, :, :, self._length : end] = values
        stored = self._values[layer, :, :, :, :end]  # (2, B, H, length + T, D/H)
        return stored[0], stored[1]

    def advance(self, positions: int) -> None:
        """Count positions that every layer has stored."""
        self._length += positions


class Attention(nn.Module):
    """Causal self-attention with H heads."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.c_attn = nn.Linear(config.width, 3 * config.width)
        self.c_proj = nn.Linear(config.width, config.width)

    def forward(
        self, x: Tensor, layer: int, cache: Cache | None, mask: Tensor | None = None
    ) -> Tensor:
        """Mix each position with those before it, or those in a mask: (B, T, D) to (B, T, D)."""
        batch, new, width = x.shape
        qkv = self.c_attn(x).view(batch, new, 3, self.heads, -1)  # (B, T, 3, H, D/H)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, H, T, D/H)
        if cache is not None:
            k, v = cache.extend(layer, k, v)  # each (B, H, past + T, D/H)
            if mask is None and 1 < new < k.shape[2]:
                # is_causal would align the first new position with the first stored one
                ones = torch.ones(new, k.shape[2], dtype=torch.bool, device=x.device)
                mask = ones.tril(k.shape[2] - new)  # (T, past + T)
        causal = mask is None and new > 1
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)  # (B, H, T, D/H)
        return cast(Tensor, self.c_proj(y.transpose(1, 2).reshape(batch, new, width)))


class MLP(nn.Module):
    """Two matrices around a GELU, four times as wide inside."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.c_fc = nn.Linear(config.width, 4 * config.width)
        self.c_proj = nn.Linear(4 * config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position by itself: (B, T, D) to (B, T, D)."""
        return cast(Tensor, self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    """Attention, then the two-layer network, each added to the residual stream."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(
        self, x: Tensor, layer: int, cache: Cache | None, mask: Tensor | None = None
    ) -> Tensor:
        """(B, T, D) to (B, T, D)."""
        x = x + self.attn(self.ln_1(x), layer, cache, mask)
        return cast(Tensor, x + self.mlp(self.ln_2(x)))


class GPT(nn.Module):
    """Token ids to next-token logits.

    Args:
        config: the shape.
        generator: source of the initial weights; the global one if not given.
    """

    def __init__(self, config: Config, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocabulary, config.width)
        self.wpe = nn.Embedding(config.context, config.width)
        self.h = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln_f = nn.LayerNorm(config.width)
        # GPT-2's initial weights: what is added to the residual stream shrinks with the depth
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                depth = math.sqrt(2 * config.layers) if name.endswith("c_proj.weight") else 1.0
                nn.init.normal_(weight, std=0.02 / depth, generator=generator)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(
        self,
        tokens: Tensor,
        cache: Cache | None = None,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Logits after each token.

        Args:
            tokens: (B, T) ids; with a cache, the T that follow the stored positions.
            cache: the positions before, which then hold these T too; none if not given.
            positions: (T,) place of each token in the text; one after the other if not given.
            mask: (T, past + T) whether each token sees each stored one and each of these; all
                before it if not given.

        Returns:
            (B, T, V) logits: [b, t] is about the token after tokens[b, t].

        Raises:
            ValueError: no token, or more than the context has room for.
        """
        return self.logits(self.features(tokens, cache, positions, mask))  # (B, T, V)

    def logits(self, features: Tensor) -> Tensor:
        """What the head makes of features: (B, T, D) to (B, T, V)."""
        return F.linear(features, self.wte.weight)

    def features(
        self,
        tokens: Tensor,
        cache: Cache | None = None,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """What the head reads after each token, (B, T, D); arguments and errors as ``forward``."""
        new, past = tokens.shape[1], 0 if cache is None else cache.length
        room = self.config.context - past
        if not 1 <= new <= room:
            raise ValueError(f"tokens must have length in [1, {room}], got {new}")
        places = slice(past, past + new) if positions is None else positions
        x = self.wte(tokens) + self.wpe.weight[places]  # (B, T, D)
        for layer, block in enumerate(self.h):
            x = block(x, layer, cache, mask)  # (B, T, D)
        if cache is not None:
            cache.advance(new)
        return cast(Tensor, self.ln_f(x))


def grow(model: GPT, layers: int, generator: torch.Generator | None = None) -> GPT:
    """A deeper model that computes the same function, to be trained on.

    New blocks go on top with zeros in both matrices that write to the residual stream, so they
    add nothing until training moves them. A shallow model sees several times more tokens in the
    same time, which is why growing beats starting deep.

    Args:
        model: the model to start from, left as it is.
        layers: number of blocks wanted.
        generator: source of the new blocks' other weights.

    Raises:
        ValueError: ``layers`` is not more than the model has.
    """
    old = model.config
    if layers <= old.layers:
        raise ValueError(f"layers must be more than {old.layers}, got {layers}")
    config = Config(old.vocabulary, old.context, layers, old.width, old.heads)
    grown = GPT(config, generator)
    grown.load_state_dict(model.state_dict(), strict=False)
    for block in list(grown.h)[old.layers :]:
        assert isinstance(block, Block)
        for linear in (block.attn.c_proj, block.mlp.c_proj):
            nn.init.zeros_(linear.weight)
    return grown


def to_hugging_face(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state dict of this module under ``GPT2LMHeadModel``'s names and orientations."""
    named = {f"transformer.{name}": _turned(name, weight) for name, weight in weights.items()}
    return {**named, "lm_head.weight": weights["wte.weight"]}


def from_hugging_face(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of ``to_hugging_face``; buffers and the tied head are left out."""
    prefix = "transformer."
    names = [
        name.removeprefix(prefix)
        for name in weights
        if name.startswith(prefix) and not name.endswith((".attn.bias", ".attn.masked_bias"))
    ]
    return {name: _turned(name, weights[prefix + name]) for name in names}


def _turned(name: str, weight: Tensor) -> Tensor:
    """The weight as the other layout stores it: the blocks' matrices are transposed."""
    is_matrix = name.startswith("h.") and weight.dim() == 2
    return weight.T.contiguous() if is_matrix else weight
