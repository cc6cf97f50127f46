"""The suite itself: on a small page that is broken on purpose, each check finds what is wrong."""

import re

import pytest
from playwright.sync_api import TimeoutError

from browser import built_site, facts, looks
from browser.reader import Reader
from browser.test_access import violations
from browser.test_controls import dead_controls
from browser.test_links import Links
from browser.test_weight import foreign_loads
from browser.widgets import Player, last_number, shows

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>
<body><main><article><h1>A page</h1>{body}</article></main></body></html>"""
DRAWING = '<svg width="300" height="200" {attributes}><path d="M0,0H9"/></svg>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("broken")


@pytest.fixture(scope="module")
def careless_reader(browser, folder):
    with built_site.Server(folder) as server:
        reader = Reader(browser, folder, server.origin)
        yield reader
        reader.close()


@pytest.fixture(scope="module")
def tab(careless_reader, folder):
    (folder / "page.html").write_text(PAGE.format(body=""), encoding="utf-8")
    return careless_reader.open("page.html")


@pytest.fixture
def broken(tab, careless_reader, folder):
    """A function: HTML of an article in, the open page and its reader out."""

    def write_and_open(body, by="http"):
        (folder / "page.html").write_text(PAGE.format(body=body), encoding="utf-8")
        tab.goto("about:blank")
        careless_reader.complaints.clear()
        tab.goto(careless_reader.address("page.html", by))
        return tab, careless_reader

    return write_and_open


@pytest.fixture
def another_reader(browser, careless_reader, folder):
    return Reader(browser, folder, careless_reader.origin)


@pytest.mark.parametrize("by", ["http", "file"])
def test_a_sound_page_gets_no_complaint(broken, by):
    tab, reader = broken("<h2>Part</h2><p>It costs $2 or $3 a day.</p>", by=by)
    assert reader.complaints == []
    assert violations(tab) == []
    checks = (
        facts.sticking_out,
        facts.wrong_headings,
        facts.wrong_pictures,
        facts.raw_formulas,
        facts.pale_text,
        facts.wrong_formula_boxes,
        facts.wrong_in_print,
    )
    assert [check(tab) for check in checks] == [[]] * len(checks)


@pytest.mark.parametrize("by", ["http", "file"])
@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (
            '<script src="https://cdn.example.org/x.js"></script>',
            "asks another host for https://cdn",
        ),
        ('<img src="https://example.org/x.png" alt="">', "asks another host"),
        (
            "<script>fetch('http://127.0.0.1:9/beacon').catch(() => {})</script>",
            "asks another host",
        ),
        ("<script>new WebSocket('ws://127.0.0.1:9/live')</script>", "opens a socket"),
        ("<script>console.error('half a widget')</script>", "half a widget"),
        ("<script>undefined.mount()</script>", "script error"),
        ("<script>Promise.reject(new Error('lost'))</script>", "script error"),
        ('<img src="missing.png" alt="gone">', "missing.png"),
        ('<link rel="stylesheet" href="missing.css">', "missing.css"),
        ('<iframe src="missing.html" title="gone"></iframe>', "missing.html"),
    ],
)
def test_it_notices_what_fails_or_leaves_the_site(broken, by, body, complaint):
    tab, reader = broken(body, by=by)
    tab.wait_for_timeout(100)
    assert any(complaint in text for text in reader.complaints), reader.complaints


@pytest.mark.parametrize(
    ("body", "check"),
    [
        ('<p style="width: 2000px">wide</p>', facts.sticking_out),
        ("<h1>Another</h1>", facts.wrong_headings),
        ("<h3>Too deep</h3>", facts.wrong_headings),
        ('<img src="data:," width="9" height="9">', facts.wrong_pictures),
        (
            '<img src="data:," width="9" height="9" alt="3f2a9b3f2a9b3f2a9b.png">',
            facts.wrong_pictures,
        ),
        ('<img src="data:," alt="A curve that rises and falls">', facts.wrong_pictures),
        (DRAWING.format(attributes=""), facts.wrong_pictures),
        (DRAWING.format(attributes='role="img" aria-labelledby="nowhere"'), facts.wrong_pictures),
        (
            DRAWING.format(attributes='aria-label="A curve that rises and falls"'),
            facts.wrong_pictures,
        ),
        ("<p>the rate \\(\\alpha\\)</p>", facts.raw_formulas),
        ("<p>$$ E = mc^2 $$</p>", facts.raw_formulas),
        ("<p>so $K+1$ tokens</p>", facts.raw_formulas),
        ("<p>\\frac{1}{2}</p>", facts.raw_formulas),
        ('<span class="math">E</span>', facts.wrong_formula_boxes),
        ('<span class="math"><math></math></span>', facts.wrong_formula_boxes),
        ('<nav class="bd-sidebar-primary" style="margin-top: -9px">x</nav>', facts.wrong_in_print),
        ('<div style="position: fixed; height: 9px">x</div>', facts.wrong_in_print),
    ],
)
def test_it_notices_a_broken_page(broken, body, check):
    tab, _ = broken(body)
    assert check(tab), body


@pytest.mark.parametrize(
    "body",
    [
        '<p style="color: #999">pale</p>',
        '<p style="color: rgb(0 0 0 / 0.4)">pale by its own transparency</p>',
        '<div style="opacity: 0.4"><p>pale by what it is in</p></div>',
        '<div style="background: #000"><p style="background: rgb(255 255 255 / 0.3)">dim</p></div>',
        '<p style="color: color-mix(in srgb, #000 40%, #fff)">pale by a mixture</p>',
        '<p style="color: #aaa; font-size: 30px">large, and too pale for that</p>',
        '<svg width="300" height="90"><text y="20" fill="#999">pale in a drawing</text></svg>',
        "<p><math><mi style='color: #999'>x</mi></math></p>",
    ],
)
def test_it_notices_pale_text(broken, body):
    tab, _ = broken(body)
    assert facts.pale_text(tab), body


@pytest.mark.parametrize(
    "body",
    [
        '<p style="color: #767676">just enough</p>',
        '<p style="color: #949494; font-size: 24px">enough for large type</p>',
        '<div style="background: #000; color: #fff"><p>turned round</p></div>',
        "<button disabled>not to be pressed</button>",
        '<p style="position: absolute; width: 1px; height: 1px; color: #fff">for listeners</p>',
    ],
)
def test_it_lets_text_be_that_stands_out(broken, body):
    tab, _ = broken(body)
    assert facts.pale_text(tab) == []


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<input type="range">', "label"),
        ("<button></button>", "button-name"),
        ('<p style="color: #999; background: #fff">pale</p>', "color-contrast"),
        ('<a href="#x"></a>', "link-name"),
    ],
)
def test_it_notices_what_shuts_readers_out(broken, body, rule):
    tab, _ = broken(body)
    assert any(line.startswith(rule) for line in violations(tab)), violations(tab)


def test_it_notices_small_targets(broken):
    tab, _ = broken('<div class="box"><button style="font-size: 8px; padding: 0">x</button></div>')
    assert facts.small_targets(tab, ".box")


def test_it_notices_layout_shift(broken, another_reader):
    pushed = """<p id="late"></p><div style="height: 600px">text</div><script>
      const push = () => { late.style.height = "300px"; };
      requestAnimationFrame(() => setTimeout(push, 60));
    </script>"""
    broken(pushed)
    assert looks.take(another_reader, "page.html", 390).shift > 0.1
    broken('<div style="height: 600px">text</div>')
    assert looks.take(another_reader, "page.html", 390).shift == 0


def test_it_weighs_every_file_once_and_compressed(broken, another_reader, folder):
    (folder / "text.css").write_text("p { color: black }\n" * 5000)
    (folder / "font.woff2").write_bytes(bytes(range(256)) * 40)
    broken(
        '<link rel="stylesheet" href="text.css?v=1"><link rel="preload" as="font" '
        'crossorigin href="font.woff2">'
    )
    files = looks.take(another_reader, "page.html", 390).files
    assert set(files) == {"page.html", "text.css", "font.woff2"}
    assert files["text.css"] < 1000
    assert files["font.woff2"] == 256 * 40


@pytest.mark.parametrize(
    "html",
    [
        '<script async src="//cdn.example.org/x.js"></script>',
        '<link rel="preload stylesheet" href="https://fonts.example.org/css">',
        '<img srcset="a.png 1x, https://example.org/b.png 2x">',
        '<p style="background: url(https://example.org/a.png)">',
        "<style>@import 'https://example.org/a.css';</style>",
    ],
)
def test_it_notices_addresses_of_other_hosts(html):
    assert foreign_loads(html)
    assert not foreign_loads('<a href="https://arxiv.org/abs/1">a</a><script src="x.js"></script>')


def test_it_notices_two_elements_of_one_id():
    page = Links('<p id="a"></p><p id="a"></p><svg><use xlink:href="#m"/><g fill="url(#a)"/></svg>')
    assert page.ids.count("a") == 2
    assert page.used == {"a", "m"}


def test_it_notices_controls_that_do_nothing(reader):
    page, index = built_site.simulated_players()[0]
    opened = Player(reader.open(page), index)
    label = opened.box.locator("input[type=range]").first.evaluate(
        """(slider) => {
          const words = slider.labels[0].textContent;
          slider.replaceWith(slider.cloneNode());  // a copy has no listeners
          return words;
        }"""
    )
    assert dead_controls(opened) == [f"input range {label!r}"]


def test_it_notices_controls_without_a_name_or_out_of_reach(reader):
    page, index = built_site.simulated_players()[0]
    opened = Player(reader.open(page), index)
    opened.box.evaluate("(box) => box.querySelector('label').remove()")
    opened.box.evaluate("(box) => { [...box.querySelectorAll('button')].at(-1).tabIndex = -1; }")
    expected = opened.expected_stops()
    reached = list(opened.tabbed_stops())
    assert len(reached) == len(expected) - 1
    assert "" in [name for _, _, name in reached]


def test_it_notices_wrong_numbers():
    assert shows(last_number("E = (1 − 0.8)/(1 − 0.8) = 3.362"), 3.3616)
    assert not shows(last_number("E = (1 − 0.8)/(1 − 0.8) = 3.362"), 3.3629)
    assert not shows("2.40", 2.41)
    assert last_number("1,234 rounds") == "1234"
    with pytest.raises(AssertionError, match="no number"):
        last_number("none")


def test_it_notices_a_widget_that_never_mounts(lenient_reader):
    page, _ = built_site.widgets("player")[0]
    script = re.compile(r"<script[^>]*specmini\.js[^>]*>")
    with pytest.raises(TimeoutError):
        lenient_reader.open(page, edit=lambda html: script.sub("", html))
