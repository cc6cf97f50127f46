"""A draft that reads the target's mind: a small GPT whose input is a token and a feature.

The target's last hidden state, its *feature*, already holds most of what the next token will be.
EAGLE (Li et al. 2024, arXiv:2401.15077) gives it to the draft: at each position one linear map
takes the token and the feature of the position before. A linear map of two things side by side is
the sum of two linear maps, so here it is the draft model's own embedding, as in any GPT, plus a
matrix for the feature. With that matrix at zero the head *is* the draft model, and so a distilled
draft is where its training starts.

Past its first guess the head has no feature of the target: the target has not seen that token. It
then feeds on its own last hidden state, through a second matrix. So it is trained as it is used
(EAGLE-3's training-time test: Li et al. 2025, arXiv:2503.01840, section 3; HASS: Zhang et al. 2024,
arXiv:2408.15766): in pass s of ``unroll`` every position plays the s-th guess of a round, whose
attention sees features of the target up to s - 1 positions back, and its own guesses since.

What is simpler than in the papers: the feature is the target's last one alone (EAGLE-3 mixes three
depths), nothing pulls the head's state towards the target's (EAGLE-1 does), and the head has a
vocabulary matrix of its own, narrow as itself, where EAGLE borrows the target's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from specmini.gpt import GPT, Block, Config

__all__ = ["FeatureHead", "FeatureHeadConfig", "later"]


@dataclass(frozen=True)
class FeatureHeadConfig:
    """The shape of a feature head.

    Attributes:
        draft: of the GPT in it.
        feature_width: size of the target's features D.

    Raises:
        ValueError: ``feature_width`` is below 1.
    """

    draft: Config
    feature_width: int

    def __post_init__(self) -> None:
        if self.feature_width < 1:
            raise ValueError(f"feature_width must be at least 1, got {self.feature_width}")

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self.draft.vocabulary


class FeatureHead(nn.Module):
    """A GPT whose embedded tokens are joined by features.

    Args:
        config: the shape.
        draft: a trained draft of that shape to start from, which is copied; a new one if not given.
        generator: source of a new draft's weights. Both feature matrices start at zero.
    """

    def __init__(
        self,
        config: FeatureHeadConfig,
        draft: GPT | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        width = config.draft.width
        self.draft = GPT(config.draft, generator)
        if draft is not None:
            self.draft.load_state_dict(draft.state_dict())
        self.from_target = nn.Linear(config.feature_width, width, bias=False)
        self.from_self = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.from_target.weight)
        nn.init.zeros_(self.from_self.weight)

    def unroll(self, tokens: Tensor, features: Tensor, passes: int) -> list[Tensor]:
        """Logits of each guess of a round, at all positions at once.

        Args:
            tokens: (B, T) ids.
            features: (B, T, D), the target's after each token.
            passes: guesses S of a round, at least 1 and at most T.

        Returns:
            S tensors (B, T, V). In tensor s, counted from 0, row t is about the token after
            tokens[t] when the last feature of the target is that of position t - 1 - s. Rows t <= s
            have no such position: a feature of zeros stands in.

        Raises:
            ValueError: ``passes`` is below 1 or above T.
        """
        if not 1 <= passes <= tokens.shape[1]:
            raise ValueError(f"passes must be in [1, {tokens.shape[1]}], got {passes}")
        embedded = self.draft.wte(tokens) + self.draft.wpe.weight[: tokens.shape[1]]  # (B, T, d)
        before = self.from_target(later(features, 1))  # (B, T, d)
        kept: list[list[tuple[Tensor, Tensor]]] = [[] for _ in self.draft.h]
        logits = []
        for _ in range(passes):
            x = embedded + before  # (B, T, d)
            for block, earlier in zip(self.draft.h, kept, strict=True):
                assert isinstance(block, Block)
                x = x + _attend(block, x, earlier)  # (B, T, d)
                x = x + block.mlp(block.ln_2(x))  # (B, T, d)
            own = self.draft.ln_f(x)  # (B, T, d)
            logits.append(self.draft.logits(own))
            before = self.from_self(later(own, 1))  # (B, T, d)
        return logits


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
