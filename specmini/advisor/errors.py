"""How wrong the advisor is: both modes held against the public record, in numbers to publish.

A share of right verdicts says little by itself, since most reports are wins. So each group of rows
also tells what "always yes" would score, and the same rows can be guessed without any model, from
what other reports of the same class of kernels measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specmini import checks
from specmini.advisor.terms import FEW_REQUESTS, foretell_record, half_width, untested
from specmini.checks import FloatArray
from specmini.record import FieldReport
from specmini.record.grid_check import check_grid, check_series, curve_half_width

__all__ = [
    "Errors",
    "Miss",
    "calibrated_errors",
    "errors_by",
    "largest_misses",
    "series_errors",
    "uncalibrated_errors",
]

CLEAR = 0.1  # a speedup this far from 1 is clearly a win or a loss
LOADS = ("1 request", "2 to 16", "more than 16")
FORESIGHTS = ("left out", "fitted", "class")


@dataclass(frozen=True)
class Errors:
    """Errors of foretold speedups, as shares of the measured.

    Attributes:
        rows: how many.
        median: of the absolute errors.
        ninetieth: 90th percentile of the absolute errors.
        right_side: share of rows foretold on the right side of 1.
        right_side_clear: the same among rows measured more than 10 % away from 1.
        covered: share of rows inside of their 80 % interval.
            NaN for guesses, which have none.
        half_width: median half of the interval, upper end over the forecast minus 1; NaN for
            guesses.
        wins: share of rows measured above 1: what always saying "win" would score.
    """

    rows: int
    median: float
    ninetieth: float
    right_side: float
    right_side_clear: float
    covered: float
    half_width: float
    wins: float


@dataclass(frozen=True)
class Miss:
    """A field report that was foretold badly.

    Attributes:
        name: of the row.
        setting: model, drafter, machine and requests at once, shortened from the report's words.
        measured: speedup as reported.
        foretold: the same, foretold.
        reason: what is known of it, "not known" if nothing is.
    """

    name: str
    setting: str
    measured: float
    foretold: float
    reason: str


def largest_misses(count: int, *, left_out: bool = True) -> tuple[Miss, ...]:
    """The field reports with the largest errors of log speedup, largest first.

    Args:
        count: how many, at least 1 and at most the rows.
        left_out: see ``uncalibrated_errors``.

    Raises:
        ValueError: ``count`` is out of range.
    """
    told = foretell_record()
    if not 1 <= count <= len(told.rows):
        raise ValueError(f"count must be in [1, {len(told.rows)}], got {count!r}")
    foretold = told.left_out if left_out else told.fitted
    order = np.argsort(-np.abs(np.log(foretold / told.measured)), kind="stable")[:count]
    return tuple(
        Miss(
            told.rows[place].name,
            _in_words(told.rows[place]),
            float(told.measured[place]),
            float(foretold[place]),
            told.rows[place].words.get("remark") or "not known",
        )
        for place in order.tolist()
    )


def uncalibrated_errors(*, left_out: bool = True) -> Errors:
    """Errors on the field reports from words and data sheets alone.

    Args:
        left_out: forecasts by terms that were fitted without the row's report, and intervals from
            the errors of other reports; otherwise those of the fit.
    """
    told = foretell_record()
    return _errors(
        told.left_out if left_out else told.fitted, told.measured, _record_widths(left_out)
    )


def errors_by(group: str = "class", foresight: str = "left out") -> Mapping[str, Errors]:
    """Errors on the field reports, group by group.

    Args:
        group: "class" of kernels; "load", by requests at once; "tested", whether many reports are
            of such a load (``terms.untested``); "acceptance", whether the report tells it; or
            "none", all rows together.
        foresight: "left out" or "fitted", see ``uncalibrated_errors``; or "class", a guess instead
            of a forecast: the median speedup that the other reports of the row's class measured,
            of all other reports where the class has none.

    Returns:
        Errors by label, labels in the order of the record, loads rising.

    Raises:
        ValueError: there is no such group or foresight.
    """
    told = foretell_record()
    checks.choice("foresight", foresight, FORESIGHTS)
    kept = foresight != "fitted"
    if foresight == "class":
        foretold, widths = _class_medians(), np.full(len(told.rows), np.nan)
    else:
        foretold, widths = told.left_out if kept else told.fitted, _record_widths(kept)
    labels = np.array(_labels(group))
    return {
        label: _errors(foretold[own], told.measured[own], widths[own])
        for label in (LOADS if group == "load" else dict.fromkeys(labels.tolist()))
        for own in [labels == label]
    }


def calibrated_errors(reader: str = "server", *, fits: bool | None = None) -> Errors:
    """Errors on the public grid from measured plain times, E and c.

    Args:
        reader: what else the reader knows, see ``specmini.record.grid_check``.
        fits: only cells whose requests all fit into memory, or only the others; ``None`` for all.

    Raises:
        ValueError: there is no such reader.
    """
    told = check_grid(reader)
    chosen = np.ones(len(told.cells), dtype=bool) if fits is None else told.fits == fits
    widths = np.array([curve_half_width(reader, not fit) for fit in told.fits.tolist()])
    return _errors(told.foretold[chosen], told.measured[chosen], widths[chosen])


def series_errors() -> Errors:
    """Errors of the calibrated mode on another server, see ``grid_check.check_series``."""
    told = check_series()
    widths = np.full(len(told.measured), curve_half_width("latencies", False))
    return _errors(told.foretold, told.measured, widths)


def _in_words(row: FieldReport) -> str:
    """Model, drafter, machine and load without what stands in brackets or after a comma."""
    names = (
        re.sub(r"\s*\([^)]*\)", "", row.words[key]).partition(",")[0]
        for key in ("target", "drafter", "machine")
    )
    load = row.configuration.concurrency if row.configuration else 1
    return ", ".join([*names, f"{load} at once"])


def _record_widths(left_out: bool) -> FloatArray:
    told = foretell_record()
    return np.array(
        [
            half_width(
                row.configuration, without=row.report if left_out else "", fitted=not left_out
            )
            for row in told.rows
            if row.configuration is not None
        ]
    )


def _labels(group: str) -> Sequence[str]:
    """The group of each row, N labels."""
    told = foretell_record()
    settings = [row.configuration for row in told.rows if row.configuration is not None]
    checks.choice("group", group, ("class", "load", "tested", "acceptance", "none"))
    if group == "class":
        return [one.kernels for one in settings]
    if group == "load":
        return [LOADS[(one.concurrency > 1) + (one.concurrency > FEW_REQUESTS)] for one in settings]
    if group == "tested":
        return ["hardly tested" if untested(one) else "tested" for one in settings]
    if group == "acceptance":
        return ["told" if known else "not told" for known in told.acceptance_known.tolist()]
    return ["all"] * len(settings)


def _class_medians() -> FloatArray:
    """For each row the median speedup of other reports of its class, shape (N,)."""
    told = foretell_record()
    reports = np.array([row.report for row in told.rows])
    kinds = np.array(_labels("class"))
    guessed = np.empty(len(reports))
    for place, (report, kind) in enumerate(zip(reports, kinds, strict=True)):
        others = reports != report
        alike = others & (kinds == kind)
        guessed[place] = np.median(told.measured[alike if alike.any() else others])
    return guessed


def _errors(foretold: FloatArray, measured: FloatArray, half: FloatArray) -> Errors:
    size = np.abs(foretold / measured - 1)
    right = (foretold > 1) == (measured > 1)
    clear = np.abs(measured - 1) > CLEAR
    inside: NDArray[np.bool_] = np.abs(np.log(foretold / measured)) <= half
    return Errors(
        rows=len(measured),
        median=float(np.median(size)),
        ninetieth=float(np.quantile(size, 0.9)),
        right_side=float(right.mean()),
        right_side_clear=float(right[clear].mean()),
        covered=math.nan if np.isnan(half).any() else float(inside.mean()),
        half_width=float(np.median(np.expm1(half))),
        wins=float((measured > 1).mean()),
    )
