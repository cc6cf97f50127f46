"""The drafter explorer on the page: its numbers are Python's, its links restore a setting."""

import json
import re

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.widgets import Drafters, last_number, shows, with_first_widget_twice
from specmini.widgets import DrafterExplorer

STATE = re.compile(
    r'data-specmini="drafters">.*?<script type="application/json">(.*?)</script>', re.DOTALL
)
SETTINGS = [
    {},
    {"best": "true", "alpha": 0.6, "c": 0.2},
    {"best": "false", "alpha": 0.9, "c": 0.01, "K": 16},
    {"best": "true", "alpha": 0.1, "c": 0.5},
    {"best": "false", "alpha": 0.7, "c": 0.1, "v": 1.5, "h": 0.25, "K": 4},
    {"best": "true", "alpha": 1, "c": 0},
    {"best": "false", "alpha": 0, "c": 1, "v": 8, "h": 0, "K": 1},
]
REFUSED = {
    "alpha=1.5": "alpha must be a number in [0, 1], got 1.5",
    "v=0.5": "v must be a number in [1, 8], got 0.5",
    "h=": "h must be a number in [0, 1], got nothing",
    "K=2.5": "K must be a whole number in [0, 16], got 2.5",
    "best=yes": "best must be one of true, false, got yes",
    "c=<img src=x onerror=alert(1)>": "c must be a number in [0, 1]",
    "points=[]": "no setting “points”",
}


@pytest.fixture(params=built_site.widgets("drafters") or [None], ids=str)
def place(request):
    if request.param is None:
        pytest.fail("no page of the book has a drafter explorer")
    return request.param


@pytest.fixture
def opened(reader, place):
    page, index = place
    return Drafters(reader.open(page), index)


@pytest.fixture
def points(place):
    page, index = place
    return json.loads(STATE.findall(built_site.text_of(page))[index])["state"]["points"]


def assert_shows_what_python_finds(opened, points):
    setting = opened.setting()
    numbers = {name: float(setting[name]) for name in ("alpha", "c", "v", "h")}
    ours = DrafterExplorer(points=points, K=int(setting["K"]), **numbers)
    where, terms = f"{opened.name} at {setting}", opened.terms()
    assert shows(last_number(terms["Tokens per round"]), ours.tokens_per_round), where
    assert shows(last_number(terms["Round cost"]), ours.round_cost), where
    assert shows(last_number(terms["Speedup"]), ours.speedup), where
    assert shows(last_number(terms["Best K"]), ours.best_draft_length), where
    if setting["best"] == "true":
        assert ours.best_draft_length == ours.K, where
    price, misses = (part.split(": ")[1] for part in terms["To improve"].split("; ")[:2])
    assert shows(last_number(price), ours.with_half_the_price), where
    assert shows(last_number(misses), ours.with_half_the_misses), where
    assert all(name in terms["Near you"] for name in ours.near), where
    [(rate, cost)] = opened.places()["you"]
    assert rate == pytest.approx(numbers["alpha"], abs=0.003), where
    assert cost == pytest.approx(max(numbers["c"], 0.002), rel=0.02), where


def test_every_setting_shows_what_python_finds(opened, points):
    assert_shows_what_python_finds(opened, points)
    for setting in SETTINGS:
        opened.set(**setting)
        assert_shows_what_python_finds(opened, points)


def test_sliders_and_choices_show_what_python_finds(opened, points):
    for slider in opened.box.locator("input[type=range]").all():
        for key in ("ArrowLeft", "Home", "ArrowRight", "End"):
            slider.press(key)
            assert_shows_what_python_finds(opened, points)


def test_every_known_drafter_stands_where_it_was_published(opened, points):
    drawn = opened.places()
    for kind, measured in (("known", False), ("measured", True)):
        wanted = [
            (one["alpha"], max(one["c"], 0.002)) for one in points if one["measured"] is measured
        ]
        assert len(drawn[kind]) == len(wanted)
        for (rate, cost), (alpha, c) in zip(drawn[kind], wanted, strict=True):
            assert rate == pytest.approx(alpha, abs=0.003)
            assert cost == pytest.approx(c, rel=0.02)


def test_a_reader_can_stand_where_another_stands(opened, points):
    select = opened.box.get_by_label("Stand where this one stands")
    for index in (0, len(points) - 1):
        select.select_option(value=str(index))
        setting = opened.setting()
        assert (float(setting["alpha"]), int(setting["K"])) == (
            points[index]["alpha"],
            points[index]["K"],
        )
        assert points[index]["name"] in opened.terms()["Near you"].split(";")[0]
        assert_shows_what_python_finds(opened, points)
    opened.slider("Acceptance rate").press("ArrowLeft")
    assert select.input_value() == ""


def test_the_best_length_follows_until_a_reader_chooses(opened, points):
    switch = opened.box.get_by_role("switch", name="Always the best K")
    opened.set(best="true", alpha=0.5)
    assert switch.get_attribute("aria-checked") == "true"
    before = opened.setting()["K"]
    opened.set(alpha=0.95)
    assert opened.setting()["K"] != before
    opened.slider("Draft length K").press("Home")
    assert switch.get_attribute("aria-checked") == "false"
    assert opened.setting()["K"] == "0"
    switch.press("Enter")
    assert opened.setting()["best"] == "true"
    assert_shows_what_python_finds(opened, points)


def test_table_names_every_drafter(opened, points):
    rows = opened.table()
    assert len(rows) == len(points)
    for number, (row, one) in enumerate(zip(rows, points, strict=True), start=1):
        assert row[0].startswith(f"{number} {one['name']}")
        assert ("not exact" in row[0]) is not one["exact"]
        assert shows(row[1], one["alpha"])
        assert row[4] == f"{one['speedup']:.2f}×"


@pytest.mark.parametrize("query", REFUSED, ids=range(len(REFUSED)))
def test_a_link_that_is_not_possible_is_refused_in_words(reader, place, query):
    page, index = place
    if index:
        pytest.skip("the anchor of the first one is enough")
    opened = Drafters(reader.open(page), index)
    before = opened.result()
    opened.tab.evaluate("(hash) => { location.hash = hash; }", f"drafters?{query}")
    opened.tab.wait_for_timeout(100)
    assert REFUSED[query] in opened.notice()
    assert opened.result() == before


def test_a_change_is_said_once(opened):
    opened.listen()
    for _ in range(3):
        opened.slider("Acceptance rate").press("ArrowLeft")
    said = opened.said()
    assert said.startswith("Wins")
    assert "Near you:" in said
    assert len(opened.heard()) == 1


def test_two_on_one_page_keep_their_settings_apart(reader, place):
    page, _ = place
    tab = reader.open(page, edit=with_first_widget_twice)
    kinds = built_site.text_of(page).split("data-specmini=")[1][1:9]
    if kinds != "drafters":
        pytest.skip("another widget comes first")
    first, second = Drafters(tab, 0), Drafters(tab, 1)
    first.set(alpha=0.33)
    assert float(first.setting()["alpha"]) == 0.33
    assert float(second.setting()["alpha"]) != 0.33


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_axe_finds_nothing_with_the_table_open(reader, place, width):
    page, index = place
    opened = Drafters(reader.open(page, width=width, motion="reduce"), index)
    opened.table()
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))
    nothing_wrong(opened.name, facts.sticking_out(opened.tab))
