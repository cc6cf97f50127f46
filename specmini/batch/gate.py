"""Decide for each sequence of a batch how far to speculate, as ``drafters.gate`` does for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specmini.batch.drafter import BatchDrafter
from specmini.checks import non_negative, single
from specmini.drafters.gate import RunningAcceptance, most_worthwhile
from specmini.verify import Draft, Verdict

__all__ = ["BatchGate"]


class BatchGate:
    """``Gate`` for many sequences: each slot has an acceptance rate of its own.

    What a check costs depends on all rows of a pass; here as if each drafted as much.

    Args:
        drafter: makes the proposals.
        cost_ratio: c of the batch, time of its draft step over that of its target step, in
            [0, inf).
        verify_cost: from K to v of the batch.

    Raises:
        ValueError: a cost outside its range.
    """

    def __init__(
        self, drafter: BatchDrafter, cost_ratio: float, verify_cost: Callable[[int], float]
    ) -> None:
        self.drafter = drafter
        self.cost_ratio: float = single("cost_ratio", non_negative("cost_ratio", cost_ratio))
        self.verify_cost = verify_cost
        self._acceptance: dict[int, RunningAcceptance] = {}  # by slot
        self._drafted: dict[int, int] = {}  # by slot that was asked

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Begin new texts; what a slot's last text taught is still believed."""
        self.drafter.admit(slots, prompts)

    def propose(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        draft_lengths: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[Draft]:
        """Guess as many tokens for each as are predicted to pay, at most K."""
        lengths = []
        for slot, wanted in zip(slots, draft_lengths, strict=True):
            rates = self._acceptance.setdefault(slot, RunningAcceptance()).rates(wanted)
            lengths.append(most_worthwhile(rates, self.cost_ratio, self.verify_cost))
        drafts = self.drafter.propose(slots, texts, lengths, rngs)
        self._drafted = {
            slot: len(draft)
            for slot, wanted, draft in zip(slots, draft_lengths, drafts, strict=True)
            if wanted
        }
        return drafts

    def observe(self, slots: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """Learn how far the drafts came, and let the other drafter learn too."""
        for slot, verdict in zip(slots, verdicts, strict=True):
            if slot in self._drafted:
                self._acceptance[slot].observe(self._drafted[slot], verdict.n_accepted)
        self.drafter.observe(slots, verdicts)
