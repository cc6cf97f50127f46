"""Figures of the chapter on expected tokens."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specmini import theory
from specmini.figures.style import COLOR, ThemedFigure, canvas

LINES = (
    ("draft", "-", "o"),
    ("target", "--", "s"),
    ("recovered", "-.", "^"),
    ("accepted", ":", "D"),
)


def tokens_distribution(acceptance_rate: float, draft_length: int) -> ThemedFigure:
    """Bars of P(T = t): how many tokens one round yields."""
    chances = theory.tokens_distribution(acceptance_rate, draft_length)
    tokens = list(range(1, draft_length + 2))
    mean = float(theory.tokens_per_round(acceptance_rate, draft_length))
    claim = (
        f"A round yields {mean:.2f} tokens on average, "
        f"yet one token or all {draft_length + 1} are likelier than the middle"
    )
    with canvas(claim, height=270) as (figure, [axes]):
        roles = ["recovered"] * draft_length + ["accepted"]
        axes.bar(tokens, chances, width=0.62, color=[COLOR[role] for role in roles],
                 hatch=[""] * draft_length + ["//"], edgecolor=COLOR["surface"])  # fmt: skip
        for token, chance in zip(tokens, chances, strict=True):
            axes.text(token, chance + 0.008, f"{chance:.3f}", ha="center", va="bottom")
        axes.axvline(mean, color=COLOR["ink"], linestyle="--", linewidth=1.4)
        axes.text(mean + 0.06, max(chances) * 1.08, f"mean {mean:.2f}", va="top")
        axes.set_ylim(0, max(chances) * 1.16)
        axes.set_xticks(tokens)
        axes.set_xlabel("tokens in one round")
        axes.set_ylabel("probability")
        axes.grid(visible=False, axis="x")
    listed = ", ".join(f"{t} with {p:.3f}" for t, p in zip(tokens, chances, strict=True))
    return ThemedFigure(
        "tokens-distribution",
        claim,
        f"Bar chart of the number of tokens in a round for acceptance rate {acceptance_rate} and "
        f"draft length {draft_length}: {listed}. The last bar is full acceptance, which adds the "
        f"bonus token.",
        figure,
    )


def tokens_by_draft_length(acceptance_rates: Sequence[float], longest: int) -> ThemedFigure:
    """E against K for several acceptance rates, each with its ceiling 1/(1 − α)."""
    lengths = np.arange(longest + 1)
    claim = "However long the draft, a round never yields more than 1/(1 − α) tokens"
    ends = []
    with canvas(claim, height=280) as (figure, [axes]):
        for rate, (role, style, marker) in zip(acceptance_rates, LINES, strict=False):
            expected = np.asarray(theory.tokens_per_round(rate, lengths))
            ceiling = 1 / (1 - rate)
            axes.plot(lengths, expected, style, color=COLOR[role], marker=marker, markersize=3.5)
            axes.hlines(ceiling, 0, longest, COLOR[role], linestyles=(0, (2, 3)), linewidth=1)
            axes.text(longest + 0.3, expected[-1], f"α = {rate:g}", color=COLOR[role], va="center")
            ends.append(f"α = {rate:g} reaches {expected[-1]:.2f} of at most {ceiling:.2f}")
        axes.set_xlim(0, longest * 1.18)
        axes.set_ylim(0, None)
        axes.set_xticks(range(0, longest + 1, 2))
        axes.set_xlabel("draft length K (tokens)")
        axes.set_ylabel("tokens per round E")
    return ThemedFigure(
        "tokens-by-draft-length",
        claim,
        f"Lines of tokens per round against draft length 0 to {longest}, all starting at 1 and "
        f"flattening: {'; '.join(ends)}.",
        figure,
    )


def acceptance_by_position(survival: Mapping[str, ArrayLike], longest: int) -> ThemedFigure:
    """Conditional acceptance rate at each draft position, from unconditional (survival) rates."""
    claim = "Real acceptance rises, stays or falls along the draft: no single α tells which"
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        for (label, rates), (role, style, marker) in zip(survival.items(), LINES, strict=False):
            conditional = theory.conditional_rates_from_survival(rates)
            position = np.arange(1, conditional.size + 1)
            axes.plot(position, conditional, style, color=COLOR[role], marker=marker, markersize=5,
                      label=label)  # fmt: skip
            parts.append(f"{label}: {', '.join(f'{rate:.2f}' for rate in conditional)}")
        axes.set_ylim(0, 1)
        axes.set_xlim(0.7, longest + 0.3)
        axes.set_xticks(range(1, longest + 1))
        axes.set_xlabel("position in the draft")
        axes.set_ylabel("acceptance rate, given that\nall earlier drafts were accepted")
        axes.legend(loc="lower left", fontsize=10)
    return ThemedFigure(
        "acceptance-by-position", claim, f"Conditional acceptance by position. {'. '.join(parts)}.",
        figure,
    )  # fmt: skip
