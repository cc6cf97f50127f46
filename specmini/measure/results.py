"""Measured settings on disk: what the book quotes beside what a reader's machine shows.

``specmini/data/measured_speedup.json`` is written by ``tests/benchmarks/speedup.py``. It holds
sums, not conclusions: each cell's estimates, intervals and predictions are worked out when read,
by the same code that serves a fresh measurement. ``measured_hugging_face.json`` beside it is
written by ``tests/benchmarks/hugging_face.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from specmini import json_files
from specmini.measure.cell import Cell
from specmini.measure.tallies import Acceptance, Tally

__all__ = [
    "Setting",
    "Settings",
    "cell_from_json",
    "cell_to_json",
    "load",
    "measured_draft_sizes",
    "measured_hugging_face",
    "measured_speedups",
    "store",
]

data = Path(str(resources.files("specmini"))) / "data"


@dataclass(frozen=True)
class Setting:
    """A cell and what it was measured on.

    Attributes:
        draft: who drafted.
        kind: of the prompts.
        temperature: of target and draft.
        cell: all repeats added up.
        speedups: of each repeat by itself, in order.
        forecast: speedup predicted from stand-alone latencies and the cell's α.
    """

    draft: str
    kind: str
    temperature: float
    cell: Cell
    speedups: tuple[float, ...]
    forecast: float


@dataclass(frozen=True)
class Settings:
    """A file of measured settings.

    Attributes:
        about: machine, versions, checkpoints, date and protocol, as stored.
        settings: in the order of the file.
    """

    about: dict[str, Any]
    settings: tuple[Setting, ...]

    def select(self, draft: str) -> tuple[Setting, ...]:
        """The settings of one drafter.

        Raises:
            ValueError: there are none.
        """
        found = tuple(one for one in self.settings if one.draft == draft)
        if not found:
            drafts = list(dict.fromkeys(one.draft for one in self.settings))
            raise ValueError(f"draft must be one of {drafts}, got {draft!r}")
        return found


def measured_speedups() -> Settings:
    """The settings that were measured for the book, on the package's pair."""
    return load(data / "measured_speedup.json")


def measured_draft_sizes() -> Settings:
    """Drafts of several sizes, all trained on as many tokens, and the package's own for longer.

    ``about["sizes"]`` has each one's layers, width, weights and tokens, by the name in ``draft``.
    Taken in one run, so the sizes may be compared with each other, and with other files only by
    their counts.
    """
    return load(data / "measured_draft_sizes.json")


def measured_hugging_face() -> dict[str, Any]:
    """What was measured with the same weights in Hugging Face transformers.

    Returns:
        ``about`` as in ``Settings``; ``ways``, a list with the tokens per second of each way of
        decoding, theirs and ours; ``ratios``, the best of ours over the best of theirs.
    """
    content: dict[str, Any] = json_files.packaged("measured_hugging_face.json")
    return content


def store(path: Path, measured: Settings) -> None:
    """Write settings as JSON, a line each, in one step; times are rounded to a microsecond."""
    json_files.write_rows(path, measured.about, "settings", map(_to_json, measured.settings))


def load(path: Path) -> Settings:
    """Read what ``store`` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is something else; the message names file and field.
    """
    about, rows = json_files.read_rows(path, "settings")
    with json_files.expected(path, "settings as store writes them"):
        return Settings(about, tuple(map(_from_json, rows)))


def _to_json(one: Setting) -> dict[str, Any]:
    return {
        "draft": one.draft,
        "kind": one.kind,
        "temperature": one.temperature,
        "speedups": [round(value, 4) for value in one.speedups],
        "forecast": round(one.forecast, 4),
        **cell_to_json(one.cell),
    }


def _from_json(row: dict[str, Any]) -> Setting:
    return Setting(
        draft=row["draft"],
        kind=row["kind"],
        temperature=row["temperature"],
        cell=cell_from_json(row),
        speedups=tuple(row["speedups"]),
        forecast=row["forecast"],
    )


def cell_to_json(cell: Cell) -> dict[str, Any]:
    """A cell's sums; times are rounded to a microsecond."""
    return {
        "draft_length": cell.draft_length,
        "repetition": round(cell.repetition, 4),
        "offered": cell.acceptance.offered,
        "accepted": cell.acceptance.accepted,
        "gained": cell.gained,
        "full": _row(cell.full),
        "plain": [_row(prompt) for prompt in cell.plain],
        "speculative": [_row(prompt) for prompt in cell.speculative],
    }


def cell_from_json(row: dict[str, Any]) -> Cell:
    """What ``cell_to_json`` gave, among other entries perhaps."""
    return Cell(
        draft_length=row["draft_length"],
        plain=_tallies(row["plain"]),
        speculative=_tallies(row["speculative"]),
        full=Tally(*row["full"]),
        acceptance=Acceptance(tuple(row["offered"]), tuple(row["accepted"])),
        gained=tuple(row["gained"]),
        repetition=row["repetition"],
    )


def _row(tally: Tally) -> list[float]:
    return [round(value, 6) for value in astuple(tally)]


def _tallies(rows: Sequence[Sequence[Any]]) -> tuple[Tally, ...]:
    return tuple(Tally(*row) for row in rows)
