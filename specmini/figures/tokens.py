"""Figures of the chapter on expected tokens."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks, theory
from specmini.checks import FloatArray
from specmini.figures.style import COLOR, ThemedFigure, canvas, draft_length_axis, line_looks

# Conditional acceptance that moves less than this from the first position to the last "stays":
# published rates have two decimals, and those of one pair differ by a few hundredths between runs.
STEADY = 0.05


def tokens_distribution(acceptance_rate: float, draft_length: int) -> ThemedFigure:
    """Bars of P(T = t): how many tokens one round yields.

    Args:
        acceptance_rate: alpha in [0, 1].
        draft_length: K, whole number >= 0.

    Raises:
        ValueError: an argument is out of range or not a single number.
    """
    rate = checks.single("acceptance_rate", checks.probability("acceptance_rate", acceptance_rate))
    chances = theory.tokens_distribution(rate, draft_length)
    tokens = list(range(1, draft_length + 2))
    mean = float(theory.tokens_per_round(rate, draft_length))
    claim = f"A round yields {mean:.2f} tokens on average, " + _shape_in_words(chances)
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
        f"Bar chart of the number of tokens in a round for acceptance rate {rate} and "
        f"draft length {draft_length}: {listed}. The last bar is full acceptance, which adds the "
        f"bonus token.",
        figure,
    )


def _shape_in_words(chances: FloatArray) -> str:
    """The rest of the title: two peaks where there are two, the likeliest count elsewhere."""
    middle = chances[1:-1]
    if middle.size and min(chances[0], chances[-1]) > middle.max():
        return f"yet one token or all {chances.size} are likelier than any count between"
    return f"and no count is likelier than {int(chances.argmax()) + 1}"


def tokens_by_draft_length(acceptance_rates: Sequence[float], longest: int) -> ThemedFigure:
    """E against K for several acceptance rates, each with its ceiling 1/(1 − α).

    Args:
        acceptance_rates: 1 to 4 values of alpha in [0, 1); at 1 there is no ceiling.
        longest: largest K shown, whole number >= 1.

    Raises:
        ValueError: an argument is out of range.
    """
    looks = line_looks("acceptance_rates", len(acceptance_rates))
    if checks.probability("acceptance_rates", acceptance_rates).max() == 1.0:
        raise ValueError("acceptance_rates must be in [0, 1): at 1 there is no ceiling, got 1.0")
    longest = checks.single("longest", checks.whole_number("longest", longest, minimum=1))
    lengths = np.arange(longest + 1)
    ceiling_in_words = "1/(1 − α)".replace(" ", "\N{NO-BREAK SPACE}")
    claim = f"However long the draft, a round never yields more than {ceiling_in_words} tokens"
    ends = []
    with canvas(claim, height=280) as (figure, [axes]):
        for rate, (role, style, marker) in zip(acceptance_rates, looks, strict=True):
            expected = np.asarray(theory.tokens_per_round(rate, lengths))
            ceiling = 1 / (1 - rate)
            axes.plot(lengths, expected, style, color=COLOR[role], marker=marker, markersize=3.5)
            axes.hlines(ceiling, 0, longest, COLOR[role], linestyles=(0, (2, 3)), linewidth=1)
            axes.text(longest + 0.3, expected[-1], f"α = {rate:g}", color=COLOR[role], va="center")
            ends.append(f"α = {rate:g} reaches {expected[-1]:.2f} of at most {ceiling:.2f}")
        draft_length_axis(axes, longest)
        axes.set_ylabel("tokens per round E")
    return ThemedFigure(
        "tokens-by-draft-length",
        claim,
        f"Lines of tokens per round against draft length 0 to {longest}, all starting at 1 and "
        f"flattening: {'; '.join(ends)}.",
        figure,
    )


def acceptance_by_position(survival: Mapping[str, ArrayLike], longest: int) -> ThemedFigure:
    """Conditional acceptance rate at each draft position, from unconditional (survival) rates.

    Args:
        survival: label of a pair to its chances that a round accepts at least i drafts, i = 1..K;
            1 to 4 pairs, each with K in [1, longest].
        longest: last position shown.

    Raises:
        ValueError: there are too many pairs, one is longer than ``longest`` or empty, or its
            chances rise.
    """
    looks = line_looks("survival", len(survival))
    curves = {label: _conditional(label, rates, longest) for label, rates in survival.items()}
    moves = list(dict.fromkeys(_move(rates) for rates in curves.values()))
    claim = "Real acceptance " + " or ".join(
        [", ".join(moves[:-1]), moves[-1]] if len(moves) > 1 else moves
    )
    claim += " along the draft" + (": no single α tells which" if len(moves) > 1 else "")
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        for (label, rates), (role, style, marker) in zip(curves.items(), looks, strict=True):
            position = np.arange(1, rates.size + 1)
            axes.plot(position, rates, style, color=COLOR[role], marker=marker, markersize=5,
                      label=label)  # fmt: skip
            parts.append(f"{label}: {', '.join(f'{rate:.2f}' for rate in rates)}")
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


def _conditional(label: str, survival: ArrayLike, longest: int) -> FloatArray:
    """Conditional rates of one pair, up to the last position that a round reaches."""
    rates = theory.conditional_rates_from_survival(survival)
    if rates.ndim != 1 or not 1 <= rates.size <= longest:
        raise ValueError(
            f"survival must have 1 to longest = {longest} positions a pair, "
            f"got shape {rates.shape} for {label!r}"
        )
    return rates[~np.isnan(rates)]


def _move(rates: FloatArray) -> str:
    moved = rates[-1] - rates[0]
    return "stays" if abs(moved) < STEADY else "rises" if moved > 0 else "falls"
