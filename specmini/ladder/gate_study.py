"""What a gate saves and costs: beside every fixed K, and beside who knows the future.

Texts of different difficulty are written by the tiny target, loads are costs of a round, and each
way of choosing K is replayed on the same luck (``hindsight``). A gate pays for what it has to find
out. Whether that is less than what a wrong K costs is what ``GateOutcome`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from specmini.checks import FloatArray, choice, single, whole_number
from specmini.drafters.gate import Gate
from specmini.ladder.hindsight import (
    Costs,
    Luck,
    Play,
    Replayed,
    best_in_hindsight,
    chances_to_stay,
    play,
)
from specmini.pair import Pair
from specmini.recording.excerpts import frozen
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import Draft, cost_ratio
from specmini.sampling import Sampling
from specmini.training.evaluation import continuations

__all__ = [
    "KINDS",
    "GateOutcome",
    "TextKind",
    "Written",
    "costs_under_load",
    "gate_outcome",
    "write_texts",
]

Prompt = Literal["code", "prose", "random bytes"]

prompt_length: Final = 32


@dataclass(frozen=True)
class TextKind:
    """Where texts begin, and how they go on.

    Attributes:
        prompt: frozen excerpts of held-out code or prose, or bytes drawn evenly, which no model
            can foretell.
        temperature: of target and draft, above 0.

    Raises:
        ValueError: an unknown prompt, or a temperature that is not above 0.
    """

    prompt: Prompt
    temperature: float = 1.0

    def __post_init__(self) -> None:
        choice("prompt", self.prompt, get_args(Prompt))
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")

    @property
    def name(self) -> str:
        """For a figure."""
        start = f"after {self.prompt}" if self.prompt == "random bytes" else self.prompt
        return start if self.temperature == 1 else f"{start}, temperature {self.temperature:g}"


KINDS: Final = (
    TextKind("code"),
    TextKind("prose"),
    TextKind("prose", 1.5),
    TextKind("random bytes"),
)


@dataclass(frozen=True)
class Written:
    """Texts of a kind, and which of their tokens would have been drafts that stayed.

    Attributes:
        kind: of the texts.
        chances: (N, T) chance of each token to have stayed.
        luck: (N, T) booleans drawn with them.
    """

    kind: TextKind
    chances: FloatArray
    luck: Luck

    @property
    def acceptance_rate(self) -> float:
        """α, estimated by the mean of the chances."""
        return float(self.chances.mean())


def write_texts(
    pair: Pair, kind: TextKind, texts: int, new_tokens: int, rng: np.random.Generator
) -> Written:
    """Let the target write, and throw the coins.

    Args:
        pair: target and draft.
        kind: of the texts.
        texts: how many, N.
        new_tokens: tokens of each, T.
        rng: source of prompts, tokens and coins.

    Raises:
        ValueError: a number below 1, more texts than there are excerpts, or no room for the tokens.
    """
    count: int = single("texts", whole_number("texts", texts, minimum=1))
    length: int = single("new_tokens", whole_number("new_tokens", new_tokens, minimum=1))
    prompts = torch.tensor(_prompts(pair, kind, count, rng))  # (N, P)
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    whole = continuations(pair.target, prompts, length, generator, kind.temperature)  # (N, P + T)
    sampling = Sampling(kind.temperature)
    chances = chances_to_stay(pair.target, pair.draft, whole, prompt_length, sampling)  # (N, T)
    return Written(kind, chances, rng.random(chances.shape) < chances)


def _prompts(pair: Pair, kind: TextKind, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(N, P) ids."""
    if kind.prompt == "random bytes":
        drawn = [pair.tokenizer.encode(rng.bytes(4 * prompt_length)) for _ in range(count)]
    else:
        excerpts = frozen(kind.prompt)
        if count > len(excerpts):
            raise ValueError(f"texts must be at most {len(excerpts)} of {kind}, got {count}")
        drawn = [pair.tokenizer.encode(excerpt.text) for excerpt in excerpts[:count]]
    return np.array([ids[:prompt_length] for ids in drawn])


def costs_under_load(target: Deployment, draft: Draft, batch: int, context: int) -> Costs:
    """What a round costs where so many sequences run at once, by the roofline.

    Args:
        target: on its machine.
        draft: its cost, or the cost ratio c itself.
        batch: sequences in a pass, at least 1.
        context: positions of each in the cache.

    Raises:
        ValueError: an argument is out of range.
    """
    ratio = float(cost_ratio(target, draft, batch, context))

    @cache  # a gate asks for every length in every round
    def verify_cost(length: int) -> float:
        return float(target.verify_cost(batch, length, context))

    return Costs(ratio, verify_cost)


@dataclass(frozen=True)
class GateOutcome:
    """Ways of choosing K on the same texts, at the same costs.

    Attributes:
        fixed: by K, what drafting as much in every round came to.
        gate: the same for a gate, which chooses K up to the largest of these from past rounds.
        oracle: the best in hindsight, with the same largest K.
    """

    fixed: Mapping[int, Play]
    gate: Play
    oracle: Play

    @property
    def best_fixed(self) -> int:
        """The K that was fastest in the end; 0 if plain decoding was."""
        speedups = {0: 1.0} | {length: one.speedup for length, one in self.fixed.items()}
        return max(speedups, key=lambda length: speedups[length])

    def gate_over_fixed(self, draft_length: int) -> float:
        """Speedup of the gate over that of a fixed K; above 1 where the gate saves.

        Args:
            draft_length: K of ``fixed``; 0 for plain decoding.

        Raises:
            ValueError: another K.
        """
        if draft_length == 0:
            return self.gate.speedup
        if draft_length not in self.fixed:
            raise ValueError(
                f"draft_length must be 0 or one of {list(self.fixed)}, got {draft_length}"
            )
        return self.gate.speedup / self.fixed[draft_length].speedup

    @property
    def price_of_not_knowing(self) -> float:
        """Speedup of the best fixed K, chosen afterwards, over the gate's, less 1."""
        return 1 / self.gate_over_fixed(self.best_fixed) - 1


def gate_outcome(
    luck: Luck, costs: Costs, draft_lengths: Sequence[int], rng: np.random.Generator
) -> GateOutcome:
    """Replay fixed draft lengths, a gate and the oracle on the same luck.

    The gate knows the costs, and nothing of the texts. It is new at the first of them, and
    remembers from text to text.

    Args:
        luck: (N, T), as ``Written``'s.
        costs: of a round.
        draft_lengths: the K that are fixed, each at least 1; the others draft up to the largest.
        rng: for drafters that draw; these do not.

    Raises:
        ValueError: no draft lengths, one below 1, or luck of another shape.
    """
    if not draft_lengths:
        raise ValueError("draft_lengths must hold at least one, got none")
    most = max(draft_lengths)
    gate = Gate(Replayed(), costs.cost_ratio, costs.verify_cost)
    return GateOutcome(
        fixed={length: play(Replayed(), luck, length, costs, rng) for length in draft_lengths},
        gate=play(gate, luck, most, costs, rng),
        oracle=best_in_hindsight(luck, most, costs),
    )
