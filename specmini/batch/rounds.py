"""What a round of a batch did, and whose share of its time was how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specmini.generate import Round
from specmini.verify import Verdict

__all__ = ["BatchRound", "shared"]


@dataclass(frozen=True)
class BatchRound:
    """One round of all sequences in the batch.

    Attributes:
        slots: number of slots S, busy or not.
        requests: number of the request in each busy slot, R of them, in the order they came.
        rows: what the round did for each, R rounds. Their times are *shares* that add up to those
            of the batch: the drafter's by tokens drafted, the target's by tokens in the pass, the
            rest in equal parts. So tallies of rows are tallies of the batch.
        draft_seconds: time the drafter took.
        target_seconds: time the target's pass took.
        seconds: time of the whole round.
        prefill_seconds: time for the prompts that were admitted before it; not part of the round.
    """

    slots: int
    requests: tuple[int, ...]
    rows: tuple[Round, ...]
    draft_seconds: float
    target_seconds: float
    seconds: float
    prefill_seconds: float

    @property
    def is_full(self) -> bool:
        """Whether every slot was busy."""
        return len(self.rows) == self.slots


def shared(
    proposed: Sequence[list[int]],
    verdicts: Sequence[Verdict],
    gained: Sequence[tuple[int, ...]],
    clock: tuple[float, float, float, float],
) -> tuple[Round, ...]:
    """The rounds of rows, with their shares of the times, as in ``BatchRound.rows``.

    Args:
        proposed: tokens drafted for each of R rows.
        verdicts: what the target made of them.
        gained: tokens each text gained.
        clock: readings before the drafts, after them, after the pass and at the end.
    """
    begun, drafted, passed, ended = clock
    count, all_drafted = len(proposed), sum(map(len, proposed))
    rounds = []
    for tokens, verdict, new in zip(proposed, verdicts, gained, strict=True):
        of_draft = len(tokens) / all_drafted if all_drafted else 1 / count
        draft = (drafted - begun) * of_draft
        target = (passed - drafted) * (len(tokens) + 1) / (all_drafted + count)
        rounds.append(
            Round(
                drafted=tuple(tokens),
                n_accepted=verdict.n_accepted,
                tokens=new,
                draft_seconds=draft,
                target_seconds=target,
                seconds=draft + target + (ended - passed) / count,
            )
        )
    return tuple(rounds)
