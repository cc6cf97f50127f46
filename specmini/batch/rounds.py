"""What a round of a batch did, and whose share of its time was how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specmini.generate import Played, Round

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
    played: Sequence[Played], gained: Sequence[tuple[int, ...]], begun: float, ended: float
) -> tuple[Round, ...]:
    """The rounds of rows, with their shares of the times, as in ``BatchRound.rows``.

    Args:
        played: what the round came to for each of R rows; all read the same clock.
        gained: tokens each text gained.
        begun: when the drafter began, in seconds of the same clock.
        ended: when the round was over.
    """
    drafted, passed = played[0].draft_ended, played[0].pass_ended
    count, all_drafted = len(played), sum(len(one.drafted) for one in played)
    rounds = []
    for one, new in zip(played, gained, strict=True):
        of_draft = len(one.drafted) / all_drafted if all_drafted else 1 / count
        draft = (drafted - begun) * of_draft
        target = (passed - drafted) * (len(one.drafted) + 1) / (all_drafted + count)
        rounds.append(
            Round(
                drafted=tuple(one.drafted),
                n_accepted=len(one.path),
                tokens=new,
                draft_seconds=draft,
                target_seconds=target,
                seconds=draft + target + (ended - passed) / count,
                parents=one.parents,
                path=None if one.parents is None else one.path,
            )
        )
    return tuple(rounds)
