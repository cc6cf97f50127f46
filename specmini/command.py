"""The command line; ``python -m specmini`` is the same as ``specmini``.

Exit codes: 0 for an answer, 1 for an audit that found a difference, 2 for input that cannot be
used, with one line that says why, 130 where Ctrl-C ended it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from specmini.commands import advise, audit, export, measure, metrics

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: words after the command's name; those of the process if not given.

    Returns:
        The exit code.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        text = given.answer(given)
    except ValueError as error:
        told = " ".join(str(error).split())  # what a server or a reader's code says may have lines
        print(f"specmini {given.command}: {told}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nspecmini {given.command}: stopped before it had an answer", file=sys.stderr)
        return 130
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(given.code)


class _OneLine(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of the commands."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help lists the options)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _OneLine(prog="specmini", description="When does speculative decoding win?")
    parser.set_defaults(code=0)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (advise, metrics, audit, measure, export):
        command.add(commands)
    return parser
