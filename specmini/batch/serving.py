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
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from specmini.batch.drafter import BatchDrafter
from specmini.batch.model import BatchModel
from specmini.batch.rounds import BatchRound, shared
from specmini.batch.row import BatchRow
from specmini.batch.verdicts import VerifyEach, verify_each
from specmini.checks import choice, single, whole_number
from specmini.generate import Generation, Played, checked_draft_length
from specmini.sampling import Sampling
from specmini.verify.chain import Draft, check_tokens, empty_draft

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
        verify: the rule that accepts tokens, for example ``verdicts.one_by_one(verify_block)``.

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
        verify: VerifyEach = verify_each,
    ) -> None:
        draft_length = checked_draft_length(draft_length, drafter is not None)
        self._stops = frozenset(stop_tokens)
        check_tokens(list(self._stops), target.vocabulary, "stop_tokens")
        self._admission = choice("admission", admission, get_args(Admission))
        self._target, self._sampling, self._verify = target, sampling, verify
        self._drafter, self._draft_length = drafter, draft_length
        self._requests: Iterator[tuple[int, Request]] = enumerate(requests)
        self._free = list(range(len(target.lengths)))
        self._rows: list[BatchRow] = []
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
        begun = time.perf_counter()
        # a round adds one token more than it drafts, so the last one drafts less
        played = self._play(rows, [row.limit - len(row.text) - 1 for row in rows])
        gained = [self._extend(row, one) for row, one in zip(rows, played, strict=True)]
        ended = time.perf_counter()
        drafted, passed = played[0].draft_ended, played[0].pass_ended

        done = BatchRound(
            slots=len(self._target.lengths),
            requests=tuple(row.request for row in rows),
            rows=shared(played, gained, begun, ended),
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
        new: list[BatchRow] = []
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
        self._welcome([row.slot for row in new], [row.text for row in new])
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

    def _begin(self, number: int, request: Request) -> BatchRow:
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
        return BatchRow(
            request=number,
            slot=self._free.pop(0),
            text=text,
            prompt_length=len(text),
            new_tokens=new_tokens,
            limit=min(len(text) + new_tokens, context),
            rng=request.rng,
        )

    def _welcome(self, slots: Sequence[int], texts: Sequence[Sequence[int]]) -> None:
        """Show the drafter new texts, which the target has read."""
        if self._drafter is not None:
            self._drafter.admit(slots, texts)

    def _play(self, rows: Sequence[BatchRow], room: Sequence[int]) -> list[Played]:
        """What a round comes to for each row, before stop tokens are looked for.

        Args:
            rows: R rows; the target is one token behind their texts, and is left with the accepted
                tokens seen.
            room: tokens of a draft that each could use.
        """
        usable = [min(self._draft_length, most) for most in room]
        slots = [row.slot for row in rows]
        drafts = [empty_draft] * len(rows)
        if self._drafter is not None:
            texts, rngs = [row.text for row in rows], [row.rng for row in rows]
            drafts = self._drafter.propose(slots, texts, usable, rngs)
        drafted = time.perf_counter()
        proposed: list[list[int]] = [draft.tokens.tolist() for draft in drafts]
        self._check_drafts(rows, drafts, usable)
        logits = self._target.forward(
            slots, [[row.text[-1], *tokens] for row, tokens in zip(rows, proposed, strict=True)]
        )  # (N, V)
        passed = time.perf_counter()
        probs = self._sampling.probs(logits)  # (N, V)
        verdicts = self._verify(probs, drafts, [row.rng for row in rows])
        if self._drafter is not None:
            self._drafter.observe(slots, verdicts)
        return [
            Played(tokens, tuple(range(one.n_accepted)), one.next_token, drafted, passed)
            for tokens, one in zip(proposed, verdicts, strict=True)
        ]

    def _check_drafts(
        self, rows: Sequence[BatchRow], drafts: Sequence[Draft], usable: Sequence[int]
    ) -> None:
        """Check what a drafter did: it may be the reader's own."""
        if len(drafts) != len(usable):
            raise ValueError(f"drafts must be {len(usable)}, one a slot, got {len(drafts)}")
        for draft, most in zip(drafts, usable, strict=True):
            if len(draft) > most:
                raise ValueError(f"draft must have at most {most} tokens, got {len(draft)}")
        self._check_target(rows)

    def _check_target(self, rows: Sequence[BatchRow]) -> None:
        """Check that no drafter ran the target."""
        lengths = self._target.lengths
        for row in rows:
            if lengths[row.slot] != len(row.text) - 1:
                raise ValueError(
                    f"target must have seen {len(row.text) - 1} tokens in slot {row.slot} after "
                    f"drafting, got {lengths[row.slot]}; a drafter needs a model of its own"
                )

    def _extend(self, row: BatchRow, played: Played) -> tuple[int, ...]:
        """Add what a round gained to a text, and cut the target back to it."""
        gained = [*(played.drafted[place] for place in played.path), played.next_token]
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
