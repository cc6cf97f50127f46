"""Number fields: a refused entry says what is allowed and leaves the last good result standing."""

import pytest

from browser import built_site
from browser.widgets import WIDGET_CLASSES

ALPHA, COST, LENGTH = "Acceptance rate α", "Cost ratio c", "Draft length K"
BAD = {
    LENGTH: (["2.5", "17", "-1", "", "x"], "[0, 16]", "3"),
    ALPHA: (["1.5", "-1", "", "abc", "1e", "--", "1e400"], "[0, 1]", "0.25"),
    COST: (["1.01", "-0.5", ""], "[0, 1]", "0.4"),
    "Batch": (["0", "513", "1.5", ""], "[1, 512]", "7"),
    "Concurrency": (["0", "1025", "1.5", ""], "[1, 1024]", "7"),
    "Verify cost v": (["0.5", "9", "", "x"], "[1, 8]", "2"),
    "Hit rate h": (["1.5", "-1", ""], "[0, 1]", "0.5"),
    "Overhead": (["-1", "100.5", ""], "[0, 100]", "2.5"),
    "Target temperature": (["2.1", "-0.1", "", "x"], "[0, 2]", "0.5"),
    "Draft temperature": (["3", "-1", "1e"], "[0, 2]", "1.6"),
    "New cards a day": (["0", "101", "1.5", ""], "[1, 100]", "3"),
    "Context (tokens)": (["-1", "200000", "0.5", ""], "[0, 131072]", "100"),
}


@pytest.fixture
def opened(reader, widget):
    kind, page, index = widget
    return WIDGET_CLASSES[kind](reader.open(page), index)


def fields(widget):
    return {label: case for label, case in BAD.items() if widget.number(label).count()}


def error_of(field):
    """What a screen reader adds to the field's name."""
    return field.evaluate(
        "(node) => node.getAttribute('aria-describedby').split(' ')"
        ".map((id) => document.getElementById(id).textContent).join(' ')"
    )


def shown_without_errors(widget):
    return widget.box.evaluate(
        """(box) => [...box.querySelectorAll(".sm-formula, .sm-verdict, .sm-tally, svg title")]
          .map((node) => node.textContent).join()"""
    )


def test_refused_entry_says_why_and_leaves_the_last_good_result(opened):
    for label, (bad, allowed, _) in fields(opened).items():
        for entry in bad:
            before = shown_without_errors(opened)
            good = opened.number(label).input_value()
            field = opened.type_number(label, entry)
            where = f"{opened.name}: {entry!r} for {label}"
            assert field.get_attribute("aria-invalid") == "true", f"{where} is taken"
            assert allowed in error_of(field), f"{where}: {error_of(field)!r}"
            assert f"Still using {good}" in error_of(field), f"{where}: {error_of(field)!r}"
            assert shown_without_errors(opened) == before, f"{where} changes the result"
            opened.type_number(label, good)
            assert field.get_attribute("aria-invalid") is None, f"{where}: {good} is refused too"
            assert error_of(field).strip() == "", f"{where}: the complaint stays"


def test_good_entry_is_taken_as_it_is_typed(opened):
    for label, (_, _, good) in fields(opened).items():
        before = shown_without_errors(opened)
        field = opened.number(label)
        field.focus()
        opened.tab.keyboard.press("Control+a")
        opened.tab.keyboard.type(good)
        assert field.get_attribute("aria-invalid") is None, f"{opened.name}: {label} refuses {good}"
        assert error_of(field).strip() == ""
        # 100 or 256 tokens of context weigh too little to see.
        if label != "Context (tokens)":
            assert shown_without_errors(opened) != before, f"{opened.name}: {label} ignores {good}"
        opened.tab.keyboard.press("Tab")
        assert field.input_value() == good


def test_half_a_number_is_not_a_mistake_yet(opened):
    for label in fields(opened):
        field = opened.number(label)
        field.focus()
        opened.tab.keyboard.press("Control+a")
        opened.tab.keyboard.press("Delete")
        opened.tab.keyboard.type("-")
        assert field.get_attribute("aria-invalid") is None, f"{opened.name}: {label}"
        opened.tab.keyboard.press("Tab")
        assert field.get_attribute("aria-invalid") == "true", f"{opened.name}: {label}"


def test_fields_tell_the_browser_their_range(opened):
    for label, (_, allowed, _) in fields(opened).items():
        field = opened.number(label)
        assert f"[{field.get_attribute('min')}, {field.get_attribute('max')}]" == allowed
        assert field.get_attribute("inputmode") in ("decimal", "numeric")


def test_some_widget_has_every_field():
    kinds = {kind for kind in WIDGET_CLASSES if built_site.widgets(kind)}
    assert kinds == set(WIDGET_CLASSES)
