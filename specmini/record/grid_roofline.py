"""The public grid from data sheets alone: no run of it is used but for the tokens per round.

The roofline of the H100 with 94 GB and the shapes of the models give the plain step, the check and
the draft's step at every cell. This is what a reader can work out before any benchmark. It is
optimistic: it knows no launches, no scheduler and no prompts in the passes, and takes peak and
bandwidth as printed. With the cost ratios of the runs at concurrency 1 one sees how much of that is
drafting.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from specmini import catalog, checks
from specmini.checks import FloatArray
from specmini.record.grid_forecast import GridForecast
from specmini.record.vllm_grid import cache_pool, drafters, speculative_cells, tokens_held
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import DraftCost, cost_ratio, draft_head, draft_model

__all__ = ["HEAD_VOCABULARY", "formula_crossings", "grid_drafts", "roofline_grid_speedup"]

HEAD_VOCABULARY = 32_000  # as EAGLE-3's for Llama; the log does not say this head's


def grid_drafts(target: Deployment) -> dict[str, DraftCost]:
    """The drafters of the grid, each on the target's machine, run the same way.

    Args:
        target: Qwen3-32B on its machine.
    """
    small = {
        draft: draft_model(Deployment(target.machine, catalog.model(draft.lower())))
        for draft in drafters()
        if draft.startswith("Qwen3")
    }
    return {"EAGLE-3 head": draft_head(target, vocabulary=HEAD_VOCABULARY), **small}


def roofline_grid_speedup(
    machine: str = "h100-94", *, cost_ratios: Mapping[str, float] | None = None
) -> FloatArray:
    """Speedup of a token in each cell with speculation, by the roofline and the measured E.

    The batch is what the client asks for, or as many requests as fit beside the draft; plain
    decoding has what the client asks for. Each request holds the tokens of a half-done one.

    Args:
        machine: short name of a machine of the catalog.
        cost_ratios: c of each drafter; ``None`` for the roofline's own at each batch.

    Returns:
        Shape (N,), in the order of ``speculative_cells``.

    Raises:
        ValueError: no such machine, a drafter has no c, or c is out of range.
    """
    target = Deployment(catalog.machine(machine), catalog.model("qwen3-32b"))
    drafts = grid_drafts(target)
    context = round(tokens_held())
    speedups = []
    for cell in speculative_cells():
        fitting = int(cache_pool(cell.draft).sequences)
        batch = min(cell.concurrency, fitting)
        step = float(target.pass_time(batch, 1, context).time)
        if cost_ratios is None:
            cost = float(cost_ratio(target, drafts[cell.draft], batch, context))
        elif cell.draft in cost_ratios:
            given = checks.non_negative("cost_ratios", cost_ratios[cell.draft])
            cost = float(checks.single("cost_ratios", given))
        else:
            raise ValueError(f"cost_ratios must have {cell.draft!r}, got {sorted(cost_ratios)}")
        check = float(target.pass_time(batch, cell.draft_length + 1, context).time)
        plain = float(target.pass_time(cell.concurrency, 1, context).time)
        round_time = check + cell.draft_length * cost * step
        speedups.append(cell.tokens_per_round * plain / round_time)
    return np.array(speedups)


def formula_crossings(forecast: GridForecast, machine: str = "h100-94") -> FloatArray:
    """Batch from which on each drafter and K of the grid loses, by the formula of short context.

    R (E - K c) / (K + 1) with R the ridge of the data sheet, in 16 bits, and E and c of the runs at
    concurrency 1 (``specmini.roofline.crossover``).

    Args:
        forecast: gives c, and the order.
        machine: short name of a machine of the catalog.

    Returns:
        Shape (S,), in the order of ``forecast.crossings()``.

    Raises:
        ValueError: no such machine.
    """
    ridge = Deployment(catalog.machine(machine), catalog.model("qwen3-32b")).ridge_tokens
    alone = {
        (cell.draft, cell.draft_length): cell.tokens_per_round
        for cell in forecast.cells
        if cell.concurrency == 1
    }
    batches = []
    for one in forecast.crossings():
        gained = alone[one.draft, one.draft_length]
        left = gained - one.draft_length * forecast.cost_ratio[one.draft]
        batches.append(float(ridge) * left / (one.draft_length + 1))
    return np.array(batches)
