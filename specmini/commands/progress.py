"""A bar on the error stream, for people only: what is piped or logged sees nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["progress_bar"]

WIDTH = 24  # characters


def progress_bar(unit: str) -> Callable[[int, int], None] | None:
    """What draws a bar when it is told how much is done, and of how much; None without a terminal.

    Args:
        unit: of what is done, in the plural.
    """
    if not sys.stderr.isatty():
        return None

    def report(done: int, of: int) -> None:
        bar = "#" * round(WIDTH * done / of)
        end = "\n" if done == of else ""
        print(f"\r[{bar:<{WIDTH}}] {done:,} of {of:,} {unit}", end=end, file=sys.stderr, flush=True)

    return report
