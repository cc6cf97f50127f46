"""Contexts as the overlap explorer takes them: checked, and told in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from specmini.recording import contexts
from specmini.recording.contexts import Context
from specmini.widgets.settings import SettingError, refuse, with_keys

KEYS = ("key", "name", "before", "tokens", "logits")
MOST_TOKENS = 8


def checked(given: Any) -> list[Context]:
    """Return a copy of some contexts.

    Raises:
        SettingError: says what is malformed, and where.
    """
    if not isinstance(given, (list, tuple)) or not given:
        refuse("contexts", "be a list of at least one context", given)
    found = [_checked_context(f"contexts[{index}]", one) for index, one in enumerate(given)]
    keys = [context["key"] for context in found]
    if len(set(keys)) < len(keys):
        refuse("contexts", "hold each key once", keys)
    return found


def visible(token: str) -> str:
    """Return a token with symbols for its blanks and line breaks."""
    return token.replace("\n", "⏎").replace(" ", "␣")


def _checked_context(name: str, given: Any) -> Context:
    given = with_keys(name, given, KEYS)
    for key in ("key", "name", "before", "logits"):
        if not isinstance(given[key], str):
            refuse(f"{name}[{key!r}]", "be a string", given[key])
    tokens = given["tokens"]
    strings = isinstance(tokens, (list, tuple)) and all(isinstance(one, str) for one in tokens)
    if not strings or not 1 <= len(tokens) <= MOST_TOKENS - 1:
        refuse(f"{name}['tokens']", f"be a list of 1 to {MOST_TOKENS - 1} strings", tokens)
    context = Context(**{**given, "tokens": list(tokens)})  # type: ignore[typeddict-item]
    try:
        logits, counts = contexts.pairs(context)
    except ValueError as error:
        raise SettingError(f"{name}['logits']: {error}") from None
    if len(logits) < len(tokens) or (counts[: len(tokens)] > 1).any():
        refuse(f"{name}['logits']", "begin with one pair for each token", given["logits"])
    if (counts[np.argmax(logits, axis=0)] > 1).any():
        refuse(f"{name}['logits']", "not share the pair of a favorite", given["logits"])
    return context
