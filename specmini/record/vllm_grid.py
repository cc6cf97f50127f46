"""A public benchmark of one pair of models over draft length and concurrency, as data.

Qwen3-32B in vLLM on one H100 with 94 GB, three drafters, K = 1 to 6, 1 to 256 requests in flight:
162 cells with speculation and 9 without. ``specmini/data/vllm_grid.csv`` holds what the logs print,
a log path a row; what follows from it is worked out here. ``specmini.record.papers`` has other
tables.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from specmini import checks

__all__ = [
    "CachePool",
    "GridCell",
    "cache_pool",
    "check_from_plain_times",
    "drafters",
    "grid_source",
    "plain_cells",
    "prompt_share",
    "speculative_cells",
    "tokens_held",
]


@dataclass(frozen=True)
class GridCell:
    """One benchmark run: requests of InstructCoder prompts, greedy decoding.

    Attributes:
        draft: who drafted; empty without speculation.
        draft_length: K; 0 without speculation.
        concurrency: most requests in flight, as the client was told.
        requests: in all.
        mean_tpot_ms: time of an output token after the first, mean over requests.
        median_tpot_ms: the same, median over requests.
        mean_itl_ms: time between two messages of the engine to one client. With speculation a
            message brings the tokens of a round, so this is the time of a round.
        tokens_per_second: output of all requests over the length of the whole run.
        accepted_percent: accepted over drafted; None without speculation.
        tokens_per_round: E as printed, two decimals; 1 without speculation.
        survival_percent: share of rounds in which the first i drafts were all accepted,
            i = 1..K, in percent.
        log: path in the repository that ``grid_source`` names.
    """

    draft: str
    draft_length: int
    concurrency: int
    requests: int
    mean_tpot_ms: float
    median_tpot_ms: float
    mean_itl_ms: float
    tokens_per_second: float
    accepted_percent: float | None
    tokens_per_round: float
    survival_percent: tuple[float, ...]
    log: str

    @property
    def running(self) -> float:
        """Mean number of requests that were decoding: Little's law, output rate times time.

        Below ``concurrency`` while others wait for memory or for their first token, and while the
        run begins and ends.
        """
        return self.tokens_per_second * self.mean_tpot_ms / 1000

    @property
    def tpot_speedup(self) -> float:
        """Plain over speculative time of an output token at the same concurrency."""
        return self._plain.mean_tpot_ms / self.mean_tpot_ms

    @property
    def throughput_speedup(self) -> float:
        """Speculative over plain output rate at the same concurrency."""
        return self.tokens_per_second / self._plain.tokens_per_second

    @property
    def _plain(self) -> GridCell:
        return next(cell for cell in plain_cells() if cell.concurrency == self.concurrency)


@dataclass(frozen=True)
class CachePool:
    """Memory that was left for keys and values once all weights were loaded.

    Attributes:
        draft: who drafted; empty without speculation.
        tokens: that fit, in target and draft together.
        gibibytes: size, two decimals.
        log: path in the repository that ``grid_source`` names.
    """

    draft: str
    tokens: int
    gibibytes: float
    log: str

    @property
    def bytes_per_token(self) -> float:
        """Memory that one token takes in target and draft."""
        return self.gibibytes * 2**30 / self.tokens

    @property
    def sequences(self) -> float:
        """How many requests fit if each holds ``tokens_held``: an estimate of the batch's limit."""
        return self.tokens / tokens_held()


def plain_cells() -> tuple[GridCell, ...]:
    """The 9 runs without speculation, concurrency rising. Source: ``grid_source``."""
    return tuple(cell for cell in _cells() if not cell.draft)


def check_from_plain_times(concurrency: int, draft_length: int) -> float:
    """The verify cost that two plain runs foretell, v = t(B (K + 1)) / t(B).

    Args:
        concurrency: B; B and B (K + 1) are both concurrencies of plain runs.
        draft_length: K.

    Raises:
        ValueError: one of the two was not run.
    """
    times = {cell.concurrency: cell.mean_tpot_ms for cell in plain_cells()}
    wanted = (concurrency, concurrency * (draft_length + 1))
    if not set(wanted) <= set(times):
        raise ValueError(f"B and B (K + 1) must be among {sorted(times)}, got {wanted}")
    return times[wanted[1]] / times[wanted[0]]


def speculative_cells(draft: str | None = None) -> tuple[GridCell, ...]:
    """The runs with speculation, K and then concurrency rising. Source: ``grid_source``.

    Args:
        draft: one of ``drafters``; all of them if not given.

    Raises:
        ValueError: there is no such drafter.
    """
    if draft is not None:
        checks.choice("draft", draft, drafters())
    return tuple(cell for cell in _cells() if cell.draft and draft in (None, cell.draft))


def drafters() -> tuple[str, ...]:
    """Who drafted: an EAGLE-3 head and two models."""
    return tuple(dict.fromkeys(cell.draft for cell in _cells() if cell.draft))


def cache_pool(draft: str = "") -> CachePool:
    """Memory left for keys and values, from the log of the run with K = 3.

    Args:
        draft: one of ``drafters``, or empty for the engine without speculation.

    Raises:
        ValueError: there is no such drafter.
    """
    pools = {row["draft"]: CachePool(**row) for row in _common()["cache"]}
    return pools[checks.choice("draft", draft, tuple(pools))]


def prompt_share() -> float:
    """Prompt tokens that the engine takes in for each token that it puts out, about 0.73."""
    setting = _common()["setting"]
    return float(setting["prompt_tokens"] / setting["answer_tokens"])


def tokens_held() -> float:
    """Tokens in the cache of a request that is half done, on average: about 246."""
    setting = _common()["setting"]
    largest = max(cell.requests for cell in plain_cells())
    return float((setting["prompt_tokens"] + setting["answer_tokens"] / 2) / largest)


def grid_source() -> str:
    """Address and commit of the logs."""
    source = _common()["source"]
    return f"{source['url']} at commit {source['commit']}"


@cache
def _cells() -> tuple[GridCell, ...]:
    text = _read("vllm_grid.csv")
    return tuple(_cell(row) for row in csv.DictReader(text.splitlines()))


def _cell(row: dict[str, str]) -> GridCell:
    accepted = row["accepted_percent"]
    return GridCell(
        draft=row["draft"],
        draft_length=int(row["draft_length"]),
        concurrency=int(row["concurrency"]),
        requests=int(row["requests"]),
        mean_tpot_ms=float(row["mean_tpot_ms"]),
        median_tpot_ms=float(row["median_tpot_ms"]),
        mean_itl_ms=float(row["mean_itl_ms"]),
        tokens_per_second=float(row["tokens_per_second"]),
        accepted_percent=float(accepted) if accepted else None,
        tokens_per_round=float(row["tokens_per_round"] or 1),
        survival_percent=tuple(float(value) for value in row["survival_percent"].split()),
        log=row["log"],
    )


@cache
def _common() -> dict[str, Any]:
    return tomllib.loads(_read("vllm_grid.toml"))


def _read(name: str) -> str:
    return resources.files("specmini").joinpath(f"data/{name}").read_text("utf-8")
