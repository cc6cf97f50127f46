"""Figures of the public record beside what the advisor foretells, and of one advice."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from specmini.advisor import advise
from specmini.advisor.errors import (
    calibrated_errors,
    errors_by,
    largest_misses,
    uncalibrated_errors,
)
from specmini.advisor.expected import speedup_by_length
from specmini.advisor.terms import foretell_record
from specmini.configuration import CLASSES, Configuration
from specmini.figures.speedup import LOSING
from specmini.figures.style import COLOR, ThemedFigure, canvas, draft_length_axis, line_looks
from specmini.record.grid_check import check_grid

# What the figure tells apart; the four classes that few reports support share a look.
LOOKS = {"server": "server", "card": "card", "experts": "experts"}
OTHERS = "other machines"
LEGEND = {
    "server": "serving engines",
    "card": "quantized, on a card",
    "experts": "mixtures of experts",
    OTHERS: "old cards, Apple, shared or CPU memory",
}


def foretold_record(*, left_out: bool = True, named: int = 5) -> ThemedFigure:
    """Foretold against measured speedup of every field report, colored by class.

    Args:
        left_out: foretold by terms that were fitted without the report, else by the fit to all.
        named: number of the largest misses that carry a number; the description explains them.

    Raises:
        ValueError: more misses are named than there are rows.
    """
    told = foretell_record()
    foretold = told.left_out if left_out else told.fitted
    errors = uncalibrated_errors(left_out=left_out)
    foresight = "left out" if left_out else "fitted"
    unknown = errors_by("acceptance", foresight)["not told"].right_side
    reports = len({row.report for row in told.rows})
    kinds = [row.configuration.kernels for row in told.rows if row.configuration]
    groups = np.array([LOOKS.get(kind, OTHERS) for kind in kinds])
    claim = (
        f"{errors.right_side:.0%} of {errors.rows} settings from {reports} reports are foretold on "
        f"the right side of 1, {unknown:.0%} where E was not told"
    )
    misses = largest_misses(named, left_out=left_out)
    looks = line_looks("classes", len(LEGEND))
    with canvas(claim, height=400) as (figure, [axes]):
        _measured_axes(axes, 0.2, 5)
        for group, (role, _, marker) in zip(LEGEND, looks, strict=True):
            own = groups == group
            axes.plot(told.measured[own], foretold[own], marker, color=COLOR[role], markersize=5,
                      alpha=0.75, label=f"{LEGEND[group]} ({own.sum()})")  # fmt: skip
        for number, miss in enumerate(misses, start=1):
            axes.annotate(str(number), (miss.measured, miss.foretold), xytext=(5, 4),
                          textcoords="offset points", fontsize=10)  # fmt: skip
        axes.legend(loc="upper left", fontsize=9)
    explained = "; ".join(
        f"{number}: {miss.setting}, measured {miss.measured:.2f}, foretold {miss.foretold:.2f} "
        f"({miss.reason})"
        for number, miss in enumerate(misses, start=1)
    )
    way = "fitted without their own report" if left_out else "fitted to all reports"
    return ThemedFigure(
        "foretold-record",
        claim,
        f"Foretold against measured speedup of {errors.rows} settings in public reports, with "
        f"terms {way}; median error {errors.median:.0%}, nine in ten within "
        f"{errors.ninetieth:.0%}. Classes: {', '.join(CLASSES.values())}. "
        f"Largest misses: {explained}.",
        figure,
    )


def foretold_grid(reader: str = "server") -> ThemedFigure:
    """Foretold against measured speedup of every cell of the public grid, colored by drafter.

    Args:
        reader: what is known beside the plain times, see ``specmini.record.grid_check``.

    Raises:
        ValueError: there is no such reader.
    """
    told, errors = check_grid(reader), calibrated_errors(reader)
    drafts = list(dict.fromkeys(cell.draft for cell in told.cells))
    names = np.array([cell.draft for cell in told.cells])
    crowded = int((~told.fits).sum())
    claim = (
        f"From plain times, E and c: half of {errors.rows} cells within {errors.median:.1%}, "
        f"nine in ten within {errors.ninetieth:.0%}"
    )
    parts = []
    with canvas(claim, height=380) as (figure, [axes]):
        _measured_axes(axes, 0.5, 2.5)
        for draft, (role, _, marker) in zip(drafts, line_looks("drafts", len(drafts)), strict=True):
            for fits, filled in ((True, COLOR[role]), (False, "none")):
                own = (names == draft) & (told.fits == fits)
                axes.plot(told.measured[own], told.foretold[own], marker, color=COLOR[role],
                          markerfacecolor=filled, markersize=5,
                          label=draft if fits else None)  # fmt: skip
            size = np.abs(told.foretold / told.measured - 1)[names == draft]
            parts.append(f"{draft}: median {np.median(size):.1%}, worst {size.max():.0%}")
        axes.legend(loc="upper left", fontsize=10, title="hollow: requests wait for memory",
                    title_fontsize=9.5)  # fmt: skip
    return ThemedFigure(
        "foretold-grid",
        claim,
        f"Foretold against measured speedup of a token, Qwen3-32B on one H100 with 94 GB. "
        f"{'; '.join(parts)}. In {crowded} cells requests wait for memory.",
        figure,
    )


def advice_by_length(configuration: Configuration) -> ThemedFigure:
    """Expected speedup against K, with the interval at the K of the configuration.

    Args:
        configuration: what runs.
    """
    advice = advise(configuration)
    lengths, gains = speedup_by_length(configuration)
    best = advice.best_length
    claim = (
        f"Best at K = {best}: {advice.best_speedup:.2f} times as fast"
        if best
        else "Plain decoding is the fastest"
    )
    at = configuration.draft_length
    with canvas(claim, height=290) as (figure, [axes]):
        axes.axhspan(0, 1, **LOSING)
        axes.plot(lengths, gains, "-", color=COLOR["target"])
        axes.plot(best, advice.best_speedup, "D", color=COLOR["accepted"], markersize=7)
        if at <= lengths[-1]:
            above, below = advice.high - advice.speedup, advice.speedup - advice.low
            axes.errorbar(at, advice.speedup, [[below], [above]], fmt="o", color=COLOR["draft"],
                          capsize=4)  # fmt: skip
        draft_length_axis(axes, int(lengths[-1]))
        axes.set_ylabel("speedup over plain decoding (×)")
    listed = ", ".join(f"{k}: {gain:.2f}" for k, gain in zip(lengths, gains, strict=True))
    return ThemedFigure(
        "advice-by-length",
        claim,
        f"Expected speedup by draft length: {listed}. At K = {at} the 80 % interval is "
        f"{advice.low:.2f} to {advice.high:.2f}.",
        figure,
    )


def _measured_axes(axes: Axes, low: float, high: float) -> None:
    """Measured across, foretold upward, both logarithmic; wrong sides of 1 are marked."""
    for scale in (axes.set_xscale, axes.set_yscale):
        scale("log", base=2)
    for across, upward in (((low, 1), (1, high)), ((1, high), (low, 1))):
        axes.fill_between(across, upward[0], upward[1], **LOSING)
    axes.plot([low, high], [low, high], "-", color=COLOR["muted"], linewidth=1)
    ticks = [tick for tick in (0.25, 0.5, 0.7, 1, 1.4, 2, 2.8, 4) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_xlabel("measured speedup (×)")
    axes.set_ylabel("foretold (×)")
