"""The overlap explorer on the page: its numbers are Python's, its links restore a setting."""

import json
import re

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.widgets import Overlap, last_number, shows, with_first_widget_twice
from specmini.exact.rules import RULES
from specmini.widgets import OverlapExplorer

STATE = re.compile(
    r'data-specmini="overlap">.*?<script type="application/json">(.*?)</script>', re.DOTALL
)
SETTINGS = [
    {},
    {"rule": "greedy draft"},
    {"context": "surer", "rule": "exact match", "target_temperature": 0.5},
    {"context": "surer", "rule": "greedy draft", "target_temperature": 0.3},
    {"context": "wrong", "target_temperature": 0, "draft_temperature": 0},
    {"context": "hand", "rule": "greedy draft", "target_temperature": 2, "draft_temperature": 0},
    {"context": "differ", "target_temperature": 1.15, "draft_temperature": 0.05},
    {"context": "agree", "rule": "exact match", "target_temperature": 2, "draft_temperature": 2},
]
START = {
    "context": "typical",
    "rule": "textbook",
    "target_temperature": 1,
    "draft_temperature": 1,
    "together": "false",
}
REFUSED = {
    "context=__proto__": "context must be one of",
    "rule=textbook%20": "rule must be one of textbook, greedy draft, exact match, got textbook",
    "together=1": "together must be one of true, false, got 1",
    "target_temperature=2.01": "target_temperature must be a number in [0, 2], got 2.01",
    "draft_temperature=<img src=x onerror=alert(1)>": "draft_temperature must be a number",
    "temperature=1": "no setting “temperature”",
}


@pytest.fixture(params=built_site.widgets("overlap") or [None], ids=str)
def place(request):
    if request.param is None:
        pytest.fail("no page of the book has an overlap explorer")
    return request.param


@pytest.fixture
def opened(reader, place):
    page, index = place
    return Overlap(reader.open(page), index)


@pytest.fixture
def contexts(place):
    page, index = place
    return json.loads(STATE.findall(built_site.text_of(page))[index])["state"]["contexts"]


def assert_shows_what_python_finds(opened, contexts):
    setting = opened.setting()
    ours = OverlapExplorer(contexts=contexts, context=setting["context"], rule=setting["rule"])
    ours.target_temperature = float(setting["target_temperature"])
    ours.draft_temperature = float(setting["draft_temperature"])
    where, terms, bars = f"{opened.name} at {setting}", opened.terms(), ours.bars
    assert shows(last_number(terms["Total variation"]), ours.total_variation), where
    for rule, rate in ours.rates.items():
        assert shows(last_number(terms[rule.capitalize()]), rate), f"{where}: {terms}"
    rates = ours.rates.values()
    best = [rule for rule, rate in ours.rates.items() if max(rates) - rate < 1e-9]
    said = "none: all three are equal" if len(best) == len(RULES) else " and ".join(best)
    assert terms["Largest"].startswith(said), f"{where}: {terms['Largest']!r}"
    # A drawing is a few hundred pixels wide, and its coordinates are rounded to 0.1.
    assert opened.bars("target") == pytest.approx(bars["p"].tolist(), abs=0.002), where
    drafted = [
        chance for chance in bars["drafted"].tolist() if chance or ours.rule != "greedy draft"
    ]
    assert opened.bars("draft") == pytest.approx(drafted, abs=0.002), where
    percent = float(re.search(r"([\d.]+)%", opened.verdict())[1])
    assert abs(percent / 100 - ours.rates[ours.rule]) < 0.0051, where


def test_every_setting_shows_what_python_finds(opened, contexts):
    assert_shows_what_python_finds(opened, contexts)
    for setting in SETTINGS:
        opened.set(**START | setting)
        assert_shows_what_python_finds(opened, contexts)


def test_sliders_and_choices_show_what_python_finds(opened, contexts):
    for slider in opened.box.locator("input[type=range]").all():
        for key in ("ArrowRight", "Home", "ArrowRight", "End"):
            slider.press(key)
            assert_shows_what_python_finds(opened, contexts)
    for select in opened.box.locator("select").all():
        select.press("ArrowDown")
        assert_shows_what_python_finds(opened, contexts)


def test_table_holds_the_bars_as_numbers(opened, contexts):
    opened.set(context="surer", rule="exact match")
    ours = OverlapExplorer(contexts=contexts, context="surer", rule="exact match")
    columns = [ours.bars[name] for name in ("p", "q", "accepted", "rejected", "recovered")]
    rows = opened.table()
    assert len(rows) == 8
    for row, numbers in zip(rows, zip(*columns, strict=True), strict=True):
        assert all(map(shows, row[1:], numbers)), f"{row} where {numbers}"


def test_tied_temperatures_move_together(opened):
    target, draft = (opened.number(f"{side} temperature") for side in ("Target", "Draft"))
    switch = opened.box.get_by_role("switch", name="Temperatures together")
    opened.slider("Draft temperature").press("Home")
    assert switch.get_attribute("aria-checked") == "false"
    switch.press("Enter")
    assert switch.get_attribute("aria-checked") == "true"
    assert (target.input_value(), draft.input_value()) == ("1", "1")
    opened.slider("Draft temperature").press("ArrowLeft")
    assert (target.input_value(), draft.input_value()) == ("0.95", "0.95")
    opened.slider("Target temperature").press("End")
    assert (target.input_value(), draft.input_value()) == ("2", "2")
    switch.press("Space")
    opened.slider("Target temperature").press("Home")
    assert (target.input_value(), draft.input_value()) == ("0", "2")


@pytest.mark.parametrize("by", ["http", "file"])
def test_link_restores_the_setting_elsewhere(reader, place, by):
    page, index = place
    first = Overlap(reader.open(page, by=by), index)
    first.slider("Target temperature").press("Home")
    for select in first.box.locator("select").all():
        select.press("ArrowDown")
    first.box.get_by_role("switch").press("Enter")
    first.slider("Draft temperature").press("ArrowRight")
    fragment = first.box.locator("a.sm-link").evaluate("(link) => link.href").split("#")[1]
    second = Overlap(reader.open(page, by=by, fragment=fragment), index)
    assert second.setting() == first.setting() != START
    assert second.result() == first.result()
    assert second.notice() == ""


def test_hostile_link_is_refused_and_changes_nothing(opened):
    tab, before = opened.tab, opened.result()
    tab.evaluate("() => { window.alert = (words) => { throw new Error(`says ${words}`); }; }")
    anchor = opened.box.locator("a.sm-link").get_attribute("href").split("?")[0]
    for query, words in REFUSED.items():
        tab.evaluate("(hash) => { location.hash = hash; }", f"{anchor}?{query}")
        opened.box.get_by_text(words).wait_for()
        assert opened.result() == before, query
        nothing_wrong(query, facts.sticking_out(tab))


def test_reset_restores_the_first_setting(opened):
    first = opened.result()
    opened.set(**START | {"context": "hand", "rule": "exact match", "together": "true"})
    opened.type_number("Target temperature", "9")
    assert opened.result() != first
    opened.press("Reset")
    assert opened.result() == first
    assert opened.setting()["together"] == "false"
    assert not any(opened.box.locator(".sm-error").all_inner_texts())


def test_it_speaks_politely_and_once_after_a_burst(opened):
    opened.listen()
    opened.slider("Target temperature").focus()
    for _ in range(8):
        opened.tab.keyboard.press("ArrowLeft")
    assert opened.said().startswith(opened.verdict().split(".")[0])
    assert len(opened.heard()) == 1, opened.heard()


def test_drawing_says_in_words_what_it_shows(opened):
    title = opened.box.locator("svg title").text_content()
    assert opened.verdict() in title
    assert title.count("target 0.") == 8


def test_nothing_below_it_moves_whatever_is_chosen(opened):
    for width in (DESK, PHONE):
        opened.tab.set_viewport_size({"width": width, "height": 900})
        heights = set()
        for setting in SETTINGS:
            opened.set(**START | setting)
            heights.add(opened.box.evaluate("(box) => box.offsetHeight"))
            nothing_wrong(f"{opened.name} at {width} px", facts.sticking_out(opened.tab))
        assert max(heights) - min(heights) <= 1, f"{opened.name} at {width} px: {heights}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_work(reader, place, scheme):
    page, index = place
    opened = Overlap(reader.open(page, scheme=scheme, motion="reduce", width=PHONE), index)
    opened.set(rule="greedy draft", context="surer")
    opened.table()
    opened.type_number("Draft temperature", "7")
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))
    nothing_wrong(opened.name, facts.sticking_out(opened.tab))


def test_reader_without_scripts_gets_bars_and_numbers(reader, place, contexts):
    page, index = place
    tab = reader.open(page, scripts=False, width=PHONE)
    box = tab.locator("[data-specmini=overlap]").nth(index)
    for rate in OverlapExplorer(contexts=contexts).rates.values():
        assert f"{rate:.3f}" in box.inner_text()
    assert box.locator("tbody tr").count() == 8
    widths = box.locator(".sm-stripe").evaluate_all("(bars) => bars.map((bar) => bar.offsetWidth)")
    assert min(widths) > 120
    nothing_wrong(page, facts.sticking_out(tab))


def test_two_on_a_page_do_not_share_a_setting(reader, place):
    page, _ = place
    tab = reader.open(page, edit=with_first_widget_twice)
    first, second = Overlap(tab, 0), Overlap(tab, 1)
    before = second.result()
    first.slider("Target temperature").press("Home")
    assert first.result() != before
    assert second.result() == before
