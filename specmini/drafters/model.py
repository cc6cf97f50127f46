"""Draft with a small language model: the classic (Leviathan et al. 2023, Chen et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from specmini.checks import FloatArray, choice
from specmini.drafters.base import agreement
from specmini.engine.cached_model import CachedModel
from specmini.sampling import Sampling, draw, plain
from specmini.verify import Draft, Verdict

__all__ = ["AcceptanceRule", "KeepGoing", "ModelDrafter"]

AcceptanceRule = Literal["textbook", "greedy draft", "exact match"]

# from the model's distributions at temperature 1 after which tokens were drafted, each (V,),
# to whether another token shall be
KeepGoing = Callable[[Sequence[FloatArray]], bool]


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

    A draft may stop before K tokens where the draft model is unsure. It is asked after each token,
    and is shown what the model thought before that token was drawn, never the token: what is drawn
    is proposed.

    Args:
        model: the draft model; it is this drafter's alone, and what it has seen is forgotten.
        sampling: applied to its logits; that of the target, for the textbook rule to accept most.
        rule: which of the three.
        keep_going: whether to draft another token; always, up to K, if not given. Rules are in
            ``drafters.confidence``.

    Raises:
        ValueError: an unknown rule.
    """

    def __init__(
        self,
        model: CachedModel,
        sampling: Sampling,
        rule: AcceptanceRule = "textbook",
        keep_going: KeepGoing | None = None,
    ) -> None:
        choice("rule", rule, get_args(AcceptanceRule))
        self.model, self.sampling, self.rule = model, sampling, rule
        self.keep_going = keep_going
        self._seen: list[int] = []
        model.truncate(0)

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess at most K tokens; fewer where the draft model's context ends, or it is unsure.

        Raises:
            ValueError: somebody else ran the draft model.
        """
        room = self.model.context - len(text) + 1  # the last guess is never fed back
        steps = min(draft_length, room)
        unseen = self._rewind(text) if steps > 0 else []
        tokens: list[int] = []
        rows = []
        thoughts: list[FloatArray] = []  # each (V,), at temperature 1
        for _ in range(steps):
            logits = self.model.forward(unseen)[-1]  # (V,)
            self._seen += unseen
            q = self.sampling.probs(logits)  # (V,)
            unseen = [int(q.argmax()) if self.rule == "greedy draft" else draw(q, rng)]
            tokens += unseen
            rows.append(q)
            if self.keep_going is not None:
                # a temperature would hide what is asked for: at 0 every choice looks certain
                thoughts.append(plain.probs(logits))
                if not self.keep_going(thoughts):
                    break
        drafted = np.array(tokens, dtype=np.int64)  # (K,)
        return Draft(drafted, np.array(rows) if rows and self.rule == "textbook" else None)

    def observe(self, verdict: Verdict) -> None:
        """A model learns nothing from verdicts."""

    def _rewind(self, text: Sequence[int]) -> list[int]:
        """Go back to where the text agrees with what the model has seen; return what follows."""
        if self.model.length != len(self._seen):
            raise ValueError(
                f"model must have seen the {len(self._seen)} tokens this drafter gave it, got "
                f"{self.model.length}; each drafter needs a model of its own"
            )
        agreed = agreement(self._seen, text[:-1])
        self.model.truncate(agreed)
        self._seen = list(text[:agreed])
        return list(text[agreed:])
