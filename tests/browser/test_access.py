"""Accessibility: axe on every page in both themes and widths, folded answers, theme, color."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser import facts
from browser.facts import nothing_wrong
from browser.reader import DESK, HEIGHT, PHONE

# Milliseconds after which the theme looks again at which boxes now scroll.
RESIZED = 400
# Pages with every kind of part, on which axe's own rule for contrast confirms ours: on a long page
# it takes some twenty times as long.
CONFIRMED = ["book/index.html", "book/tokens.html", "book/spot.html"]
AXE = Axe()
# Without preload: axe would fetch style sheets again, by addresses that it resolves wrongly.
AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False}

INKS = """() => [...document.querySelectorAll("svg.specmini-figure, svg.sm-chart")].map((svg) => {
  const inks = (what, property) =>
    [...svg.querySelectorAll(what)].map((node) => getComputedStyle(node)[property]).join();
  return { text: inks("text", "fill"), lines: inks("path, circle, rect, use, line", "stroke")
    + inks("path, circle, rect, use", "fill") };
})"""


def violations(tab, scope=None, **options):
    """What axe finds, one line for each failing element."""
    found = AXE.run(tab, context=scope, options=AXE_OPTIONS | options).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {' '.join(map(str, node['target']))}: "
        f"{' '.join(node['failureSummary'].split())} {' '.join(node['html'].split())[:120]}"
        for rule in found
        for node in rule["nodes"]
    ]


def set_width(tab, width):
    if tab.viewport_size["width"] != width:
        tab.set_viewport_size({"width": width, "height": HEIGHT[width]})
        tab.wait_for_timeout(RESIZED)


def set_scheme(tab, scheme):
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")


def test_axe_finds_nothing(reader, page):
    """Every rule but contrast, in both widths. A theme changes nothing but colors."""
    tab = reader.open(page)
    facts.unfold(tab)
    found = []
    for width in (DESK, PHONE):
        set_width(tab, width)
        wrong = violations(tab, rules={"color-contrast": {"enabled": False}})
        found += [f"{width} px: {line}" for line in wrong]
    nothing_wrong(page, found)


def test_every_text_stands_out(reader, page):
    tab = reader.open(page, motion="reduce")
    facts.unfold(tab)
    found = []
    for width in (DESK, PHONE):
        set_width(tab, width)
        for scheme in ("light", "dark"):
            set_scheme(tab, scheme)
            found += [f"{width} px, {scheme}: {line}" for line in facts.pale_text(tab)]
    nothing_wrong(page, found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", CONFIRMED)
def test_axe_finds_no_text_that_does_not_stand_out(reader, name, scheme):
    tab = reader.open(name, motion="reduce")
    facts.unfold(tab)
    set_scheme(tab, scheme)
    nothing_wrong(name, violations(tab, runOnly=["color-contrast"]))


def test_theme_switch_recolors_figures_and_widgets(reader, drawn_page):
    tab = reader.open(drawn_page, by="file")
    switch = tab.locator("button.theme-switch-button").first
    inks = {}
    for _ in range(3):
        switch.focus()
        tab.keyboard.press("Enter")
        theme = tab.evaluate("document.documentElement.dataset.theme")
        inks[theme] = tab.evaluate(INKS)
    assert set(inks) == {"light", "dark"}, f"{drawn_page}: the switch leads to {sorted(inks)}"
    for number, (light, dark) in enumerate(zip(inks["light"], inks["dark"], strict=True)):
        for part in ("text", "lines"):
            assert light[part] != dark[part], f"{drawn_page}: drawing {number} keeps its {part}"


def test_chosen_theme_outlives_the_page(reader, site):
    tab = reader.open("book/index.html")
    while tab.evaluate("document.documentElement.dataset.mode") != "dark":
        tab.locator("button.theme-switch-button").first.click()
    tab.reload()
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_folded_parts_open_from_the_keyboard(reader, folding_page):
    tab = reader.open(folding_page)
    for summary in tab.locator("main details > summary").all():
        words = summary.inner_text().strip()
        opened = "(summary) => summary.parentElement.open"
        before = summary.evaluate(opened)
        summary.focus()
        tab.keyboard.press("Enter")
        assert summary.evaluate(opened) is not before, f"{folding_page}: {words!r} ignores Enter"
    for toggle in tab.locator("main button.toggle-button").all():
        block = toggle.locator("xpath=ancestor::*[contains(@class, 'toggle')][1]")
        words = block.inner_text()[:60]
        before = block.evaluate("(node) => node.offsetHeight")
        toggle.focus()
        focused = toggle.evaluate("(node) => node === document.activeElement")
        assert focused, f"{folding_page}: {words!r} takes no focus"
        tab.keyboard.press("Enter")
        tab.wait_for_timeout(50)
        after = block.evaluate("(node) => node.offsetHeight")
        assert after > before, f"{folding_page}: {words!r} stays {after} px high"


def test_controls_of_the_page_are_large_enough_for_a_finger(look, page):
    nothing_wrong(page, look(page, PHONE).small_targets)
