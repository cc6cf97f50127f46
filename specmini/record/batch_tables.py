"""Speedup against batch size as papers and public reports print it.

The numbers are the printed ones, in ``specmini/data/batch_tables.toml``, each series with its
address, the month it was read and how it was read. Nothing is recomputed but a ratio of two printed
rates; a series says what its source says and leaves out the rest.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from specmini import checks

__all__ = ["TIERS", "BatchSeries", "Crossing", "batch_series", "find_series"]

TIERS = ("primary", "transcribed", "second-hand")


@dataclass(frozen=True)
class Crossing:
    """Between which two printed batch sizes a speedup falls below 1.

    Attributes:
        last_win: largest batch up to which no speedup printed is below 1; 0 if even the first is.
        first_loss: the batch after it, with a speedup below 1.
    """

    last_win: int
    first_loss: int


@dataclass(frozen=True)
class BatchSeries:
    """One method on one setting, batch size rising.

    Attributes:
        name: method and setting, unique.
        method: what drafted.
        batch: sequences or requests in flight, rising, shape (n,).
        speedup: over plain decoding of the same engine at the same batch, shape (n,).
        source: paper or report, and table.
        url: its address.
        read: month in which the stored copy or note was read.
        tier: "primary" if read in the source's own text, "transcribed" if from a transcription
            that quotes it, "second-hand" if from notes about it.
        target: the target model, if said.
        machine: device, if said.
        engine: serving engine and version, if said.
        dataset: prompts, if said.
        measure: "throughput" or "latency", if said.
        drafts: "chain", "tree" or "block", if said.
        draft_length: tokens drafted and checked in a round, if said.
        tokens_per_round: E, if said.
        plain_tokens_per_second: of plain decoding, shape (n,), if said.
        note: what a reader must know.
    """

    name: str
    method: str
    batch: tuple[int, ...]
    speedup: tuple[float, ...]
    source: str
    url: str
    read: str
    tier: str
    target: str | None = None
    machine: str | None = None
    engine: str | None = None
    dataset: str | None = None
    measure: str | None = None
    drafts: str | None = None
    draft_length: int | None = None
    tokens_per_round: float | None = None
    plain_tokens_per_second: tuple[float, ...] | None = None
    note: str | None = None

    @property
    def crossing(self) -> Crossing | None:
        """Where the speedup first falls below 1; None if it never does in the series.

        A speedup that later returns above 1 does not undo a loss.
        """
        for place, value in enumerate(self.speedup):
            if value < 1:
                return Crossing(self.batch[place - 1] if place else 0, self.batch[place])
        return None


def batch_series(tier: str | None = None) -> tuple[BatchSeries, ...]:
    """All series, in the order of the file.

    Args:
        tier: only those that were read so.

    Raises:
        ValueError: there is no such tier.
    """
    if tier is not None:
        checks.choice("tier", tier, TIERS)
    return tuple(series for series in _all() if tier in (None, series.tier))


def find_series(name: str) -> BatchSeries:
    """One series.

    Raises:
        ValueError: there is none of that name; the message lists all names.
    """
    by_name = {series.name: series for series in _all()}
    return by_name[checks.choice("name", name, tuple(by_name))]


@cache
def _all() -> tuple[BatchSeries, ...]:
    path = resources.files("specmini").joinpath("data/batch_tables.toml")
    return tuple(_series(row) for row in tomllib.loads(path.read_text("utf-8"))["series"])


def _series(row: dict[str, Any]) -> BatchSeries:
    lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    return BatchSeries(**{**row, **lists})
