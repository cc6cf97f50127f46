"""The log of a run: one line of JSON now and then, kept in step with what was saved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from specmini.files import replaced

__all__ = ["Progress", "append", "forget_after"]


@dataclass(frozen=True)
class Progress:
    """Where a run stands: a line of its log.

    Attributes:
        step: steps taken.
        tokens: tokens predicted.
        loss: mean nats a token since the line before, on training windows.
        seconds: time spent in steps, over all sessions.
        cpu_seconds: processor time spent in steps.
        prose: on held-out prose, bits per byte, or tokens a round of a head; None where not
            measured.
        code: the same on held-out code.
    """

    step: int
    tokens: int
    loss: float
    seconds: float
    cpu_seconds: float
    prose: float | None = None
    code: float | None = None


def append(path: Path, line: Progress) -> None:
    """Add a line to a log."""
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(asdict(line)) + "\n")


def forget_after(path: Path, step: int) -> None:
    """Drop the lines of steps that were taken after the last save and are taken again.

    So is a line that a crash cut short. The file is replaced in one step.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if (logged := _logged_step(line)) is not None and logged <= step]
    text = "".join(f"{line}\n" for line in kept)
    replaced(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def _logged_step(line: str) -> int | None:
    """The step of a line of the log, None if it is no whole line."""
    try:
        return int(json.loads(line)["step"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
