"""The pages of a built site as one HTML document for print: a title, contents, the chapters.

Nothing is built again. The articles of the pages stand one after the other in the order of the
site's navigation, and what needs a screen is gone: buttons, scripts, folds. Ids have the name of
their page in front, as in ``book/tokens:example``, so that links between pages become links within
the document. ``specmini.publish.book_pdf`` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag

from specmini import __version__
from specmini.publish.contents import FRONT, LEFT_OUT, Entry, contents, listing, target, words

__all__ = ["OnePage", "anchors", "article", "join", "parsed"]

LOGO: Final = "_static/specmini-logo-light.svg"
NOTE: Final = (
    "Printed from the book’s site. What moves there stands here as a table or a drawing, and the "
    "answers are unfolded. The site also has what is left out: the code that only draws, the "
    "reader’s progress, and the reference of the package, function by function. Code is under the "
    "MIT licence, text and figures under CC BY 4.0."
)
# Buttons and notes on buttons; code that the site folds away, since it draws and explains nothing.
NOT_FOR_PAPER: Final = (
    "script, noscript, template, button, dialog, a.headerlink, .d-print-none, details.hide, "
    ".sd-summary-state-marker, .specmini-host[data-specmini=read]"
)
REFERRING: Final = (
    *("for", "headers", "aria-labelledby", "aria-describedby", "aria-details", "aria-controls"),
)
WITHIN_URL: Final = re.compile(r"url\((['\"]?)#([^)'\"]+)\1\)")


@dataclass(frozen=True)
class OnePage:
    """A site as it goes on paper.

    Attributes:
        title: of the book.
        author: of the book.
        language: of its text, such as ``en``.
        entries: the pages, in order.
        articles: HTML of each, by page; ids and links are the document's.
        sheets: paths in the site of the style sheets, in order.
    """

    title: str
    author: str
    language: str
    entries: tuple[Entry, ...]
    articles: Mapping[str, str]
    sheets: tuple[str, ...]

    @classmethod
    def of(cls, site: Path, left_out: Collection[str] = LEFT_OUT) -> OnePage:
        """Read all pages of a built site that its navigation lists.

        Args:
            site: folder of the site.
            left_out: paths that the book does without: of a page, or of a folder with its slash.

        Raises:
            ValueError: if ``site`` holds no site of the book, or lacks a page of its contents.
        """
        if not (site / f"{FRONT}.html").is_file():
            raise ValueError(f"site must be the folder of a built site, got {str(site)!r}")
        front = parsed((site / f"{FRONT}.html").read_text("utf-8"))
        entries = contents(front, left_out=left_out)
        if lost := [one.page for one in entries if not (site / f"{one.page}.html").is_file()]:
            raise ValueError(f"site must hold every page of its contents, lacks {lost[0]!r}")
        pages = {
            one.page: parsed((site / f"{one.page}.html").read_text("utf-8")) for one in entries
        }
        sheets = [
            target(page, str(link["href"]))[0]
            for page, html in pages.items()
            for link in html.select("link[rel=stylesheet][href]")
        ]
        articles = {page: article(html, page) for page, html in pages.items()}
        join(articles)
        return cls(
            title=words(front.select_one(".logo__title")),
            author=words(front.select_one(".component-author")).removeprefix("By "),
            language=str(front.html["lang"]) if front.html else "en",
            entries=entries,
            articles={page: one.decode_contents() for page, one in articles.items()},
            sheets=tuple(dict.fromkeys(sheets)),
        )

    def document(self, style: str, numbers: Mapping[str, int] | None = None) -> str:
        """The whole document.

        Args:
            style: CSS, after that of the site; each page adds its own running title.
            numbers: of the sheet on which a page begins, counted from 1, by page; zeros keep the
                room of those that are not known.
        """
        links = "".join(f'<link rel="stylesheet" href="{escape(one)}">' for one in self.sheets)
        rules = "".join(map(self._running, range(len(self.entries))))
        body = "".join(
            f'<article class="bd-article" id="{escape(one.page)}" style="page: chapter-{number}">'
            f"{self.articles[one.page]}</article>"
            for number, one in enumerate(self.entries)
        )
        return (
            f'<!DOCTYPE html><html lang="{escape(self.language)}" data-theme="light">'
            f'<head><meta charset="utf-8"><title>{escape(self.title)}</title>{links}'
            f"<style>{style}\n{rules}</style></head><body>"
            f'<header class="title-page"><img src="{LOGO}" alt=""><h1>{escape(self.title)}</h1>'
            f'<p class="author">{escape(self.author)}</p><p>Version {__version__}</p>'
            f'<p class="note">{NOTE}</p></header>{listing(self.entries, numbers or {})}'
            f'<main class="bd-content">{body}</main></body></html>'
        )

    def _running(self, number: int) -> str:
        """The rule for a page's sheets: the book above at the left, the page at the right."""
        title = self.entries[number].title
        right = "" if title == self.title else title
        return (
            f"@page chapter-{number} {{ @top-left {{ content: {_css(self.title)} }} "
            f"@top-right {{ content: {_css(right)} }} }}\n"
        )


def parsed(html: str) -> BeautifulSoup:
    """A page as a tree."""
    return BeautifulSoup(html, "html.parser")


def article(html: BeautifulSoup, page: str) -> Tag:
    """What a page has to say, as it goes on paper; ids and links are still the page's own.

    Args:
        html: the page, of which the article is taken out and changed.
        page: its path in the site, without the suffix.

    Raises:
        ValueError: if ``html`` holds no article.
    """
    found = html.select_one("article.bd-article")
    if found is None:
        raise ValueError(f"html must hold an article of the book, got {page!r} without")
    for tag in found.select(NOT_FOR_PAPER):
        tag.decompose()
    for cell in found.select("div.cell"):
        if not cell.get_text(strip=True) and not cell.find(["svg", "img"]):
            cell.decompose()
    for folded in found.select("details"):
        folded["open"] = ""
    seen = set()
    for tag in found.select("[id]"):  # exercises and proofs give theirs to each of a page
        if tag["id"] in seen:
            del tag["id"]
        else:
            seen.add(tag["id"])
    for picture in found.select("img[src]"):
        picture["src"] = target(page, str(picture["src"]))[0]
    return found


def anchors(articles: Mapping[str, Tag]) -> set[str]:
    """Every id that the document will have: of the pages, and of what stands on them."""
    named = (
        _anchor(page, str(tag["id"]))
        for page, one in articles.items()
        for tag in one.select("[id]")
    )
    return {*articles, *named}


def join(articles: Mapping[str, Tag]) -> None:
    """Make the ids of pages those of one document, and links between the pages links within it.

    A link to a page that is not among them becomes plain text, one to a place that did not make it
    onto paper leads to its page, and one to another host stays.

    Args:
        articles: by page; they are changed.
    """
    known = anchors(articles)
    for page, one in articles.items():
        _redirect(one, page, articles.keys(), known)
        _rename(one, page)


def _redirect(one: Tag, page: str, pages: Collection[str], known: Collection[str]) -> None:
    for link in one.select("a[href]"):
        address = urlsplit(str(link["href"]))
        if address.scheme or address.netloc:
            continue
        place, fragment = target(page, str(link["href"]))
        if place not in pages:
            link.unwrap()
            continue
        anchor = _anchor(place, fragment) if fragment else place
        link["href"] = f"#{anchor if anchor in known else place}"


def _rename(one: Tag, page: str) -> None:
    """Give ids, and what refers to them, the name of the page in front; links have it already."""
    for tag in one.find_all(True):
        for name, value in list(tag.attrs.items()):
            text = " ".join(value) if isinstance(value, list) else str(value)
            if name == "id":
                tag[name] = _anchor(page, text)
            elif name in REFERRING:
                tag[name] = " ".join(_anchor(page, one) for one in text.split())
            elif name == "xlink:href" or (name == "href" and tag.name != "a"):
                tag[name] = re.sub("^#", f"#{page}:", text)
            elif "url(" in text:
                tag[name] = WITHIN_URL.sub(lambda found: f"url(#{_anchor(page, found[2])})", text)


def _anchor(page: str, name: str) -> str:
    # No path of a page has a colon, so that two pages never give the same anchor.
    return f"{page}:{name}"


def _css(text: str) -> str:
    """A string for a style sheet; what could end it, or the element around it, is escaped."""
    return '"' + re.sub(r"[\\\"<\n]", lambda found: f"\\{ord(found[0]):x} ", text) + '"'
