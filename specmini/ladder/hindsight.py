"""What each way of choosing K would have done on one and the same text, and the best in hindsight.

A text of the target's own is a fair record of every speculative run that could have written it. If
the text has token x where the two models think p and q, then x was a draft that stayed with chance
min(p, q) / p, whatever K was, as long as K was chosen before anything was drawn; otherwise the
target recovered it (Leviathan et al. 2023, arXiv:2211.17192, appendix A.1, read backwards). So one
coin a token, thrown once, says how many drafts would have stayed from any place on. Rounds replayed
on these coins have the distribution of real ones, exactly, and two ways of choosing K meet the same
luck.

Times are counted in plain steps: a round that drafts k costs k c + v(k), one that drafts nothing 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specmini.checks import FloatArray, non_negative, single, whole_number
from specmini.drafters.base import Drafter
from specmini.gpt import GPT
from specmini.sampling import Sampling
from specmini.verify import Draft, Verdict, empty_draft

__all__ = ["Costs", "Luck", "Play", "Replayed", "best_in_hindsight", "chances_to_stay", "play"]

Luck = NDArray[np.bool_]  # (N, T) whether a draft would have stayed at each token of N texts


@dataclass(frozen=True)
class Costs:
    """What a round costs, in plain steps.

    Attributes:
        cost_ratio: c, in [0, inf).
        verify_cost: from k, at least 1, to v.

    Raises:
        ValueError: ``cost_ratio`` is outside its range.
    """

    cost_ratio: float
    verify_cost: Callable[[int], float]

    def __post_init__(self) -> None:
        non_negative("cost_ratio", self.cost_ratio)

    def of_round(self, drafted: int) -> float:
        """Cost of a round that drafts so many tokens."""
        return drafted * self.cost_ratio + self.verify_cost(drafted) if drafted else 1.0


@dataclass(frozen=True)
class Play:
    """What some texts came to, by one way of choosing K.

    Attributes:
        tokens: of all texts.
        rounds: plain steps among them.
        speculative_rounds: those in which something was drafted.
        drafted: tokens drafted.
        accepted: those of them that stayed.
        cost: of all rounds, in plain steps.
    """

    tokens: int
    rounds: int
    speculative_rounds: int
    drafted: int
    accepted: int
    cost: float

    @property
    def tokens_per_round(self) -> float:
        """E, over all rounds."""
        return self.tokens / self.rounds

    @property
    def speedup(self) -> float:
        """Plain steps over the cost; below 1 where speculation lost."""
        return self.tokens / self.cost


@torch.inference_mode()
def chances_to_stay(
    target: GPT, draft: GPT, texts: Tensor, prompt_length: int, sampling: Sampling
) -> FloatArray:
    """The chance of each token of a text to be a draft that stayed, had one been made there.

    Args:
        target: wrote the texts, with this sampling.
        draft: would have drafted, with the same.
        texts: (N, P + T) ids.
        prompt_length: P, tokens that were given; at least 1.
        sampling: applied to the logits of both.

    Returns:
        (N, T), min(p, q) / p at the text's own tokens; its mean estimates α.

    Raises:
        ValueError: no prompt, no token behind it, or a token that the target would never write.
    """
    start: int = single("prompt_length", whole_number("prompt_length", prompt_length, minimum=1))
    if start >= texts.shape[1]:
        raise ValueError(f"prompt_length must be below {texts.shape[1]}, got {start}")
    written = texts[:, start:].numpy()[..., None]  # (N, T, 1)
    p, q = (
        np.take_along_axis(
            sampling.probs(model(texts[:, :-1])[:, start - 1 :].numpy()), written, axis=-1
        )[..., 0]
        for model in (target, draft)
    )  # each (N, T)
    if not p.min() > 0:
        raise ValueError("texts must be possible under the target, got a token with p = 0")
    chances: FloatArray = np.minimum(1.0, q / p)  # (N, T)
    return chances


class Replayed:
    """A drafter whose tokens are already judged: it only says how many it would propose."""

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """K tokens, all 0: they stand for those that the luck is about."""
        return Draft(np.zeros(draft_length, dtype=np.int64))

    def observe(self, verdict: Verdict) -> None:
        """Nothing is learned."""


def play(
    drafter: Drafter, luck: Luck, draft_length: int, costs: Costs, rng: np.random.Generator
) -> Play:
    """Replay texts one after the other, as ``generate`` would have written them.

    Args:
        drafter: ``Replayed()`` drafts K in each round; ``Gate(Replayed(), ...)`` as many as it
            likes, and remembers from text to text.
        luck: (N, T) whether a draft would have stayed.
        draft_length: most tokens to draft a round, K, at least 1.
        costs: of a round.
        rng: for the drafter.

    Raises:
        ValueError: K is below 1, or the luck has another shape.
    """
    most = _checked(luck, draft_length)
    counts = np.zeros(5, dtype=np.int64)
    cost = 0.0
    for stays in _runs(luck):
        place, end = 0, len(stays)
        while place < end:
            usable = min(most, end - place - 1)
            draft = drafter.propose((0,), usable, rng) if usable else empty_draft
            kept = min(len(draft), int(stays[place]))
            if usable:
                drafter.observe(Verdict(kept, 0))
            counts += (kept + 1, 1, len(draft) > 0, len(draft), kept)
            cost += costs.of_round(len(draft))
            place += kept + 1
    return _summed(counts, cost)


def best_in_hindsight(luck: Luck, draft_length: int, costs: Costs) -> Play:
    """The cheapest way through texts for one who knows which drafts stay.

    No round drafts a token that is rejected, but not every token that would stay is drafted: a
    check of more tokens may cost more than it saves. The choice is optimal over all rounds of a
    text together (dynamic programming from its end), so no rule does better.

    Args:
        luck: (N, T) whether a draft would have stayed.
        draft_length: most tokens to draft a round, K, at least 1.
        costs: of a round.

    Raises:
        ValueError: K is below 1, or the luck has another shape.
    """
    most = _checked(luck, draft_length)
    prices = np.array([costs.of_round(drafted) for drafted in range(most + 1)])  # (K + 1,)
    counts = np.zeros(5, dtype=np.int64)
    cost = 0.0
    for stays in _runs(luck):
        end = len(stays)
        left = np.zeros(end + 1)  # cost of the rest from each place on
        chosen = np.zeros(end, dtype=np.int64)
        for place in reversed(range(end)):
            reach = min(most, int(stays[place]), end - place - 1)
            ways = prices[: reach + 1] + left[place + 1 : place + reach + 2]  # (reach + 1,)
            chosen[place] = ways.argmin()
            left[place] = ways[chosen[place]]
        place = 0
        while place < end:
            drafted = int(chosen[place])
            counts += (drafted + 1, 1, drafted > 0, drafted, drafted)
            place += drafted + 1
        cost += float(left[0])
    return _summed(counts, cost)


def _summed(counts: NDArray[np.int64], cost: float) -> Play:
    """(5,) counts in the order of ``Play``'s attributes, and the cost."""
    tokens, rounds, speculative_rounds, drafted, accepted = counts.tolist()
    return Play(tokens, rounds, speculative_rounds, drafted, accepted, cost)


def _runs(luck: Luck) -> NDArray[np.int64]:
    """How many drafts would have stayed in a row from each token on: (N, T)."""
    runs = np.zeros((luck.shape[0], luck.shape[1] + 1), dtype=np.int64)  # (N, T + 1)
    for place in reversed(range(luck.shape[1])):
        runs[:, place] = np.where(luck[:, place], runs[:, place + 1] + 1, 0)
    return runs[:, :-1]


def _checked(luck: Luck, draft_length: int) -> int:
    if luck.ndim != 2 or luck.dtype != np.bool_ or not luck.size:
        raise ValueError(
            f"luck must be booleans of shape (N, T), got {luck.dtype} of shape {luck.shape}"
        )
    return int(single("draft_length", whole_number("draft_length", draft_length, minimum=1)))
