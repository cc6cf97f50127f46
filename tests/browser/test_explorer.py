"""The speedup explorer on the page: its numbers are the theory's, its links restore a setting."""

import math

import numpy as np
import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.widgets import Explorer, last_number, shows, with_first_widget_twice
from specmini import catalog, theory
from specmini.roofline.deployment import Deployment

ROUNDED = 0.005  # what two digits hide
SETTINGS = [
    {"alpha": 0.8, "c": 0.1, "K": 4, "batch": 1},
    {"alpha": 0.1, "c": 0.1, "K": 4, "batch": 1},
    {"alpha": 0.8, "c": 0.5, "K": 16, "batch": 1},
    {"alpha": 0.9, "c": 0, "K": 16, "batch": 1},
    {"alpha": 0, "c": 0, "K": 3, "batch": 1},
    {"alpha": 1, "c": 0.05, "K": 8, "batch": 1},
    {"alpha": 0.6, "c": 0.3, "K": 0, "batch": 1},
    {"alpha": 0.75, "c": 0.04, "K": 5, "batch": 64},
    {"alpha": 0.8, "c": 0.1, "K": 4, "batch": 512},
    {"alpha": 0.95, "c": 1, "K": 1, "batch": 256},
    {"alpha": 0.8333, "c": 0.123, "K": 7, "batch": 17, "machine": "a100", "context": 0},
    {"alpha": 0.7, "c": 0.1, "K": 4, "batch": 8, "model": "llama-3.1-70b", "context": 131072},
    {"alpha": 0.8, "c": 0.05, "K": 3, "batch": 16, "model": "deepseek-v3", "devices": 8},
    {"alpha": 0.8, "c": 0.05, "K": 3, "batch": 48, "model": "llama-3.1-8b", "weight_bits": 4},
]
REFUSED = {
    "alpha=NaN": "[0, 1], got NaN",
    "alpha=7": "[0, 1], got 7",
    "alpha=-0.1": "[0, 1], got -0.1",
    "alpha=": "[0, 1], got nothing",
    "alpha=%3Cscript%3Ealert(1)%3C/script%3E": "got <script>",
    "alpha=<img src=x onerror=alert(1)>": "got <img",
    "c=Infinity": "[0, 1], got Infinity",
    "K=2.5": "a whole number in [0, 16], got 2.5",
    "K=1e99": "[0, 16]",
    "batch=0": "[1, 512], got 0",
    "machine=__proto__": "machine must be one of",
    "model=constructor": "model must be one of",
    "K=0x10": "a whole number in [0, 16], got 0x10",
    "c=%200.1": "c must be a number in [0, 1], got 0.1",
    "alpha=0.5?K=2": "[0, 1], got 0.5?K=2",
    "alpha=$%26": "[0, 1], got $&",
    "batch=" + "9" * 3000: "[1, 512], got " + "9" * 57 + "...",
    "model=" + "x" * 3000: "got " + "x" * 57 + "...",
    "y" * 3000 + "=1": "no setting “" + "y" * 57 + "...”",
    "weight_bits=12": "weight_bits must be one of 16, 8, 4, got 12",
    "model=qwen2.5-0.5b&devices=4": "devices must divide the 14 heads of Qwen2.5-0.5B, got 4",
    "nonsense=1": "no setting “nonsense”",
    "toString=1": "no setting “toString”",
}


def expected(alpha, c, K, batch, context, **run):  # noqa: N803, the book's letter
    """The theory's numbers for one setting of the page, read from its link."""
    deployment = Deployment(
        catalog.machine(run["machine"]),
        catalog.model(run["model"]),
        bytes_per_weight=float(run["weight_bits"]) / 8,
        devices=int(run["devices"]),
    )
    alpha, c, length = float(alpha), float(c), int(K)
    lengths = np.arange(17)
    costs = deployment.verify_cost(int(batch), lengths, int(context))
    speedups = theory.speedup(alpha, c, lengths, costs)
    cost = float(costs[length])
    even = theory.break_even_acceptance(c, length, cost) if length else math.nan
    return {
        "Tokens per round": float(theory.tokens_per_round(alpha, length)),
        "Checking": cost,
        "Round cost": float(theory.round_cost(c, length, cost)),
        "Speedup": float(speedups[length]),
        "Best K": int(np.argmax(speedups)),
        "Break-even": float(even),
        "curve": speedups,
        "free": theory.speedup(alpha, c, lengths),
    }


def assert_shows_the_theory(explorer):
    numbers = expected(**explorer.setting())
    where = f"{explorer.name} at {explorer.setting()}"
    terms = explorer.terms()
    for label in ("Tokens per round", "Checking", "Round cost", "Speedup", "Best K"):
        shown = last_number(terms[label])
        assert shows(shown, numbers[label]), f"{where}: {terms[label]!r} is not {numbers[label]}"
    if math.isnan(numbers["Break-even"]):
        assert terms["Break-even"].startswith("no"), f"{where}: {terms['Break-even']!r}"
    else:
        shown = last_number(terms["Break-even"])
        assert shows(shown, numbers["Break-even"]), f"{where}: {terms['Break-even']!r}"
    best, speedup = numbers["Best K"], numbers["curve"][numbers["Best K"]]
    assert f"K = {best}: {speedup:.2f}×" in explorer.marks(), f"{where}: {explorer.marks()}"
    assert ("the best" in explorer.marks()) == (best == int(explorer.setting()["K"])), where
    # Coordinates are rounded to 0.1 px, and an axis of a few units is about 200 px high.
    room = 0.001 * max(2.0, numbers["curve"].max(), numbers["free"].max())
    np.testing.assert_allclose(explorer.curve(), numbers["curve"], rtol=0, atol=room, err_msg=where)
    assert verdict_is_right(explorer.verdict(), explorer.setting()["K"], numbers["Speedup"]), where


def verdict_is_right(verdict, length, speedup):
    word = verdict.split(":")[0]
    if int(length) == 0:
        return word == "Plain decoding"
    if abs(speedup - 1) < ROUNDED:
        return word == "Breaks even"
    return word == ("Wins" if speedup > 1 else "Loses") and f"{speedup:.2f}× plain" in verdict


@pytest.fixture
def opened(reader, explorer):
    page, index = explorer
    return Explorer(reader.open(page), index)


@pytest.fixture
def full_explorer(reader):
    """An explorer with every control, the first in the book."""
    for page, index in built_site.widgets("explorer"):
        found = Explorer(reader.open(page), index)
        if found.box.locator("select").count():
            return found
    pytest.fail("no explorer in the book shows all its controls")


def test_it_opens_with_the_numbers_of_the_theory(opened):
    assert_shows_the_theory(opened)


def test_sliders_lead_to_the_numbers_of_the_theory(opened):
    for slider in opened.box.locator("input[type=range]").all():
        slider.focus()
        for key in ("ArrowRight", "PageUp", "End", "ArrowLeft", "Home"):
            opened.tab.keyboard.press(key)
            assert_shows_the_theory(opened)


def test_every_setting_shows_the_numbers_of_the_theory(full_explorer):
    for setting in SETTINGS:
        full_explorer.set(**setting)
        assert {name: float(full_explorer.setting()[name]) for name in ("alpha", "c", "K")} == {
            name: setting[name] for name in ("alpha", "c", "K")
        }
        assert_shows_the_theory(full_explorer)


def test_a_tiny_gain_elsewhere_is_not_denied(full_explorer):
    full_explorer.set(alpha=0.5, c=0.497, K=4, batch=1)
    speedups = expected(**full_explorer.setting())["curve"]
    assert 1 < speedups[1] == speedups.max() < 1.005
    assert "The best, K = 1, gains less than 0.5 %." in full_explorer.verdict()
    full_explorer.set(alpha=0.5, c=0.6, K=4, batch=1)
    assert "No K wins while α is not above c." in full_explorer.verdict()


def test_table_holds_the_curve_as_numbers(full_explorer):
    full_explorer.set(**SETTINGS[7])
    numbers = expected(**full_explorer.setting())
    rows = full_explorer.table()
    assert [row[0] for row in rows] == [str(length) for length in range(17)]
    for column, key in ((1, "curve"), (2, "free")):
        for row, value in zip(rows, numbers[key], strict=True):
            assert shows(row[column].rstrip("×"), value), f"{row} where {key} is {value}"


def test_drawing_says_in_words_what_it_shows(full_explorer):
    for setting in SETTINGS[:3]:
        full_explorer.set(**setting)
        title = full_explorer.box.locator("svg title").text_content()
        assert full_explorer.verdict() in title


@pytest.mark.parametrize("by", ["http", "file"])
def test_link_restores_the_setting_elsewhere(reader, explorer, by):
    page, index = explorer
    first = Explorer(reader.open(page, by=by), index)
    first.box.locator("input[type=range]").first.focus()
    for _ in range(3):
        first.tab.keyboard.press("ArrowLeft")
    fragment = first.box.locator("a.sm-link").evaluate("(link) => link.href").split("#")[1]
    second = Explorer(reader.open(page, by=by, fragment=fragment), index)
    assert second.setting() == first.setting()
    assert second.result() == first.result()
    assert second.notice() == ""
    assert second.box.evaluate("(node) => node.getBoundingClientRect().top < innerHeight")


def test_address_bar_holds_the_link_after_copying(opened):
    opened.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.box.locator("input[type=range]").first.press("ArrowLeft")
    opened.box.locator("a.sm-link").press("Enter")
    opened.tab.wait_for_timeout(100)
    copied = opened.tab.evaluate("navigator.clipboard.readText()")
    assert copied == opened.tab.evaluate("location.href")
    assert "alpha=" in copied
    assert "opied" in opened.said()


def test_hostile_link_is_refused_and_changes_nothing(full_explorer):
    tab = full_explorer.tab
    tab.evaluate("() => { window.alert = (words) => { throw new Error(`says ${words}`); }; }")
    before = full_explorer.result()
    for query, words in REFUSED.items():
        tab.evaluate("(hash) => { location.hash = hash; }", f"explorer?{query}")
        full_explorer.box.get_by_text(words).wait_for()
        assert full_explorer.result() == before, query
        nothing_wrong(query[:60], facts.sticking_out(tab))
        assert not full_explorer.box.locator("script, img").count(), query


@pytest.mark.parametrize("fragment", ["explorer?alpha=NaN&K=3", "explorer?alpha=%E0%A4%A", "100%"])
def test_page_with_a_broken_link_still_opens(reader, fragment):
    (page, index), *_ = built_site.widgets("explorer")
    opened = Explorer(reader.open(page, fragment=fragment), index)
    assert_shows_the_theory(opened)


def test_it_speaks_politely_and_once_after_a_burst(opened):
    region = opened.box.locator("[role=status]")
    assert region.get_attribute("aria-live") in (None, "polite")
    assert not opened.box.locator("[aria-live=assertive]").count()
    opened.listen()
    opened.box.locator("input[type=range]").first.focus()
    for _ in range(12):
        opened.tab.keyboard.press("ArrowLeft")
    assert opened.said().startswith(opened.verdict().split(":")[0])
    assert len(opened.heard()) == 1, opened.heard()


def test_reset_restores_the_first_setting(opened):
    first = opened.result()
    for slider in opened.box.locator("input[type=range]").all():
        slider.press("Home")
    field = opened.box.locator("input[type=number]").first
    field.fill("99")
    field.press("Enter")
    assert opened.result() != first
    opened.press("Reset")
    assert opened.result() == first
    assert field.get_attribute("aria-invalid") is None
    assert not any(opened.box.locator(".sm-error").all_inner_texts())


def test_two_explorers_on_a_page_do_not_share_a_setting(reader):
    (page, _), *_ = built_site.widgets("explorer")
    tab = reader.open(page, edit=with_first_widget_twice)
    first, second = Explorer(tab, 0), Explorer(tab, 1)
    before = second.result()
    first.box.locator("input[type=range]").first.press("Home")
    assert first.result() != before
    assert second.result() == before
    second.set(alpha=0.5, c=0.25, K=2)
    assert second.setting()["K"] == "2"
    first.box.locator("input[type=range]").first.press("ArrowRight")
    assert (first.setting()["c"], first.setting()["K"]) != ("0.25", "2")
