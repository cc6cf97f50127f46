"""Writes a file in one step, so that nobody ever finds half of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["replaced"]


def replaced(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside its place, then put it there; on an error nothing changes.

    Args:
        path: where the file shall be.
        write: writes it to the path that it is given, which ends as ``path`` does.
    """
    unfinished = path.with_name(f".part-{path.name}")
    try:
        write(unfinished)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
