"""Chromium on this machine: where it is, and how it is started without a word to the network."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

__all__ = ["ARGUMENTS", "HOW_TO_GET", "NAMES", "find"]

HOW_TO_GET: Final = (
    "no Chromium: install it (apt install chromium), put it in the variable CHROMIUM, "
    "or run `playwright install chromium`"
)
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find(bundled: str) -> str | None:
    """The browser to use: CHROMIUM, one on the PATH, or Playwright's own if it is there.

    Args:
        bundled: where Playwright would put its own.

    Returns:
        None if there is none; ``HOW_TO_GET`` says what to do about it.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or (bundled if Path(bundled).exists() else None)
