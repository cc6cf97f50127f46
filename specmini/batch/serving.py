"""Serve a queue of prompts with a batch: the loop of ``generate`` for many sequences at once.

Each round drafts for every sequence in the batch, checks all drafts in one pass of the target, and
lets each sequence keep what *it* got accepted: acceptance is ragged, and no sequence waits for
another's. When a text ends, *continuous* batching puts the next prompt into its slot; *static*
batching leaves the slot empty until the slowest text has ended, and then begins a new batch. What
the empty slots cost is no property of speculation, but poses as one if a static batch is timed:
under it texts end at different times, which plain decoding of equally long texts does not show.

Each sequence has its own source of randomness and keeps the order in which ``generate`` uses it. So
its text is the one ``generate`` would write, whatever its neighbors are.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from specmini.batch.drafter import BatchDrafter
from specmini.batch.model import BatchModel
from specmini.batch.rounds import BatchRound, shared
from specmini.batch.verdicts import verify_each
from specmini.checks import choice, single, whole_number
from specmini.generate import Ending, Generation, Round, checked_draft_length
from specmini.sampling import Sampling
from specmini.verify.chain import Draft, Verdict, check_tokens, empty_draft

__all__ = ["Admission", "Request", "Server", "Service", "requests_for"]

Admission = Literal["continuous", "static"]


@dataclass(frozen=True)
class Request:
    """A text to write.

    Attributes:
        prompt: at least one token.
        new_tokens: most tokens to add, at least 1.
        rng: its own source of randomness.
    """

    prompt: Sequence[int]
    new_tokens: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Service:
    """What serving a queue gave.

    Attributes:
        texts: one for each request, in order.
        rounds: all rounds, in order.
    """

    texts: tuple[Generation, ...]
    rounds: tuple[BatchRound, ...]


@dataclass
class _Row:
    """A text that is being written."""

    request: int
    slot: int
    text: list[int]
    prompt_length: int
    new_tokens: int
    limit: int
    rng: np.random.Generator
    prefill_seconds: float = 0.0
    stopped: bool = False
    rounds: list[Round] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return self.stopped or len(self.text) >= self.limit

    @property
    def generation(self) -> Generation:
        tokens = tuple(self.text[self.prompt_length :])
        ending: Ending = "length" if len(tokens) == self.new_tokens else "context"
        return Generation(
            tokens=tokens,
            rounds=tuple(self.rounds),
            ending="stop token" if self.stopped else ending,
            prefill_seconds=self.prefill_seconds,
        )


class Server:
    """Serves requests round by round.

    Args:
        target: the model whose texts are wanted; its slots are the batch. What it has seen before
            is forgotten.
        requests: taken one by one, whenever a slot is free; may be endless.
        sampling: what the target's logits stand for. Give the drafter the same.
        drafter: guesses tokens; None decodes plainly.
        draft_length: most tokens to guess a round for a sequence, K.
        stop_tokens: a text ends with the first of these.
        admission: when a free slot is filled: at once, or when all are free.

    Attributes:
        finished: texts that have ended, by number of their request.

    Raises:
        ValueError: as ``generate``; or an unknown ``admission``.
    """

    def __init__(
        self,
        target: BatchModel,
        requests: Iterable[Request],
        *,
        sampling: Sampling,
        drafter: BatchDrafter | None = None,
        draft_length: int = 0,
        stop_tokens: Collection[int] = (),
        admission: Admission = "continuous",
    ) -> None:
        draft_length = checked_draft_length(draft_length, drafter is not None)
        self._stops = frozenset(stop_tokens)
        check_tokens(list(self._stops), target.vocabulary, "stop_tokens")
        self._admission = choice("admission", admission, get_args(Admission))
        self._target, self._sampling = target, sampling
        self._drafter, self._draft_length = drafter, draft_length
        self._requests: Iterator[tuple[int, Request]] = enumerate(requests)
        self._free = list(range(len(target.lengths)))
        self._rows: list[_Row] = []
        self.finished: dict[int, Generation] = {}

    def round(self) -> BatchRound | None:
        """Admit what waits, and run one round; None if there is nothing left to do.

        Raises:
            ValueError: a request's prompt is empty, fills the context or has an unknown token, or
                its length is no whole number of at least 1; a drafter proposes more than it was
                asked for or runs the target itself.
        """
        prefill_seconds = self._admit()
        rows = self._rows
        if not rows:
            return None
        slots = [row.slot for row in rows]
        begun = time.perf_counter()
        # a round adds one token more than it drafts, so the last one drafts less
        usable = [min(self._draft_length, row.limit - len(row.text) - 1) for row in rows]
        drafts = self._propose(slots, usable)
        drafted = time.perf_counter()
        proposed: list[list[int]] = [draft.tokens.tolist() for draft in drafts]
        self._check_drafts(drafts, usable)
        logits = self._target.forward(
            slots, [[row.text[-1], *tokens] for row, tokens in zip(rows, proposed, strict=True)]
        )  # (N, V)
        passed = time.perf_counter()

        probs = self._sampling.probs(logits)  # (N, V)
        verdicts = verify_each(probs, drafts, [row.rng for row in rows])
        if self._drafter is not None:
            self._drafter.observe(slots, verdicts)
        gained = [
            self._extend(row, tokens, verdict)
            for row, tokens, verdict in zip(rows, proposed, verdicts, strict=True)
        ]
        ended = time.perf_counter()

        done = BatchRound(
            slots=len(self._target.lengths),
            requests=tuple(row.request for row in rows),
            rows=shared(proposed, verdicts, gained, (begun, drafted, passed, ended)),
            draft_seconds=drafted - begun,
            target_seconds=passed - drafted,
            seconds=ended - begun,
            prefill_seconds=prefill_seconds,
        )
        for row, share in zip(rows, done.rows, strict=True):
            row.rounds.append(share)
        self._retire()
        return done

    def _admit(self) -> float:
        """Fill free slots; the seconds it took to read the prompts."""
        begun = time.perf_counter()
        new: list[_Row] = []
        if self._admission == "continuous" or not self._rows:
            for number, request in self._waiting():
                new.append(self._begin(number, request))
        if not new:
            return 0.0
        for row in new:
            self._target.truncate(row.slot, 0)
        if unread := [row for row in new if len(row.text) > 1]:
            self._target.forward(
                [row.slot for row in unread], [row.text[:-1] for row in unread], last_only=True
            )
        if self._drafter is not None:
            self._drafter.admit([row.slot for row in new], [row.text for row in new])
        seconds = time.perf_counter() - begun
        tokens = sum(len(row.text) for row in new)
        for row in new:
            row.prefill_seconds = seconds * len(row.text) / tokens
        self._rows += new
        return seconds

    def _waiting(self) -> Iterator[tuple[int, Request]]:
        """The next requests, as many as there are free slots."""
        while self._free:
            found = next(self._requests, None)
            if found is None:
                return
            yield found

    def _begin(self, number: int, request: Request) -> _Row:
        """Check a request and give it a slot."""
        context = self._target.context
        if not 1 <= len(request.prompt) < context:
            raise ValueError(
                f"prompt must have length in [1, {context}), got {len(request.prompt)} "
                f"in request {number}"
            )
        check_tokens(request.prompt, self._target.vocabulary, "prompt")
        new_tokens = single("new_tokens", whole_number("new_tokens", request.new_tokens, minimum=1))
        text = [int(token) for token in request.prompt]
        return _Row(
            request=number,
            slot=self._free.pop(0),
            text=text,
            prompt_length=len(text),
            new_tokens=new_tokens,
            limit=min(len(text) + new_tokens, context),
            rng=request.rng,
        )

    def _propose(self, slots: Sequence[int], usable: Sequence[int]) -> list[Draft]:
        """A draft for each row."""
        if self._drafter is None:
            return [empty_draft] * len(slots)
        return self._drafter.propose(
            slots, [row.text for row in self._rows], usable, [row.rng for row in self._rows]
        )

    def _check_drafts(self, drafts: Sequence[Draft], usable: Sequence[int]) -> None:
        """Check what a drafter did: it may be the reader's own."""
        if len(drafts) != len(usable):
            raise ValueError(f"drafts must be {len(usable)}, one a slot, got {len(drafts)}")
        lengths = self._target.lengths
        for row, draft, most in zip(self._rows, drafts, usable, strict=True):
            if len(draft) > most:
                raise ValueError(f"draft must have at most {most} tokens, got {len(draft)}")
            if lengths[row.slot] != len(row.text) - 1:
                raise ValueError(
                    f"target must have seen {len(row.text) - 1} tokens in slot {row.slot} after "
                    f"drafting, got {lengths[row.slot]}; a drafter needs a model of its own"
                )

    def _extend(self, row: _Row, proposed: list[int], verdict: Verdict) -> tuple[int, ...]:
        """Add what a round gained to a text, and cut the target back to it."""
        gained = [*proposed[: verdict.n_accepted], verdict.next_token]
        stops = [place for place, token in enumerate(gained) if token in self._stops]
        if stops:
            gained, row.stopped = gained[: stops[0] + 1], True
        row.text += gained
        self._target.truncate(row.slot, len(row.text) - 1)
        return tuple(gained)

    def _retire(self) -> None:
        """Free the slots of texts that have ended."""
        for row in self._rows:
            if row.is_done:
                self.finished[row.request] = row.generation
                self._free.append(row.slot)
        self._rows = [row for row in self._rows if not row.is_done]

    def run(self) -> Service:
        """Write all texts, of requests that end."""
        rounds = tuple(iter(self.round, None))
        return Service(tuple(self.finished[n] for n in sorted(self.finished)), rounds)


def requests_for(
    prompts: Iterable[Sequence[int]], new_tokens: int, rng: np.random.Generator
) -> Iterator[Request]:
    """A request for each prompt, all of one length.

    Args:
        prompts: may be endless.
        new_tokens: most tokens to add to each.
        rng: every request gets a child of its own.
    """
    return (Request(prompt, new_tokens, rng.spawn(1)[0]) for prompt in prompts)
