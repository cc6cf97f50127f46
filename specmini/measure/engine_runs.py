"""The trained pair in the engines that people use: what they counted, and what their clocks said.

``specmini/data/measured_engines.json`` is written by ``tests/benchmarks/engines.py`` (``make
engines``). Every engine continued the same prompts with the same weights; counts are the engine's
own where it has counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from math import isnan
from pathlib import Path
from typing import Any

from specmini import json_files
from specmini.measure.speedup_interval import Timed, pooled_speedup, speedup_interval
from specmini.metrics import DraftCounts
from specmini.tables import Table

__all__ = [
    "EngineRun",
    "EngineRuns",
    "clock_table",
    "count_table",
    "load",
    "measured_engines",
    "named",
    "store",
]

PLAIN = "plain"


@dataclass(frozen=True)
class EngineRun:
    """One engine, decoding some prompts in one way.

    Attributes:
        engine: specmini, transformers or vLLM.
        decoding: plain, draft model or n-gram.
        kind: of the prompts.
        temperature: of target and draft.
        rule: what becomes of a drafted token, one of ``rules.RULES``; empty at temperature 0,
            where they are one, and for plain decoding.
        mended: whether the engine ran with a known defect of its version mended.
        same_output: share of texts equal to our plain ones; None above temperature 0.
        tokens: new tokens of each prompt.
        seconds: of each prompt, the whole call; empty if only counts were wanted.
        counts: what was drafted and accepted; None of plain decoding.
    """

    engine: str
    decoding: str
    kind: str
    temperature: float
    rule: str
    mended: bool
    same_output: float | None
    tokens: tuple[int, ...]
    seconds: tuple[float, ...]
    counts: DraftCounts | None

    @property
    def timed(self) -> tuple[Timed, ...]:
        """Tokens and seconds of each prompt; none if only counts were wanted."""
        if not self.seconds:
            return ()
        return tuple(map(Timed, self.tokens, self.seconds))

    @property
    def hit_rate(self) -> float:
        """h, share of steps that drafted. A step without a draft writes one token.

        Raises:
            ValueError: it decoded without drafts.
        """
        return self._counted.rounds / self._steps

    @property
    def tokens_per_step(self) -> float:
        """E over all steps, 1 + h (E_K - 1) with E_K those of a round that drafted.

        Raises:
            ValueError: it decoded without drafts.
        """
        return sum(self.tokens) / self._steps

    @property
    def _counted(self) -> DraftCounts:
        if self.counts is None:
            raise ValueError(f"{self.engine}, {self.decoding}, counted no drafts")
        return self.counts

    @property
    def _steps(self) -> float:
        """Rounds that drafted and steps that did not.

        What an engine accepts beyond a text's end it counts, though it is not written; so there
        are never fewer steps than rounds.
        """
        counts = self._counted
        return counts.rounds + max(sum(self.tokens) - counts.rounds - counts.accepted, 0)

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all prompts over the time of all calls.

        Raises:
            ValueError: no clock ran.
        """
        if not self.seconds:
            raise ValueError(f"{self.engine}, {self.decoding}, was not timed")
        return sum(self.tokens) / sum(self.seconds)


@dataclass(frozen=True)
class EngineRuns:
    """A file of runs.

    Attributes:
        about: machine, versions, checkpoints, date and protocol, as stored.
        runs: in the order of the file.
    """

    about: dict[str, Any]
    runs: tuple[EngineRun, ...]

    def select(self, **wanted: Any) -> tuple[EngineRun, ...]:
        """The runs whose attributes have these values, in order.

        Raises:
            ValueError: there are none.
        """
        found = tuple(
            one
            for one in self.runs
            if all(getattr(one, name) == value for name, value in wanted.items())
        )
        if not found:
            raise ValueError(f"runs must have some with {wanted}, got none out of {len(self.runs)}")
        return found

    def speedup(self, run: EngineRun) -> float:
        """Time of a plain token over that of a run's, in the same engine on the same prompts."""
        return pooled_speedup(self._plain(run), run.timed)

    def interval(self, run: EngineRun, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of that, as ``speedup_interval``."""
        return speedup_interval(self._plain(run), run.timed, level)

    def _plain(self, run: EngineRun) -> tuple[Timed, ...]:
        [plain] = self.select(
            engine=run.engine, decoding=PLAIN, kind=run.kind, temperature=run.temperature
        )
        return plain.timed


def named(run: EngineRun) -> str:
    """A run's engine in words, with its rule and whether it is mended."""
    words = [run.engine, *(["mended"] if run.mended else [])]
    return " ".join(words) + (f", {run.rule}" if run.rule else "")


def count_table(runs: Sequence[EngineRun], caption: str = "") -> Table:
    """What engines counted, a row a run that drafted.

    ``rounds`` are those that drafted. ``survived`` is unconditional, as vLLM counts: rounds that
    accepted at least 1, 2, ..., K drafts. α is conditional, given those before; unknown where none
    got there. E_K is the yield of a round that drafted, h the share of steps that did, and E the
    yield of all steps.

    Args:
        runs: those without counts are left out.
        caption: the sentence above the table.
    """
    counted = [(run, run.counts) for run in runs if run.counts is not None]
    return Table(
        {
            "engine": [named(run) for run, _ in counted],
            "decoding": [run.decoding for run, _ in counted],
            "text": [run.kind for run, _ in counted],
            "rounds": [round(counts.rounds) for _, counts in counted],
            "survived": [
                " ".join(f"{n:.0f}" for n in counts.by_position or ()) for _, counts in counted
            ],
            "α by position": [
                " ".join("–" if isnan(rate) else f"{rate:.2f}" for rate in counts.rates_by_position)
                for _, counts in counted
            ],
            "E_K": [counts.tokens_per_round for _, counts in counted],
            "h": [run.hit_rate for run, _ in counted],
            "E": [run.tokens_per_step for run, _ in counted],
        },
        digits=2,
        caption=caption,
    )


def clock_table(measured: EngineRuns, caption: str = "") -> Table:
    """What the clocks said, a row a timed run; speedups are over the same engine's plain decoding.

    Args:
        measured: runs without a clock are left out.
        caption: the sentence above the table.
    """
    timed = [run for run in measured.runs if run.seconds]
    intervals = [
        "–" if run.decoding == PLAIN else "{:.2f} to {:.2f}".format(*measured.interval(run))
        for run in timed
    ]
    return Table(
        {
            "engine": [run.engine for run in timed],
            "decoding": [run.decoding for run in timed],
            "text": [run.kind for run in timed],
            "tokens/s": [f"{run.tokens_per_second:.0f}" for run in timed],
            "speedup": [f"{measured.speedup(run):.2f}" for run in timed],
            "95% interval": intervals,
        },
        caption=caption,
    )


def measured_engines() -> EngineRuns:
    """The runs that were made for the book, on the package's pair."""
    return load(Path(str(resources.files("specmini"))) / "data" / "measured_engines.json")


def store(path: Path, measured: EngineRuns) -> None:
    """Write runs as JSON, a line each; times are rounded to a tenth of a millisecond."""
    rows = [
        {**asdict(run), "seconds": [round(value, 4) for value in run.seconds]}
        for run in measured.runs
    ]
    json_files.write_rows(path, measured.about, "runs", rows)


def load(path: Path) -> EngineRuns:
    """Read what ``store`` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is something else; the message names file and field.
    """
    about, rows = json_files.read_rows(path, "runs")
    with json_files.expected(path, "runs as store writes them"):
        return EngineRuns(about, tuple(map(_run, rows)))


def _run(row: dict[str, Any]) -> EngineRun:
    counts = row["counts"]
    return EngineRun(
        **{
            **row,
            "tokens": tuple(row["tokens"]),
            "seconds": tuple(row["seconds"]),
            "counts": counts and _counts(counts),
        }
    )


def _counts(row: dict[str, Any]) -> DraftCounts:
    positions: Sequence[float] = row["by_position"]
    return DraftCounts(**{**row, "by_position": tuple(positions), "notes": tuple(row["notes"])})
