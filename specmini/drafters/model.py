"""Draft with a small language model: the classic (Leviathan et al. 2023, Chen et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from specmini.cached_model import CachedModel
from specmini.checks import FloatArray, choice
from specmini.sampling import Sampling, draw
from specmini.verify import Draft, Verdict

__all__ = ["AcceptanceRule", "ModelDrafter"]

AcceptanceRule = Literal["textbook", "greedy draft", "exact match"]


class ModelDrafter:
    """A smaller model that writes a few tokens ahead.

    Three rules hide behind "acceptance rate", and all three leave the target's distribution as it
    is. They differ in what is drafted and in what ``verify`` is told about it:

    ============  ======================  ===============  ==========================
    rule          the draft token x is    verify sees q    x is accepted with chance
    ============  ======================  ===============  ==========================
    textbook      drawn from q            yes              min(1, p(x) / q(x))
    greedy draft  the likeliest under q   as certain       p(x)
    exact match   drawn from q            as certain       p(x)
    ============  ======================  ===============  ==========================

    On average over x they accept Σ min(p, q), p(argmax q) and Σ p q.

    Args:
        model: the draft model; it is this drafter's alone.
        sampling: applied to its logits; that of the target, for the textbook rule to accept most.
        rule: which of the three.

    Raises:
        ValueError: an unknown rule.
    """

    def __init__(
        self, model: CachedModel, sampling: Sampling, rule: AcceptanceRule = "textbook"
    ) -> None:
        choice("rule", rule, get_args(AcceptanceRule))
        self.model, self.sampling, self.rule = model, sampling, rule
        self._seen: list[int] = []

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess at most K tokens; fewer where the draft model's context ends."""
        room = self.model.context - len(text) + 1  # the last guess is never fed back
        tokens: list[int] = []
        rows = []
        for _ in range(min(draft_length, room)):
            q = self.sampling.probs(self._logits([*text, *tokens]))  # (V,)
            tokens.append(int(q.argmax()) if self.rule == "greedy draft" else draw(q, rng))
            rows.append(q)
        drafted = np.array(tokens, dtype=np.int64)  # (K,)
        return Draft(drafted, np.stack(rows) if rows and self.rule == "textbook" else None)

    def observe(self, verdict: Verdict) -> None:
        """A model learns nothing from verdicts."""

    def _logits(self, text: list[int]) -> FloatArray:
        """Logits after a text, (V,); only what the model has not seen yet is run."""
        known = 0
        for seen, now in zip(self._seen, text[:-1], strict=False):
            if seen != now:
                break
            known += 1
        self.model.truncate(known)
        self._seen = text
        logits: FloatArray = self.model.forward(text[known:])[-1]  # (V,)
        return logits
