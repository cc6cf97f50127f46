"""Figures of the chapter on speedup."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specmini import theory
from specmini.figures.style import COLOR, ThemedFigure, canvas
from specmini.figures.tokens import LINES
from specmini.roofline import Machine, Model, verify_cost

LOSING: Any = {
    "facecolor": COLOR["surface"],
    "edgecolor": COLOR["rejected"],
    "hatch": "//",
    "alpha": 0.5,
    "linewidth": 0,
}


def speedup_by_draft_length(
    acceptance_rate: float, cost_ratios: Sequence[float], longest: int
) -> ThemedFigure:
    """Speedup against K for several cost ratios; the best K of each is ringed."""
    lengths = np.arange(longest + 1)
    bests = [int(theory.best_draft_length(acceptance_rate, cost)) for cost in cost_ratios]
    claim = (
        f"A dearer draft wants a shorter one: at α = {acceptance_rate:g} the best K falls from "
        f"{bests[0]} to {bests[-1]}"
    )
    parts = []
    with canvas(claim, height=290) as (figure, [axes]):
        axes.axhspan(0, 1, **LOSING)
        axes.text(longest, 0.06, "slower than plain decoding", ha="right", color=COLOR["rejected"])
        for cost, best, (role, style, marker) in zip(cost_ratios, bests, LINES, strict=False):
            gains = np.asarray(theory.speedup(acceptance_rate, cost, lengths))
            axes.plot(lengths, gains, style, color=COLOR[role])
            axes.plot(best, gains[best], marker, color=COLOR[role], markersize=7.5)
            axes.text(longest + 0.3, gains[-1], f"c = {cost:g}", color=COLOR[role], va="center")
            parts.append(f"at c = {cost:g} the best K is {best} with {gains[best]:.2f}×")
        axes.set_xlim(0, longest * 1.18)
        axes.set_ylim(0, None)
        axes.set_xticks(range(0, longest + 1, 2))
        axes.set_xlabel("draft length K (tokens)")
        axes.set_ylabel("speedup over plain decoding (×)")
    return ThemedFigure(
        "speedup-by-draft-length",
        claim,
        f"Speedup against draft length for α = {acceptance_rate:g}, one line for each cost ratio; "
        f"each rises, peaks and falls: {'; '.join(parts)}.",
        figure,
    )


def winning_map(levels: Sequence[float]) -> ThemedFigure:
    """Contours of the best reachable speedup over acceptance rate and cost ratio."""
    rate = np.linspace(0.005, 0.975, 195)
    cost = np.linspace(0.004, 1, 250)
    rates, costs = np.meshgrid(rate, cost)
    best = theory.best_draft_length(rates, costs)
    gains = theory.speedup(rates, costs, best)
    claim = "With free checking you win exactly where α > c, and win big only in one corner"
    with canvas(claim, height=320) as (figure, [axes]):
        axes.fill([0, 0, 1], [0, 1, 1], **LOSING)
        axes.plot([0, 1], [0, 1], color=COLOR["rejected"])
        axes.text(0.05, 0.93, "α ≤ c: no K wins", color=COLOR["rejected"], va="top")
        contours = axes.contour(rates, costs, gains, levels=levels, colors=COLOR["target"],
                                linewidths=1.8)  # fmt: skip
        # Labels stand on the grid line of one cost, so that they read from left to right.
        for level, segments in zip(levels, contours.allsegs, strict=True):
            points = np.concatenate(segments)
            x, y = points[np.argmin(np.abs(points[:, 1] - 0.06))]
            axes.text(x - 0.008, y, f"{level:g}×", ha="right", va="center", fontweight="bold",
                      color=COLOR["target"])  # fmt: skip
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("acceptance rate α")
        axes.set_ylabel("cost ratio c (draft step ÷ target step)")
    return ThemedFigure(
        "winning-map",
        claim,
        f"Map of acceptance rate against cost ratio. Above the diagonal nothing wins. Contours of "
        f"the best speedup at {', '.join(f'{level:g}' for level in levels)} crowd into the corner "
        f"of high acceptance and low cost.",
        figure,
    )


def speedup_by_batch(
    machine: Machine,
    model: Model,
    acceptance_rate: float,
    cost_ratio: float,
    draft_lengths: Sequence[int],
    context: int,
) -> ThemedFigure:
    """Speedup against batch size when the roofline says what checking costs."""
    batch = np.arange(1, 513)
    claim = "Batch eats the win: past the ridge, where arithmetic sets the pace, long drafts lose"
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        axes.set_xscale("log", base=2)
        axes.axhspan(0, 1, **LOSING)
        axes.text(1.15, 0.06, "slower than plain decoding", color=COLOR["rejected"])
        for length, (role, style, _) in zip(draft_lengths, LINES, strict=False):
            cost = verify_cost(machine, model, batch, length, context)
            gains = np.asarray(theory.speedup(acceptance_rate, cost_ratio, length, cost))
            axes.plot(batch, gains, style, color=COLOR[role], label=f"K = {length}")
            lost = batch[gains <= 1]
            parts.append(
                f"K = {length} starts at {gains[0]:.2f}× and "
                + (f"loses from batch {lost[0]} on" if lost.size else "never loses up to 512")
            )
        axes.set_xlim(1, 512)
        axes.set_ylim(0, None)
        ticks = [1, 4, 16, 64, 256]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.legend(loc="upper right", fontsize=10)
        axes.set_xlabel("sequences decoded together (batch size)")
        axes.set_ylabel("speedup over plain decoding (×)")
    return ThemedFigure(
        "speedup-by-batch",
        claim,
        f"Speedup against batch size for {model.name} on one {machine.name}, "
        f"α = {acceptance_rate:g}, c = {cost_ratio:g}, context {context}: {'; '.join(parts)}.",
        figure,
    )


def predicted_against_measured(
    name: str, claim: str, predicted: ArrayLike, measured: ArrayLike, groups: Sequence[str]
) -> ThemedFigure:
    """Scatter of measured against predicted speedup, with the line of a perfect prediction.

    Args:
        name: figure identifier.
        claim: its title.
        predicted: predicted speedups, shape (n,).
        measured: measured speedups, shape (n,).
        groups: the group of each point, n strings; one marker each.
    """
    x, y = np.asarray(predicted), np.asarray(measured)
    kinds = list(dict.fromkeys(groups))
    top = float(max(x.max(), y.max())) * 1.08
    with canvas(claim, height=320) as (figure, [axes]):
        axes.plot([1, top], [1, top], color=COLOR["muted"], linewidth=1.4)
        axes.text(top * 0.62, top * 0.6, "measured = predicted", va="top", color=COLOR["muted"])
        for kind, (role, _, marker) in zip(kinds, LINES, strict=False):
            member = np.array([group == kind for group in groups])
            axes.plot(x[member], y[member], marker, color=COLOR[role], markersize=6.5, label=kind)
        axes.set_xlim(1, top)
        axes.set_ylim(1, top)
        axes.set_xlabel("predicted speedup (×)")
        axes.set_ylabel("measured speedup (×)")
        axes.legend(loc="lower right", fontsize=10)
    pairs = "; ".join(
        f"{group} {a:.2f} → {b:.2f}" for group, a, b in zip(groups, x, y, strict=True)
    )
    return ThemedFigure(name, claim, f"Predicted → measured speedups: {pairs}.", figure)


def sweep_against_formula(
    draft_lengths: ArrayLike, measured: ArrayLike, predicted: ArrayLike, claim: str, pair: str
) -> ThemedFigure:
    """Measured speedup against K beside the formula's, for one pair of models."""
    lengths, seen, expected = (np.asarray(x) for x in (draft_lengths, measured, predicted))
    with canvas(claim, height=270) as (figure, [axes]):
        axes.plot(lengths, expected, "--s", color=COLOR["target"], markersize=5)
        axes.plot(lengths, seen, "-o", color=COLOR["accepted"], markersize=6)
        axes.text(lengths[-1] + 0.15, expected[-1], "formula", color=COLOR["target"], va="center")
        axes.text(lengths[-1] + 0.15, seen[-1], "measured", color=COLOR["accepted"], va="center")
        axes.set_xlim(0.6, lengths[-1] * 1.2)
        axes.set_ylim(1, None)
        axes.set_xticks(lengths)
        axes.set_xlabel("draft length K (tokens)")
        axes.set_ylabel("speedup over plain decoding (×)")
    rows = "; ".join(
        f"K = {k}: {a:.2f} and {b:.2f}" for k, a, b in zip(lengths, expected, seen, strict=True)
    )
    return ThemedFigure(
        "sweep-against-formula", claim, f"{pair}. Formula and measured speedup at {rows}.", figure
    )
