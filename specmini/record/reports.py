"""The public record: what people reported about speculation, one row a setting.

``specmini/data/field_reports.csv`` holds rows from issues, pull requests and READMEs, each with
its address, date and tier. The words are those of the reports where they fit into a cell; nothing
was computed but the ratio of two printed speeds. Threads were read as stored excerpts: a blank is
not seen, not absent.

Tiers: A, machine, target, method, K, load and both speeds are told; B, one or two are not; C, an
illustration. Of tier C no row is used, and none without a ratio; ``left_out`` says why.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from specmini.configuration import Configuration, wording
from specmini.configuration.defaults import configure

__all__ = ["FieldReport", "field_reports", "read_report"]


@dataclass(frozen=True)
class FieldReport:
    """One setting of one report.

    Attributes:
        name: unique, report first.
        report: which report; settings of one report are not independent of each other.
        url: address of the report.
        date: month or year of it.
        tier: "A", "B" or "C".
        speedup: plain over speculative time of a token as printed or as two printed numbers give
            it, the middle of a printed range; ``None`` if there is none.
        configuration: the setting, as far as words tell; ``None`` without a drafter.
        machine_named: the machine is one that ``specmini.configuration.wording`` knows.
        left_out: why it is not used; empty if it is.
        words: the cells of the row.
    """

    name: str
    report: str
    url: str
    date: str
    tier: str
    speedup: float | None
    configuration: Configuration | None
    machine_named: bool
    left_out: str
    words: Mapping[str, str]


def field_reports(*, used: bool = True) -> tuple[FieldReport, ...]:
    """The rows of the record, in the order of the file.

    Args:
        used: only those that are used; otherwise also those left out, with the reason.
    """
    return tuple(row for row in _rows() if not (used and row.left_out))


def read_report(cells: Mapping[str, str]) -> FieldReport:
    """A row from the cells of the data file.

    Args:
        cells: by column; missing columns count as blank. A blank cell gives the documented
            default of ``specmini.configuration.defaults.configure``.

    Raises:
        ValueError: there are more cells than columns, the speedup is no number, or a number in
            another cell is out of range.
    """
    if None in cells:  # where ``csv`` puts what is beyond the last column
        raise ValueError(f"row must have a cell for each column, got more: {cells[None]}")  # type: ignore[index]
    words = {name: (text or "").strip() for name, text in cells.items()}

    def cell(name: str) -> str:
        return words.get(name, "")

    reason = cell("left_out")
    numbers = [float(one) for one in re.findall(r"\d*\.?\d+", cell("speedup"))]
    if cell("speedup") and not (numbers and all(map(math.isfinite, numbers))):
        raise ValueError(f"speedup must be a number or a range, got {cell('speedup')!r}")
    concurrency = cell("concurrency")
    configuration = None
    if wording.read_drafter(cell("drafter")):
        configuration = configure(
            cell("target"),
            cell("drafter"),
            machine=cell("machine"),
            engine=cell("engine"),
            weights=cell("weights"),
            draft_weights=cell("draft_weights"),
            draft_length=cell("draft_length"),
            concurrency=int(concurrency) if re.fullmatch("[0-9]{1,15}", concurrency) else None,
            context=wording.read_context(cell("workload")),
            acceptance=cell("acceptance"),
            acceptance_is=cell("acceptance_is"),
            early_stop=bool(cell("early_stop")),
        )
    elif not reason:
        reason = f"no drafter in {cell('drafter')!r}"
    if not numbers and not reason:
        reason = "no ratio to plain decoding"
    return FieldReport(
        name=cell("id"),
        report=cell("report"),
        url=cell("url"),
        date=cell("date"),
        tier=cell("tier"),
        speedup=sum(numbers) / len(numbers) if numbers else None,
        configuration=configuration,
        machine_named=wording.read_machine(cell("machine")) is not None,
        left_out=reason,
        words=words,
    )


@cache
def _rows() -> tuple[FieldReport, ...]:
    text = resources.files("specmini").joinpath("data/field_reports.csv").read_text("utf-8")
    return tuple(read_report(row) for row in csv.DictReader(text.splitlines()))
