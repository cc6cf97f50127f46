"""Published batch tables against a model of the pass: one number is taken, the rest foretold.

A table of speedups S(B) leaves something unsaid, so one number has to come from its first row.
Where the source gives E, that is what drafting costs in plain steps: E / S - v at the smallest
batch, kept for all. Where it does not, c has to be said and E is what makes the first row come out.
All other rows then follow from the verify cost at their batch, S(B) = E / (drafting + v(B)).

Two verify costs need nothing else than the series. ``catalog_verify_cost`` is the roofline of the
machine and the model with the data sheet's numbers. ``curve_verify_cost`` is the plain curve
through the series' own plain rates. What neither knows: attention over a tree, what a drafter of
many tokens costs at large batch, and how an engine's own work grows with the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini import catalog, checks, roofline
from specmini.checks import FloatArray
from specmini.cost.plain_curve import fit_plain_curve
from specmini.record.batch_tables import BatchSeries

__all__ = ["TableForecast", "catalog_verify_cost", "curve_verify_cost", "forecast_table"]


@dataclass(frozen=True)
class TableForecast:
    """A published series and what is foretold of it.

    Attributes:
        series: as printed.
        verify_cost: v at each batch, shape (n,).
        drafting: what drafting costs a round in plain steps at each batch, shape (n,).
        tokens_per_round: E, as printed or as the first row asks.
        taken: which number came from the first row, "drafting" or "tokens_per_round".
    """

    series: BatchSeries
    verify_cost: FloatArray
    drafting: FloatArray
    tokens_per_round: float
    taken: str

    @property
    def speedup(self) -> FloatArray:
        """Foretold speedups, shape (n,); the first is the printed one."""
        return np.asarray(self.tokens_per_round / (self.drafting + self.verify_cost))

    @property
    def errors(self) -> FloatArray:
        """Foretold over printed speedup, minus 1, of all rows but the first, shape (n - 1,)."""
        return np.asarray(self.speedup / np.array(self.series.speedup) - 1)[1:]

    @property
    def first_loss(self) -> int | None:
        """First batch of the series with a foretold speedup below 1; None if there is none."""
        for size, value in zip(self.series.batch, self.speedup, strict=True):
            if value < 1:
                return size
        return None


def forecast_table(
    series: BatchSeries, verify_cost: ArrayLike, cost_ratio: ArrayLike | None = None
) -> TableForecast:
    """Foretell a series from its first row and the verify cost at each batch.

    Args:
        series: with a draft length.
        verify_cost: v in (0, inf), shape (n,) or one for all.
        cost_ratio: c in [0, inf), shape (n,) or one for all; needed if the series has no tokens
            per round, and only then.

    Raises:
        ValueError: the draft length is missing, a number is out of range, ``cost_ratio`` is missing
            or too many, or the first row leaves less than nothing for drafting.
    """
    length = _draft_length(series)
    shape = np.zeros(len(series.batch))
    verify = shape + checks.positive("verify_cost", verify_cost)
    if (cost_ratio is None) == (series.tokens_per_round is None):
        asked = "a number" if cost_ratio is None else "None, since tokens per round are printed"
        raise ValueError(f"cost_ratio must be {asked} for {series.name!r}, got {cost_ratio!r}")
    if cost_ratio is not None:
        drafting = shape + length * checks.non_negative("cost_ratio", cost_ratio)
        gained = float(series.speedup[0] * (drafting + verify)[0])
        return TableForecast(series, verify, drafting, gained, "tokens_per_round")
    assert series.tokens_per_round is not None
    left = series.tokens_per_round / series.speedup[0] - float(verify[0])
    if left < 0:
        raise ValueError(
            f"verify_cost must be at most {series.tokens_per_round / series.speedup[0]:.3g} in the "
            f"first row of {series.name!r}, got {verify[0]:.3g}"
        )
    return TableForecast(series, verify, shape + left, series.tokens_per_round, "drafting")


def catalog_verify_cost(series: BatchSeries, context: int) -> FloatArray:
    """Verify cost at each batch by the roofline with the data sheet's numbers, in 16 bits.

    Args:
        series: on one machine of the catalog, with a model of the catalog and a draft length.
        context: positions in each sequence's cache, an assumption: no source says it.

    Returns:
        Shape (n,).

    Raises:
        ValueError: machine or model is not said or not in the catalog, no draft length, or a
            context below 0.
    """
    if series.machine is None or series.target is None:
        raise ValueError(f"series must name its machine and target, {series.name!r} does not")
    machine, model = catalog.machine(series.machine), catalog.model(series.target)
    return roofline.verify_cost(machine, model, series.batch, _draft_length(series), context)


def curve_verify_cost(series: BatchSeries) -> FloatArray:
    """Verify cost at each batch by the plain curve through the plain rates of the series.

    Args:
        series: with plain rates at 4 batches or more, and a draft length.

    Returns:
        Shape (n,).

    Raises:
        ValueError: the rates or the draft length are missing.
    """
    if series.plain_tokens_per_second is None:
        raise ValueError(f"series must have plain rates, {series.name!r} has none")
    batch = np.array(series.batch, dtype=np.float64)  # (n,)
    step = batch / np.array(series.plain_tokens_per_second)  # (n,) seconds
    return fit_plain_curve(batch, step).verify_cost(batch, _draft_length(series))


def _draft_length(series: BatchSeries) -> int:
    if series.draft_length is None:
        raise ValueError(f"series must have a draft length, {series.name!r} has none")
    return series.draft_length
