"""One browser for all tests of the site, and a fresh context for each page a test opens."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from browser import built_site, looks
from browser.reader import DESK, Reader, new_tab
from specmini.publish import chromium
from specmini.widgets import assemble

# A page paints before its fonts and its widgets are there; on a fast machine this never shows.
LATE_FILES = (".woff2", ".woff", *assemble.files())
LATE_SECONDS = 0.4


@pytest.fixture(scope="package")
def site() -> Path:
    if not (built_site.SITE / "index.html").exists():
        pytest.fail(f"no site in {built_site.SITE}: {built_site.HOW_TO_BUILD}")
    return built_site.SITE.resolve()


@pytest.fixture(scope="package")
def browser():
    # Package scope, so that Playwright's event loop is gone before other tests start kernels.
    with sync_playwright() as playwright:
        executable = chromium.find(playwright.chromium.executable_path)
        if executable is None and os.environ.get("CI"):
            pytest.fail(chromium.HOW_TO_GET)
        if executable is None:
            pytest.skip(chromium.HOW_TO_GET)
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(chromium.ARGUMENTS)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(site):
    with built_site.Server(site) as server:
        yield server


@pytest.fixture(scope="package")
def late_server(site):
    def late(path: str) -> float:
        return LATE_SECONDS if path.split("?")[0].endswith(LATE_FILES) else 0.0

    with built_site.Server(site, late) as server:
        yield server


@pytest.fixture(scope="package")
def lent_tab(browser):
    return new_tab(browser)


@pytest.fixture
def reader(browser, site, server, lent_tab):
    """A reader of the site; whatever a test does with it, nothing may fail behind its back."""
    reader = Reader(browser, site, server.origin, lent_tab)
    yield reader
    reader.close()
    if reader.complaints:
        pytest.fail("\n".join(reader.complaints), pytrace=False)


@pytest.fixture
def lenient_reader(browser, site, server):
    """A reader whose test looks at the complaints itself."""
    reader = Reader(browser, site, server.origin)
    yield reader
    reader.close()


@pytest.fixture(scope="package")
def look(browser, site, late_server):
    """A function of page and width: a first look at the page, taken once."""

    def look_up(page: str, width: int = DESK) -> looks.Look:
        if (page, width) not in looks.LOOKS:
            visitor = Reader(browser, site, late_server.origin)
            looks.LOOKS[page, width] = looks.take(visitor, page, width)
        return looks.LOOKS[page, width]

    return look_up


def in_words(place) -> str:
    return place if isinstance(place, str) else "-".join(map(str, place))


def pytest_generate_tests(metafunc):
    """Parametrize by what the site holds.

    `page` is every page that can be read, where one of the reference stands for all of them, and
    `any_page` really every one; `drawn_page` those with figures or widgets, `folding_page` those
    with folded parts, `html_file` every file; `explorer`, `roof`, `calculator` and `widget` are
    the places where one stands.
    """
    # The pages of the reference are large and alike: the smallest stands for all, but for links
    # and for what is as wide as its longest name.
    reference = [page for page in built_site.pages() if page.startswith("book/api/")]
    alike = sorted(reference, key=lambda page: len(built_site.text_of(page)))[1:]
    values = {
        "page": [page for page in built_site.pages() if page not in alike],
        "any_page": built_site.pages(),
        "drawn_page": built_site.pages_with("specmini-figure", "data-specmini"),
        "folding_page": built_site.pages_with("<details", "dropdown admonition"),
        "html_file": built_site.html_files(),
        "explorer": built_site.widgets("explorer"),
        "roof": built_site.widgets("roof"),
        "calculator": built_site.widgets("advice"),
        "widget": [
            (kind, *place)
            for kind in ("explorer", "roof", "player", "overlap", "drafters", "advice", "cards")
            for place in built_site.widgets(kind)
        ]
        # Sixteen of a kind: the first and the longest stand for all.
        + [("spot", *place) for place in built_site.widgets("spot")[:5:4]],
    }
    for name, found in values.items():
        if name in metafunc.fixturenames:
            # Without a site there is nothing to list, and the site fixture says so.
            known = found or ["no site"]
            metafunc.parametrize(name, known, ids=in_words)


def pytest_terminal_summary(terminalreporter):
    if not looks.LOOKS:
        return
    terminalreporter.section("pages: a first visit after gzip, layout shift")
    for (page, width), look in sorted(looks.LOOKS.items()):
        terminalreporter.write_line(
            f"{page:28s}{width:6d} px{len(look.files):5d} files{look.kilobytes:8.1f} KB"
            f"   shift {look.shift:.4f}"
        )
