"""``specmini export``: the trained pair as folders that other engines load."""

from __future__ import annotations

import argparse
from pathlib import Path

from specmini.commands.setting import Commands

__all__ = ["add", "answered"]


def add(commands: Commands) -> None:
    """Add the command to those of ``specmini``."""
    one = commands.add_parser("export", help="write the pair in Hugging Face's layout")
    one.add_argument("folder", type=Path, help="gets a folder for the target, one for the draft")
    one.set_defaults(answer=answered)


def answered(given: argparse.Namespace) -> str:
    """What the command prints."""
    try:
        from specmini.hugging_face.folder import write_pair
        from specmini.pair import load_pair
    except ImportError as error:
        raise ValueError(f"export needs {error.name}: pip install specmini[lab]") from None
    try:
        target, draft = write_pair(given.folder, load_pair())
    except OSError as error:
        raise ValueError(f"cannot write {str(given.folder)!r}: {error}") from None
    return f"target {target}\ndraft  {draft}"
