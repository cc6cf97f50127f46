"""Figures of the chapters on what a pass costs and on batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from specmini.checks import FloatArray
from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.roofline.pass_parts import PassTime


def pass_bills(
    name: str, claim: str, batches: Sequence[int], step: PassTime, check: PassTime
) -> ThemedFigure:
    """The bills of a plain step and of a check side by side, at some batches.

    Args:
        name: identifier, unique within a page.
        claim: title.
        batches: sequences in a pass, G of them.
        step: times of the plain steps, each part (G,).
        check: times of the checks, each part (G,).

    Raises:
        ValueError: a pass has another number of times than there are batches.
    """
    for argument, times in (("step", step), ("check", check)):
        if np.shape(times.time) != (len(batches),):
            raise ValueError(
                f"{argument} must have shape ({len(batches)},), got {np.shape(times.time)}"
            )
    places = np.arange(len(batches))
    rows = []
    with canvas(claim, height=310) as (figure, [axes]):
        for side, times, who in ((-0.2, step, "step"), (0.2, check, "check")):
            bottom = np.zeros(len(batches))
            for label, seconds, role, hatch in _bills(times):
                height = 1e3 * seconds  # (G,) milliseconds
                axes.bar(places + side, height, 0.36, bottom, color=COLOR[role], hatch=hatch,
                         edgecolor=COLOR["surface"], linewidth=0.6,
                         label=label if side < 0 else None)  # fmt: skip
                bottom += height
                rows.append(f"{who}, {label}: {', '.join(f'{h:.2f}' for h in height)} ms")
            for place, top in zip(places, bottom, strict=True):
                axes.annotate(who, (place + side, top), (0, 2), textcoords="offset points",
                              ha="center", va="bottom", fontsize=9.5,
                              color=COLOR["muted"])  # fmt: skip
        axes.set_xticks(places, [f"{batch:,}" for batch in batches])
        axes.set_ylim(0, 1.1 * 1e3 * max(np.max(step.time), np.max(check.time)))
        axes.set_xlabel("batch (sequences in a pass)")
        axes.set_ylabel("time (ms)")
        axes.grid(visible=False, axis="x")
        axes.legend(loc="upper left", fontsize=10)
    listed = ", ".join(f"{batch:,}" for batch in batches)
    description = f"Stacked bars, a step and a check for each batch of {listed}. {'; '.join(rows)}."
    return ThemedFigure(name, claim, description, figure)


def by_load(
    name: str,
    claim: str,
    loads: Sequence[int],
    curves: Mapping[str, ArrayLike],
    *,
    across: str,
    upward: str,
    level: float | None = None,
    measured: Mapping[str, Mapping[int, float]] | None = None,
) -> ThemedFigure:
    """Lines over a load that doubles from tick to tick: a batch, or tokens in a pass.

    Args:
        name: identifier, unique within a page.
        claim: title.
        loads: loads, rising, G of them.
        curves: 1 to 4 labels, each with its values (G,); NaN where a load does not fit.
        across: name of the horizontal axis, with its unit.
        upward: name of the vertical axis, with its unit.
        level: a height to mark with a thin line.
        measured: label to value by load, as published; big marks without a line's claim to what
            lies between. With the curves at most 4 labels.

    Raises:
        ValueError: too many curves, one of another length, or loads that do not rise.
    """
    if len(loads) < 2 or min(loads) < 1 or np.any(np.diff(loads) <= 0):
        raise ValueError(f"loads must be at least 1 and rise, got {list(loads)}")
    seen = dict(measured or {})
    looks = line_looks("curves", len(curves) + len(seen))
    values = {label: np.asarray(curve, dtype=np.float64) for label, curve in curves.items()}
    if wrong := [label for label, curve in values.items() if curve.shape != (len(loads),)]:
        raise ValueError(f"curves must each have shape ({len(loads)},), got others for {wrong}")
    said = []
    with canvas(claim, height=300) as (figure, [axes]):
        if level is not None:
            # In many pieces, so that the legend, which counts the points it hides, keeps off it.
            axes.plot(np.linspace(0, 1, 101), np.full(101, level), color=COLOR["ink"],
                      linewidth=0.8, transform=axes.get_yaxis_transform())  # fmt: skip
        for (label, curve), (role, style, marker) in zip(values.items(), looks, strict=False):
            axes.plot(loads, curve, style, marker=marker, markersize=4.5, color=COLOR[role],
                      label=label, markevery=max(1, len(loads) // 8))  # fmt: skip
            said.append(f"{label}: {_ends(loads, curve)}")
        for (label, points), (role, _, marker) in zip(
            seen.items(), looks[len(values) :], strict=True
        ):
            axes.plot(list(points), list(points.values()), marker, color=COLOR[role],
                      markersize=8, label=label)  # fmt: skip
            listed = ", ".join(f"{value:.2f} at {load:,}" for load, value in points.items())
            said.append(f"{label}: {listed}")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda load, _: f"{load:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(0, None)
        axes.set_xlabel(across)
        axes.set_ylabel(upward)
        axes.legend(fontsize=10)
    return ThemedFigure(name, claim, f"{upward} against {across}. {'; '.join(said)}.", figure)


def _bills(times: PassTime) -> tuple[tuple[str, FloatArray, str, str], ...]:
    """Label, seconds, role and hatch of the parts of a pass, from the ground up."""
    reads = np.where(times.bound == "memory", times.weights_time, 0.0)
    computes = np.where(times.bound == "memory", 0.0, times.weights_time)
    return (
        ("attention", np.asarray(times.attention_time), "muted", "xx"),
        ("weights, bound by reading", reads, "target", ""),
        ("weights, bound by arithmetic", computes, "recovered", "//"),
    )


def _ends(loads: Sequence[int], curve: FloatArray) -> str:
    """In words: where a curve starts, peaks if it does in between, and ends."""
    shown = np.flatnonzero(np.isfinite(curve))
    if not shown.size:
        return "nowhere"
    first, top, last = shown[0], shown[np.argmax(curve[shown])], shown[-1]
    places = sorted({int(first), int(top), int(last)})
    return ", ".join(f"{curve[place]:.2f} at {loads[place]:,}" for place in places)
