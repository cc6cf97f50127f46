"""The flash cards: gathered from the chapters where they say it, from ``cards.yaml`` beyond that.

A memory aid and every red flag that can be understood away from its page become a card. The rest
asks for definitions, formulas and numbers, and each number is computed by a check.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from specmini import checks
from specmini.practice import gather, source

__all__ = ["Card", "cards", "written"]

# A block that points at its page cannot stand on a card.
POINTS_AT_ITS_PAGE: Final = re.compile(
    r"\babove\b|\bbelow\b|\bthe (?:first )?(?:table|figure|example|grid)\b|\{eq\}|this page",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Card:
    """A question with its answer, in MyST Markdown.

    Attributes:
        id: unique among the cards; it never changes, for progress and Anki notes hang on it.
        chapter: the page that shows the answer.
        question: what is asked.
        answer: what is right.
        anchor: where on the page the answer stands; empty for the page itself.
        checks: calls that compute the answer's numbers, see ``specmini.practice.stated``.
    """

    id: str
    chapter: str
    question: str
    answer: str
    anchor: str = ""
    checks: tuple[str, ...] = ()


@cache
def cards(book: Path = gather.BOOK) -> tuple[Card, ...]:
    """Return all cards, chapter by chapter: memory aid, what is written for it, red flags.

    Raises:
        ValueError: a file of the practice wing breaks its schema, or a card names no chapter.
    """
    ours = written(book)
    titles = gather.chapter_titles(book)
    found: list[Card] = []
    for chapter, title in titles.items():
        blocks = [block for block in gather.blocks(book=book) if block.chapter == chapter]
        found += [_memory_card(block, title) for block in blocks if block.kind == "memory"]
        found += [card for card in ours if card.chapter == chapter]
        found += [
            _flag_card(block)
            for block in blocks
            if block.kind == "red-flag"
            and not POINTS_AT_ITS_PAGE.search(f"{block.title} {block.text}")
        ]
    return tuple(found)


def written(book: Path = gather.BOOK) -> tuple[Card, ...]:
    """Return the cards of ``cards.yaml``.

    Raises:
        ValueError: the file breaks its schema, or a card names no chapter.
    """
    return tuple(
        Card(
            item["id"],
            checks.choice(f"chapter of {item['id']!r}", item["chapter"], gather.chapters(book)),
            item["question"],
            item["answer"],
            checks=tuple(item.get("checks", ())),
        )
        for item in source.read("cards")
    )


def _memory_card(block: gather.Block, title: str) -> Card:
    start = re.match(r"\*\*(.+?)\*\*", block.text)
    hint = f" It begins “{start[1].split()[0].strip(',.')} …”." if start else ""
    question = f"The memory aid of “{title}”?{hint}"
    return Card(block.id, block.chapter, question, block.text, block.id)


def _flag_card(block: gather.Block) -> Card:
    question = f"What is wrong with saying: “{block.title}”"
    return Card(block.id, block.chapter, question, block.text, block.id)
