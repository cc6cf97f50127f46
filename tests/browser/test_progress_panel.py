"""Progress on the page: chapters noted as read, taken along as a file, brought back, forgotten."""

import json

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.test_spot import REFUSE
from specmini.widgets import ProgressPanel

KEY = "specmini:progress"
PANEL = "book/progress.html"
CHAPTER = "book/speedup.html"
MINE = {"version": 1, "pages": {"speedup": {"read": 1}, "spot": {"overlap": 0.5, "batch": 1}}}


def stored(tab):
    return json.loads(tab.evaluate(f"localStorage.getItem('{KEY}')") or "null")


def opened(reader, content=None, **how):
    tab = reader.open(PANEL, before=how.pop("before", ""), **how)
    if content:
        tab.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, content])
        tab.reload()
        reader.settle(tab)
    return tab


def rows(tab):
    return dict(
        row.locator("th, td").all_inner_texts()
        for row in tab.locator(".sm-progress tbody tr").all()
    )


def give(tab, text):
    file = {"name": "p.json", "mimeType": "application/json", "buffer": text.encode()}
    with tab.expect_file_chooser() as chooser:
        tab.get_by_role("button", name="Import").press("Enter")
    chooser.value.set_files(file)


@pytest.fixture
def mark(reader):
    tab = reader.open(CHAPTER)
    return tab, tab.get_by_role("button", name="I have read this")


def test_every_chapter_has_its_button_and_no_other_page():
    with_mark = {page for page, _ in built_site.widgets("read")}
    assert len(with_mark) >= 11
    assert CHAPTER in with_mark
    assert not with_mark & {PANEL, "book/index.html", "book/glossary.html", "book/ledger.html"}
    assert all(built_site.widgets("read").count((page, 0)) == 1 for page in with_mark)


def test_a_chapter_is_noted_by_keyboard_and_taken_back(reader, mark):
    tab, button = mark
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert button.inner_text() == "✓ I have read this"
    assert stored(tab) == {"version": 1, "pages": {"speedup": {"read": 1}}}
    tab.locator(".sm-read a").press("Enter")
    tab.wait_for_url("**/progress.html")
    reader.settle(tab)
    assert rows(tab)["Speedup"] == "✓ read"
    tab.go_back()
    reader.settle(tab)
    button.press("Space")
    assert button.get_attribute("aria-pressed") == "false"
    assert stored(tab)["pages"]["speedup"] == {}


def test_the_panel_lists_the_chapters_of_the_site_and_the_exercises(reader):
    tab = opened(reader, json.dumps(MINE))
    shown = rows(tab)
    assert shown["Speedup"] == "✓ read"
    assert shown["Expected tokens"] == "not yet"
    assert shown["Spot the errors"] == "2 of 16 done, mean score 75%"
    chapters = len({page for page, _ in built_site.widgets("read")})
    exercises = sum(len(page["items"]) for page in ProgressPanel().pages)
    total = tab.locator(".sm-sum").inner_text()
    assert total == f"1 of {chapters} chapters read, 2 of {exercises} exercises done."
    for link in tab.locator(".sm-progress tbody a").all():
        assert (reader.site / "book" / link.get_attribute("href")).exists()


def test_export_and_import_bring_it_to_another_browser(reader, browser):
    tab = opened(reader, json.dumps(MINE))
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export").press("Enter")
    assert download.value.suggested_filename == "specmini-progress.json"
    text = download.value.path().read_text()
    assert json.loads(text) == MINE
    tab.evaluate("localStorage.clear()")
    tab.reload()
    reader.settle(tab)
    assert rows(tab)["Speedup"] == "not yet"
    give(tab, text)
    tab.get_by_text("1 of").wait_for()
    assert stored(tab) == MINE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Not imported: progress must be JSON, as Export writes it."),
        ('{"version":1,"pages":{"__proto__":{"read":1}}}', "a page must be named by small letters"),
        ('{"version":1,"pages":{"a":{"b":2}}}', "the score of a, b must be a number in [0, 1]."),
        ('{"version":1,"pages":{"<img src=x onerror=alert(1)>":{}}}', "a page must be named"),
        ("9" * 2_500_000, "progress must be a file of at most 2 MB"),
        (" " * 600_000, "progress must have at most 500000 characters"),
    ],
    ids=["cut off", "prototype", "score", "markup", "huge", "large"],
)
def test_a_hostile_file_is_refused_in_words_and_changes_nothing(reader, text, words):
    tab = opened(reader, json.dumps(MINE), width=PHONE)
    give(tab, text)
    tab.get_by_text(words).wait_for()
    assert stored(tab) == MINE
    nothing_wrong(PANEL, facts.sticking_out(tab))
    assert tab.evaluate("({}).read") is None


def test_what_other_pages_noted_is_shown_as_text(reader):
    tab = opened(reader, '{"version":1,"pages":{"cards-of-mine":{"a":0.5}}}')
    assert rows(tab)["cards-of-mine"] == "1 done, mean score 50%"


def test_reset_asks_first(reader):
    tab = opened(reader, json.dumps(MINE))
    tab.get_by_role("button", name="Reset").press("Enter")
    assert tab.evaluate("document.activeElement.textContent") == "Keep it"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.textContent") == "Reset"
    assert stored(tab) == MINE
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Forget it").press("Enter")
    assert stored(tab) == {"version": 1, "pages": {}}
    assert rows(tab)["Speedup"] == "not yet"
    assert tab.evaluate("document.activeElement.textContent") == "Reset"


def test_another_tab_is_followed(reader):
    tab = opened(reader)
    other = tab.context.new_page()
    other.goto(reader.address(CHAPTER))
    other.get_by_role("button", name="I have read this").click()
    tab.get_by_text("✓ read").wait_for()


def test_refused_storage_is_said_and_the_buttons_work_until_one_leaves(reader):
    tab = opened(reader, before=REFUSE)
    assert "This browser keeps nothing for this site" in tab.locator(".sm-note").inner_text()
    give(tab, json.dumps(MINE))
    tab.get_by_text("2 of 16 done").wait_for()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export").press("Enter")
    assert json.loads(download.value.path().read_text()) == MINE
    chapter = reader.open(CHAPTER, before=REFUSE)
    button = chapter.get_by_role("button", name="I have read this")
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", [PANEL, CHAPTER])
def test_axe_finds_nothing_while_it_asks_and_complains(reader, scheme, where):
    tab = reader.open(where, scheme=scheme, motion="reduce", width=PHONE)
    if where == PANEL:
        give(tab, "{")
        tab.get_by_text("Not imported").wait_for()
        tab.get_by_role("button", name="Reset").click()
    else:
        tab.get_by_role("button", name="I have read this").click()
    nothing_wrong(where, violations(tab, ".specmini-host"))
    nothing_wrong(where, facts.small_targets(tab, ".specmini-host"))
    nothing_wrong(where, facts.sticking_out(tab))


def test_reader_without_scripts_is_told_what_the_page_would_do(reader):
    tab = reader.open(PANEL, scripts=False, width=DESK)
    assert "With JavaScript this table says" in tab.locator("article").inner_text()
    chapters = {page for page, _ in built_site.widgets("read")}
    assert tab.locator(".sm-fallback-progress tbody a").count() == len(chapters)
    tab = reader.open(CHAPTER, scripts=False)
    assert "With JavaScript a button here notes" in tab.locator("article").inner_text()
