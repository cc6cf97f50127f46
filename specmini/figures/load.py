"""Figures of a simulated server: what speculation does to latency as requests come faster."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.load.sweep import PLAIN_NAME, Sweep

__all__ = ["gain_by_rate", "tail_by_rate"]


def gain_by_rate(loads: Sweep) -> ThemedFigure:
    """Median latency without speculation over that with it, against the arrival rate.

    Args:
        loads: at two rates or more, with 1 to 4 policies besides plain decoding.

    Raises:
        ValueError: no policy, or too many to tell apart.
    """
    policies = [name for name in loads.services if name != PLAIN_NAME]
    looks = line_looks("loads", len(policies))
    claim = _flips(loads, policies)
    said = []
    with canvas(claim, height=320) as (figure, [axes]):
        axes.axhline(1, color=COLOR["ink"], linewidth=0.8)
        for name, (role, style, marker) in zip(policies, looks, strict=True):
            gain = loads.gain(name)
            axes.plot(loads.rates, gain, style + marker, color=COLOR[role], markersize=5,
                      label=name)  # fmt: skip
            said.append(f"{name}: {_listed(loads, gain)}")
        axes.set_ylim(0, None)
        axes.set_xlim(0, None)
        axes.set_xlabel("arrivals (requests per second)")
        axes.set_ylabel("speedup of the median request (×)")
        axes.legend(fontsize=10, title="draft length", title_fontsize=10)
    return ThemedFigure(
        "gain-by-rate",
        claim,
        "Median time from arrival to last token, plain over speculative, at arrivals per second. "
        f"{'; '.join(said)}.",
        figure,
    )


def tail_by_rate(loads: Sweep, share: float = 0.95) -> ThemedFigure:
    """A high quantile of latency against the arrival rate, for every policy.

    Args:
        loads: at two rates or more, with at most 3 policies besides plain decoding.
        share: quantile over requests, in [0, 1].

    Raises:
        ValueError: too many policies to tell apart.
    """
    names = list(loads.services)
    looks = line_looks("loads", len(names))
    last = {name: float(loads.quantiles(name, "latency", share)[-1]) for name in names}
    slowest = max(last, key=lambda name: last[name])
    claim = (
        f"At {loads.rates[-1]:.0f} requests a second {100 * (1 - share):.0f}% of the requests wait "
        f"longer than {last[slowest]:.1f} s with {slowest}, {last[PLAIN_NAME]:.1f} s without drafts"
    )
    if slowest == PLAIN_NAME:
        claim = f"At {loads.rates[-1]:.0f} requests a second plain decoding is the slowest of all"
    said = []
    with canvas(claim, height=320) as (figure, [axes]):
        for name, (role, style, marker) in zip(names, looks, strict=True):
            times = loads.quantiles(name, "latency", share)
            axes.plot(loads.rates, times, style + marker, color=COLOR[role], markersize=5,
                      label=name)  # fmt: skip
            said.append(f"{name}: {_listed(loads, times)}")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(0, None)
        axes.set_xlabel("arrivals (requests per second)")
        axes.set_ylabel(f"latency, {100 * share:.0f}th percentile (s)")
        axes.legend(fontsize=10)
    return ThemedFigure(
        "tail-by-rate",
        claim,
        f"Seconds from arrival to last token that {100 * share:.0f} percent of the requests stay "
        f"below, at arrivals per second. {'; '.join(said)}.",
        figure,
    )


def _listed(loads: Sweep, values: np.ndarray) -> str:
    """Values at their rates, in words."""
    return ", ".join(
        f"{rate:.0f}: {value:.2f}" for rate, value in zip(loads.rates, values, strict=True)
    )


def _flips(loads: Sweep, policies: list[str]) -> str:
    """Up to which arrival rate each policy is the faster one."""
    told = []
    for name in policies:
        flip = loads.flip(name)
        if math.isinf(flip):
            told.append(f"{name} wins at every rate shown")
        elif flip:
            told.append(f"{name} wins up to {flip:.0f} requests a second and loses beyond")
        else:
            told.append(f"{name} never wins")
    claim = "; ".join(told)
    return claim[0].upper() + claim[1:]
