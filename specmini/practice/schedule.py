"""When a card is due: the SM-2 algorithm, in whole numbers, so that every host agrees to the day.

Source: P. A. Wozniak, Optimization of learning (1990), section 3.2, "Application of a computer to
improve the results obtained in working with the SuperMemo method",
https://www.supermemo.com/archives1990-2015/english/ol/sm2. Three things are ours: four grades
stand for the qualities 2 to 5, an interval ends at a century, and at most so many new cards are
begun on a day.

Days are counted from 1970-01-01 in the reader's own time zone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, NoReturn, get_args

from specmini import checks

__all__ = [
    "FORMAT",
    "Grade",
    "Memory",
    "dumps",
    "grades",
    "loads",
    "memories_from",
    "queue",
    "review",
]

Grade = Literal["again", "hard", "good", "easy"]
grades: Final[tuple[Grade, ...]] = get_args(Grade)

QUALITY: Final[dict[Grade, int]] = {"again": 2, "hard": 3, "good": 4, "easy": 5}
# In hundredths: what 0.1 − (5 − quality)(0.08 + (5 − quality) 0.02) comes to. A failed card keeps
# its ease and starts over.
EASE_GAIN: Final[dict[Grade, int]] = {"again": 0, "hard": -14, "good": 0, "easy": 10}
FIRST_EASE: Final = 250
RANGES: Final = {
    "repetitions": (0, 100_000),
    "ease": (130, 100_000),
    "interval": (1, 36_500),
    "last": (0, 1_000_000),
    "first": (0, 1_000_000),
}
FIRST_INTERVALS: Final = {1: 1, 2: 6}
FORMAT: Final = "specmini cards 1"
card_id: Final = re.compile(r"[a-z0-9-]{1,120}")


@dataclass(frozen=True)
class Memory:
    """What is remembered of one card.

    Attributes:
        repetitions: successful reviews in a row.
        ease: E-factor in hundredths, 130 or more.
        interval: days from the last review to the next.
        last: day of the last review.
        first: day of the first one.
        drill: whether it comes back on the day of the last review, because it was not yet good.
    """

    repetitions: int
    ease: int
    interval: int
    last: int
    first: int
    drill: bool

    @property
    def due(self) -> int:
        """Day of the next review."""
        return self.last + self.interval


def review(memory: Memory | None, grade: Grade, today: int) -> Memory:
    """Return what is remembered after a review.

    Args:
        memory: what was remembered; None for a new card.
        grade: how it went.
        today: day of the review.

    Returns:
        The new state. A card that comes back on the day of its review only leaves the drill, by
        good or easy; its next day stands.

    Raises:
        ValueError: an unknown grade, or a day before the last review.
    """
    checks.choice("grade", grade, grades)
    drill = QUALITY[grade] < 4
    if memory is None:
        memory = Memory(0, FIRST_EASE, 1, today, today, False)
    elif today < memory.last:
        raise ValueError(f"today must be at least the last review, {memory.last}, got {today}")
    elif memory.last == today:
        return replace(memory, drill=drill)
    ease = max(RANGES["ease"][0], memory.ease + EASE_GAIN[grade])
    if QUALITY[grade] < 3:
        return replace(memory, repetitions=0, interval=1, last=today, drill=drill)
    repetitions = memory.repetitions + 1
    grown = -(-memory.interval * ease // 100)  # rounded up, as the source asks
    interval = FIRST_INTERVALS.get(repetitions, min(grown, RANGES["interval"][1]))
    return replace(
        memory,
        repetitions=min(repetitions, RANGES["repetitions"][1]),
        ease=min(ease, RANGES["ease"][1]),
        interval=interval,
        last=today,
        drill=drill,
    )


def queue(
    memories: Mapping[str, Memory], cards: Sequence[str], today: int, new_per_day: int
) -> list[str]:
    """Return the cards to show today: those due, then new ones, then those to drill.

    Args:
        memories: what is remembered, by card; cards of other decks count as begun, too.
        cards: ids of the deck, in its order.
        today: the day.
        new_per_day: most cards begun on one day.

    Returns:
        Ids: due cards by day, new ones in the order of the deck, and those of today that were not
        yet good.
    """
    known = [(card, memories[card]) for card in cards if card in memories]
    due = [
        card for card, memory in sorted(known, key=lambda pair: pair[1].due) if memory.due <= today
    ]
    begun = sum(memory.first == today for memory in memories.values())
    new = [card for card in cards if card not in memories][: max(0, new_per_day - begun)]
    drill = [card for card, memory in known if memory.drill and memory.last == today]
    return due + new + drill


def dumps(memories: Mapping[str, Memory]) -> str:
    """Return what is remembered as JSON, cards in the order of their ids."""
    entries = {card: asdict(memories[card]) for card in sorted(memories)}
    return json.dumps({"format": FORMAT, "memories": entries}, separators=(",", ":"))


def loads(text: str) -> dict[str, Memory]:
    """Read what ``dumps`` wrote.

    Raises:
        ValueError: it is not; the message says what is wrong where.
    """

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    try:
        saved = json.loads(text, parse_int=float, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise ValueError("progress must be JSON, as the export writes it") from None
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise ValueError(f'progress must have the format "{FORMAT}"')
    return memories_from(saved.get("memories"))


def memories_from(entries: Any) -> dict[str, Memory]:
    """Return checked memories from plain values.

    Args:
        entries: card ids with the fields of a ``Memory`` each.

    Raises:
        ValueError: says what is wrong where, and what is allowed.
    """
    if not isinstance(entries, dict):
        raise ValueError("memories must be an object of cards")
    return {card: _memory(card, entry) for card, entry in entries.items()}


def _memory(card: str, entry: Any) -> Memory:
    if not card_id.fullmatch(card):
        raise ValueError("memories must have ids of small letters, digits and hyphens")
    names = [field.name for field in fields(Memory)]
    if not isinstance(entry, dict) or set(entry) != set(names):
        raise ValueError(f"memory of {card} must have the fields {', '.join(names)}")
    for name, (low, high) in RANGES.items():
        value = entry[name]
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not whole or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{name} of {card} must be a whole number in [{low}, {high}]")
    if not isinstance(entry["drill"], bool):
        raise ValueError(f"drill of {card} must be true or false")
    if entry["first"] > entry["last"]:
        raise ValueError(f"first of {card} must be at most its last, {int(entry['last'])}")
    numbers = {name: int(entry[name]) for name in RANGES}
    return Memory(**numbers, drill=entry["drill"])
