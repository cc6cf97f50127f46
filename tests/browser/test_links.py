"""Every link inside the book leads somewhere, downloads are real, and the search finds things."""

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import nbformat
import pytest

from browser import built_site
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE

POINTERS = ("aria-labelledby", "aria-describedby", "aria-controls", "for", "xlink:href", "href")
PAINT_POINTER = re.compile(r"url\(['\"]?#([^)'\"]+)")


class Links(HTMLParser):
    """The anchors of a page, the addresses it links to, and the anchors it uses itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.used: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        self.ids += [given["id"]] if "id" in given else []
        if tag in ("a", "area", "form"):
            self.addresses.append(given.get("href") or given.get("action", ""))
        for name in POINTERS:
            words = given.get(name, "").split()
            self.used |= {
                word.lstrip("#") for word in words if "href" not in name or word[0] == "#"
            }
        self.used |= set(PAINT_POINTER.findall(" ".join(given.values())))


@cache
def links(page: str) -> Links:
    return Links(built_site.text_of(page))


def targets(page: str) -> list[tuple[str, str]]:
    """Internal links of a page as (file in the site, anchor)."""
    found = []
    for address in links(page).addresses:
        parts = urlsplit(urljoin(f"http://book/{page}", address))
        if parts.netloc == "book" and parts.scheme == "http":
            found.append((unquote(parts.path).lstrip("/"), unquote(parts.fragment)))
    return found


def test_every_internal_link_leads_somewhere(site, any_page):
    wrong = []
    for file, anchor in targets(any_page):
        if not (site / file).is_file():
            wrong.append(f"no file {file}")
        elif anchor and anchor not in links(file).ids:
            wrong.append(f"no #{anchor} in {file}")
    nothing_wrong(any_page, wrong)


def test_what_is_pointed_at_stands_once(site, any_page):
    """Two elements of one id: links, labels and the markers of figures would take the first."""
    counts = Counter(links(any_page).ids)
    nothing_wrong(
        any_page,
        [f"{used}: {counts[used]} times" for used in links(any_page).used if counts[used] > 1],
    )


def test_no_link_needs_a_script(site, any_page):
    wrong = [address for address in links(any_page).addresses if address.startswith("javascript:")]
    nothing_wrong(any_page, wrong)


def test_every_page_can_be_reached_by_links(site):
    reached, waiting = set(), ["book/index.html"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.endswith(".html"):
            reached.add(page)
            waiting += [file for file, _ in targets(page)]
    # Sphinx's indexes are reached through the search and from nowhere else.
    lost = set(built_site.pages()) - reached - {"genindex.html", "search.html", "prf-prf.html"}
    nothing_wrong("pages without a way to them", sorted(lost))


TOP = "(node) => node.getBoundingClientRect().top"


@pytest.mark.parametrize("chapter", ["acceptance", "drafters", "glossary"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_place_in_a_page_is_found_although_what_is_above_was_never_drawn(reader, chapter, width):
    page = f"book/{chapter}.html"
    places = [anchor for file, anchor in targets(page) if file == page and anchor]
    for anchor in (places[len(places) // 2], places[-1]):
        tab = reader.open(page, width=width, fragment=anchor, laid_out=False)
        tab.wait_for_timeout(300)
        top = tab.locator(f"[id='{anchor}']").first.evaluate(TOP)
        at_end = tab.evaluate("innerHeight + scrollY > document.documentElement.scrollHeight - 5")
        assert -5 <= top < 200 or at_end, f"{page}#{anchor} is {top:.0f} px below the top"


def test_download_offers_a_sound_notebook(site, page):
    for file, _ in targets(page):
        if file.startswith("_sources/"):
            assert (site / file).is_file(), f"{page} offers {file}, which does not exist"
            if file.endswith(".ipynb"):
                nothing_wrong(f"{page} offers {file}", wrong_with_notebook(site / file))


def test_download_opens_from_the_keyboard(reader, site):
    tab = reader.open("book/index.html")
    link = tab.locator("a.btn-download-source-button")
    assert not link.is_visible()
    tab.locator(".dropdown-download-buttons > button").focus()
    tab.keyboard.press("Enter")
    link.wait_for(state="visible")
    for _ in range(3):
        tab.keyboard.press("Tab")
        if link.evaluate("(node) => node === document.activeElement"):
            break
    assert link.evaluate("(node) => node === document.activeElement")
    assert link.evaluate("(node) => node.href").endswith("_sources/book/index.ipynb")


def wrong_with_notebook(path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    nbformat.validate(nbformat.reads(text, as_version=4))
    wrong = []
    if "widgets" in notebook["metadata"]:
        wrong.append("carries saved widget state")
    if "widget-view+json" in text:
        wrong.append("refers to widgets of a kernel that is gone")
    if not any(cell["cell_type"] == "code" for cell in notebook["cells"]):
        wrong.append("has no code to run")
    return wrong


@pytest.mark.parametrize("by", ["http", "file"])
def test_search_finds_a_word_from_the_keyboard(lenient_reader, by):
    tab = lenient_reader.open("book/index.html", by=by)
    tab.keyboard.press("Control+k")
    field = tab.locator("#pst-search-dialog input[type=search]")
    field.wait_for(state="visible")
    assert field.evaluate("(node) => node === document.activeElement")
    tab.keyboard.type("break-even")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search.html?q=break-even*")
    results = tab.locator("#search-results li a")
    # Results come in one by one, and excerpts after them: who leaves before breaks these off.
    tab.locator("#search-results li a[href*=speedup]").first.wait_for()
    tab.wait_for_load_state("networkidle")
    results.first.click()
    tab.wait_for_load_state()
    assert "/book/" in tab.url
    # A page opened as a file may not fetch others: the results then come without excerpts.
    expected = "/search.html" if by == "file" else None
    serious = [text for text in lenient_reader.complaints if not expected or expected not in text]
    nothing_wrong(f"search over {by}", serious)


def test_search_that_finds_nothing_says_so(reader):
    tab = reader.open("search.html")
    tab.goto(reader.address("search.html") + "?q=zyzzyva")
    tab.get_by_text("did not match any documents").wait_for()
