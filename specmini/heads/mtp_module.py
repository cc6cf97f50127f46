"""A multi-token prediction module: one more block, which takes over where the target ends.

DeepSeek-V3 (DeepSeek-AI 2024, arXiv:2412.19437, section 2.2) appends to the target a module that
reads its last hidden state at a token and the embedding of the token after it, maps both by one
matrix to the target's width (equation 21), runs them through one transformer block (22) and guesses
with the target's own embedding and head (23). A linear map of two things side by side is the sum
of two, so here the matrix is two.

The paper trains D modules, one for each token further ahead; engines load one and apply it again to
what it made itself, as vLLM and SGLang do for DeepSeek-V3, which comes with one. So it is trained
that way here: in pass s of ``unroll`` every position plays the s-th guess of a round.

What is simpler than in the paper: the target is finished and stays as it is, while there both are
trained together, so that its features learn to look ahead; LayerNorm stands for RMSNorm, and
learned positions, the target's, for rotary ones, as in our GPT; a state is read after the final
norm, which is where the head reads it.

What is different from ``feature_head``: this block is as wide as the target's, and the vocabulary
matrix is the target's, so a guess is better and dearer.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor, nn

from specmini.drafters.early_exit import early_exit
from specmini.gpt import GPT, Block, Config
from specmini.heads.unrolled import later, one_pass

__all__ = ["MtpModule"]


class MtpModule(nn.Module):
    """One block between a target's features and its head.

    The embedding, the positions and the head are the target's and no weights of the module: they
    are neither trained nor stored, and must be ``lent`` before it can run.

    A new one, as trained from, is ``on_top_of`` a target.

    Args:
        config: the target's shape, but for one layer.
        generator: source of the initial weights; the global one if not given.

    Attributes:
        embedding: (V, D), the target's; zeros until it is lent.
        positions: (C, D), the target's.

    Raises:
        ValueError: another number of layers.
    """

    embedding: Tensor
    positions: Tensor

    def __init__(self, config: Config, generator: torch.Generator | None = None) -> None:
        super().__init__()
        if config.layers != 1:
            raise ValueError(f"layers must be 1, got {config.layers}")
        self.config = config
        fresh = GPT(config, generator)
        self.h, self.ln_f = fresh.h, fresh.ln_f
        width = config.width
        self.feature_norm, self.token_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.from_feature = nn.Linear(width, width, bias=False)
        self.from_token = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.from_feature.weight)
        nn.init.eye_(self.from_token.weight)
        for name, rows in (("embedding", config.vocabulary), ("positions", config.context)):
            self.register_buffer(name, torch.zeros(rows, width), persistent=False)
        self._is_lent = False

    @classmethod
    def on_top_of(cls, target: GPT) -> MtpModule:
        """A new module for a target, with what it borrows.

        It starts as about the target cut off after its first block (``drafters.early_exit``): in
        trial runs on the trained target that saved some sixty steps, where a copy of the last
        block saved none.

        Args:
            target: lends its embedding, positions and head; a copy is made of its first block.

        Raises:
            ValueError: the target has one layer only, and so nothing to cut.
        """
        cut = early_exit(target, 1)
        module = cls(cut.config)
        module.h.load_state_dict(cut.h.state_dict())
        module.ln_f.load_state_dict(cut.ln_f.state_dict())
        # tokens begin as large as that block is used to
        nn.init.constant_(module.token_norm.weight, target.wte.weight.detach().std().item())
        module.lend(target)
        return module

    def lend(self, target: GPT) -> None:
        """Give the module its target's embedding, which is the head too, and positions.

        Raises:
            ValueError: the target has another vocabulary, context or width.
        """
        for name in ("vocabulary", "context", "width"):
            if (wanted := getattr(self.config, name)) != (found := getattr(target.config, name)):
                raise ValueError(f"target must have {name} {wanted}, got {found}")
        self.embedding = target.wte.weight.detach()
        self.positions = target.wpe.weight.detach()
        self._is_lent = True

    def check_lent(self) -> None:
        """Check that it has what it borrows.

        Raises:
            ValueError: it has not.
        """
        if not self._is_lent:
            raise ValueError("target must lend its embedding first, got a module without one")

    def unroll(self, tokens: Tensor, features: Tensor, passes: int) -> list[Tensor]:
        """Logits of each guess of a round, at all positions at once; as ``FeatureHead.unroll``.

        Args:
            tokens: (B, T) ids.
            features: (B, T, D), the target's after each token.
            passes: guesses S of a round, at least 1 and at most T.

        Returns:
            S tensors (B, T, V).

        Raises:
            ValueError: ``passes`` is below 1 or above T, or nothing was lent.
        """
        self.check_lent()
        if not 1 <= passes <= tokens.shape[1]:
            raise ValueError(f"passes must be in [1, {tokens.shape[1]}], got {passes}")
        block = self.h[0]
        assert isinstance(block, Block)
        named = self.from_token(self.token_norm(F.embedding(tokens, self.embedding)))  # (B, T, D)
        placed = named + self.positions[: tokens.shape[1]]  # (B, T, D)
        before = later(features, 1)  # (B, T, D)
        earlier: list[tuple[Tensor, Tensor]] = []
        logits = []
        for _ in range(passes):
            x = placed + self.from_feature(self.feature_norm(before))  # (B, T, D)
            own = self.ln_f(one_pass(block, x, earlier))  # (B, T, D)
            logits.append(F.linear(own, self.embedding))
            before = later(own, 1)  # (B, T, D)
        return logits
