"""Accessibility: axe on every page in both themes and widths, folded answers, theme, color."""

from axe_playwright_python.sync_playwright import Axe

from browser import facts
from browser.facts import nothing_wrong
from browser.reader import DESK, HEIGHT, PHONE

# Milliseconds after which the theme looks again at which boxes now scroll.
RESIZED = 400
# Without preload: axe would fetch style sheets again, by addresses that it resolves wrongly.
# The parts whose contrast CONTRAST measures.
MEASURED_HERE = ["svg", ".highlight", "math"]
AXE = Axe()
AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False}

# Contrast of text that axe cannot judge (drawings) or takes long for (hundreds of code tokens).
CONTRAST = """() => {
  const luminance = ([r, g, b]) => [r, g, b].map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const color = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const behind = (node) => {
    for (let up = node; up; up = up.parentElement) {
      const rgba = color(getComputedStyle(up).backgroundColor);
      if (rgba.length === 3 || rgba[3] === 1) return rgba;
    }
    return [255, 255, 255];
  };
  const wrong = new Set();
  for (const text of document.querySelectorAll("svg text, .highlight span, .highlight pre, math")) {
    const ink = getComputedStyle(text)[text.closest("svg") ? "fill" : "color"];
    const pair = [luminance(color(ink)), luminance(behind(text))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < 4.5) wrong.add(`${ratio.toFixed(2)}:1 for ${text.getAttribute("class")} ${ink}`);
  }
  return [...wrong];
}"""

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


def test_axe_finds_nothing(reader, page):
    """Every rule in both widths, and every color in both themes, each looked at once.

    A theme changes nothing but colors. A width changes which parts are there, but colors only
    outside the text. Contrast is most of axe's work, so it is not repeated for the text.
    """
    # Without motion: a color half way through a transition is nobody's choice.
    tab = reader.open(page, motion="reduce")
    facts.unfold(tab)
    found = {}
    for width, scheme in ((DESK, "light"), (DESK, "dark"), (PHONE, "dark"), (PHONE, "light")):
        if tab.viewport_size["width"] != width:
            tab.set_viewport_size({"width": width, "height": HEIGHT[width]})
            tab.wait_for_timeout(RESIZED)
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
        known_elsewhere = MEASURED_HERE if width == DESK else ["article"]
        scope = {"include": [["html"]], "exclude": [[part] for part in known_elsewhere]}
        wrong = violations(tab, scope, runOnly=["color-contrast"]) + facts.ask(tab, CONTRAST)
        if scheme == "light":
            wrong += violations(tab, rules={"color-contrast": {"enabled": False}})
        found[f"{width} px, {scheme}"] = wrong
    nothing_wrong(page, [f"{where}: {line}" for where, lines in found.items() for line in lines])


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
