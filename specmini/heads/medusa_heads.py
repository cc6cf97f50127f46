"""Heads that guess several tokens at once from one feature of the target.

Medusa (Cai et al. 2024, arXiv:2401.10774, section 2.1.1): head k looks at the target's last hidden
state h and guesses the token k places after the next one, by softmax(W₂ (SiLU(W₁ h) + h)). W₁
starts at zero and W₂ as the target's own head, so that a head starts as the target's guess of the
next token. No head knows what the others guess, nor the token that the target itself has added
since. That is the price for all guesses in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor, nn

from specmini.heads.unrolled import later

__all__ = ["MedusaConfig", "MedusaHeads"]


@dataclass(frozen=True)
class MedusaConfig:
    """The shape of some Medusa heads.

    Attributes:
        vocabulary: number of token ids V.
        feature_width: size of the target's features D.
        heads: tokens guessed in a round, K.

    Raises:
        ValueError: a number is below 1.
    """

    vocabulary: int
    feature_width: int
    heads: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")


class MedusaHeads(nn.Module):
    """K heads over one feature.

    Args:
        config: the shape.
        vocabulary_matrix: (V, D) of the target, where every W₂ starts; zeros if not given.
    """

    def __init__(self, config: MedusaConfig, vocabulary_matrix: Tensor | None = None) -> None:
        super().__init__()
        self.config = config
        width, count = config.feature_width, range(config.heads)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in count)
        self.heads = nn.ModuleList(nn.Linear(width, config.vocabulary, bias=False) for _ in count)
        for hidden, head in zip(self.hidden, self.heads, strict=True):
            nn.init.zeros_(cast(nn.Linear, hidden).weight)
            nn.init.zeros_(cast(nn.Linear, hidden).bias)
            matrix = cast(nn.Linear, head).weight
            nn.init.zeros_(matrix)
            if vocabulary_matrix is not None:
                with torch.no_grad():
                    matrix.copy_(vocabulary_matrix)

    def unroll(self, tokens: Tensor, features: Tensor, passes: int) -> list[Tensor]:
        """Logits of each guess of a round, at all positions at once; as ``FeatureHead.unroll``.

        Args:
            tokens: (B, T) ids, which no head looks at.
            features: (B, T, D), the target's after each token.
            passes: heads to ask, at least 1.

        Returns:
            S tensors (B, T, V).

        Raises:
            ValueError: ``passes`` is below 1 or above the number of heads.
        """
        if not 1 <= passes <= self.config.heads:
            raise ValueError(f"passes must be in [1, {self.config.heads}], got {passes}")
        logits = []
        for place, (hidden, head) in enumerate(zip(self.hidden, self.heads, strict=True)):
            if place < passes:
                seen = later(features, place + 1)  # (B, T, D)
                logits.append(head(F.silu(hidden(seen)) + seen))
        return logits
