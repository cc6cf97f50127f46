"""The contents of the book as the site's own navigation lists them, for a copy without one."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

__all__ = ["FRONT", "LEFT_OUT", "Entry", "contents", "listing", "target", "words"]

FRONT: Final = "book/index"
# The reference is longer than the rest of the book, and of use where one can search; the reader's
# progress is a list that a browser keeps.
LEFT_OUT: Final = ("book/api/", "book/reference", "book/progress")


@dataclass(frozen=True)
class Entry:
    """A page in the contents.

    Attributes:
        page: its path in the site without the suffix, such as ``book/tokens``.
        title: as the navigation shows it, with the chapter's number.
        part: caption of the part that it stands in; empty before the first.
    """

    page: str
    title: str
    part: str


def contents(
    html: BeautifulSoup, page: str = FRONT, left_out: Collection[str] = LEFT_OUT
) -> tuple[Entry, ...]:
    """What the navigation of a page lists, in its order; that page itself is among it.

    Args:
        html: the page.
        page: its path in the site, without the suffix.
        left_out: paths that are not listed: of a page, or of a folder with its slash.

    Raises:
        ValueError: if the page has no navigation.
    """
    found, part = [], ""
    for tag in html.select("nav.bd-docs-nav :is(p.caption, a.reference.internal)"):
        if tag.name == "p":
            part = words(tag)
            continue
        place, _ = target(page, str(tag["href"]))
        if place not in left_out and f"{place.rpartition('/')[0]}/" not in left_out:
            found.append(Entry(place, words(tag), part))
    if not found:
        raise ValueError(f"html must be a page with the site's navigation, got {page!r} without")
    return tuple(found)


def listing(entries: Iterable[Entry], numbers: Mapping[str, int]) -> str:
    """The contents as HTML, each line a link to the id that is the page's path.

    Args:
        entries: of the contents, in order.
        numbers: of the sheet on which a page begins, counted from 1, by page; zeros keep the room
            of those that are not known.
    """
    lists, part = "", ""
    for one in entries:
        if one.part != part:
            lists += f'</ul><p class="part">{escape(one.part)}</p><ul>'
            part = one.part
        lists += (
            f'<li><a href="#{escape(one.page)}"><span>{escape(one.title)}</span>'
            f'<span class="number">{numbers.get(one.page, "000")}</span></a></li>'
        )
    return f'<nav class="book-contents"><h1>Contents</h1><ul>{lists}</ul></nav>'


def target(page: str, href: str) -> tuple[str, str]:
    """Where a link on a page leads within the site: a path without ``.html``, and the place there.

    Args:
        page: path of the page that the link stands on, without the suffix.
        href: as the link has it; a query is of no account.
    """
    address = urlsplit(href)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(address.path)))
    return (path.removesuffix(".html") if address.path else page), unquote(address.fragment)


def words(tag: Tag | None) -> str:
    """The text of an element in one line; empty without an element."""
    return " ".join(tag.get_text().split()) if tag else ""
