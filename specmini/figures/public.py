"""Figures of what others measured against batch: a public grid, and tables of papers."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from specmini.figures.speedup import LOSING
from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.record.grid_forecast import GridForecast
from specmini.record.table_forecast import TableForecast
from specmini.record.vllm_grid import GridCell, cache_pool, plain_cells, speculative_cells


def grid_speedups(forecast: GridForecast, draft_length: int) -> ThemedFigure:
    """Speedup of a token against concurrency, measured and foretold, a line for each drafter.

    Args:
        forecast: of the public grid.
        draft_length: K of the cells that are drawn.

    Raises:
        ValueError: no cell has this K.
    """
    _need_length(draft_length, forecast.cells)
    foretold = forecast.tpot_speedup
    looks = line_looks("forecast.cost_ratio", len(forecast.cost_ratio))
    close, drawn, parts = 0, 0, []
    rows = {}
    for draft in forecast.cost_ratio:
        places = [
            place
            for place, cell in enumerate(forecast.cells)
            if (cell.draft, cell.draft_length) == (draft, draft_length)
        ]
        measured = np.array([forecast.cells[place].tpot_speedup for place in places])
        rows[draft] = ([forecast.cells[p].concurrency for p in places], measured, foretold[places])
        close += int((np.abs(foretold[places] / measured - 1) <= 0.1).sum())
        drawn += len(places)
    claim = (
        f"Foretold from plain runs: {close} of {drawn} speedups at K = {draft_length} "
        f"are within 10 % of the measured"
    )
    with canvas(claim, height=330) as (figure, [axes]):
        _concurrency_axis(axes, rows[next(iter(rows))][0])
        for (draft, (asked, measured, told)), (role, style, marker) in zip(
            rows.items(), looks, strict=True
        ):
            axes.plot(asked, told, style, color=COLOR[role])
            axes.plot(asked, measured, marker, color=COLOR[role], markersize=6, label=draft)
            listed = ", ".join(
                f"{at}: {seen:.2f}, {said:.2f}"
                for at, seen, said in zip(asked, measured, told, strict=True)
            )
            parts.append(f"{draft}: {listed}")
        axes.set_ylim(0, 1.08 * max(max(*seen, *said) for _, seen, said in rows.values()))
        axes.set_ylabel("speedup of a token (×)")
        axes.legend(loc="lower left", fontsize=10, title="measured; line: foretold",
                    title_fontsize=10)  # fmt: skip
    return ThemedFigure(
        "grid-speedups",
        claim,
        f"Speedup of a token against concurrency; measured, then foretold. {'; '.join(parts)}.",
        figure,
    )


def grid_errors(forecasts: Mapping[str, GridForecast]) -> ThemedFigure:
    """Median error against the tokens that a verification holds, a line for each forecast.

    Args:
        forecasts: 1 to 4 forecasts of the grid by label; the title tells of the first.

    Raises:
        ValueError: no forecast, or too many to tell apart.
    """
    looks = line_looks("forecasts", len(forecasts))
    first = next(iter(forecasts.values()))
    overall = first.summary(np.ones(len(first.cells), dtype=bool))
    groups = first.by_tokens()
    last = list(groups)[-1]
    claim = (
        f"Median error: {overall.median:.1%} over all {overall.cells} cells, "
        f"{groups[last].median:.0%} where a check holds {last} tokens"
    )
    places, parts = np.arange(len(groups)), []
    with canvas(claim, height=320) as (figure, [axes]):
        for (label, forecast), (role, style, marker) in zip(forecasts.items(), looks, strict=True):
            medians = [100 * one.median for one in forecast.by_tokens().values()]
            axes.plot(places, medians, style + marker, color=COLOR[role], markersize=6,
                      label=label)  # fmt: skip
            parts.append(f"{label}: {', '.join(f'{value:.1f}' for value in medians)}")
        axes.set_xticks(
            places, [f"{name}\n({one.cells} cells)" for name, one in groups.items()], fontsize=9.5
        )
        axes.set_ylim(0, None)
        axes.set_xlabel("tokens in a verification, concurrency × (K + 1)")
        axes.set_ylabel("median error (%)")
        axes.legend(loc="upper left", fontsize=10)
    return ThemedFigure(
        "grid-errors",
        claim,
        f"Median error in percent, by tokens in a verification ({'; '.join(groups)}). "
        f"{'. '.join(parts)}.",
        figure,
    )


def tokens_and_throughput(draft: str, draft_length: int) -> ThemedFigure:
    """One setting told by a token's time and by the server's output, and what parts the two.

    The second panel has the requests that decode at once, and the most that fit into memory.

    Args:
        draft: one of ``vllm_grid.drafters``.
        draft_length: K of the cells that are drawn.

    Raises:
        ValueError: the grid has no such cells.
    """
    cells = [one for one in speculative_cells(draft) if one.draft_length == draft_length]
    _need_length(draft_length, speculative_cells(draft))
    plain = plain_cells()
    asked = [cell.concurrency for cell in cells]
    token = [cell.tpot_speedup for cell in cells]
    server = [cell.throughput_speedup for cell in cells]
    claim = (
        f"At concurrency {asked[-1]} a token comes {token[-1]:.2f} times as fast, "
        f"and the server puts out {server[-1]:.2f} times as much"
    )
    fitting = cache_pool(draft).sequences
    with canvas(claim, height=320, columns=2) as (figure, [ratio, batch]):
        _concurrency_axis(ratio, asked, loss=False)
        ratio.axhline(1, color=COLOR["muted"], linewidth=1.2)
        ratio.plot(asked, token, "-o", color=COLOR["accepted"], markersize=5, label="a token")
        ratio.plot(asked, server, "--s", color=COLOR["rejected"], markersize=5,
                   label="the server")  # fmt: skip
        ratio.set_ylim(0, 1.08 * max(token + server))
        ratio.set_ylabel("speedup (×)")
        ratio.legend(loc="lower left", fontsize=9.5)
        _concurrency_axis(batch, asked, loss=False)
        batch.set_yscale("log", base=2)
        batch.axhline(fitting, color=COLOR["draft"], linestyle=":", linewidth=1.4)
        batch.text(1, fitting * 1.08, f"{fitting:.0f} fit", va="bottom", color=COLOR["draft"])
        batch.plot(asked, [cell.running for cell in plain], "--s", color=COLOR["target"],
                   markersize=5, label="plain")  # fmt: skip
        batch.plot(asked, [cell.running for cell in cells], "-o", color=COLOR["draft"],
                   markersize=5, label="with drafts")  # fmt: skip
        ticks = [1, 4, 16, 64, 256]
        batch.set_yticks(ticks, [str(tick) for tick in ticks])
        batch.minorticks_off()
        batch.set_ylabel("requests decoding")
        batch.legend(loc="lower right", fontsize=9.5)
    listed = "; ".join(
        f"{cell.concurrency}: {cell.tpot_speedup:.2f}, {cell.throughput_speedup:.2f}, "
        f"{other.running:.0f}, {cell.running:.0f}"
        for cell, other in zip(cells, plain, strict=True)
    )
    return ThemedFigure(
        "tokens-and-throughput",
        claim,
        f"{draft} drafting {draft_length} tokens for Qwen3-32B. By concurrency: speedup of a "
        f"token, of the server's output, requests decoding without and with drafts: {listed}. "
        f"Memory has room for {fitting:.0f} requests with drafts.",
        figure,
    )


def table_overlay(name: str, forecasts: Mapping[str, Mapping[str, TableForecast]]) -> ThemedFigure:
    """Published speedups with what was foretold of them, a panel for each series.

    Args:
        name: identifier of the figure.
        forecasts: 1 or 2 panels by title, each with 1 to 3 forecasts of one series by label.

    Raises:
        ValueError: too many or no panels or forecasts, or a panel of several series.
    """
    if not 1 <= len(forecasts) <= 2:
        raise ValueError(f"forecasts must hold 1 or 2 panels, got {len(forecasts)}")
    roles = (("target", "--", "s"), ("recovered", "-.", "^"), ("draft", ":", "D"))
    errors: dict[str, list[float]] = {}
    parts = []
    for title, panel in forecasts.items():
        if not 1 <= len(panel) <= len(roles):
            raise ValueError(f"a panel must hold 1 to {len(roles)} forecasts, got {len(panel)}")
        if len({one.series.name for one in panel.values()}) > 1:
            raise ValueError(f"a panel must hold one series, {title!r} has several")
        for label, one in panel.items():
            errors.setdefault(label, []).extend(one.errors.tolist())
    told = ", ".join(
        f"{label} {100 * float(np.median(values)):+.0f} %" for label, values in errors.items()
    )
    claim = f"Median error, foretold from the first row: {told}"
    highest = max(
        max(*one.series.speedup, *one.speedup)
        for panel in forecasts.values()
        for one in panel.values()
    )
    with canvas(claim, height=330, columns=len(forecasts), sharey=True) as (figure, axes):
        for place, (title, panel) in zip(axes, forecasts.items(), strict=True):
            series = next(iter(panel.values())).series
            _concurrency_axis(place, series.batch)
            place.plot(series.batch, series.speedup, "-o", color=COLOR["accepted"], markersize=6,
                       label="as printed")  # fmt: skip
            for (label, one), (role, style, marker) in zip(panel.items(), roles, strict=False):
                place.plot(series.batch, one.speedup, style + marker, color=COLOR[role],
                           markersize=5, label=label)  # fmt: skip
                listed = ", ".join(
                    f"{size}: {seen:g}, {said:.2f}"
                    for size, seen, said in zip(
                        series.batch, series.speedup, one.speedup, strict=True
                    )
                )
                parts.append(f"{series.name} ({series.source}), printed and {label}: {listed}")
            place.set_title(title, fontsize=11)
            place.set_xlabel("batch size")
            place.set_ylim(0, 1.08 * highest)
        axes[0].set_ylabel("speedup over plain decoding (×)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center",
                      ncols=3, fontsize=9.5, columnspacing=1, handlelength=1.8)  # fmt: skip
    return ThemedFigure(name, claim, f"Speedup by batch size. {'; '.join(parts)}.", figure)


def _concurrency_axis(axes: Axes, sizes: Sequence[int], loss: bool = True) -> None:
    """Powers of two from the smallest to the largest across; below 1 it is marked as a loss."""
    axes.set_xscale("log", base=2)
    if loss:
        axes.axhspan(0, 1, **LOSING)
    low, high = min(sizes), max(sizes)
    axes.set_xlim(low / 1.15, high * 1.15)
    ticks = [tick for tick in (1, 4, 16, 64, 256) if low <= tick <= high]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("requests in flight")


def _need_length(draft_length: int, cells: Sequence[GridCell]) -> None:
    lengths = sorted({cell.draft_length for cell in cells})
    if draft_length not in lengths:
        raise ValueError(f"draft_length must be one of {lengths}, got {draft_length!r}")
