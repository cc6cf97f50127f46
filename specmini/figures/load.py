"""Figures of a simulated server: what speculation does to its queue."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from specmini.figures.style import COLOR, ThemedFigure, canvas, line_looks
from specmini.load.service import Service

__all__ = ["requests_over_time"]


def requests_over_time(services: Mapping[str, Service], rate: float) -> ThemedFigure:
    """Requests that wait or run against time, while requests come, for every policy.

    Args:
        services: 2 to 4, by name, of the same arrivals.
        rate: arrivals a second that they were given, for the words.

    Raises:
        ValueError: too few or too many to tell apart, or other arrivals.
    """
    looks = line_looks("services", len(services))
    first, *others = (one.workload.arrivals for one in services.values())
    if not others or not all(np.array_equal(first, other) for other in others):
        raise ValueError("services must be two or more, of the same arrivals")
    times = np.linspace(float(first[0]), float(first[-1]), 200)  # (T,) s
    present = {
        name: first.searchsorted(times, side="right")
        - np.sort(one.finish).searchsorted(times, side="right")
        for name, one in services.items()
    }
    last = {name: int(counts[-1]) for name, counts in present.items()}
    most, least = max(last, key=lambda n: last[n]), min(last, key=lambda n: last[n])
    span = times[-1] - times[0]
    claim = (
        f"At {rate:.0f} arrivals a second {last[most]} requests are in the server after "
        f"{span:.0f} s with “{most}”, {last[least]} with “{least}”"
    )
    with canvas(claim, height=320) as (figure, [axes]):
        for (name, counts), (role, style, _) in zip(present.items(), looks, strict=True):
            axes.plot(times - times[0], counts, style, color=COLOR[role], label=name)
        axes.set_xlim(0, None)
        axes.set_ylim(0, None)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("requests waiting or running")
        axes.legend(fontsize=10)
    told = "; ".join(
        f"{name}: {counts[len(counts) // 2]} halfway, {counts[-1]} at the end"
        for name, counts in present.items()
    )
    return ThemedFigure(
        "requests-over-time",
        claim,
        f"Requests that wait or run, over {span:.0f} seconds of arrivals. {told}.",
        figure,
    )
