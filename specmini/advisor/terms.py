"""What only the public record tells: marginal tokens by class, acceptance by drafter, and errors.

The roofline cannot know how a kernel for 4-bit weights checks five tokens, nor how often a head is
right. Both are fitted here to the rows of ``specmini.record``, one number a class and one a kind of
drafter. That is all that is fitted: 7 and 5 numbers.

How far to trust the result is read off the same rows, leaving out one *report* at a time, since
rows of one report have model, method and often machine in common: its rows are foretold from
terms that were fitted without it. These errors, not those of the fit, make the intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from specmini import theory
from specmini.checks import FloatArray
from specmini.configuration import CLASSES, Configuration
from specmini.conversions import acceptance_rate_from_tokens
from specmini.cost.round_cost import LOOKUP_SHARE, round_cost
from specmini.record import FieldReport, field_reports

__all__ = [
    "Foretold",
    "Terms",
    "expected_tokens",
    "fit_terms",
    "foretell_record",
    "half_width",
    "untested",
]

TRIED = np.linspace(0.0, 0.95, 191)  # marginal tokens kappa that a fit tries
COVERED = 0.8
FEWEST = 8  # rows that a group needs for a quantile of its own
FEW_REQUESTS = 16  # at once, up to which reports test a forecast from data sheets
LOOKUP_RATE = 0.4  # alpha of a lookup that found something; the record has no row that tells


@dataclass(frozen=True)
class Terms:
    """What was fitted.

    Attributes:
        marginal: kappa by class: share of a plain step that one more token in a check costs.
        acceptance: alpha by kind of drafter, where nobody measured.
        reports: reports that a class rests on.
    """

    marginal: Mapping[str, float]
    acceptance: Mapping[str, float]
    reports: Mapping[str, int]


@dataclass(frozen=True)
class Foretold:
    """The record beside what was foretold of it. Arrays have shape (N,).

    Attributes:
        rows: N rows.
        measured: speedup as reported.
        fitted: by terms fitted to all rows.
        left_out: by terms fitted without any row of the same report.
        acceptance_known: the row tells E.
    """

    rows: tuple[FieldReport, ...]
    measured: FloatArray
    fitted: FloatArray
    left_out: FloatArray
    acceptance_known: NDArray[np.bool_]


def expected_tokens(configuration: Configuration, terms: Terms) -> float:
    """E of a configuration: the measured one, or that of the drafter's usual acceptance.

    A lookup drafts in half of its rounds; in the others a round is a plain step.
    """
    if configuration.tokens_per_round is not None:
        return configuration.tokens_per_round
    rate = terms.acceptance[configuration.drafter]
    accepted = float(theory.accepted_drafts(rate, configuration.draft_length))
    return 1 + accepted * (LOOKUP_SHARE if configuration.drafter == "lookup" else 1.0)


def fit_terms(rows: Sequence[FieldReport] | None = None) -> Terms:
    """Fit the terms to rows of the record.

    Each class takes the kappa with the least sum of absolute errors of log speedup. A report of n
    rows weighs as sqrt(n) rows, and a row without a measured E half. Rows whose machine is not
    named do not count. A class without rows takes the middle of the others that are fitted.

    Args:
        rows: used rows with a speedup; the whole record if not given.
    """
    if rows is None:
        return _record_terms()
    return _fit(rows, _totals(rows))


@cache
def _record_terms() -> Terms:
    rows = field_reports()
    return _fit(rows, _totals(rows))


@cache
def foretell_record() -> Foretold:
    """The record foretold, by the fit to all rows and by fits that leave out its report."""
    rows = field_reports()
    totals, whole = _totals(rows), fit_terms()  # (N, G)
    left_out = np.empty(len(rows))
    for report in dict.fromkeys(row.report for row in rows):
        own = np.array([row.report == report for row in rows])
        terms = _fit([row for row in rows if row.report != report], totals[~own])
        for place in np.flatnonzero(own).tolist():
            left_out[place] = _speedup(rows[place], totals[place], terms)
    return Foretold(
        rows,
        np.array([row.speedup for row in rows], dtype=np.float64),
        np.array([_speedup(row, total, whole) for row, total in zip(rows, totals, strict=True)]),
        left_out,
        np.array([_setting(row).tokens_per_round is not None for row in rows]),
    )


def half_width(configuration: Configuration, *, without: str = "", fitted: bool = False) -> float:
    """Half of the 80 % interval of log speedup, from the errors of like rows.

    Like rows know E or do not, and belong to what many reports support (servers and cards, drafting
    on one device) or not: four groups. The interval is the 80 % quantile of their absolute errors.

    What hardly any report tests (``untested``) is a group of its own, of nine rows in four reports.
    Rows of one report err together, so there the interval is the 80 % quantile, over the reports,
    of the largest error of each.

    Args:
        configuration: what runs.
        without: a report whose rows do not count.
        fitted: use the errors of the fit instead of those without the row's report.
    """
    told = foretell_record()
    errors = np.abs(np.log((told.fitted if fitted else told.left_out) / told.measured))
    counts = np.array([row.report != without for row in told.rows])
    hard = np.array([untested(_setting(row)) for row in told.rows])
    if untested(configuration):
        names = np.array([row.report for row in told.rows])
        group = counts & hard
        worst = [errors[group & (names == name)].max() for name in dict.fromkeys(names[group])]
        return float(np.quantile(worst, COVERED))
    alike = np.array([_supported(_setting(row)) for row in told.rows])
    known = configuration.tokens_per_round is not None
    group = counts & ~hard & (alike == _supported(configuration)) & (told.acceptance_known == known)
    chosen = group if group.sum() >= FEWEST else counts & ~hard
    return float(np.quantile(errors[chosen], COVERED))


def untested(configuration: Configuration) -> bool:
    """Whether next to no report tells how forecasts do: a load that nobody timed without drafts.

    More than 16 requests at once, or more than one of a mixture of experts, whose requests touch
    other experts each. Plain times at two loads tell what the record does not.
    """
    few = 1 if configuration.kernels == "experts" else FEW_REQUESTS
    return len(configuration.plain_times) < 2 and configuration.concurrency > few


def _supported(configuration: Configuration) -> bool:
    return configuration.kernels in ("server", "card") and not configuration.split_draft


def _setting(row: FieldReport) -> Configuration:
    if row.configuration is None:
        raise ValueError(f"rows must have a configuration, {row.name!r} has none")
    return row.configuration


def _totals(rows: Sequence[FieldReport]) -> FloatArray:
    """Plain steps a round takes, for each row and each kappa that is tried, shape (N, G)."""
    return np.array([_total(_setting(row)) for row in rows])


@cache
def _total(setting: Configuration) -> FloatArray:
    return round_cost(setting).total(TRIED, setting)


def _speedup(row: FieldReport, totals: FloatArray, terms: Terms) -> float:
    setting = _setting(row)
    total = np.interp(terms.marginal[setting.kernels], TRIED, totals)
    return expected_tokens(setting, terms) / float(total)


def _fit(rows: Sequence[FieldReport], totals: FloatArray) -> Terms:
    acceptance = _acceptance(rows)
    start = Terms(MappingProxyType({}), acceptance, MappingProxyType({}))
    marginal: dict[str, float] = {}
    reports: dict[str, int] = {}
    for kernels in CLASSES:
        places = [
            place
            for place, row in enumerate(rows)
            if row.machine_named and _setting(row).kernels == kernels
        ]
        names = [rows[place].report for place in places]
        reports[kernels] = len(set(names))
        losses = np.zeros_like(TRIED)  # (G,)
        for place, name in zip(places, names, strict=True):
            setting = _setting(rows[place])
            told = expected_tokens(setting, start) / totals[place]  # (G,)
            weight = (1.0 if setting.tokens_per_round is not None else 0.5) / names.count(
                name
            ) ** 0.5
            losses += weight * np.abs(np.log(told / (rows[place].speedup or 1.0)))
        if places:
            marginal[kernels] = float(TRIED[np.argmin(losses)])
    middle = float(np.median(list(marginal.values()) or [0.2]))
    return Terms(
        MappingProxyType({kernels: marginal.get(kernels, middle) for kernels in CLASSES}),
        acceptance,
        MappingProxyType(reports),
    )


def _acceptance(rows: Sequence[FieldReport]) -> Mapping[str, float]:
    """Acceptance by drafter: the median over reports of each report's median, chains only."""
    rates: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        setting = _setting(row)
        chain = not row.words.get("draft_length", "").startswith("tree")
        if setting.tokens_per_round is not None and chain:
            rate = _rate(setting.tokens_per_round, setting.draft_length)
            rates.setdefault(setting.drafter, {}).setdefault(row.report, []).append(rate)
    by_drafter = {
        drafter: [float(np.median(values)) for values in of.values()]
        for drafter, of in rates.items()
    }
    every = [value for values in by_drafter.values() for value in values]
    middle = float(np.median(every)) if every else 0.7
    kinds = ("draft model", "eagle", "eagle-3", "mtp", "block")
    found = {kind: float(np.median(by_drafter.get(kind, [middle]))) for kind in kinds}
    return MappingProxyType({**found, "lookup": LOOKUP_RATE})


@cache
def _rate(tokens_per_round: float, draft_length: int) -> float:
    return float(acceptance_rate_from_tokens(tokens_per_round, draft_length))
