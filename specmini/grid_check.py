"""The public grid by the advisor's calibrated mode: what a reader with a stopwatch would be told.

Each of the 162 cells with speculation (``specmini.vllm_grid``) is foretold from the 9 plain runs,
its E, and one c for each drafter from that drafter's runs at concurrency 1. Nothing else of the
speculative runs is used. Two readers are told apart:

``latencies``
    knows the time per token at each concurrency, and machine and models by name.
``server``
    also knows the output rates, so how many requests were decoding; how many tokens of prompt come
    with a token of answer; and how many sequences fit into memory, which the engine prints when it
    starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from specmini import catalog, checks
from specmini.acceptance import FloatArray
from specmini.calibrated import calibrated_cost
from specmini.configuration import Configuration, PlainTime
from specmini.vllm_grid import (
    GridCell,
    cache_pool,
    plain_cells,
    prompt_share,
    speculative_cells,
    tokens_held,
)

__all__ = ["READERS", "GridCheck", "check_grid", "grid_half_width"]

READERS = ("latencies", "server")


@dataclass(frozen=True)
class GridCheck:
    """Cells of the grid beside what was foretold. Arrays have shape (N,).

    Attributes:
        cells: N cells.
        measured: speedup of an output token.
        foretold: the same, foretold.
        throughput: foretold ratio of output rates.
        fits: all requests fit into memory beside the drafter.
    """

    cells: tuple[GridCell, ...]
    measured: FloatArray
    foretold: FloatArray
    throughput: FloatArray
    fits: NDArray[np.bool_]


@cache
def check_grid(reader: str = "server") -> GridCheck:
    """Foretell every cell.

    Args:
        reader: "latencies" or "server".

    Raises:
        ValueError: reader is neither.
    """
    checks.choice("reader", reader, READERS)
    cells = speculative_cells()
    ratios = {draft: _cost_ratio(draft, reader) for draft in {cell.draft for cell in cells}}
    foretold, throughput = [], []
    for cell in cells:
        setting = replace(_setting(cell, reader), cost_ratio=ratios[cell.draft])
        cost = calibrated_cost(setting, cell.tokens_per_round)
        speedup = cell.tokens_per_round / float(cost.total(0.0, setting))
        foretold.append(speedup)
        throughput.append(speedup * float(cost.running / cost.plain_running))
    return GridCheck(
        cells,
        np.array([cell.tpot_speedup for cell in cells]),
        np.array(foretold),
        np.array(throughput),
        np.array([cell.concurrency <= cache_pool(cell.draft).sequences for cell in cells]),
    )


@cache
def grid_half_width(reader: str, waiting: bool) -> float:
    """Half of the 80 % interval of log speedup with a measured plain curve.

    Args:
        reader: "latencies" or "server".
        waiting: whether requests wait for memory.

    Raises:
        ValueError: reader is neither.
    """
    told = check_grid(reader)
    errors = np.abs(np.log(told.foretold / told.measured))
    return float(np.quantile(errors[~told.fits if waiting else told.fits], 0.8))


def _setting(cell: GridCell, reader: str) -> Configuration:
    server = reader == "server"
    drafted = cell.draft.startswith("Qwen3")
    return Configuration(
        catalog.model("qwen3-32b"),
        replace(catalog.machine("h100"), memory=94e9),
        "server",
        "server",
        "draft model" if drafted else "eagle-3",
        cell.draft_length,
        draft=catalog.model(cell.draft.lower()) if drafted else None,
        concurrency=cell.concurrency,
        context=round(tokens_held()),
        tokens_per_round=cell.tokens_per_round,
        plain_times=tuple(
            PlainTime(one.concurrency, one.mean_tpot_ms / 1000, one.running if server else None)
            for one in plain_cells()
        ),
        prompt_share=prompt_share() if server else 0.0,
        fitting=(cache_pool().sequences, cache_pool(cell.draft).sequences) if server else None,
    )


def _cost_ratio(draft: str, reader: str) -> float:
    """Cost ratio by least squares of what checks leave of the rounds at concurrency 1."""
    drafts, left = [], []
    for cell in speculative_cells(draft):
        if cell.concurrency == 1:
            setting = replace(_setting(cell, reader), cost_ratio=0.0)
            cost = calibrated_cost(setting, cell.tokens_per_round)
            step = cell.tokens_per_round * cell.mean_tpot_ms / 1000 / float(cost.plain_seconds)
            drafts.append(cell.draft_length)
            left.append(step - float(cost.check))
    return float(np.dot(drafts, left) / np.dot(drafts, drafts))
