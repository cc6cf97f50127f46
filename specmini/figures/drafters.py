"""Figures of the chapter on drafters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from specmini.checks import FloatArray
from specmini.figures.speedup import LOSING
from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.theory.drafter_map import CHEAPEST, DrafterPoint, contour
from specmini.theory.topology import ancestors, depths
from specmini.theory.tree_shape import best_by_size, sizes_near_best

LENGTHS = range(1, 17)
LIKE = 0.01  # acceptance rates as near as that count as the same


def drafter_map(
    points: Sequence[DrafterPoint],
    levels: Sequence[float],
    name: str = "drafter-map",
    claim: str = "",
) -> ThemedFigure:
    """Drafters as numbered points over acceptance rate and cost, with lines of equal speedup.

    Each line is a chain at its best K with free checks. A point's own K may be another, so it may
    gain a little less than the line it is on.

    Args:
        points: at least one, numbered in their order.
        levels: speedups of the lines, each above 1.
        name: figure identifier, another for a second map on a page.
        claim: title; what ``map_claim`` sees in the points if empty.

    Raises:
        ValueError: no point, or a level that no drafter of the map reaches.
    """
    if not points:
        raise ValueError("points must hold at least one drafter, got none")
    costs = np.geomspace(CHEAPEST, 1, 120)  # (n,)
    claim = claim or map_claim(points)
    with canvas(claim, height=390) as (figure, [axes]):
        axes.set_yscale("log")
        losing = contour(1.0, costs, LENGTHS)  # (n,)
        axes.fill_betweenx(costs, 0, losing, **LOSING)
        axes.plot(losing, costs, "--", color=COLOR["rejected"], linewidth=1.2)
        axes.text(0.03, 0.72, "no K wins", color=COLOR["rejected"], va="top")
        for level in levels:
            rates = contour(level, costs, LENGTHS)  # (n,)
            seen = ~np.isnan(rates)
            if not (level > 1 and seen.any()):
                raise ValueError(f"levels must be above 1 and reached on the map, got {level}")
            axes.plot(rates[seen], costs[seen], color=COLOR["target"], linewidth=1.2)
            axes.text(rates[seen][0] - 0.012, CHEAPEST * 1.08, f"{level:g}×", ha="right",
                      va="bottom", fontweight="bold", color=COLOR["target"])  # fmt: skip
        places = [_place(point) for point in points]
        for point, (across, up) in zip(points, places, strict=True):
            role, marker = ("draft", "o") if point.source else ("accepted", "D")
            axes.plot(across, up, marker, color=COLOR[role], markersize=5.5)
        axes.set_xlim(0, 1)
        # A draft may cost more than a plain step, and then no acceptance makes it win.
        top = max(1.0, 1.4 * max(up for _, up in places))
        if top > 1:
            axes.fill_between([0, 1], 1, top, **LOSING)
        axes.set_ylim(CHEAPEST, top)
        for number, (across, up) in enumerate(_labels(places), start=1):
            axes.text(across, up, str(number), ha="center", va="center", fontsize=9.5)
        ticks = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("acceptance rate α")
        axes.set_ylabel("cost of a draft in plain steps")
    listed = "; ".join(
        f"{number} {point.name}, α = {point.acceptance_rate:.2f}, cost {point.cost_ratio:.3f}, "
        f"{point.speedup:.2f}×"
        for number, point in enumerate(points, start=1)
    )
    return ThemedFigure(
        name,
        claim,
        f"Acceptance rate across, cost of a draft upward on a logarithmic scale, lines of equal "
        f"speedup at {', '.join(f'{level:g}' for level in levels)} falling to the lower right. "
        f"Published drafters are circles, measured ones diamonds: {listed}.",
        figure,
    )


def map_claim(points: Sequence[DrafterPoint]) -> str:
    """What the points show: the two of equal K and α whose speedups lie farthest apart."""
    alike = [
        sorted(pair, key=lambda point: -point.speedup)
        for pair in combinations(points, 2)
        if pair[0].draft_length == pair[1].draft_length
        and abs(pair[0].acceptance_rate - pair[1].acceptance_rate) <= LIKE
        and min(one.cost_ratio for one in pair) > 0
    ]
    if not alike:
        best = max(points, key=lambda point: point.speedup)
        return f"Of {len(points)} drafters {best.name} gains most, {best.speedup:.2f}×"
    fast, slow = max(alike, key=lambda pair: pair[0].speedup / pair[1].speedup)
    return (
        f"Equally good guesses, {fast.speedup:.2f}× and {slow.speedup:.2f}×: at "
        f"α = {fast.acceptance_rate:.2f} the price of a draft decides, {fast.cost_ratio:.2g} or "
        f"{slow.cost_ratio:.2g} steps"
    )


def tree_size(
    acceptance: ArrayLike, cost_ratio: float, verify_costs: Mapping[str, ArrayLike]
) -> ThemedFigure:
    """Speedup of the best tree of each size under several loads, a marker at the best size.

    The title gives the sizes within 2 % of the best: such a curve is flat on top.

    Args:
        acceptance: (D, R) by depth and rank, as ``tree_shape`` takes it.
        cost_ratio: c, of a draft pass over a level.
        verify_costs: 1 to 4 loads: name to (N,), v of a pass with 1, ..., N drafted nodes for each
            sequence. The first load is the lightest.

    Raises:
        ValueError: as ``tree_shape.best_by_size``; too many loads.
    """
    looks = line_looks("verify_costs", len(verify_costs))
    curves: dict[str, FloatArray] = {}
    spans: dict[str, str] = {}
    for name, costs in verify_costs.items():
        choices = best_by_size(acceptance, cost_ratio, costs)
        curves[name] = np.array([choice.speedup for choice in choices])  # (N,)
        spans[name] = "–".join(map(str, dict.fromkeys(sizes_near_best(choices))))
    sizes = {name: 1 + int(gains.argmax()) for name, gains in curves.items()}
    names = list(sizes)
    first, last = names[0], names[-1]
    claim = (
        f"The fuller the machine, the smaller the tree: from {spans[first]} nodes ({first}) to "
        f"{spans[last]} ({last})"
        if sizes[first] > sizes[last]
        else f"The best tree has {spans[first]} nodes ({first}) and {spans[last]} ({last})"
    )
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        axes.set_xscale("log", base=2)
        axes.axhspan(0, 1, **LOSING)
        for (name, gains), (role, style, marker) in zip(curves.items(), looks, strict=True):
            nodes, best = np.arange(1, gains.size + 1), sizes[name]
            axes.plot(nodes, gains, style, color=COLOR[role], label=name)
            axes.plot(best, gains[best - 1], marker, color=COLOR[role], markersize=7.5)
            parts.append(
                f"{name}: best {best} nodes with {gains[best - 1]:.2f}×, {spans[name]} within 2%"
            )
        longest = max(gains.size for gains in curves.values())
        ticks = [2**power for power in range(int(np.log2(longest)) + 1)]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlim(1, longest)
        axes.set_ylim(0, None)
        axes.legend(loc="lower left", fontsize=10)
        axes.set_xlabel("nodes of the tree, each sequence")
        axes.set_ylabel("speedup over plain decoding (×)")
    return ThemedFigure(
        "tree-size",
        claim,
        f"Speedup of the best tree against its number of nodes. {'; '.join(parts)}.",
        figure,
    )


def tree_attention(words: Sequence[str], parents: Sequence[int]) -> ThemedFigure:
    """A tree of guesses, and who sees whom when it is checked in one pass.

    Args:
        words: of the N nodes.
        parents: of each the number of the node before it, -1 for the text.

    Raises:
        ValueError: the lengths differ.
    """
    if len(words) != len(parents):
        raise ValueError(f"parents must be as many as the {len(words)} words, got {len(parents)}")
    sees, levels = ancestors(parents), depths(parents)  # (N, N), (N,)
    count, paths = len(words), len(set(range(len(words))) - set(parents))
    claim = f"{count} guesses, {paths} possible texts, one pass: each token sees its own path only"
    rows = _rows(parents)
    with canvas(claim, height=280, columns=2) as (figure, [left, right]):
        guesses = [row for row, parent in zip(rows, parents, strict=True) if parent < 0]
        root = (-1.0, sum(guesses) / len(guesses))
        places = [*zip(levels.tolist(), rows, strict=True), root]  # -1 is the text, at the end
        for node, parent in enumerate(parents):
            (x, y), (above, beside) = places[node], places[parent]
            left.plot([above, x], [beside, y], color=COLOR["muted"], linewidth=1.2, zorder=1)
        names = [*(f"{node} {word}" for node, word in enumerate(words)), "text"]
        for (x, y), name in zip(places, names, strict=True):
            role = "target" if name == "text" else "draft"
            box = {"boxstyle": "round,pad=0.25", "facecolor": COLOR["surface"]}
            left.text(x, y, name, ha="center", va="center", bbox=box | {"edgecolor": COLOR[role]})
        left.set_xlim(-1.5, levels.max() + 0.6)
        left.set_ylim(max(rows) + 0.6, -0.6)
        left.axis("off")
        _mask(right, sees)
    listed = "; ".join(
        f"{node} {word} sees {', '.join(map(str, np.flatnonzero(sees[node])))}"
        for node, word in enumerate(words)
    )
    return ThemedFigure(
        "tree-attention",
        claim,
        f"Left, a tree that grows from the text. Right, its mask: a filled square where the row's "
        f"token sees the column's. All see the text; {listed}.",
        figure,
    )


def _mask(axes: Axes, sees: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    for row, column in zip(*np.nonzero(sees), strict=True):
        axes.add_patch(
            Rectangle((column - 0.42, row - 0.42), 0.84, 0.84, facecolor=COLOR["target"])
        )
    count = len(sees)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xticks(range(count))
    axes.set_yticks(range(count))
    axes.set_aspect("equal")
    axes.set_xlabel("seen")
    axes.set_ylabel("who sees")


def _rows(parents: Sequence[int]) -> list[float]:
    """Heights of the nodes: leaves one below the other, a parent in the middle of its children."""
    heights: dict[int, float] = {}
    leaves = 0

    def settle(node: int) -> float:
        nonlocal leaves
        children = [child for child, parent in enumerate(parents) if parent == node]
        if children:
            heights[node] = float(np.mean([settle(child) for child in children]))
        else:
            heights[node], leaves = float(leaves), leaves + 1
        return heights[node]

    settle(-1)
    return [heights[node] for node in range(len(parents))]


def _place(point: DrafterPoint) -> tuple[float, float]:
    return point.acceptance_rate, max(point.cost_ratio, CHEAPEST * 1.05)


def _labels(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where the numbers stand: on that side of each point where most room is left."""
    decades = -np.log10(CHEAPEST)
    flat = [(across, 1 + np.log10(up) / decades) for across, up in places]
    taken = list(flat)
    found = []
    for across, up in flat:
        sides = [
            (across + 0.036 * dx, up + 0.036 * dy)
            for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8))
            if up + 0.036 * dy > 0.015
        ]
        room = [
            min(np.hypot(x - a, y - b) for a, b in taken if (a, b) != (across, up)) if taken[1:]
            else 1.0
            for x, y in sides
        ]  # fmt: skip
        best = sides[int(np.argmax(np.minimum(room, 0.045)))]
        taken.append(best)
        found.append((best[0], 10 ** ((best[1] - 1) * decades)))
    return found
