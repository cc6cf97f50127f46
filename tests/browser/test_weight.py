"""What a reader downloads: bytes of a first visit, and nothing from anywhere else."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest

from browser import built_site
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from specmini.widgets import assemble

BUDGET = 250  # kilobytes (thousands of bytes) after gzip, for everything a first visit loads
# A <link> of any other kind makes a browser fetch something.
POINTING_LINKS = {"canonical", "alternate", "author", "license", "index", "search", "next", "prev"}
CSS_ADDRESS = re.compile(
    r"""url\(\s*["']?((?:https?:)?//[^"')]+)|@import\s+["']((?:https?:)?//[^"']+)"""
)


class ForeignLoads(HTMLParser):
    """Collects what a page would load from another host, whether or not a browser does so now."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        pointing = tag == "link" and set(given.get("rel", "").lower().split()) <= POINTING_LINKS
        addresses = [given.get(name, "") for name in ("src", "data", "poster")]
        choices = given.get("srcset", "").split(",")
        addresses += [choice.split()[0] for choice in choices if choice.strip()]
        addresses += [given.get("href", "")] if tag in ("link", "image", "use") else []
        style = CSS_ADDRESS.findall(given.get("style", ""))
        self.found += ["".join(match) for match in style]
        if tag != "a" and not pointing:
            self.found += [f"<{tag}> {url}" for url in addresses if urlsplit(url).netloc]

    def handle_data(self, data):
        if self.cdata_elem == "style":
            self.found += ["".join(match) for match in CSS_ADDRESS.findall(data)]


def foreign_loads(html: str) -> list[str]:
    parser = ForeignLoads()
    parser.feed(html)
    return parser.found


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_first_visit_stays_in_its_budget(look, page, width):
    seen = look(page, width)
    largest = sorted(seen.files.items(), key=lambda file: -file[1])[:8]
    too_much = [f"{size / 1000:.1f} KB {name}" for name, size in largest]
    nothing_wrong(
        f"{page} at {width} px transfers {seen.kilobytes:.1f} KB, allowed are {BUDGET}",
        too_much if seen.kilobytes > BUDGET else [],
    )


def test_budget_covers_a_chapter_with_everything(look):
    """The heaviest kind of page is among those measured, and its widget script was counted."""
    full = [
        page
        for page in built_site.pages()
        if all(
            mark in built_site.text_of(page)
            for mark in ('class="math', "specmini-figure", 'data-specmini="explorer"')
        )
    ]
    assert full, "no chapter has figures, formulas and an explorer"
    for page in full:
        assert any(name.endswith(tuple(assemble.files())) for name in look(page).files)
        assert page in look(page).files


def test_page_names_no_other_host_to_load_from(site, html_file):
    nothing_wrong(html_file, foreign_loads(built_site.text_of(html_file)))


def test_style_sheets_name_no_other_host(site):
    sheets = list(site.rglob("*.css"))
    assert sheets
    nothing_wrong(
        "style sheets",
        [
            f"{sheet.relative_to(site)}: {''.join(match)}"
            for sheet in sheets
            for match in CSS_ADDRESS.findall(sheet.read_text(encoding="utf-8"))
        ],
    )


def test_pages_carry_no_widget_state_of_a_kernel(site, page):
    """ipywidgets' saved state cannot move anything without a kernel; it only weighs."""
    text = built_site.text_of(page)
    for mark in ("application/vnd.jupyter.widget", "embed-amd", "require.min.js"):
        assert mark not in text, f"{page} contains {mark}"
