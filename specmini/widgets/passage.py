"""The text that the editor and her junior write in the round player."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def _read() -> dict[str, Any]:
    source = resources.files("specmini.widgets").joinpath("src", "passage.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def text() -> str:
    """Return the passage: pairs ``word/guess``, the editor's word and a plausible wrong guess."""
    return " ".join(_read()["text"].split())


def examples() -> list[dict[str, Any]]:
    """Return a few rounds from the beginning of the passage, in the form of a recording."""
    return [dict(example) for example in _read()["examples"]]
