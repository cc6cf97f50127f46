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

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from specmini.gpt import GPT, Block, Config
from specmini.heads.unrolled import later, one_pass

__all__ = ["FeatureHead", "FeatureHeadConfig"]


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
                x = one_pass(block, x, earlier)  # (B, T, d)
            own = self.draft.ln_f(x)  # (B, T, d)
            logits.append(self.draft.logits(own))
            before = self.from_self(later(own, 1))  # (B, T, d)
        return logits
