"""Figures of what was measured on the pair: passes, acceptance, rounds, predictions.

The data differ from machine to machine, so each title is worked out from them; it says a number
that the figure shows, never one that was hoped for.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specmini.figures.acceptance import visible
from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.measure.cell import Cell
from specmini.measure.latency import FittedRoofline, PassTimes
from specmini.measure.tallies import Acceptance

# no dots: as circles they make a picture five times as heavy


def pass_time(times: PassTimes, roofline: FittedRoofline, draft_length: int) -> ThemedFigure:
    """Time of a pass against its tokens, with the roofline drawn through the points.

    Args:
        times: measured, over 1 and ``draft_length`` + 1 tokens among others.
        roofline: fitted to them.
        draft_length: K; the title tells about the pass that checks K drafts.

    Raises:
        ValueError: those two sizes were not measured.
    """
    checked = draft_length + 1
    ratio = times.over(checked) / times.over(1)
    claim = (
        f"A pass over {checked} tokens takes {ratio:.2f} times as long as over one, "
        + (f"not {checked} times" if ratio < checked else f"as bad as {checked} passes")
    )  # fmt: skip
    tokens, milliseconds = np.array(times.tokens), 1e3 * np.array(times.seconds)
    spread = 1e3 * np.array([times.low, times.high])  # (2, S)
    finely = np.geomspace(tokens[0], tokens[-1], 300)
    with canvas(claim, height=300) as (figure, [axes]):
        axes.set_xscale("log", base=2)
        axes.plot(finely, finely * milliseconds[0], ":", color=COLOR["muted"], linewidth=1.4,
                  label="that many passes, one by one")  # fmt: skip
        axes.plot(finely, 1e3 * roofline.seconds(finely), color=COLOR["target"], label="roofline")
        axes.errorbar(tokens, milliseconds, np.abs(spread - milliseconds), fmt="o",
                      color=COLOR["ink"], markersize=4.5, linewidth=1.2,
                      label="measured, median and quartiles")  # fmt: skip
        axes.set_ylim(0, 1.25 * max(spread.max(), milliseconds.max()))
        axes.set_xticks(tokens, [str(n) for n in tokens])
        axes.minorticks_off()
        axes.set_xlabel("tokens in one pass")
        axes.set_ylabel("time of the pass (ms)")
        axes.legend(loc="lower right", fontsize=10)
    rows = "; ".join(f"{n}: {t:.2f} ms" for n, t in zip(tokens, milliseconds, strict=True))
    return ThemedFigure(
        "pass-time",
        claim,
        f"Time of one pass against the tokens it takes in. {rows}. The roofline is flat at "
        f"{1e3 * roofline.floor:.2f} ms up to {roofline.knee:.1f} tokens and then rises by "
        f"{1e3 * roofline.per_token:.3f} ms a token.",
        figure,
    )


def acceptance_by_position(measured: Mapping[str, Acceptance]) -> ThemedFigure:
    """Acceptance rate at each draft position, as counted, with two standard errors.

    Args:
        measured: up to four acceptances by label.
    """
    looks = line_looks("measured", len(measured))
    away = max(float(np.nanmax(np.abs(one.rates - one.rate))) for one in measured.values())
    longest = max(len(one.offered) for one in measured.values())
    claim = f"Position by position, acceptance stays within {away:.2f} of its mean"
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        for shift, ((label, one), (role, style, marker)) in enumerate(
            zip(measured.items(), looks, strict=True)
        ):
            # side by side, so that one interval does not hide another
            position = np.arange(1, len(one.offered) + 1) + 0.08 * (shift - len(measured) / 2 + 0.5)
            axes.errorbar(position, one.rates, 2 * one.standard_errors, fmt=style + marker,
                          color=COLOR[role], markersize=5, elinewidth=1,
                          label=f"{label}: α = {one.rate:.2f}")  # fmt: skip
            counts = zip(one.accepted, one.offered, strict=True)
            parts.append(f"{label}: {', '.join(f'{a} of {o}' for a, o in counts)}")
        axes.set_ylim(0, 1)
        axes.set_xlim(0.6, longest + 0.4)
        axes.set_xticks(range(1, longest + 1))
        axes.set_xlabel("position in the draft")
        axes.set_ylabel("accepted, given that all\nearlier drafts were")
        axes.legend(loc="best", fontsize=10)
    return ThemedFigure(
        "counted-acceptance",
        claim,
        f"Accepted of offered tokens by position. {'. '.join(parts)}.",
        figure,
    )


def rules_by_temperature(
    temperatures: Sequence[float], rates: Mapping[str, Sequence[float]], named: float = 1.0
) -> ThemedFigure:
    """α of the acceptance rules against temperature.

    Args:
        temperatures: rising.
        rates: α at each of them, by rule.
        named: the temperature whose numbers stand in the title; one of ``temperatures``.

    Raises:
        ValueError: ``named`` is not among the temperatures.
    """
    looks = line_looks("rates", len(rates))
    if named not in temperatures:
        raise ValueError(f"named must be one of {list(temperatures)}, got {named}")
    place = list(temperatures).index(named)
    listed = ", ".join(f"{rule} {values[place]:.2f}" for rule, values in rates.items())
    claim = f"One pair, {len(rates)} acceptance rates at temperature {named:g}: {listed}"
    parts = []
    with canvas(claim, height=300) as (figure, [axes]):
        for (rule, values), (role, style, marker) in zip(rates.items(), looks, strict=True):
            axes.plot(temperatures, values, style, marker=marker, markersize=5, color=COLOR[role],
                      label=rule)  # fmt: skip
            pairs = zip(temperatures, values, strict=True)
            parts.append(f"{rule}: {', '.join(f'{rate:.2f} at {t:g}' for t, rate in pairs)}")
        axes.set_ylim(0, 1)
        axes.margins(x=0.03)  # room for the first and the last marker
        axes.set_xlabel("temperature of target and draft")
        axes.set_ylabel("acceptance rate α")
        axes.legend(loc="best", fontsize=10)
    return ThemedFigure(
        "rules-by-temperature",
        claim,
        f"Acceptance rate against temperature. {'. '.join(parts)}.",
        figure,
    )


def overlap_along_text(rates: ArrayLike, pieces: Sequence[str]) -> ThemedFigure:
    """β context by context along a text.

    Args:
        rates: (T,) β for each token.
        pieces: the T tokens as text: each stands under the β of the context before it.

    Raises:
        ValueError: the numbers of rates and pieces differ.
    """
    beta = np.asarray(rates, dtype=np.float64)  # (T,)
    if beta.shape != (len(pieces),):
        raise ValueError(f"rates must have shape ({len(pieces)},), got {beta.shape}")
    claim = (
        f"Within one text β runs from {beta.min():.2f} to {beta.max():.2f}; "
        f"α = {beta.mean():.2f} is only its mean"
    )
    shown = [visible(piece) for piece in pieces]
    with canvas(claim, height=280) as (figure, [axes]):
        places = np.arange(len(beta))
        axes.bar(places, beta, width=0.8, color=COLOR["accepted"])
        axes.axhline(beta.mean(), color=COLOR["ink"], linestyle="--", linewidth=1.4)
        axes.set_ylim(0, 1)
        axes.set_xlim(-0.7, len(beta) - 0.3)
        axes.set_xticks(places, shown, rotation=90, fontsize=8.5, family="monospace")
        axes.tick_params(axis="x", length=0, pad=6)
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("chance β that a draft\nis accepted here")
        axes.set_xlabel("next token of the text")
    listed = ", ".join(f"{piece} {rate:.2f}" for piece, rate in zip(shown, beta, strict=True))
    return ThemedFigure(
        "overlap-along-text", claim, f"Acceptance chance at each token of a text: {listed}.", figure
    )


def predicted_beside_measured(cells: Mapping[str, Sequence[Cell]]) -> ThemedFigure:
    """Measured speedup against two predictions, with 95 % intervals over prompts.

    Args:
        cells: up to four groups of cells by label.
    """
    looks = line_looks("cells", len(cells))
    every = [one for group in cells.values() for one in group]
    ratios = {
        "textbook, v = 1": [one.speedup / one.predicted.textbook for one in every],
        "with the measured v": [one.speedup / one.predicted.with_verify_cost for one in every],
    }
    textbook, with_v = (float(np.median(values)) for values in ratios.values())
    claim = (
        f"Measured over predicted, median cell: {textbook:.2f} by the textbook, "
        f"{with_v:.2f} with the measured v"
    )
    intervals = {id(one): one.interval() for one in every}
    edges = [value for interval in intervals.values() for value in interval]
    edges += [one.predicted.textbook for one in every]
    low, high = 0.94 * min(*edges, 1.0), 1.04 * max(edges)
    parts = []
    with canvas(claim, height=320, columns=2, sharey=True) as (figure, axes):
        for side, (name, panel) in enumerate(zip(ratios, axes, strict=True)):
            panel.plot([low, high], [low, high], color=COLOR["muted"], linewidth=1.4)
            for (label, group), (role, _, marker) in zip(cells.items(), looks, strict=True):
                x = [
                    (one.predicted.textbook, one.predicted.with_verify_cost)[side] for one in group
                ]
                y = np.array([one.speedup for one in group])
                bars = np.abs(np.array([intervals[id(one)] for one in group]).T - y)  # (2, N)
                panel.errorbar(x, y, bars, fmt=marker, color=COLOR[role], markersize=4.5,
                               elinewidth=0.8, label=label)  # fmt: skip
            panel.set_title(name, fontsize=11)
            panel.set_xlim(low, high)
            panel.set_ylim(low, high)
            panel.set_xlabel("predicted speedup (×)")
        axes[0].set_ylabel("measured speedup (×)")
        axes[0].legend(loc="upper left", fontsize=9)
    for label, group in cells.items():
        for one in group:
            parts.append(
                f"{label}, K = {one.draft_length}: {one.predicted.textbook:.2f} and "
                f"{one.predicted.with_verify_cost:.2f} → {one.speedup:.2f}"
            )
    return ThemedFigure(
        "predicted-beside-measured",
        claim,
        f"Predicted by the textbook and with the measured v → measured. {'; '.join(parts)}.",
        figure,
    )


def residual_steps(one: Cell) -> ThemedFigure:
    """From the textbook's prediction to the measured speedup, factor by factor.

    Args:
        one: the cell to explain.
    """
    residual = one.residual
    steps = {
        "textbook, E / (1 + Kc)": residual.textbook,
        "order of acceptance": residual.acceptance,
        "cost of the check": residual.verification,
        "bookkeeping": residual.bookkeeping,
        "first and short rounds": residual.first_and_short_rounds,
    }  # fmt: skip
    claim = (
        f"From {residual.textbook:.2f}× in the textbook to {residual.measured:.2f}× "
        f"by the clock, factor by factor"
    )
    reached = np.cumprod(list(steps.values()))  # (5,)
    with canvas(claim, height=270) as (figure, [axes]):
        before = 0.0
        for place, (factor, after) in enumerate(zip(steps.values(), reached, strict=True)):
            role = "target" if place == 0 else "accepted" if after >= before else "rejected"
            axes.barh(place, after - before, 0.5, left=before, color=COLOR[role])
            shown = f"{factor:.2f}×" if place == 0 else f"× {factor:.3f}"
            axes.text(1.24 * reached.max(), place, shown, va="center", ha="right")
            before = float(after)
        axes.barh(len(steps), reached[-1], 0.5, color=COLOR["ink"])
        axes.text(1.24 * reached.max(), len(steps), f"{reached[-1]:.2f}×", va="center",
                  ha="right", fontweight="bold")  # fmt: skip
        axes.axvline(1, color=COLOR["ink"], linestyle=":", linewidth=1.4)
        axes.set_yticks(range(len(steps) + 1), [*steps, "measured"])
        axes.set_ylim(len(steps) + 0.5, -0.5)
        axes.set_xlim(0, 1.25 * reached.max())
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("speedup over plain decoding (×)")
    rows = ", ".join(f"{name} {factor:.3f}" for name, factor in steps.items())
    return ThemedFigure(
        "residual-steps", claim, f"{rows}; measured {residual.measured:.2f}.", figure
    )  # fmt: skip
