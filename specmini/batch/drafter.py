"""Draft for many sequences with a small language model, a step of it for all at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, get_args

import numpy as np

from specmini.batch.draws import draw_each
from specmini.batch.model import BatchModel
from specmini.batch.room import begin, guessable
from specmini.checks import FloatArray, choice
from specmini.drafters import AcceptanceRule, Drafter
from specmini.drafters.model import KeepGoing
from specmini.sampling import Sampling, plain
from specmini.verify import Draft, Verdict, empty_draft

__all__ = ["BatchDrafter", "BatchModelDrafter", "SideBySideDrafter"]


class BatchDrafter(Protocol):
    """A source of guesses for the sequences in a batch's slots.

    In a slot a text only grows, until ``admit`` puts another one there.
    """

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Begin new texts.

        Args:
            slots: where.
            prompts: of at least one token each.
        """

    def propose(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        draft_lengths: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[Draft]:
        """Guess the tokens that follow, as ``Drafter.propose`` does.

        Args:
            slots: R slots.
            texts: all tokens of each so far.
            draft_lengths: most tokens to propose for each; 0 asks for none.
            rngs: source of randomness of each.
        """

    def observe(self, slots: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """Learn what the target made of the last proposals, for the same slots."""


class BatchModelDrafter:
    """``ModelDrafter`` for many sequences: the same tokens for each, from the same numbers.

    Sequences of which fewer tokens are wanted leave early; what each has seen is cut back to what
    was accepted, slot by slot.

    Args:
        model: the draft model, which is this drafter's alone, with a slot for each of the target's.
        sampling: applied to its logits; that of the target, for the textbook rule to accept most.
        rule: what is drafted and what the verdict is told, as in ``ModelDrafter``.
        keep_going: whether to draft another token for a sequence, as in ``ModelDrafter``.

    Raises:
        ValueError: an unknown rule.
    """

    def __init__(
        self,
        model: BatchModel,
        sampling: Sampling,
        rule: AcceptanceRule = "textbook",
        keep_going: KeepGoing | None = None,
    ) -> None:
        choice("rule", rule, get_args(AcceptanceRule))
        self.model, self.sampling, self.rule = model, sampling, rule
        self.keep_going = keep_going
        self._drafted: dict[int, tuple[int, int]] = {}  # by slot: tokens of the text, of the draft

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Forget what the slots have seen, and read the prompts but for their last token."""
        begin(self.model, slots, prompts)

    def propose(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        draft_lengths: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[Draft]:
        """Guess at most so many tokens for each.

        Fewer where the draft model's context ends, or it is unsure.
        """
        lengths = self.model.lengths
        steps = guessable(self.model.context, texts, draft_lengths)
        longest = max(steps, default=0)
        tokens = np.zeros((len(slots), longest), np.int64)  # (R, K)
        probs = np.zeros((len(slots), longest, self.model.vocabulary))  # (R, K, V)
        unseen = [list(text[lengths[slot] :]) for slot, text in zip(slots, texts, strict=True)]
        thoughts: list[list[FloatArray]] = [[] for _ in slots]  # each (V,), at temperature 1
        for step in range(longest):
            rows = [row for row, wanted in enumerate(steps) if wanted > step]
            if not rows:
                break
            logits = self.model.forward(
                [slots[row] for row in rows], [unseen[row] for row in rows], last_only=True
            )  # (R', V)
            q = self.sampling.probs(logits)  # (R', V)
            if self.rule == "greedy draft":
                drawn: list[int] = q.argmax(-1).tolist()
            else:
                drawn = draw_each(q, [rngs[row] for row in rows])
            tokens[rows, step], probs[rows, step] = drawn, q
            for row, token in zip(rows, drawn, strict=True):
                unseen[row] = [token]
            if self.keep_going is not None:
                for row, thought in zip(rows, plain.probs(logits), strict=True):
                    thoughts[row].append(thought)
                    if not self.keep_going(thoughts[row]):
                        steps[row] = step + 1
        self._drafted = {
            slot: (len(text), wanted)
            for slot, text, wanted in zip(slots, texts, steps, strict=True)
        }
        shown = self.rule == "textbook"
        return [
            Draft(tokens[row, :wanted], probs[row, :wanted] if shown and wanted else None)
            for row, wanted in enumerate(steps)
        ]

    def observe(self, slots: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """Forget what was rejected."""
        for slot, verdict in zip(slots, verdicts, strict=True):
            length, drafted = self._drafted[slot]
            if drafted:
                # the draft's last token was never fed back
                kept = length + min(verdict.n_accepted, drafted - 1)
                self.model.truncate(slot, kept)


class SideBySideDrafter:
    """A ``BatchDrafter`` out of drafters for one sequence, which run one after the other.

    It saves nothing, and batches any drafter that does not look into the target.

    Args:
        drafters: one a slot.
    """

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        self._drafters = tuple(drafters)
        self._asked: set[int] = set()

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """A drafter sees by itself that it is shown another text."""

    def propose(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        draft_lengths: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[Draft]:
        """Guess at most so many tokens for each."""
        self._asked = {slot for slot, wanted in zip(slots, draft_lengths, strict=True) if wanted}
        return [
            self._drafters[slot].propose(text, wanted, rng) if wanted else empty_draft
            for slot, text, wanted, rng in zip(slots, texts, draft_lengths, rngs, strict=True)
        ]

    def observe(self, slots: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """Tell each drafter that was asked what became of its proposal."""
        for slot, verdict in zip(slots, verdicts, strict=True):
            if slot in self._asked:
                self._drafters[slot].observe(verdict)
