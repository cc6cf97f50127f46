"""A schedule of draft lengths held against the public grid: what it would have cost.

The schedule knows what an operator can know beforehand: nine plain times, one cost ratio, E for
each K from runs of one request at a time and, if told, how many requests fit into memory. What it
picks at each load is then looked up in the grid, beside the best K in hindsight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specmini import checks
from specmini.cost.schedule import best_lengths
from specmini.record.grid_forecast import forecast_grid
from specmini.record.vllm_grid import cache_pool, drafters

__all__ = ["Scheduled", "check_schedule", "yields_alone"]


@dataclass(frozen=True)
class Scheduled:
    """One load of the grid, and what the schedule did there.

    Attributes:
        concurrency: requests in flight.
        draft_length: K of the schedule, 0 for no drafter.
        output: measured output with that K over plain output.
        best_length: K with the most output as measured, 0 if none beats plain decoding.
        best_output: measured output with that one over plain output.
    """

    concurrency: int
    draft_length: int
    output: float
    best_length: int
    best_output: float


def yields_alone(draft: str) -> tuple[float, ...]:
    """E for K = 0 to 6, measured with one request at a time.

    Raises:
        ValueError: there is no such drafter in the grid.
    """
    checks.choice("draft", draft, drafters())
    alone = (one for one in forecast_grid().cells if (one.draft, one.concurrency) == (draft, 1))
    found = {one.draft_length: one.tokens_per_round for one in alone}
    return 1.0, *(found[length] for length in sorted(found))


def check_schedule(draft: str, *, memory: bool = True) -> tuple[Scheduled, ...]:
    """The schedule's choice at every load of the grid.

    Args:
        draft: who drafts, one of ``specmini.record.vllm_grid.drafters``.
        memory: the schedule knows how many requests fit, with the drafter and without.

    Raises:
        ValueError: there is no such drafter in the grid.
    """
    gained = yields_alone(draft)
    told = forecast_grid()
    loads = sorted({one.concurrency for one in told.cells})
    room = cache_pool(draft).sequences if memory else np.inf
    chosen = best_lengths(
        told.curve,
        loads,
        told.cost_ratio[draft],
        gained,
        fits=room,
        plain_fits=cache_pool("").sequences if memory else np.inf,
    )
    rows = []
    for load, length in zip(loads, chosen.tolist(), strict=True):
        measured = {0: 1.0} | {
            one.draft_length: one.throughput_speedup
            for one in told.cells
            if (one.draft, one.concurrency) == (draft, load)
        }
        best = max(measured, key=lambda one: measured[one])
        rows.append(Scheduled(load, length, measured[length], best, measured[best]))
    return tuple(rows)
