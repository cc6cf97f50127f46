"""Figures of the chapter on speedup."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks, theory
from specmini.checks import FloatArray
from specmini.figures.style import COLOR, ThemedFigure, canvas, draft_length_axis, line_looks
from specmini.roofline import Machine, Model, ridge_tokens, verify_cost

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
    """Speedup against K for several cost ratios; a marker stands at the best K of each.

    Args:
        acceptance_rate: alpha in [0, 1].
        cost_ratios: 1 to 4 values of c in (0, inf), rising.
        longest: largest K shown; at least the best K of each cost ratio.

    Raises:
        ValueError: an argument is out of range, or a best K is beyond ``longest``.
    """
    looks = line_looks("cost_ratios", len(cost_ratios))
    _rising("cost_ratios", checks.positive("cost_ratios", cost_ratios))
    longest = checks.single("longest", checks.whole_number("longest", longest, minimum=1))
    found = np.asarray(theory.best_draft_length(acceptance_rate, cost_ratios))
    if found[0] > longest:  # the cheapest draft wants the longest
        raise ValueError(
            f"longest must be at least the best K at c = {cost_ratios[0]:g}, {found[0]:.0f}, "
            f"got {longest}"
        )
    lengths, bests = np.arange(longest + 1), [int(best) for best in found]
    claim = (
        f"A costlier draft should be shorter: at α = {acceptance_rate:g} the best K falls from "
        f"{bests[0]} to {bests[-1]}"
        if bests[0] > bests[-1]
        else f"At α = {acceptance_rate:g} the best K is {bests[0]} at each cost ratio shown"
    )
    parts = []
    with canvas(claim, height=290) as (figure, [axes]):
        axes.axhspan(0, 1, **LOSING)
        axes.text(longest, 0.06, "slower than plain decoding", ha="right", color=COLOR["rejected"])
        for cost, best, (role, style, marker) in zip(cost_ratios, bests, looks, strict=True):
            gains = np.asarray(theory.speedup(acceptance_rate, cost, lengths))
            axes.plot(lengths, gains, style, color=COLOR[role])
            axes.plot(best, gains[best], marker, color=COLOR[role], markersize=7.5)
            axes.text(longest + 0.3, gains[-1], f"c = {cost:g}", color=COLOR[role], va="center")
            parts.append(f"at c = {cost:g} the best K is {best} with {gains[best]:.2f}×")
        draft_length_axis(axes, longest)
        axes.set_ylabel("speedup over plain decoding (×)")
    return ThemedFigure(
        "speedup-by-draft-length",
        claim,
        f"Speedup against draft length for α = {acceptance_rate:g}, one line for each cost ratio; "
        f"each rises up to its best K and falls after it: {'; '.join(parts)}.",
        figure,
    )


def winning_map(levels: Sequence[float]) -> ThemedFigure:
    """Contours of the best reachable speedup over acceptance rate and cost ratio.

    Args:
        levels: speedups, rising, each above 1 and reached within the map.

    Raises:
        ValueError: a level is out of range, or they do not rise.
    """
    rate = np.linspace(0.005, 0.975, 195)
    cost = np.linspace(0.004, 1, 250)
    rates, costs = np.meshgrid(rate, cost)
    best = theory.best_draft_length(rates, costs)
    gains = theory.speedup(rates, costs, best)
    wanted = _rising("levels", checks.real("levels", levels))
    if not (wanted[0] > 1 and wanted[-1] < gains.max()):
        raise ValueError(
            f"levels must be in (1, {gains.max():.4g}), the speedups of the map, got {list(levels)}"
        )
    claim = "With free checking you win exactly where α > c, and win big only in one corner"
    with canvas(claim, height=320) as (figure, [axes]):
        axes.fill([0, 0, 1], [0, 1, 1], **LOSING)
        axes.plot([0, 1], [0, 1], color=COLOR["rejected"])
        axes.text(0.05, 0.93, "α ≤ c: no K wins", color=COLOR["rejected"], va="top")
        contours = axes.contour(rates, costs, gains, levels=levels, colors=COLOR["target"],
                                linewidths=1.8)  # fmt: skip
        # Labels stand at one cost, so that they read from left to right, and above their curves.
        for level, segments in zip(levels, contours.allsegs, strict=True):
            points = np.concatenate(segments)
            x, y = points[np.argmin(np.abs(points[:, 1] - 0.06))]
            axes.text(x - 0.012, y, f"{level:g}×", ha="right", va="bottom", fontweight="bold",
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
    """Speedup against batch size when the roofline says what checking costs.

    Args:
        machine: the accelerator.
        model: the shape of the target.
        acceptance_rate: alpha in [0, 1].
        cost_ratio: c in [0, inf), the same at every batch.
        draft_lengths: 1 to 4 values of K, whole numbers >= 1.
        context: positions of each sequence already in the cache.

    Raises:
        ValueError: an argument is out of range.
    """
    looks = line_looks("draft_lengths", len(draft_lengths))
    checks.whole_number("draft_lengths", draft_lengths, minimum=1)
    batch = np.arange(1, 513)
    curves = [
        np.asarray(
            theory.speedup(
                acceptance_rate, cost_ratio, k, verify_cost(machine, model, batch, k, context)
            )
        )
        for k in draft_lengths
    ]
    longest = int(np.argmax(draft_lengths))
    claim = _batch_claim(draft_lengths[longest], curves[longest], float(ridge_tokens(machine)))
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        axes.set_xscale("log", base=2)
        axes.axhspan(0, 1, **LOSING)
        axes.text(1.15, 0.06, "slower than plain decoding", color=COLOR["rejected"])
        for length, gains, (role, style, _) in zip(draft_lengths, curves, looks, strict=True):
            axes.plot(batch, gains, style, color=COLOR[role], label=f"K = {length}")
            lost = batch[gains < 1]  # the verify cost never falls with the batch
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


def _batch_claim(longest: int, gains: FloatArray, ridge: float) -> str:
    """The title, from the speedups of the longest draft at batch 1, 2, ..."""
    lost = 1 + int((gains < 1).argmax())
    if gains[-1] < 1 and lost * (longest + 1) > ridge:
        return (
            "Batch eats the win: past the ridge, where arithmetic sets the pace, long drafts lose"
        )
    return (
        f"From batch 1 to {gains.size} the speedup of K = {longest} goes from {gains[0]:.2f}× to "
        f"{gains[-1]:.2f}×"
    )


def predicted_against_measured(
    name: str, claim: str, predicted: ArrayLike, measured: ArrayLike, groups: Sequence[str]
) -> ThemedFigure:
    """Scatter of measured against predicted speedup, with the line of a perfect prediction.

    Args:
        name: figure identifier.
        claim: its title.
        predicted: predicted speedups, in (0, inf), shape (n,) with n >= 1.
        measured: measured speedups, in (0, inf), shape (n,).
        groups: the group of each point, n strings out of at most 4; one marker each.

    Raises:
        ValueError: a speedup is out of range, the lengths differ, or there are too many groups.
    """
    x, y = _series(predicted=predicted, measured=measured)
    if len(groups) != x.size:
        raise ValueError(f"groups must name each of the {x.size} points, got {len(groups)}")
    kinds = list(dict.fromkeys(groups))
    looks = line_looks("groups", len(kinds))
    top = float(max(x.max(), y.max())) * 1.08
    bottom = _bottom(x, y)
    with canvas(claim, height=320) as (figure, [axes]):
        axes.plot([bottom, top], [bottom, top], color=COLOR["muted"], linewidth=1.4)
        axes.text(top * 0.62, top * 0.6, "measured = predicted", va="top", color=COLOR["muted"])
        for kind, (role, _, marker) in zip(kinds, looks, strict=True):
            member = np.array([group == kind for group in groups])
            axes.plot(x[member], y[member], marker, color=COLOR[role], markersize=6.5, label=kind)
        axes.set_xlim(bottom, top)
        axes.set_ylim(bottom, top)
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
    """Measured speedup against K beside the formula's, for one pair of models.

    Args:
        draft_lengths: K of each run, whole numbers >= 1, rising, shape (n,) with n >= 1.
        measured: measured speedups, in (0, inf), shape (n,).
        predicted: speedups by the formula, in (0, inf), shape (n,).
        claim: the title.
        pair: the two models, for the description.

    Raises:
        ValueError: a number is out of range, or the lengths differ.
    """
    lengths, seen, expected = _series(
        draft_lengths=draft_lengths, measured=measured, predicted=predicted
    )
    lengths = _rising("draft_lengths", checks.whole_number("draft_lengths", lengths, minimum=1))
    with canvas(claim, height=270) as (figure, [axes]):
        axes.plot(lengths, expected, "--s", color=COLOR["target"], markersize=5)
        axes.plot(lengths, seen, "-o", color=COLOR["accepted"], markersize=6)
        axes.text(lengths[-1] + 0.15, expected[-1], "formula", color=COLOR["target"], va="center")
        axes.text(lengths[-1] + 0.15, seen[-1], "measured", color=COLOR["accepted"], va="center")
        axes.set_xlim(0.6, lengths[-1] * 1.2)
        axes.set_ylim(_bottom(seen, expected), None)
        axes.set_xticks(lengths)
        axes.set_xlabel("draft length K (tokens)")
        axes.set_ylabel("speedup over plain decoding (×)")
    rows = "; ".join(
        f"K = {k}: {a:.2f} and {b:.2f}" for k, a, b in zip(lengths, expected, seen, strict=True)
    )
    return ThemedFigure(
        "sweep-against-formula", claim, f"{pair}. Formula and measured speedup at {rows}.", figure
    )


def _series(**named: ArrayLike) -> list[FloatArray]:
    """The named arguments as arrays of positive numbers, one axis of the same length each."""
    arrays = [checks.positive(name, values) for name, values in named.items()]
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1 or arrays[0].ndim != 1 or not arrays[0].size:
        listed = ", ".join(f"{n} {a.shape}" for n, a in zip(named, arrays, strict=True))
        raise ValueError(f"arguments must have one shape (n,) with n >= 1, got {listed}")
    return arrays


def _rising(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.ndim != 1 or not values.size or not np.all(np.diff(values) > 0):
        raise ValueError(f"{name} must hold numbers that rise, got {values.tolist()}")
    return values


def _bottom(*speedups: FloatArray) -> float:
    """Where an axis of speedups starts: at 1, or below the lowest where something lost."""
    lowest = min(float(values.min()) for values in speedups)
    return 1.0 if lowest >= 1.0 else 0.92 * lowest
