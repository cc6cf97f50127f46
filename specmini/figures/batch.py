"""Figures of the lab's batches: the clock beside what was foretold."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.ticker import FuncFormatter, NullLocator

from specmini.batch.results import Curve
from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks

__all__ = ["measured_by_batch"]


def measured_by_batch(curves: Mapping[int, Curve]) -> ThemedFigure:
    """Speedup against the batch, a color for each draft length: marks measured, lines rehearsed.

    Args:
        curves: 1 to 4, by K.

    Raises:
        ValueError: no curve, or too many to tell apart.
    """
    looks = line_looks("curves", len(curves))
    said = []
    with canvas(_claim(curves), height=330) as (figure, [axes]):
        axes.axhline(1, color=COLOR["ink"], linewidth=0.8)
        for (length, curve), (role, style, marker) in zip(curves.items(), looks, strict=True):
            axes.plot(curve.batches, curve.rehearsed, style, color=COLOR[role])
            axes.plot(curve.batches, curve.measured, marker, color=COLOR[role], markersize=6,
                      label=f"K = {length}")  # fmt: skip
            listed = ", ".join(
                f"{batch}: {seen:.2f}, {told:.2f}"
                for batch, seen, told in zip(
                    curve.batches, curve.measured, curve.rehearsed, strict=True
                )
            )
            said.append(f"K = {length}: {listed}")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda load, _: f"{load:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(0, None)
        axes.set_xlabel("batch (sequences)")
        axes.set_ylabel("speedup over plain decoding (×)")
        axes.legend(fontsize=10, title="measured; line: rehearsed", title_fontsize=10)
    return ThemedFigure(
        "measured-by-batch",
        _claim(curves),
        f"Speedup against the batch; measured, then forecast from a rehearsal. {'; '.join(said)}.",
        figure,
    )


def _claim(curves: Mapping[int, Curve]) -> str:
    """What the clock says of the longest draft beside the shortest, or of all."""
    shortest, longest = min(curves), max(curves)
    pairs = list(zip(curves[shortest].measured, curves[longest].measured, strict=True))
    if shortest < longest and all(short > long for short, long in pairs):
        return f"On one core K = {longest} is slower than K = {shortest} at every batch"
    speedups = [speedup for curve in curves.values() for speedup in curve.measured]
    return f"On one core drafts change the speed by {min(speedups):.2f}× to {max(speedups):.2f}×"
