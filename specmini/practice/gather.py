"""The typed blocks of the chapters, each under an id of its own.

A block stays where it is: a notebook must stand alone, and the numbers in it are computed on its
page. Practice pages gather the blocks from there, so nothing is written twice.

A block's id is its ``:name:``. A block without one gets its kind, its chapter and, where a chapter
has several of the kind, the words of its title: ``takeaways-speedup``,
``followup-speedup-how-does-a-interact-with-k``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args

import yaml

from specmini import checks

__all__ = ["BOOK", "Block", "Kind", "blocks", "chapter_titles", "chapters", "notation", "parse"]

BOOK: Final = Path(__file__).parents[2] / "book"

Kind = Literal["answer", "red-flag", "memory", "takeaways", "systems", "followup"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
QUESTIONS: Final = "Follow-up questions"  # the section whose folded blocks are follow-ups
# What a chapter cannot do without; a page that lacks one is no chapter.
PARTS: Final = ("red-flag", "memory", "takeaways")

directive = re.compile(
    r"^:::\{(admonition|dropdown)\} (?P<title>.+)\n(?P<options>(?::[\w-]+:.*\n)*)\n?"
    r"(?P<text>(?:.*\n)*?):::$",
    re.MULTILINE,
)
heading = re.compile(r"^## (.+)$", re.MULTILINE)
symbol_row = re.compile(r"^\* - \$(.+)\$\n  - `(.+)`\n  - (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One typed block of a chapter; title and text are MyST Markdown.

    Attributes:
        id: unique in the book; where the block has no anchor of that name, the built site adds it.
        kind: what it is, one of ``KINDS``.
        chapter: the page it stands on, e.g. ``"speedup"``.
        title: its heading, without the quotation marks of a red flag.
        text: what is under it.
    """

    id: str
    kind: Kind
    chapter: str
    title: str
    text: str


def parse(chapter: str, markdown: str) -> tuple[Block, ...]:
    """Return the typed blocks of one chapter, in the order of the page.

    Args:
        chapter: name of the page.
        markdown: its Markdown cells, joined by empty lines.

    Raises:
        ValueError: two blocks would have the same id.
    """
    found: dict[str, Block] = {}
    for match in directive.finditer(markdown):
        options = dict(re.findall(r"^:([\w-]+): *(.*)$", match["options"], re.MULTILINE))
        kind = _kind(match[1], options, heading.findall(markdown, 0, match.start()))
        if kind is None:
            continue
        title = match["title"].strip().strip('"')
        block = Block(
            options.get("name") or _derived_id(kind, chapter, title),
            kind,
            chapter,
            title,
            match["text"].strip(),
        )
        if block.id in found:
            raise ValueError(f"ids of {chapter!r} must differ, got {block.id!r} twice")
        found[block.id] = block
    return tuple(found.values())


def _kind(name: str, options: dict[str, str], headings: Sequence[str]) -> Kind | None:
    if name == "dropdown":
        return "followup" if headings and headings[-1] == QUESTIONS else None
    return next((kind for kind in KINDS if kind == options.get("class")), None)


def _derived_id(kind: Kind, chapter: str, title: str) -> str:
    if kind in ("answer", "memory", "takeaways"):  # one a chapter
        return f"{kind}-{chapter}"
    return f"{kind}-{chapter}-{slug(title)}"


def slug(title: str) -> str:
    """Return a title as letters of the Latin alphabet, digits and hyphens; Greek is spelled."""
    spelled = "".join(
        unicodedata.name(letter).split()[-1] if "GREEK SMALL" in unicodedata.name(letter, "") else
        letter for letter in title
    )  # fmt: skip
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


@cache
def chapters(book: Path = BOOK) -> tuple[str, ...]:
    """Return the names of the chapters in reading order: the pages that have the typed parts.

    Args:
        book: folder of the chapters; ``_toc.yml`` stands beside it.

    Raises:
        ValueError: there is no book at that place.
    """
    contents = book.parent / "_toc.yml"
    if not contents.is_file():
        raise ValueError(f"book must be a folder of chapters beside a _toc.yml, got {str(book)!r}")
    parts = yaml.safe_load(contents.read_text(encoding="utf-8"))["parts"]
    names = [Path(entry["file"]).name for part in parts for entry in part["chapters"]]
    pages = {name: _markdown(book, name) for name in names}
    return tuple(
        name for name, text in pages.items() if all(f"\n:class: {part}\n" in text for part in PARTS)
    )


@cache
def chapter_titles(book: Path = BOOK) -> Mapping[str, str]:
    """Return chapter names with their titles, in reading order.

    Raises:
        ValueError: there is no book at that place.
    """
    titles = {
        name: re.findall(r"^# (.+)$", _markdown(book, name), re.MULTILINE)[0]
        for name in chapters(book)
    }
    return MappingProxyType(titles)


def blocks(kind: Kind | None = None, book: Path = BOOK) -> tuple[Block, ...]:
    """Return the typed blocks of all chapters in reading order, or those of one kind.

    Raises:
        ValueError: an unknown kind, no book at that place, or an id that stands twice.
    """
    if kind is not None:
        checks.choice("kind", kind, KINDS)
    return tuple(block for block in _all(book) if kind in (None, block.kind))


@cache
def _all(book: Path) -> tuple[Block, ...]:
    found: dict[str, Block] = {}
    for chapter in chapters(book):
        for block in parse(chapter, _markdown(book, chapter)):
            if block.id in found:
                raise ValueError(f"ids of the book must differ, got {block.id!r} twice")
            found[block.id] = block
    return tuple(found.values())


def notation(book: Path = BOOK) -> dict[str, tuple[str, str]]:
    """Return the symbols of the notation page: TeX to its name in the code and its meaning.

    Raises:
        ValueError: the page has no table of symbols.
    """
    rows = symbol_row.findall((book / "notation.md").read_text(encoding="utf-8"))
    if not rows:
        raise ValueError("notation.md must hold a table of symbols, got none")
    return {symbol: (name, meaning) for symbol, name, meaning in rows}


@cache
def _markdown(book: Path, name: str) -> str:
    path = book / f"{name}.ipynb"
    if not path.is_file():
        return ""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return "\n\n".join(texts) + "\n"
