"""The whole book as one PDF, printed by Chromium from the pages of the built site.

``python -m specmini.publish.book_pdf _build/html --into dist`` writes it: a title page, contents
with page numbers, every chapter in its order, with bookmarks, working links and tags. Figures and
formulas stay vectors. No script runs, so that each widget stands there as the table or drawing
that a reader without scripts sees; answers are unfolded. It is printed twice: the first print
tells on which sheet each chapter begins, and the contents of the second say so.
"""

from __future__ import annotations

import argparse
import datetime
import io
import mimetypes
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, Page, Route, sync_playwright
from pypdf import PdfReader
from pypdf.generic import (
    BooleanObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    PdfObject,
    TextStringObject,
)

from specmini import __version__, checks
from specmini.files import replaced
from specmini.publish import chromium
from specmini.publish.contents import LEFT_OUT
from specmini.publish.one_page import OnePage

__all__ = ["PAPERS", "file_name", "finished", "numbers", "printed", "write"]

PAPERS: Final = {"A4": "210mm 297mm", "Letter": "8.5in 11in"}
STYLE: Final = Path(__file__).parents[1] / "style" / "print.css"
ORIGIN: Final = "http://book.invalid/"  # leads nowhere: all that is asked for comes from the site
SUBJECT: Final = "Speculative decoding of large language models, derived, computed and measured"
END: Final = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*\Z")
MINUTES: Final = 10  # that a slow machine may take for one print


def file_name(paper: str = "A4") -> str:
    """Name of the file for a format of paper, with the version of the book.

    Raises:
        ValueError: another format.
    """
    return f"specmini-book-{__version__}-{checks.choice('paper', paper, tuple(PAPERS)).lower()}.pdf"


def write(site: Path, pdf: Path, paper: str = "A4", left_out: Collection[str] = LEFT_OUT) -> int:
    """Print the book; the file is replaced in one step, and its folder made if need be.

    Args:
        site: folder of the built site.
        pdf: the file to write.
        paper: ``"A4"`` or ``"Letter"``.
        left_out: paths that the book does without: of a page, or of a folder with its slash.

    Returns:
        The number of sheets.

    Raises:
        ValueError: if ``site`` holds no site, or ``paper`` is another format.
        FileNotFoundError: if there is no Chromium.
    """
    checks.choice("paper", paper, tuple(PAPERS))
    book = OnePage.of(site, left_out)
    with sync_playwright() as playwright:
        executable = chromium.find(playwright.chromium.executable_path)
        if executable is None:
            raise FileNotFoundError(chromium.HOW_TO_GET)
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(chromium.ARGUMENTS)
        )
        done = printed(book, site, browser, paper)
        browser.close()
    pdf.parent.mkdir(parents=True, exist_ok=True)
    replaced(pdf, lambda unfinished: unfinished.write_bytes(done))
    return len(PdfReader(io.BytesIO(done)).pages)


def printed(book: OnePage, site: Path, browser: Browser, paper: str = "A4") -> bytes:
    """The book as a PDF, from a tab without scripts that reaches the site's folder alone.

    Args:
        book: of the site.
        site: folder of its style sheets, fonts and pictures.
        browser: Chromium.
        paper: ``"A4"`` or ``"Letter"``.

    Raises:
        ValueError: another format.
    """
    size = PAPERS[checks.choice("paper", paper, tuple(PAPERS))]
    style = f"@page {{ size: {size} }}\n{STYLE.read_text('utf-8')}"
    context = browser.new_context(java_script_enabled=False, service_workers="block")
    tab = context.new_page()
    tab.set_default_timeout(60_000 * MINUTES)
    tab.route("**/*", lambda route: serve(route, site))
    # Tags and bookmarks take most of the time and move no break: the first print does without.
    begins = numbers(_print(tab, book.document(style), tagged=False))
    pdf = _print(tab, book.document(style, begins), tagged=True)
    context.close()
    return finished(pdf, book.title, book.author)


def numbers(pdf: bytes) -> dict[str, int]:
    """The sheet on which each place stands that a link leads to, counted from 1, by its id."""
    reader = PdfReader(io.BytesIO(pdf))
    sheets = {page.indirect_reference: number for number, page in enumerate(reader.pages, start=1)}
    places = {
        name.removeprefix("/"): place.page for name, place in reader.named_destinations.items()
    }
    return {
        name: sheets[getattr(page, "indirect_reference", page)] for name, page in places.items()
    }


def finished(pdf: bytes, title: str, author: str) -> bytes:
    """The PDF with what Chromium does not say: the author, and that bookmarks are to be shown.

    Two objects are written anew behind the last one, as an incremental update (ISO 32000-1,
    7.5.6); a writer that copied all of them would take as long as the print.

    Args:
        pdf: as printed.
        title: of the book, which a viewer shows in place of the file's name.
        author: of the book.

    Returns:
        It, dated by ``SOURCE_DATE_EPOCH`` (seconds) if the environment sets it.

    Raises:
        ValueError: if ``pdf`` does not end as a PDF with a table of its objects does.
    """
    end = END.search(pdf)
    if not end or not pdf.startswith(b"xref", int(end[1])):
        raise ValueError(f"pdf must end with the place of its xref table, got {pdf[-40:]!r}")
    trailer = PdfReader(io.BytesIO(pdf)).trailer
    said = {"/Title": title, "/Author": author, "/Subject": SUBJECT, "/Creator": "specmini"}
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        date = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        said |= dict.fromkeys(("/CreationDate", "/ModDate"), f"{date:D:%Y%m%d%H%M%SZ}")
    texts: dict[str, PdfObject] = {name: TextStringObject(text) for name, text in said.items()}
    shown = DictionaryObject({NameObject("/DisplayDocTitle"): BooleanObject(True)})
    changed: dict[str, dict[str, PdfObject]] = {
        "/Info": texts,
        "/Root": {"/PageMode": NameObject("/UseOutlines"), "/ViewerPreferences": shown},
    }
    out, table = io.BytesIO(), ""
    out.write(pdf)
    for key, entries in changed.items():
        reference, old = trailer.raw_get(key), cast(DictionaryObject, trailer[key])
        whole = DictionaryObject(old)
        whole.update({NameObject(name): value for name, value in entries.items()})
        table += f"{reference.idnum} 1\n{out.tell():010d} {reference.generation:05d} n \n"
        out.write(f"{reference.idnum} {reference.generation} obj\n".encode())
        whole.write_to_stream(out)
        out.write(b"\nendobj\n")
    place = out.tell()
    last = DictionaryObject(trailer)
    last[NameObject("/Prev")] = NumberObject(int(end[1]))
    out.write(f"xref\n{table}trailer\n".encode())
    last.write_to_stream(out)
    out.write(f"\nstartxref\n{place}\n%%EOF\n".encode())
    return out.getvalue()


def serve(route: Route, site: Path) -> None:
    address = route.request.url
    file = site / unquote(urlsplit(address).path).lstrip("/")
    if address.startswith(ORIGIN) and file.is_file():
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        route.fulfill(body=file.read_bytes(), content_type=kind)
    else:
        route.abort()


def _print(tab: Page, html: str, *, tagged: bool) -> bytes:
    def answer(route: Route) -> None:
        route.fulfill(body=html, content_type="text/html; charset=utf-8")

    tab.route(ORIGIN, answer)
    tab.goto(ORIGIN, wait_until="load")
    tab.emulate_media(media="print", color_scheme="light")
    tab.evaluate("document.fonts.ready.then(() => null)")
    tab.unroute(ORIGIN)
    return tab.pdf(tagged=tagged, outline=tagged, prefer_css_page_size=True, print_background=True)


def main() -> None:
    """Command line: print the book of a built site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="folder of the built site")
    parser.add_argument("--into", type=Path, default=Path("dist"), help="where the PDF goes")
    parser.add_argument("--paper", choices=tuple(PAPERS), default="A4", help="format of the paper")
    given = parser.parse_args()
    pdf = given.into / file_name(given.paper)
    try:
        count = write(given.site, pdf, given.paper)
    except (ValueError, FileNotFoundError) as problem:
        parser.error(str(problem))
    sys.stdout.write(f"{pdf}: {count} pages, {pdf.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
