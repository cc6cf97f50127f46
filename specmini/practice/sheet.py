"""The sixty-second sheet: every chapter's memory aid, and a sentence not to say.

Gathered from the chapters. ``Sheet`` shows it on a page, ``specmini.practice.sheet_pdf`` on paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from specmini.practice import gather, markup
from specmini.practice.cards import POINTS_AT_ITS_PAGE

__all__ = ["Line", "Sheet", "lines", "symbols"]

SYMBOLS: Final = (r"\alpha", "K", "c", "v", "E", "r", r"\rho", "e", "S")


@dataclass(frozen=True)
class Line:
    """What the sheet keeps of one chapter; texts are MyST Markdown.

    Attributes:
        chapter: name of the page.
        title: its title.
        memory: its memory aid.
        flag: what not to say.
        why: what is wrong with it.
        flag_id: anchor of that red flag on the page.
    """

    chapter: str
    title: str
    memory: str
    flag: str
    why: str
    flag_id: str


def lines(book: Path = gather.BOOK) -> tuple[Line, ...]:
    """Return a line for each chapter in reading order, with its shortest red flag.

    Only red flags that can be understood away from their page count.

    Raises:
        ValueError: a chapter has no such red flag.
    """
    found: list[Line] = []
    for chapter, title in gather.chapter_titles(book).items():
        blocks = [block for block in gather.blocks(book=book) if block.chapter == chapter]
        memory = next(block for block in blocks if block.kind == "memory")
        alone = [
            block
            for block in blocks
            if block.kind == "red-flag" and not POINTS_AT_ITS_PAGE.search(block.text)
        ]
        if not alone:
            raise ValueError(f"{chapter} must have a red flag that stands alone, got none")
        flag = min(alone, key=lambda block: len(block.title + block.text))
        found.append(Line(chapter, title, memory.text, flag.title, flag.text, flag.id))
    return tuple(found)


def symbols(book: Path = gather.BOOK) -> dict[str, str]:
    """Return the symbols of the sheet as TeX, with their names; the notation page has them."""
    known = gather.notation(book)
    return {symbol: known[symbol][0].split("(")[0].replace("_", " ") for symbol in SYMBOLS}


class Sheet:
    """The sheet on a page; it prints on one side."""

    def __init__(self) -> None:
        self.lines = lines()

    @property
    def said(self) -> list[str]:
        """The left side as plain text."""
        return [f"{line.title}: {markup.to_text(line.memory)}" for line in self.lines]

    @property
    def not_said(self) -> list[str]:
        """The right side as plain text."""
        return [f"“{markup.to_text(line.flag)}” {markup.to_text(line.why)}" for line in self.lines]

    def __repr__(self) -> str:
        return "\n".join([*self.said, *self.not_said])

    def _repr_html_(self) -> str:
        names = "".join(
            f"<li>{markup.mathml(symbol, display=False)} {escape(name)}</li>"
            for symbol, name in symbols().items()
        )
        said = "".join(
            f'<dt><a href="{line.chapter}.html">{escape(line.title)}</a></dt>'
            f"<dd>{markup.to_html(line.memory, line.chapter)}</dd>"
            for line in self.lines
        )
        not_said = "".join(
            f'<dt><a href="{line.chapter}.html#{line.flag_id}">'
            f"✗ “{_inline(line.flag, line.chapter)}”</a></dt>"
            f"<dd>{markup.to_html(line.why, line.chapter)}</dd>"
            for line in self.lines
        )
        return (
            f'<div class="specmini-sheet"><ul class="symbols">{names}</ul>'
            f'<div class="sides"><div><p class="side">Remember</p>'
            f"<dl>{said}</dl></div><div>"
            f'<p class="side">Don\'t say</p><dl>{not_said}</dl></div></div></div>'
        )


def _inline(text: str, page: str) -> str:
    return markup.to_html(text, page).removeprefix("<p>").removesuffix("</p>")
