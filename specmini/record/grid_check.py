"""The public grid by the advisor's calibrated mode: what a reader with a stopwatch would be told.

Each of the 162 cells with speculation (``vllm_grid``) is foretold from the 9 plain runs,
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
from specmini.checks import FloatArray
from specmini.configuration import Configuration, PlainTime
from specmini.cost.calibrated import calibrated_cost
from specmini.record.batch_tables import batch_series
from specmini.record.vllm_grid import (
    GridCell,
    cache_pool,
    drafters,
    plain_cells,
    prompt_share,
    speculative_cells,
    tokens_held,
)

__all__ = [
    "READERS",
    "GridCheck",
    "SeriesCheck",
    "check_grid",
    "check_series",
    "curve_half_width",
]

READERS = ("latencies", "server")
COVERED = 0.8


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


@dataclass(frozen=True)
class SeriesCheck:
    """Speedups of another server beside what was foretold. Arrays have shape (N,).

    Attributes:
        measured: speedup as printed, one decimal.
        foretold: the same, foretold.
    """

    measured: FloatArray
    foretold: FloatArray


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
    foretold, throughput = np.empty(len(cells)), np.empty(len(cells))
    ratios = {draft: _cost_ratio(draft, reader) for draft in drafters()}
    names = np.array([cell.draft for cell in cells])
    lengths = np.array([cell.draft_length for cell in cells])
    gained = np.array([cell.tokens_per_round for cell in cells])
    asked = np.array([cell.concurrency for cell in cells])
    for draft, length in dict.fromkeys(zip(names.tolist(), lengths.tolist(), strict=True)):
        own = (names == draft) & (lengths == length)
        setting = replace(_setting(draft, length, reader), cost_ratio=ratios[draft])
        cost = calibrated_cost(setting, gained[own], asked[own])
        foretold[own] = gained[own] / cost.total(0.0, setting)
        throughput[own] = foretold[own] * cost.running / cost.plain_running
    return GridCheck(
        cells,
        np.array([cell.tpot_speedup for cell in cells]),
        foretold,
        throughput,
        np.array([cell.concurrency <= cache_pool(cell.draft).sequences for cell in cells]),
    )


@cache
def check_series() -> SeriesCheck:
    """Foretell another server: Llama-3.1-8B in SGLang on a B200, with chains, blocks and trees.

    The DFlash paper prints plain rates and speedups at batch 1, 4, 8, 16 and 32
    (``batch_tables``). Drafting is what is left of the round at batch 1, so those rows
    do not count. The paper does not tell contexts: the default of 512 is taken.
    """
    foretold: list[float] = []
    measured: list[float] = []
    for series in batch_series():
        if series.plain_tokens_per_second is None or series.tokens_per_round is None:
            continue
        gained, batch = series.tokens_per_round, np.array(series.batch)
        setting = Configuration(
            catalog.model("llama-3.1-8b"),
            catalog.machine("b200"),
            "server",
            "server",
            "block",
            series.draft_length or 1,
            check_tokens=series.draft_length,
            tokens_per_round=gained,
            cost_ratio=0.0,
            plain_times=tuple(
                PlainTime(size, size / rate)
                for size, rate in zip(series.batch, series.plain_tokens_per_second, strict=True)
            ),
        )
        check = calibrated_cost(setting, gained, batch).check
        drafting = gained / series.speedup[0] - check[0]
        foretold += (gained / (check + drafting))[1:].tolist()
        measured += series.speedup[1:]
    return SeriesCheck(np.array(measured), np.array(foretold))


@cache
def curve_half_width(reader: str, waiting: bool) -> float:
    """Half of the 80 % interval of log speedup with a measured plain curve.

    The quantile of absolute errors, the two servers counting the same. Only one of them tells of
    requests that wait for memory; there the interval is no narrower than elsewhere.

    Args:
        reader: "latencies" or "server".
        waiting: whether requests wait for memory.

    Raises:
        ValueError: reader is neither.
    """
    told, other = check_grid(reader), check_series()
    errors = np.abs(np.log(told.foretold / told.measured))
    groups = [errors[~told.fits if waiting else told.fits]]
    if not waiting:
        groups.append(np.abs(np.log(other.foretold / other.measured)))
    every = np.concatenate(groups)  # (N,)
    weights = np.concatenate([np.full(len(group), 1 / len(group)) for group in groups])  # (N,)
    order = np.argsort(every)
    reached = np.cumsum(weights[order]) / weights.sum()
    width = float(every[order][np.searchsorted(reached, COVERED)])
    return max(width, curve_half_width(reader, False)) if waiting else width


def _setting(draft: str, length: int, reader: str) -> Configuration:
    server = reader == "server"
    model = catalog.model(draft.lower()) if draft.startswith("Qwen3") else None
    return Configuration(
        catalog.model("qwen3-32b"),
        catalog.machine("h100-94"),
        "server",
        "server",
        "draft model" if model else "eagle-3",
        length,
        draft=model,
        context=round(tokens_held()),
        plain_times=tuple(
            PlainTime(one.concurrency, one.mean_tpot_ms / 1000, one.running if server else None)
            for one in plain_cells()
        ),
        prompt_share=prompt_share() if server else 0.0,
        fitting=(cache_pool().sequences, cache_pool(draft).sequences) if server else None,
    )


def _cost_ratio(draft: str, reader: str) -> float:
    """Cost ratio by least squares of what checks leave of the rounds at concurrency 1."""
    drafts, left = [], []
    for cell in speculative_cells(draft):
        if cell.concurrency == 1:
            setting = replace(_setting(draft, cell.draft_length, reader), cost_ratio=0.0)
            cost = calibrated_cost(setting, cell.tokens_per_round)
            step = cell.tokens_per_round * cell.mean_tpot_ms / 1000 / float(cost.plain_seconds)
            drafts.append(cell.draft_length)
            left.append(step - float(cost.check))
    return float(np.dot(drafts, left) / np.dot(drafts, drafts))
