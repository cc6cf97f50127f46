"""Figures of the chapter on formula and clock: the best K, one run told in several ways.

As in ``lab``, titles are worked out from the data, which differ from machine to machine.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np

from specmini import checks
from specmini.figures.style import COLOR, ThemedFigure, canvas
from specmini.measure.cell import Cell


def best_draft_length(cells: Mapping[str, Sequence[Cell]]) -> ThemedFigure:
    """Speedup against K: by the clock, with intervals, and by two predictions.

    Args:
        cells: one or two groups by label, each with the cells of one setting, K rising.

    Raises:
        ValueError: too many groups, or K that does not rise.
    """
    if not 1 <= len(cells) <= 2:
        raise ValueError(f"cells must hold 1 or 2 groups, got {len(cells)}")
    found: dict[str, list[int]] = {}
    parts, values = [], [1.0]
    for label, group in cells.items():
        lengths = [one.draft_length for one in group]
        if lengths != sorted(set(lengths)):
            raise ValueError(f"cells must have K that rises, got {lengths} for {label}")
        curves = [
            (one.speedup, one.predicted.with_verify_cost, one.predicted.textbook) for one in group
        ]
        found[label] = [lengths[int(np.argmax(curve))] for curve in zip(*curves, strict=True)]
        values += [value for curve in curves for value in curve]
        listed = "; ".join(
            f"K = {length}: {a:.2f}, {b:.2f}, {c:.2f}"
            for length, (a, b, c) in zip(lengths, curves, strict=True)
        )
        parts.append(f"{label}, measured, predicted with v, by the textbook: {listed}")
    measured, with_v, textbook = (
        ", ".join(f"{best[place]} on {label}" for label, best in found.items())
        for place in range(3)
    )
    claim = f"Best K by the clock: {measured}; by the textbook: {textbook}"
    with canvas(claim, height=310, columns=len(cells), sharey=True) as (figure, axes):
        for panel, (label, group) in zip(axes, cells.items(), strict=True):
            lengths = [one.draft_length for one in group]
            speedups = np.array([one.speedup for one in group])  # (N,)
            bars = np.abs(np.array([one.interval() for one in group]).T - speedups)  # (2, N)
            values += (speedups + bars[1]).tolist()
            panel.axhline(1, color=COLOR["muted"], linewidth=1.2)
            panel.plot(lengths, [one.predicted.textbook for one in group], ":D",
                       color=COLOR["recovered"], markersize=4, label="textbook, v = 1")  # fmt: skip
            panel.plot(lengths, [one.predicted.with_verify_cost for one in group], "--s",
                       color=COLOR["target"], markersize=4.5, label="with measured v")  # fmt: skip
            panel.errorbar(lengths, speedups, bars, fmt="-o", color=COLOR["accepted"],
                           markersize=5.5, elinewidth=1, label="by the clock")  # fmt: skip
            panel.set_title(label, fontsize=11)
            panel.set_xticks(lengths)
            panel.set_xlabel("draft length K")
        axes[0].set_ylim(0, 1.06 * max(values))
        axes[0].set_ylabel("speedup (×)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                      fontsize=9.5, columnspacing=1, handlelength=1.8)  # fmt: skip
    return ThemedFigure(
        "best-draft-length",
        claim,
        f"Speedup against draft length. {'. '.join(parts)}. Best K predicted with v: {with_v}.",
        figure,
    )


def tellings(honest: float, told: Mapping[str, float]) -> ThemedFigure:
    """One measurement and what it can be made to look like, as bars.

    Args:
        honest: the speedup by the clock, in (0, inf).
        told: the same work told otherwise, by label, each in (0, inf).

    Raises:
        ValueError: nothing is told, or a number is out of range.
    """
    if not told:
        raise ValueError("told must hold at least one telling, got none")
    clock = checks.single("honest", checks.positive("honest", honest))
    others = {label: checks.single(label, checks.positive(label, told[label])) for label in told}
    rows = {"the clock, both sides at their fastest": clock, **others}
    highest = max(others.values())
    above = sum(value > 1.05 * clock for value in others.values())
    claim = f"{clock:.2f}× by the clock, and no other telling here makes it more"
    if above:
        many = f"make it more, up to {highest:.1f}×"
        rest = many if above > 1 else f"makes it more: {highest:.1f}×"
        claim = f"{clock:.2f}× by the clock; {above} of {len(others)} other tellings {rest}"
    with canvas(claim, height=90 + 40 * len(rows)) as (figure, [axes]):
        for place, value in enumerate(rows.values()):
            honestly = place == 0
            axes.barh(place, value, 0.58, color=COLOR["accepted" if honestly else "rejected"],
                      hatch="" if honestly else "//", edgecolor=COLOR["surface"],
                      linewidth=0)  # fmt: skip
            axes.text(value + 0.015 * max(clock, highest), place, f"{value:.2f}×", va="center")
        axes.axvline(clock, color=COLOR["accepted"], linestyle=":", linewidth=1.4)
        axes.set_yticks(range(len(rows)), [fill(label, 24) for label in rows], fontsize=9.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, 1.16 * max(clock, highest))
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("claimed speedup (×)")
    listed = "; ".join(f"{label}: {value:.2f}" for label, value in rows.items())
    return ThemedFigure("tellings", claim, f"Claimed speedups. {listed}.", figure)
