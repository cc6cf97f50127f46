"""Every control of every widget: reached with Tab, named, and doing something when it is used."""

import re

import pytest

from browser import facts
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.widgets import WIDGET_CLASSES, Explorer

# The speed of the player shows only while it plays; test_player.py looks at it.
SHOWN_ELSEWHERE = {"Speed"}


@pytest.fixture
def opened(reader, widget):
    kind, page, index = widget
    return WIDGET_CLASSES[kind](reader.open(page), index)


def test_tab_reaches_every_control_and_each_has_a_name(opened):
    expected = opened.expected_stops()
    assert len(expected) >= 3
    reached = list(opened.tabbed_stops())
    assert [stop for stop, _, _ in reached] == expected, f"{opened.name}: Tab goes {reached}"
    nothing_wrong(
        f"{opened.name}: controls without a name",
        [f"stop {stop}, a {role}" for stop, role, name in reached if not name.strip()],
    )
    names = [(role, name) for _, role, name in reached]
    assert len(set(names)) == len(names), f"{opened.name}: two controls of one name in {names}"


def operate(tab, control, kind, input_type):
    """Use a focused control with the keys that a reader would try."""
    if kind == "INPUT" and input_type == "range":
        at_end = control.evaluate("(node) => node.value === node.max")
        tab.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    elif kind == "INPUT" and input_type == "text":
        tab.keyboard.type(control.get_attribute("placeholder"))
    elif kind == "INPUT":
        low, high = control.get_attribute("min"), control.get_attribute("max")
        tab.keyboard.press("Control+a")
        tab.keyboard.type(low if control.input_value() == high else high)
    elif kind == "SELECT":
        last = control.evaluate("(node) => node.selectedIndex === node.length - 1")
        tab.keyboard.press("ArrowUp" if last else "ArrowDown")
    else:
        tab.keyboard.press("Enter")


def dead_controls(widget):
    """Use every control by keyboard; those after which the widget shows what it showed before."""
    widget.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    # Something must have moved, or Reset would have nothing to do.
    for slider in widget.box.locator("input[type=range]").all()[-1:]:
        slider.press("ArrowRight")
    dead = []
    for stop in widget.expected_stops():
        control = widget.box.locator(f"[data-stop='{stop}']")
        if not control.count():  # a choice before it took it off the page
            continue
        tag, kind, words = control.evaluate(
            "(node) => [node.tagName, node.type || '', node.labels && node.labels.length"
            " ? node.labels[0].textContent : node.ariaLabel || node.textContent]"
        )
        if words in SHOWN_ELSEWHERE or control.get_attribute("tabindex") == "0":
            continue
        before, address = widget.evidence(), widget.tab.url
        control.focus()
        operate(widget.tab, control, tag, kind)
        moved = widget.tab.url != address if tag == "A" else widget.evidence() != before
        if not moved:
            dead.append(f"{tag.lower()} {kind} {words!r}")
        if words == "Play":
            widget.tab.keyboard.press("Enter")
    return dead


def test_every_control_works_from_the_keyboard(opened):
    nothing_wrong(f"{opened.name}: controls that do nothing", dead_controls(opened))


def test_every_control_works_with_a_pointer(opened):
    dead = []
    for slider in opened.box.locator("input[type=range]").all():
        box = slider.bounding_box()
        slider.scroll_into_view_if_needed()
        right = slider.evaluate("(node) => node.value > (Number(node.max) + Number(node.min)) / 2")
        before = opened.evidence()
        aim = 0.2 if right else 0.8
        slider.click(position={"x": aim * box["width"], "y": box["height"] / 2})
        if opened.evidence() == before:
            dead.append(slider.get_attribute("aria-describedby"))
    for field in opened.box.get_by_role("textbox", name="Acceptance").all():
        field.fill("2.4")  # or the choice of what that number is would have nothing to change
    selects = opened.box.locator("select:not(.sm-actions select)").all()
    for name in [select.get_attribute("id") for select in selects]:
        select = opened.box.locator(f"[id='{name}']")
        if not select.count():  # a choice before it took it off the page
            continue
        before = opened.evidence()
        select.select_option(index=select.evaluate("(node) => (node.selectedIndex ? 0 : 1)"))
        if opened.evidence() == before:
            dead.append(select.get_attribute("id"))
    for button in opened.box.locator("button").all():
        before = opened.evidence()
        words = button.inner_text()
        button.click()
        if opened.evidence() == before:
            dead.append(words)
        if words == "Play":
            button.click()
    nothing_wrong(f"{opened.name}: controls that a click does not move", dead)


def test_slider_and_number_field_stay_together(opened):
    for slider in opened.box.locator("input[type=range]").all():
        field = slider.locator("xpath=following-sibling::input[@type='number']")
        slider.focus()
        for key in ("Home", "ArrowRight", "End"):
            opened.tab.keyboard.press(key)
            words = slider.get_attribute("aria-valuetext")
            value = field.input_value()
            assert words.split(" ")[0] == value, f"{opened.name}: {words!r} beside {value}"


def test_targets_are_large_enough_for_a_finger(reader, widget):
    kind, page, index = widget
    tab = reader.open(page, width=PHONE)
    opened = WIDGET_CLASSES[kind](tab, index)
    nothing_wrong(opened.name, facts.small_targets(tab, ".specmini-host"))
    nothing_wrong(opened.name, facts.sticking_out(tab))


def test_motion_stops_for_readers_who_do_not_want_it(reader, widget):
    kind, page, index = widget
    longest = """(widget) => Math.max(0, ...[...widget.querySelectorAll("*")].flatMap((node) => {
      const style = getComputedStyle(node);
      return [style.transitionDuration, style.animationDuration].join().split(",").map(parseFloat);
    }))"""
    still = WIDGET_CLASSES[kind](reader.open(page, motion="reduce"), index)
    assert still.box.evaluate(longest) == 0, f"{still.name} moves all the same"
    if kind == "player":
        moving = WIDGET_CLASSES[kind](reader.open(page), index)
        assert moving.box.evaluate(longest) > 0, "nothing moves, so this test proves nothing"


def test_axe_finds_nothing_in_an_explorer_that_complains(reader, explorer):
    """The states that a page at rest does not show: the table, and a refused entry."""
    page, index = explorer
    opened = Explorer(reader.open(page, motion="reduce"), index)
    opened.table()
    field = opened.box.locator("input[type=number]").first
    field.fill("99")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))


def test_it_takes_the_room_that_its_fallback_kept(reader, widget):
    """Else everything below would jump under a reader who is already there."""
    kind, page, index = widget
    script = re.compile(r"<script[^>]*specmini\.js[^>]*>")
    before = reader.open(page, edit=lambda html: script.sub("", html), settle=False)
    after = reader.open(page)
    for width in (DESK, PHONE):
        heights = []
        for tab in (before, after):
            tab.set_viewport_size({"width": width, "height": 900})
            heights.append(
                tab.locator(f"[data-specmini={kind}]").nth(index).bounding_box()["height"]
            )
        assert abs(heights[0] - heights[1]) < 10, f"{kind} on {page} at {width} px: {heights} px"
