"""Rounds without a decision: what speculation will cost, timed before any token is accepted.

Passes timed alone (``latency``) are too quick in two ways. A model that runs alone finds its
weights in the caches; in the loop the other one has just swept them. And after a draft that was
accepted whole, the next begins with two tokens to read, its own last guess and the target's. A
*rehearsal* plays both: target and draft take turns as they will, over tokens that mean nothing.

What it cannot know is how many tokens will be accepted. So it times the round after a full
acceptance and the round after any other, and the acceptance rate mixes them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specmini import theory
from specmini.engine.cached_model import CachedModel
from specmini.engine.threads import single_thread
from specmini.sampling import Sampling, draw

__all__ = ["Rehearsal", "rehearse"]


@dataclass(frozen=True)
class Rehearsal:
    """Times of the parts of a round while the models take turns; medians, in seconds.

    Attributes:
        plain: a plain step of the target among plain steps.
        drafting: by draft length K, K draft steps of which the first reads one token.
        catching_up: by K, K draft steps of which the first reads two.
        checking: by K, the target's pass over K + 1 tokens.
    """

    plain: float
    drafting: Mapping[int, float]
    catching_up: Mapping[int, float]
    checking: Mapping[int, float]

    def round_cost(self, acceptance_rate: float, draft_length: int) -> float:
        """r, time of a round in plain steps, where a share α^K of drafts is accepted whole.

        Raises:
            ValueError: this K was not rehearsed.
        """
        if draft_length not in self.checking:
            known = sorted(self.checking)
            raise ValueError(f"draft_length must be one of {known}, got {draft_length}")
        whole = acceptance_rate**draft_length
        drafting = (1 - whole) * self.drafting[draft_length]
        drafting += whole * self.catching_up[draft_length]
        return (drafting + self.checking[draft_length]) / self.plain

    def speedup(self, acceptance_rate: float, draft_length: int) -> float:
        """Forecast E / r of a round that never was run.

        Args:
            acceptance_rate: α in [0, 1], for example from ``overlap``.
            draft_length: K, one that was rehearsed.

        Raises:
            ValueError: a rate outside [0, 1], or a K that was not rehearsed.
        """
        tokens = float(theory.tokens_per_round(acceptance_rate, draft_length))
        return tokens / self.round_cost(acceptance_rate, draft_length)


def rehearse(
    target: CachedModel,
    draft: CachedModel,
    draft_lengths: Sequence[int],
    *,
    past: int,
    repeats: int,
    rng: np.random.Generator,
    sampling: Sampling | None = None,
    rounds: int = 4,
) -> Rehearsal:
    """Play rounds of a pair on one core, and plain steps between them.

    Each kind of round is played a few times in a row, the first of which only brings the caches
    into the state they will have; then the next kind follows, in an order that changes.

    Args:
        target: what it has seen is forgotten.
        draft: likewise; a model of its own.
        draft_lengths: the K to rehearse, each at least 1.
        past: tokens seen before each round, at least 1.
        repeats: turns that each kind of round gets, at least 1.
        rng: source of tokens, draws and order.
        sampling: if given, a step includes softmax and draw.
        rounds: rounds of a turn that count, at least 1.

    Raises:
        ValueError: a number is below 1, no length is given, or a context has no room.
    """
    lengths = sorted(set(draft_lengths))
    if not lengths or lengths[0] < 1:
        raise ValueError(f"draft_lengths must be numbers of at least 1, got {list(draft_lengths)}")
    for name, value in (("past", past), ("repeats", repeats), ("rounds", rounds)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    vocabulary = min(target.vocabulary, draft.vocabulary)
    ids = rng.integers(vocabulary, size=past + lengths[-1] + 1).tolist()
    for model in (target, draft):
        model.truncate(0)
        model.forward(ids[:past])

    def step(model: CachedModel, tokens: Sequence[int]) -> None:
        logits = model.forward(tokens)  # (T, V)
        if sampling is not None:
            draw(sampling.probs(logits)[-1], rng)

    def play(length: int, unread: int) -> tuple[float, float]:
        """Seconds of drafting and of the check; a plain step where the length is 0."""
        begun = time.perf_counter()
        for place in range(length):
            start = past + (place + unread - 1 if place else 0)
            step(draft, ids[start : start + (1 if place else unread)])
        drafted = time.perf_counter()
        step(target, ids[past : past + length + 1])
        ended = time.perf_counter()
        draft.truncate(past)
        target.truncate(past)
        return drafted - begun, ended - drafted

    kinds = [(0, 1), *((length, unread) for length in lengths for unread in (1, 2))]
    taken: dict[tuple[int, int], list[tuple[float, float]]] = {kind: [] for kind in kinds}
    with single_thread():
        for turn in range(repeats + 1):
            for place in rng.permutation(len(kinds)).tolist():
                _, *later = [play(*kinds[place]) for _ in range(rounds + 1)]
                if turn:  # the first turn warms up
                    taken[kinds[place]] += later
    medians = {kind: np.median(times, axis=0).tolist() for kind, times in taken.items()}
    checks = {length: taken[length, 1] + taken[length, 2] for length in lengths}
    return Rehearsal(
        plain=medians[0, 1][1],
        drafting={length: medians[length, 1][0] for length in lengths},
        catching_up={length: medians[length, 2][0] for length in lengths},
        checking={length: float(np.median(checks[length], axis=0)[1]) for length in lengths},
    )
