"""A bar on the error stream, for people only: what is piped or logged sees nothing of it."""

from __future__ import annotations

import math
import sys
from typing import Protocol

__all__ = ["ProgressBar", "progress_bar"]

WIDTH = 24  # characters


class ProgressBar(Protocol):
    """What draws a bar when it is told what is done, of how much, and the seconds it took."""

    def __call__(self, done: int, of: int, spent: float = 0.0, /) -> None:
        """Draw it."""


def progress_bar(unit: str, seconds: float = math.inf) -> ProgressBar | None:
    """What draws a bar, full when all is done or the time is over; None without a terminal.

    Args:
        unit: of what is done, in the plural.
        seconds: after which nothing more is begun.
    """
    if not sys.stderr.isatty():
        return None

    def report(done: int, of: int, spent: float = 0.0, /) -> None:
        share = 1.0 if spent >= seconds else max(done / of, spent / seconds)
        bar = "#" * round(WIDTH * share)
        words = f"{done:,} of {of:,} {unit}" + (f", {spent:.0f} s" if spent else "")
        end = "\n" if share == 1 else ""
        print(f"\r[{bar:<{WIDTH}}] {words}", end=end, file=sys.stderr, flush=True)

    return report
