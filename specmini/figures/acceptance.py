"""Figures of the chapter on acceptance: overlap in one context, and temperature."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks

# What a reader has to see of a token that prints as nothing, or that matplotlib takes for TeX.
VISIBLE = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥", "$": r"\$"})


def visible(piece: str, longest: int = 9) -> str:
    """A token as a label: white space shown, cut to ``longest`` characters."""
    shown = piece if len(piece) <= longest else piece[: longest - 1] + "…"
    return shown.translate(VISIBLE)


def overlap(
    tokens: Sequence[str], target_probs: ArrayLike, draft_probs: ArrayLike, shown: int = 8
) -> ThemedFigure:
    """Bars of p and q in one context; what both share is filled.

    Args:
        tokens: text of each of the V tokens.
        target_probs: (V,) p, a distribution.
        draft_probs: (V,) q, a distribution.
        shown: likeliest tokens with a row of their own, in [1, V); the rest share one.

    Raises:
        ValueError: the shapes differ, p or q is no distribution, or ``shown`` is out of range.
    """
    p, q = (
        _distribution(name, probs, len(tokens))
        for name, probs in (("target_probs", target_probs), ("draft_probs", draft_probs))
    )
    if not 1 <= shown < len(tokens):
        raise ValueError(f"shown must be in [1, {len(tokens)}), got {shown}")
    order = np.argsort(-np.maximum(p, q), kind="stable")  # (V,)
    rows = [(visible(tokens[i]), p[i], q[i], min(p[i], q[i])) for i in order[:shown]]
    rest = order[shown:]
    both = np.minimum(p, q)  # (V,)
    rows.append((f"{len(rest)} others", p[rest].sum(), q[rest].sum(), both[rest].sum()))
    shared = both.sum()
    claim = f"The two share {shared:.0%} of their probability, so {shared:.0%} of drafts pass here"
    with canvas(claim, height=96 + 31 * len(rows)) as (figure, [axes]):
        for row, (_, target, draft, common) in enumerate(rows):
            axes.barh(row - 0.2, target, 0.36, fill=False, edgecolor=COLOR["target"], linewidth=1.4)
            axes.barh(row + 0.2, draft, 0.36, fill=False, edgecolor=COLOR["draft"],
                      linestyle="--", linewidth=1.4)  # fmt: skip
            axes.barh(row, common, 0.76, color=COLOR["accepted"], hatch="//",
                      edgecolor=COLOR["surface"], linewidth=0)  # fmt: skip
        axes.set_yticks(range(len(rows)), [label for label, *_ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_ylabel("next token")
        axes.set_xlabel("probability")
        axes.grid(visible=False, axis="y")
        handles = [axes.patches[i] for i in (0, 1, 2)]
        axes.legend(handles, ["target p", "draft q", "both: min(p, q)"], loc="center right")
    listed = "; ".join(f"{label}: p {a:.2f}, q {b:.2f}, both {c:.2f}" for label, a, b, c in rows)
    return ThemedFigure(
        "overlap",
        claim,
        f"Pairs of bars, target and draft, for the likeliest next tokens of one context. {listed}. "
        f"The shared parts sum to {shared:.2f}.",
        figure,
    )


def textbook_by_agreement(
    temperatures: ArrayLike, agreeing: ArrayLike, differing: ArrayLike, share: float
) -> ThemedFigure:
    """The textbook rule against temperature, split by whether both models have one favorite.

    Args:
        temperatures: (N,) above 0, rising.
        agreeing: (N,) mean chance of acceptance where the favorites are equal.
        differing: (N,) the same where they differ.
        share: of contexts in which they are equal, in [0, 1].

    Raises:
        ValueError: shapes differ, a number is out of range, or temperatures do not rise.
    """
    heat = checks.positive("temperatures", temperatures)  # (N,)
    if heat.ndim != 1 or heat.size < 2 or (np.diff(heat) <= 0).any():
        raise ValueError(f"temperatures must be at least two and rise, got {heat.tolist()}")
    same, other = (
        _along(name, rates, heat)
        for name, rates in (("agreeing", agreeing), ("differing", differing))
    )
    weight = checks.single("share", checks.probability("share", share))
    mixed = weight * same + (1 - weight) * other  # (N,)
    place = int(mixed.argmin())
    claim = "Over all contexts, textbook " + (
        f"acceptance is lowest at temperature {heat[place]:g}"
        if 0 < place < heat.size - 1
        else "acceptance only rises with temperature"
        if place == 0
        else "acceptance only falls with temperature"
    )
    lines = {
        f"same favorite ({weight:.0%})": same,
        f"different ({1 - weight:.0%})": other,
        "all contexts": mixed,
    }
    with canvas(claim, height=310) as (figure, [axes]):
        looks = zip(lines.items(), line_looks("lines", len(lines)), strict=True)
        for (label, rates), (role, style, marker) in looks:
            axes.plot(heat, rates, style, color=COLOR[role], marker=marker, markersize=4,
                      label=label)  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(heat, [f"{value:g}" for value in heat], rotation=45)
        axes.minorticks_off()
        axes.set_ylim(0, 1.03)
        axes.set_xlabel("temperature of target and draft")
        axes.set_ylabel("acceptance rate α")
        axes.legend(loc="best", fontsize=10)
    listed = ", ".join(f"{value:g}" for value in heat)
    rows = "; ".join(
        f"{label}: " + ", ".join(f"{rate:.2f}" for rate in rates) for label, rates in lines.items()
    )
    return ThemedFigure(
        "textbook-by-agreement", claim, f"Acceptance at temperatures {listed}. {rows}.", figure
    )


def _along(name: str, rates: ArrayLike, heat: FloatArray) -> FloatArray:
    line = checks.probability(name, rates)  # (N,)
    if line.shape != heat.shape:
        raise ValueError(f"{name} must have shape {heat.shape} as temperatures, got {line.shape}")
    return line


def _distribution(name: str, value: ArrayLike, vocabulary: int) -> FloatArray:
    probs = checks.probability(name, value)
    if probs.shape != (vocabulary,):
        raise ValueError(f"{name} must have shape ({vocabulary},) as tokens, got {probs.shape}")
    if abs(probs.sum() - 1) > 1e-6:
        raise ValueError(f"{name} must sum to 1, got {probs.sum()}")
    return probs
