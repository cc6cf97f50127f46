"""Tables from the literature, as data to compute with.

The numbers are the printed ones, in ``specmini/data``; nothing is recomputed here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class FreeDraftRow:
    """A row of Leviathan et al. 2023, Table 1: the theory with free drafts.

    Attributes:
        acceptance_rate: alpha.
        draft_length: K (their gamma).
        operations: arithmetic per token over plain decoding, two decimals.
        speedup: over plain decoding, two decimals.
    """

    acceptance_rate: float
    draft_length: int
    operations: float
    speedup: float


@dataclass(frozen=True)
class MeasuredRow:
    """A row of Leviathan et al. 2023, Table 4: predicted beside measured, T5-XXL target.

    Attributes:
        task: EnDe (translation) or CNN/DM (summaries).
        draft_model: name.
        temperature: 0 is greedy decoding.
        draft_length: K (their gamma).
        acceptance_rate: alpha, measured, two decimals.
        cost_ratio: c, measured, two decimals.
        expected_speedup: the paper's prediction from its unrounded inputs, one decimal.
        measured_speedup: on one TPU-v4 at batch 1, one decimal.
    """

    task: str
    draft_model: str
    temperature: float
    draft_length: int
    acceptance_rate: float
    cost_ratio: float
    expected_speedup: float
    measured_speedup: float


@dataclass(frozen=True)
class PositionRow:
    """Acceptance by position of one pair, from a public benchmark log.

    Attributes:
        target: the target model.
        draft: the draft model or head.
        survival: share of rounds in which the first i drafts were all accepted, i = 1..K.
        concurrency: requests in flight.
        log: path of the log in the repository that ``benchmark_log_source`` names.
    """

    target: str
    draft: str
    survival: tuple[float, ...]
    concurrency: int
    log: str

    @property
    def name(self) -> str:
        """The pair, draft first."""
        return f"{self.draft} → {self.target}"

    @property
    def draft_length(self) -> int:
        """K, the number of positions."""
        return len(self.survival)


@dataclass(frozen=True)
class Sweep:
    """One pair at batch 1 over many draft lengths, from a public benchmark log.

    Attributes:
        target: the target model.
        draft: the draft model.
        plain_ms: milliseconds per token without speculation.
        draft_step_ms: milliseconds of one draft step, timed in a run of its own.
        draft_length: K of each run, shape (n,).
        tokens_per_round: E, measured, shape (n,).
        speedup: measured, plain over speculative time per token, shape (n,).
        first_position: acceptance of the first draft in each run, shape (n,).
        longest_survival: unconditional acceptance by position at the largest K, shape (K,).
        log: path of the log in the repository that ``benchmark_log_source`` names.
    """

    target: str
    draft: str
    plain_ms: float
    draft_step_ms: float
    draft_length: tuple[int, ...]
    tokens_per_round: tuple[float, ...]
    speedup: tuple[float, ...]
    first_position: tuple[float, ...]
    longest_survival: tuple[float, ...]
    log: str

    @property
    def cost_ratio(self) -> float:
        """c, time of a draft step over time of a plain step."""
        return self.draft_step_ms / self.plain_ms


def leviathan_table_1() -> list[FreeDraftRow]:
    """Six rows of operations and speedup at c = 0.

    Source: Leviathan, Kalman and Matias 2023, arXiv 2211.17192, Table 1.
    """
    return [FreeDraftRow(**row) for row in _table("leviathan")["table_1"]]


def leviathan_table_4() -> list[MeasuredRow]:
    """Twelve rows of predicted and measured speedup, batch 1.

    Source: Leviathan, Kalman and Matias 2023, arXiv 2211.17192, Table 4.
    """
    return [MeasuredRow(**row) for row in _table("leviathan")["table_4"]]


def acceptance_by_position() -> list[PositionRow]:
    """Three pairs whose acceptance rises, stays or falls along the draft.

    Source: ``benchmark_log_source``.
    """
    rows = _table("benchmark_logs")["position"]
    return [PositionRow(**{**row, "survival": tuple(row["survival"])}) for row in rows]


def draft_length_sweep() -> Sweep:
    """Qwen3-1.7B drafting for Qwen3-32B, K = 1 to 8, batch 1.

    Source: ``benchmark_log_source``.
    """
    row = _table("benchmark_logs")["sweep"]
    lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    return Sweep(**{**row, **lists})


def benchmark_log_source() -> str:
    """Address and commit of the benchmark logs."""
    source = _table("benchmark_logs")["source"]
    return f"{source['url']} at commit {source['commit']}"


@cache
def _table(name: str) -> dict[str, Any]:
    text = resources.files("specmini").joinpath(f"data/{name}.toml").read_text("utf-8")
    return tomllib.loads(text)
