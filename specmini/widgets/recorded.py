"""Recorded texts as the round player takes them: checked, counted, and told in words."""

from __future__ import annotations

import math
from typing import Any

from specmini.widgets.settings import refuse, with_keys

KINDS = ("prose", "code")
TEXT_KEYS = ("kind", "about", "prompt", "plain_ms", "rounds")
ROUND_KEYS = ("drafted", "accepted", "next", "ms")


def checked(texts: Any) -> list[dict[str, Any]]:
    """Return a copy of recorded texts.

    Raises:
        SettingError: says what is malformed, and where.
    """
    found = [_checked_text(f"recording[{index}]", given) for index, given in enumerate(texts)]
    kinds = [text["kind"] for text in found]
    if len(set(kinds)) < len(kinds):
        refuse("recording", "hold each kind once", kinds)
    return found


def tokens(rounds: list[dict[str, Any]]) -> int:
    """Count the tokens that some rounds wrote."""
    return sum(entry["accepted"] + 1 for entry in rounds)


def visible(token: str) -> str:
    """Return a token with symbols for line breaks, and for blanks if it has nothing else."""
    marked = token.replace("\n", "⏎")
    return marked if token.strip() else marked.replace(" ", "␣")


def in_words(text: dict[str, Any]) -> str:
    """Return a sentence about a recorded text: its tokens, rounds and times."""
    written, rounds = tokens(text["rounds"]), len(text["rounds"])
    seconds = sum(entry["ms"][2] for entry in text["rounds"])
    plainly = written * text["plain_ms"]
    return (
        f"{text['kind'].capitalize()}: {written} tokens in {rounds} rounds, "
        f"{written / rounds:.2f} tokens per round; {seconds:.1f} ms, where plain decoding takes "
        f"{plainly:.1f} ms, so the speedup is {plainly / seconds:.2f}×."
    )


def _checked_text(name: str, given: Any) -> dict[str, Any]:
    text = with_keys(name, given, TEXT_KEYS)
    if text["kind"] not in KINDS:
        refuse(f"{name}['kind']", f"be one of {', '.join(KINDS)}", text["kind"])
    for key in ("about", "prompt"):
        if not isinstance(text[key], str):
            refuse(f"{name}[{key!r}]", "be a string", text[key])
    if not _is_time(text["plain_ms"]) or text["plain_ms"] == 0:
        refuse(f"{name}['plain_ms']", "be a number in (0, inf)", text["plain_ms"])
    if not isinstance(text["rounds"], (list, tuple)) or not text["rounds"]:
        refuse(f"{name}['rounds']", "be a list of at least one round", text["rounds"])
    rounds = [
        _checked_round(f"{name}['rounds'][{index}]", entry)
        for index, entry in enumerate(text["rounds"])
    ]
    return {**text, "rounds": rounds}


def _checked_round(name: str, given: Any) -> dict[str, Any]:
    entry = with_keys(name, given, ROUND_KEYS)
    drafted, accepted, times = entry["drafted"], entry["accepted"], entry["ms"]
    if not isinstance(drafted, (list, tuple)) or not all(isinstance(x, str) for x in drafted):
        refuse(f"{name}['drafted']", "be a list of strings", drafted)
    whole = isinstance(accepted, int) and not isinstance(accepted, bool)
    if not whole or not 0 <= accepted <= len(drafted):
        refuse(f"{name}['accepted']", f"be a whole number in [0, {len(drafted)}]", accepted)
    if not isinstance(entry["next"], str):
        refuse(f"{name}['next']", "be a string", entry["next"])
    three = isinstance(times, (list, tuple)) and len(times) == 3 and all(map(_is_time, times))
    if not three or times[2] <= 0 or not times[0] + times[1] <= times[2] + 0.01:
        refuse(f"{name}['ms']", "be three times, the last at least the sum of the others", times)
    return {**entry, "drafted": list(drafted), "ms": list(times)}


def _is_time(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0
