"""Measured batches on disk: speedups beside two predictions, and where each says the win dies.

``specmini/data/measured_batch.json`` is written by ``tests/benchmarks/batch_speedup.py``. It holds
sums of rounds, times of passes and fitted constants; estimates and predictions are worked out when
read, by the code that serves a fresh measurement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specmini import json_files
from specmini.batch.calibration import Calibration, shape_of
from specmini.gpt import Config
from specmini.measure.cell import Cell
from specmini.measure.latency import PassTimes, forecast
from specmini.measure.rehearsal import Rehearsal
from specmini.measure.results import cell_from_json, cell_to_json, data
from specmini.roofline.batch_speedup import speedup_by_batch
from specmini.roofline.draft_cost import draft_model
from specmini.roofline.machine import Machine

__all__ = [
    "BatchResults",
    "BatchSetting",
    "Curve",
    "first_losing",
    "load_batches",
    "measured_batches",
    "store_batches",
]


@dataclass(frozen=True)
class BatchSetting:
    """A cell and what it was measured on.

    Attributes:
        batch: sequences decoded together, B.
        kind: of the prompts.
        temperature: of target and draft.
        cell: of the steady state; its units are turns.
    """

    batch: int
    kind: str
    temperature: float
    cell: Cell


@dataclass(frozen=True)
class Curve:
    """Speedups at one draft length against the batch.

    Attributes:
        batches: B, rising.
        measured: speedups.
        forecast: predicted from α and passes timed alone.
        rehearsed: predicted from α and a rehearsal.
        roofline: predicted from α and the calibrated roofline.
    """

    batches: tuple[int, ...]
    measured: tuple[float, ...]
    forecast: tuple[float, ...]
    rehearsed: tuple[float, ...]
    roofline: tuple[float, ...]


@dataclass(frozen=True)
class BatchResults:
    """A file of measured batches.

    Attributes:
        about: machine, versions, checkpoints, date and protocol, as stored.
        settings: in the order of the file.
        passes: by batch, the target's times by tokens a slot and the draft's, softmax and draw
            included.
        rehearsals: by batch, times of rounds without a decision, softmax and draw included.
        calibration: of the computer.
        configs: shapes of ``"target"`` and ``"draft"``.
        static: by batch and draft length, the speedup of static batches over plain static batches,
            in which early texts wait for the slowest.
    """

    about: dict[str, Any]
    settings: tuple[BatchSetting, ...]
    passes: Mapping[int, tuple[PassTimes, PassTimes]]
    rehearsals: Mapping[int, Rehearsal]
    calibration: Calibration
    configs: Mapping[str, Config]
    static: Mapping[tuple[int, int], float]

    def acceptance_rate(self, kind: str, temperature: float) -> float:
        """α of a kind of text, from the smallest batch that was measured, all K pooled.

        Raises:
            ValueError: it was not measured.
        """
        found = self._select(kind, temperature)
        least = min(one.batch for one in found)
        counts = [one.cell.acceptance for one in found if one.batch == least]
        return sum(sum(one.accepted) for one in counts) / sum(sum(one.offered) for one in counts)

    def forecast(self, setting: BatchSetting) -> float:
        """Speedup predicted from α and from passes timed alone, before any round was run."""
        target, draft = self.passes[setting.batch]
        rate = self.acceptance_rate(setting.kind, setting.temperature)
        return forecast(rate, setting.cell.draft_length, target, draft)

    def rehearsed(self, setting: BatchSetting) -> float:
        """Speedup predicted from α and a rehearsal at that batch."""
        rate = self.acceptance_rate(setting.kind, setting.temperature)
        return self.rehearsals[setting.batch].speedup(rate, setting.cell.draft_length)

    def roofline(self, setting: BatchSetting) -> float:
        """Speedup predicted from α and the calibrated roofline, at the mean length of a text."""
        target, draft = (
            self.calibration.deployment(shape_of(self.configs[name], name))
            for name in ("target", "draft")
        )
        return float(
            speedup_by_batch(
                target,
                draft_model(draft),
                self.acceptance_rate(setting.kind, setting.temperature),
                setting.cell.draft_length,
                setting.batch,
                self.about["past"],
            )
        )

    def curve(self, kind: str, temperature: float, draft_length: int) -> Curve:
        """Speedups against the batch.

        Raises:
            ValueError: none were measured.
        """
        found = [
            one for one in self._select(kind, temperature) if one.cell.draft_length == draft_length
        ]
        if not found:
            raise ValueError(f"draft_length must be one that was measured, got {draft_length}")
        found.sort(key=lambda one: one.batch)
        return Curve(
            batches=tuple(one.batch for one in found),
            measured=tuple(one.cell.speedup for one in found),
            forecast=tuple(map(self.forecast, found)),
            rehearsed=tuple(map(self.rehearsed, found)),
            roofline=tuple(map(self.roofline, found)),
        )

    def _select(self, kind: str, temperature: float) -> list[BatchSetting]:
        found = [one for one in self.settings if (one.kind, one.temperature) == (kind, temperature)]
        if not found:
            known = sorted({(one.kind, one.temperature) for one in self.settings})
            raise ValueError(
                f"kind and temperature must be among {known}, got {(kind, temperature)}"
            )
        return found


def first_losing(batches: Sequence[int], speedups: Sequence[float]) -> int | None:
    """The smallest batch from which on speculation never wins again; None if it wins at the last.

    Args:
        batches: rising.
        speedups: at each.
    """
    losing = None
    for batch, speedup in zip(batches, speedups, strict=True):
        if speedup >= 1:
            losing = None
        elif losing is None:
            losing = batch
    return losing


def measured_batches() -> BatchResults:
    """The batches that were measured for the book, on the package's pair."""
    return load_batches(data / "measured_batch.json")


def store_batches(path: Path, results: BatchResults) -> None:
    """Write results as JSON, a line a setting, in one step."""
    machine = results.calibration.machine
    about = {
        "about": results.about,
        "configs": {name: asdict(config) for name, config in results.configs.items()},
        "calibration": {
            **{k: v for k, v in vars(results.calibration).items() if k != "machine"},
            "machine": {**asdict(machine), "checked_on": machine.checked_on.isoformat()},
        },
        "passes": {
            batch: [asdict(times) for times in both] for batch, both in results.passes.items()
        },
        "rehearsals": {batch: asdict(one) for batch, one in results.rehearsals.items()},
        "static": [[*key, round(value, 4)] for key, value in results.static.items()],
    }
    rows = [
        json.dumps(
            {"batch": one.batch, "kind": one.kind, "temperature": one.temperature,
             **cell_to_json(one.cell)}
        )
        for one in results.settings
    ]  # fmt: skip
    body = ",\n".join(rows)
    head = json.dumps(about, indent=1, ensure_ascii=False).removesuffix("\n}")
    json_files.write(path, f'{head},\n "settings": [\n{body}\n]}}\n')


def load_batches(path: Path) -> BatchResults:
    """Read what ``store_batches`` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is something else; the message names file and field.
    """
    content = json_files.read(path)
    keys = {"about", "configs", "calibration", "passes", "rehearsals", "static", "settings"}
    if not isinstance(content, dict) or set(content) != keys:
        raise ValueError(f"{path} must hold an object with {sorted(keys)}")
    with json_files.expected(path, "results as store_batches writes them"):
        return _results(content)


def _results(content: Mapping[str, Any]) -> BatchResults:
    fitted = content["calibration"]
    day = np.datetime64(fitted["machine"]["checked_on"]).item()
    return BatchResults(
        about=content["about"],
        settings=tuple(
            BatchSetting(row["batch"], row["kind"], row["temperature"], cell_from_json(row))
            for row in content["settings"]
        ),
        passes={
            int(batch): (_times(both[0]), _times(both[1]))
            for batch, both in content["passes"].items()
        },
        rehearsals={int(batch): _rehearsal(row) for batch, row in content["rehearsals"].items()},
        calibration=Calibration(
            **{**fitted, "machine": Machine(**{**fitted["machine"], "checked_on": day})}
        ),
        configs={name: Config(**config) for name, config in content["configs"].items()},
        static={(batch, length): value for batch, length, value in content["static"]},
    )


def _times(stored: Mapping[str, Sequence[float]]) -> PassTimes:
    return PassTimes(**{name: tuple(column) for name, column in stored.items()})  # type: ignore[arg-type]


def _rehearsal(stored: Mapping[str, Any]) -> Rehearsal:
    parts = {
        name: {int(length): value for length, value in stored[name].items()}
        for name in ("drafting", "catching_up", "checking")
    }
    return Rehearsal(plain=stored["plain"], **parts)
