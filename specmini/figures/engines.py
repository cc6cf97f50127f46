"""Figures of the trained pair in other engines."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import MaxNLocator, PercentFormatter

from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.measure.engine_runs import EngineRun, named
from specmini.metrics.counts import NEVER

__all__ = ["survival_by_position"]


def survival_by_position(runs: Sequence[EngineRun]) -> ThemedFigure:
    """Share of rounds that accepted at least i drafts, a line for each run.

    Args:
        runs: 1 to 4 of one kind of prompts, with counts by position.

    Raises:
        ValueError: no run or too many to tell apart, one without counts, or different kinds.
    """
    looks = line_looks("runs", len(runs))
    if len({(run.kind, run.temperature) for run in runs}) != 1:
        raise ValueError("runs must be of one kind of prompts and one temperature, got several")
    for run in runs:
        if run.counts is None or not run.counts.by_position:
            raise ValueError(f"runs must have counts by position, and {named(run)} has none")
    claim = _claim(runs)
    said = []
    with canvas(claim, height=300) as (figure, [axes]):
        for run, (role, style, marker) in zip(runs, looks, strict=True):
            assert run.counts is not None
            survival = (1.0, *run.counts.survival)
            axes.plot(range(len(survival)), survival, style, marker=marker, color=COLOR[role],
                      markersize=6, label=named(run))  # fmt: skip
            shares = ", ".join(f"{share:.0%}" for share in survival[1:])
            said.append(f"{named(run)}: {shares}")
        axes.set_ylim(0, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("drafts accepted, at least")
        axes.set_ylabel("rounds that drafted (%)")
        axes.legend(fontsize=10)
    return ThemedFigure(
        "survival-by-position",
        claim,
        f"Share of rounds that accepted at least 1, 2, ... drafts, {runs[0].kind} at temperature "
        f"{runs[0].temperature:g}. {'; '.join(said)}.",
        figure,
    )


def _claim(runs: Sequence[EngineRun]) -> str:
    """Which of them never accepts a second draft, if any."""
    broken = [
        named(run)
        for run in runs
        if run.counts and len(run.counts.survival) > 1 and run.counts.survival[1] < NEVER
    ]
    if not broken:
        return "In every engine drafts survive further than the first position"
    return f"{', '.join(broken)}: no second draft survives, where a poor draft would fade"
