"""Some chapters of the site as a PDF: titles in order, links that arrive, nothing cut off."""

import io
import re

import pytest
from pypdf import PdfReader

from browser import built_site
from specmini.publish import book_pdf
from specmini.publish.contents import LEFT_OUT, contents
from specmini.publish.one_page import OnePage, parsed

# A chapter with a widget and figures, one with formulas, the passages, a page with its own sheet,
# long tables.
CHOSEN = ("book/editor", "book/tokens", "book/spot", "book/sheet", "book/notation")
WIDTH = 642  # CSS pixels of 170 mm, which the margins leave of A4

TOO_WIDE = """(width) => [...document.querySelectorAll("main *")]
  .filter((node) => !node.closest("svg") && node.getBoundingClientRect().right > width + 1)
  .map((node) => `${node.closest("article").id}: ${node.tagName}.${node.className}`)"""


@pytest.fixture(scope="module")
def whole(site):
    return OnePage.of(site)


@pytest.fixture(scope="module")
def some(site):
    pages = {one.page for one in contents(parsed(built_site.text_of("book/index.html", site)))}
    return OnePage.of(site, (*LEFT_OUT, *(pages - set(CHOSEN))))


@pytest.fixture(scope="module")
def pdf(some, site, browser):
    return PdfReader(io.BytesIO(book_pdf.printed(some, site, browser)))


def flat(text):
    return re.sub(r"\s+", "", text)


def test_the_whole_book_has_every_page_of_the_table_of_contents(whole):
    named = re.findall(r"file: (\S+)", (built_site.ROOT / "_toc.yml").read_text("utf-8"))
    kept = [name for name in named if "/api/" not in name and name not in LEFT_OUT]
    assert len(kept) >= 23
    assert [one.page for one in whole.entries] == ["book/index", *kept]


def test_no_id_is_there_twice_and_every_link_arrives(whole):
    html = whole.document("")
    ids = re.findall(r'\sid="([^"]*)"', html)
    assert len(ids) == len(set(ids)) > 1000
    links = set(re.findall(r'href="#([^"]*)"', html))
    assert len(links) > 300
    assert links <= set(ids)
    assert not re.findall(r'<a[^>]*href="(?!#|https?:|mailto:)[^"]*"', html)


def test_each_chapter_begins_on_the_sheet_that_the_contents_name(pdf, some):
    assert 30 <= len(pdf.pages) <= 60
    listed = flat(pdf.pages[1].extract_text())
    begins = {
        name.removeprefix("/"): pdf.get_destination_page_number(place)
        for name, place in pdf.named_destinations.items()
    }
    order = [begins[one.page] for one in some.entries]
    assert order == sorted(set(order))
    for one in some.entries:
        sheet = begins[one.page]
        assert flat(one.title) in flat(pdf.pages[sheet].extract_text()), one.title
        assert re.search(rf"{re.escape(flat(one.title))}\D?{sheet + 1}(?!\d)", listed), one.title


def test_it_says_what_it_is_and_has_bookmarks_and_tags(pdf, some):
    assert pdf.metadata.title == some.title
    assert pdf.metadata.author == some.author != ""
    root = pdf.trailer["/Root"]
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    top = [flat(mark.title) for mark in pdf.outline if not isinstance(mark, list)]
    assert top[:2] == [flat(some.title), "Contents"]
    assert top[2:] == [flat(one.title) for one in some.entries]


def test_links_lead_to_a_sheet_or_to_another_host(pdf):
    within, beyond = [], []
    for sheet in pdf.pages:
        for annotation in sheet.get("/Annots", []):
            link = annotation.get_object()
            action = link.get("/A", {})
            (beyond if "/URI" in action else within).append(action.get("/URI") or link["/Dest"])
    assert len(within) > 50
    assert beyond
    assert {str(name) for name in within} <= set(pdf.named_destinations)
    assert all(str(address).startswith("https://") for address in beyond)


def test_answers_and_the_still_widgets_can_be_read(pdf):
    text = flat("".join(sheet.extract_text() for sheet in pdf.pages))
    for words in (
        "the junior drafts",  # the player's table
        "two accepted, plus her correction",  # an answer in a folded part
        "The target adds a token of its own",  # why a phrase of the passages is right
    ):
        assert flat(words) in text, words
    assert "Showthecode" not in text


def test_nothing_is_wider_than_the_sheet(whole, site, browser):
    """Of all pages: laying out costs little, printing much."""
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": WIDTH, "height": 900}
    )
    tab = context.new_page()
    style = book_pdf.STYLE.read_text("utf-8")
    tab.route("**/*", lambda route: book_pdf.serve(route, site))
    tab.route(book_pdf.ORIGIN, lambda route: route.fulfill(body=whole.document(style)))
    tab.goto(book_pdf.ORIGIN)
    tab.emulate_media(media="print")
    assert tab.evaluate(TOO_WIDE, WIDTH) == []
    context.close()
