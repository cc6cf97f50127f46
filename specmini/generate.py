"""Plain and speculative decoding: one loop, which returns the text and a record of every round.

A plain step is a round with an empty draft: the target sees one token and adds one. So both kinds
of decoding run the same code, and a comparison of their clocks is fair.

Between rounds the target has seen every token but the last. That is the invariant which makes a
rejected draft harmless: ``truncate`` goes back to it after each round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specmini.checks import single, whole_number
from specmini.drafters.base import Drafter
from specmini.engine.cached_model import CachedModel
from specmini.sampling import Sampling
from specmini.verify.chain import Draft, Verify, check_tokens, empty_draft, verify

__all__ = [
    "Ending",
    "Generation",
    "Played",
    "Round",
    "checked_draft_length",
    "generate",
    "write",
]

Ending = Literal["length", "stop token", "context"]


@dataclass(frozen=True)
class Round:
    """One round: a draft, one pass of the target over it, and what came of it.

    Attributes:
        drafted: tokens the drafter proposed.
        n_accepted: how many of them the target accepted.
        tokens: tokens the text gained: the accepted ones and the target's own. Fewer if a stop
            token was among them.
        draft_seconds: time the drafter took.
        target_seconds: time the target's pass took.
        seconds: time of the whole round.
        parents: of a draft that is a tree, the place in ``drafted`` of the token before each, -1
            for those that follow the text; None of a chain.
        path: of a tree, the places in ``drafted`` of the accepted tokens; None of a chain.
    """

    drafted: tuple[int, ...]
    n_accepted: int
    tokens: tuple[int, ...]
    draft_seconds: float
    target_seconds: float
    seconds: float
    parents: tuple[int, ...] | None = None
    path: tuple[int, ...] | None = None

    @property
    def is_bonus(self) -> bool:
        """Whether nothing was drafted after what was accepted: the target's token came on top."""
        if self.parents is None or self.path is None:
            return self.n_accepted == len(self.drafted)
        return (self.path[-1] if self.path else -1) not in self.parents


@dataclass(frozen=True)
class Generation:
    """A text that was generated.

    Attributes:
        tokens: the new tokens, without the prompt.
        rounds: how they came about, in order.
        ending: why it ended.
        prefill_seconds: time for the prompt, which no round counts.
    """

    tokens: tuple[int, ...]
    rounds: tuple[Round, ...]
    ending: Ending
    prefill_seconds: float

    @property
    def seconds(self) -> float:
        """Time of all rounds."""
        return sum(round.seconds for round in self.rounds)


def generate(
    target: CachedModel,
    prompt: Sequence[int],
    new_tokens: int,
    rng: np.random.Generator,
    *,
    sampling: Sampling,
    drafter: Drafter | None = None,
    draft_length: int = 0,
    stop_tokens: Collection[int] = (),
    verify: Verify = verify,
) -> Generation:
    """Continue a prompt, speculatively if there is a drafter.

    The text is distributed as the target's own, with or without drafter. Greedy decoding gives the
    same tokens, as far as the target gives the same logits for a position whether it runs alone
    or among others; floating-point sums do to about 1e-6, which only a near tie can notice.

    Args:
        target: the model whose text is wanted. What it has seen before is forgotten.
        prompt: at least one token.
        new_tokens: most tokens to add.
        rng: source of randomness, for draft and verdict alike.
        sampling: what the target's logits stand for. Give the drafter the same.
        drafter: guesses tokens; None decodes plainly.
        draft_length: most tokens to guess a round, K. A round never guesses more than can be used.
        stop_tokens: the text ends with the first of these.
        verify: the rule that accepts tokens, for example ``verify.block.verify_block``.

    Raises:
        ValueError: an empty prompt, one that fills the context, an unknown token, a length that is
            negative or no whole number, a drafter without a draft length or the other way round;
            later, a drafter that proposes more than it was asked for or runs the target itself.
    """
    draft_length = checked_draft_length(draft_length, drafter is not None)

    def play(text: Sequence[int], room: int) -> Played:
        usable = min(draft_length, room)
        asked = drafter if usable else None
        draft = empty_draft if asked is None else asked.propose(text, usable, rng)
        drafted = time.perf_counter()
        _check_draft(draft, usable, target, text)
        tokens: list[int] = draft.tokens.tolist()
        logits = target.forward([text[-1], *tokens])  # (K + 1, V)
        passed = time.perf_counter()
        verdict = verify(sampling.probs(logits), draft, rng)
        if asked is not None:
            asked.observe(verdict)
        path = tuple(range(verdict.n_accepted))
        return Played(tokens, path, verdict.next_token, drafted, passed)

    return write(target, prompt, new_tokens, stop_tokens, play)


@dataclass(frozen=True)
class Played:
    """What a round came to, before stop tokens are looked for.

    Attributes:
        drafted: tokens that were drafted.
        path: places in ``drafted`` of those that were accepted, in the order of the text.
        next_token: the token the target added.
        draft_ended: when the draft was there, in seconds of ``time.perf_counter``.
        pass_ended: when the target's pass over it was done.
        parents: as in ``Round``.
    """

    drafted: Sequence[int]
    path: tuple[int, ...]
    next_token: int
    draft_ended: float
    pass_ended: float
    parents: tuple[int, ...] | None = None


def write(
    target: CachedModel,
    prompt: Sequence[int],
    new_tokens: int,
    stop_tokens: Collection[int],
    play: Callable[[Sequence[int], int], Played],
) -> Generation:
    """The loop of all decoding: play rounds until the text ends.

    Args:
        target: what it has seen before is forgotten.
        prompt: at least one token.
        new_tokens: most tokens to add.
        stop_tokens: the text ends with the first of these.
        play: plays a round, given the text and how many tokens of a draft could be used. It finds
            the target one token behind the text, and leaves it with the accepted tokens seen.

    Raises:
        ValueError: as ``generate``.
    """
    vocabulary, context = target.vocabulary, target.context
    if not 1 <= len(prompt) < context:
        raise ValueError(f"prompt must have length in [1, {context}), got {len(prompt)}")
    check_tokens(prompt, vocabulary, "prompt")
    stops = frozenset(stop_tokens)
    check_tokens(list(stops), vocabulary, "stop_tokens")
    new_tokens = single("new_tokens", whole_number("new_tokens", new_tokens, minimum=1))

    started = time.perf_counter()
    text = [int(token) for token in prompt]
    limit = min(len(text) + new_tokens, context)
    target.truncate(0)
    if len(text) > 1:
        target.forward(text[:-1])
    prefilled = time.perf_counter()

    rounds: list[Round] = []
    stopped = False
    while len(text) < limit and not stopped:
        begun = time.perf_counter()
        # a round adds one token more than it drafts, so the last one drafts less
        played = play(text, limit - len(text) - 1)
        gained = [*(played.drafted[place] for place in played.path), played.next_token]
        for place, token in enumerate(gained):
            if token in stops:
                gained, stopped = gained[: place + 1], True
                break
        text += gained
        target.truncate(len(text) - 1)
        ended = time.perf_counter()
        rounds.append(
            Round(
                drafted=tuple(played.drafted),
                n_accepted=len(played.path),
                tokens=tuple(gained),
                draft_seconds=played.draft_ended - begun,
                target_seconds=played.pass_ended - played.draft_ended,
                seconds=ended - begun,
                parents=played.parents,
                path=None if played.parents is None else played.path,
            )
        )

    new = tuple(text[len(prompt) :])
    ending: Ending = "length" if len(new) == new_tokens else "context"
    return Generation(
        tokens=new,
        rounds=tuple(rounds),
        ending="stop token" if stopped else ending,
        prefill_seconds=prefilled - started,
    )


def _check_draft(draft: Draft, usable: int, target: CachedModel, text: Sequence[int]) -> None:
    """Check what a drafter did: it may be the reader's own."""
    if len(draft) > usable:
        raise ValueError(f"draft must have at most {usable} tokens, got {len(draft)}")
    if target.length != len(text) - 1:
        raise ValueError(
            f"target must have seen {len(text) - 1} tokens after drafting, got {target.length}; "
            "a drafter needs a model of its own"
        )
    check_tokens(draft.tokens, target.vocabulary, "draft tokens")


def checked_draft_length(draft_length: int, has_drafter: bool, name: str = "draft_length") -> int:
    """The draft length as an int.

    Raises:
        ValueError: it is negative or no whole number, 0 with a drafter, or more without one.
    """
    length: int = single(name, whole_number(name, draft_length))
    if has_drafter != (length > 0):
        raise ValueError(
            f"{name} must be at least 1 with a drafter and 0 without, "
            f"got {length} {'with' if has_drafter else 'without'} one"
        )
    return length
