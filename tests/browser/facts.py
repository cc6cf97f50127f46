"""What can be said about an open page: lists of what is wrong with it, in words, empty if fine.

Every function gets an open Playwright page. A list names the offenders, so that a failing
assertion tells where to look.
"""

from playwright.sync_api import Page

# The part of a selector that a person needs to find an element.
NAME = """
const name = (node) => {
  const own = node.tagName.toLowerCase() + (node.id ? "#" + node.id : "")
    + [...node.classList].slice(0, 2).map((word) => "." + word).join("");
  const words = (node.textContent || "").trim().replace(/\\s+/g, " ").slice(0, 40);
  const place = node.parentElement && node.parentElement.closest("[id]");
  return own + (words ? ` "${words}"` : "") + (place ? ` in #${place.id}` : "");
};
const seen = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
"""

STICKING_OUT = """() => {
  const root = document.documentElement;
  const width = root.clientWidth;
  if (root.scrollWidth <= width) return [];
  const clipped = (node) => {
    for (let up = node.parentElement; up && up !== document.body; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== "visible") return true;
    return false;
  };
  const out = (node) => node.getBoundingClientRect().right > width + 1;
  const wide = [...document.body.querySelectorAll("*")]
    .filter((node) => out(node) && seen(node) && !clipped(node));
  const inner = wide.filter((one) => !wide.some((other) => other !== one && one.contains(other)));
  return [`${root.scrollWidth} px of content in ${width} px`, ...inner.slice(0, 5).map(name)];
}"""

HEADINGS = """() => {
  const wrong = [];
  const titles = [...document.querySelectorAll("h1")].filter(seen);
  if (titles.length !== 1) wrong.push(`${titles.length} h1: ${titles.map(name).join("; ")}`);
  let level = 0;
  for (const heading of document.querySelectorAll("article :is(h1, h2, h3, h4, h5, h6)")) {
    if (!seen(heading)) continue;
    const next = Number(heading.tagName[1]);
    if (next > level + 1) wrong.push(`h${next} after h${level}: ${name(heading)}`);
    level = next;
  }
  return wrong;
}"""

PICTURES = """() => {
  const wrong = [];
  const hidden = (node) => node.closest("[aria-hidden=true], [role=presentation], [role=none]");
  for (const image of document.images) {
    if (hidden(image)) continue;
    const alt = image.getAttribute("alt");
    if (alt === null || (!alt.trim() && !image.hasAttribute("data-decorative")))
      wrong.push(`no text alternative: ${image.outerHTML.slice(0, 120)}`);
    else if (/[0-9a-f]{16}|\\.(png|svg|jpe?g)$/i.test(alt))
      wrong.push(`alt is a file name: ${alt}`);
    if (!image.hasAttribute("width") || !image.hasAttribute("height"))
      wrong.push(`no width and height: ${image.outerHTML.slice(0, 120)}`);
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (hidden(svg) || svg.parentElement.closest("svg") || svg.closest("button, a")) continue;
    const labels = (svg.getAttribute("aria-labelledby") || "").split(/\\s+/).filter(Boolean)
      .map((id) => document.getElementById(id));
    const title = svg.querySelector(":scope > title");
    const words = [svg.getAttribute("aria-label"), title && title.textContent,
      ...labels.map((node) => node && node.textContent)].filter(Boolean).join(" ").trim();
    if (labels.includes(null)) wrong.push(`label points nowhere: ${name(svg)}`);
    if (!words) wrong.push(`no text alternative: ${name(svg)}`);
    else if (words.length < 15) wrong.push(`says too little, "${words}": ${name(svg)}`);
    if (svg.getAttribute("role") !== "img") wrong.push(`role is not img: ${name(svg)}`);
  }
  return wrong;
}"""

RAW_FORMULAS = r"""() => {
  const source = "annotation, script, style, noscript, template, pre, code, kbd, textarea";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const wrong = [];
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (!/\\[()\[\]]|\$\$|\\[a-zA-Z]{2,}|\$[^$\s](?:[^$]*[^$\s])?\$/.test(data)) continue;
    if (parentElement.closest(source)) continue;
    wrong.push(data.trim().slice(0, 60));
  }
  return wrong;
}"""

FORMULA_BOXES = """() => {
  const wrong = [];
  for (const formula of document.querySelectorAll("article .math")) {
    // A formula in a folded answer has no box until it is opened.
    if (!formula.checkVisibility()) continue;
    const glyphs = formula.querySelector("math");
    if (!glyphs) { wrong.push(`not typeset: ${name(formula)}`); continue; }
    const { width, height } = glyphs.getBoundingClientRect();
    // A letter without strokes above or below, the lowest formula there is, is nearly half as
    // high as its type, which in a table on a phone is small.
    const low = Math.min(8, 0.45 * parseFloat(getComputedStyle(glyphs).fontSize));
    if (width < 3 || height < low || height > 400)
      wrong.push(`${width} by ${height}: ${name(formula)}`);
  }
  return wrong;
}"""

WRONG_IN_PRINT = """() => {
  const article = document.querySelector("article, main").getBoundingClientRect();
  const furniture = ".bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, .bd-header, "
    + ".prev-next-footer, #pst-back-to-top, .copybtn, .sm-actions, dialog";
  const wrong = [...document.querySelectorAll(furniture)].filter(seen)
    .filter((node) => {
      const box = node.getBoundingClientRect();
      return box.width && box.left < article.right && box.right > article.left
        && box.height && box.top < article.bottom && box.bottom > article.top;
    })
    .map((node) => `lies over the text: ${name(node)}`);
  for (const node of document.querySelectorAll("body *"))
    if (["fixed", "sticky"].includes(getComputedStyle(node).position) && seen(node)
      && node.getBoundingClientRect().height) wrong.push(`stays on every sheet: ${name(node)}`);
  return wrong;
}"""

SMALL_TARGETS = """(scope) => [...document.querySelectorAll(scope)]
  .flatMap((part) => [...part.querySelectorAll("input, select, button, summary, a[href]")])
  .filter(seen)
  // A link in a line of text is as high as the line (WCAG 2.5.8 exempts it).
  .filter((node) => !node.matches("a[href]") || !node.closest("article :is(p, li, dd, td)"))
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 24 || height < 24)
  .map(([node, { width, height }]) => `${width.toFixed(1)} by ${height.toFixed(1)}: ${name(node)}`)
"""

# Contrast of every text by WCAG 2: 4.5, or 3 where type is large. What lies behind is taken from
# the elements around, with their transparency; not from what a position moves there.
PALE_TEXT = """() => {
  const color = (text) => {
    const values = (text.match(/-?[\\d.]+(e-?\\d+)?/g) || []).map(Number);
    if (text.startsWith("color(srgb")) for (const n of [0, 1, 2]) values[n] *= 255;
    else if (!text.startsWith("rgb")) return null;
    return values.length === 3 ? [...values, 1] : values;
  };
  const over = (top, share, below) => below.map((value, n) => share * top[n] + (1 - share) * value);
  const luminance = (rgb) => rgb.map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const known = new Map([[null, { ground: [255, 255, 255], opacity: 1 }]]);
  const behind = (node) => {
    if (!known.has(node)) {
      const above = behind(node.parentElement);
      const style = getComputedStyle(node);
      const opacity = above.opacity * Number(style.opacity);
      const fill = color(style.backgroundColor);
      if (!fill) throw new Error(`background unknown, ${style.backgroundColor}: ${name(node)}`);
      known.set(node, { ground: over(fill, fill[3] * opacity, above.ground), opacity });
    }
    return known.get(node);
  };
  const disabled = (node) => node.closest(":disabled, [aria-disabled=true]")
    || (node.closest("label") || {}).control?.disabled;
  for (const moving of document.getAnimations()) // half way, a color is nobody's choice
    if (moving.effect.getComputedTiming().endTime < Infinity) moving.finish();
  const unread = "script, style, noscript, template, option, annotation, title, desc";
  const wrong = new Set();
  for (const node of document.body.querySelectorAll("*")) {
    const own = [...node.childNodes].some((part) => part.nodeType === 3 && part.data.trim());
    if (!own || node.closest(unread) || !seen(node) || disabled(node)) continue;
    const { width, height } = node.getBoundingClientRect();
    if (width <= 1 || height <= 1) continue; // kept for those who listen
    const style = getComputedStyle(node);
    const drawn = node.closest("svg");
    const ink = color(style[drawn ? "fill" : "color"]);
    if (!ink) { wrong.add(`color unknown, ${style.color}: ${name(node)}`); continue; }
    const { ground, opacity } = behind(node);
    const pair = [luminance(over(ink, ink[3] * opacity, ground)), luminance(ground)];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = !drawn && (size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700));
    const colors = [ink, ground].map((values) => values.map(Math.round)).join(" on ");
    if (ratio < (large ? 3 : 4.5)) wrong.add(`${ratio.toFixed(2)}:1, ${colors}: ${name(node)}`);
  }
  return [...wrong];
}"""


def nothing_wrong(where: str, wrong: list[str]) -> None:
    """Assert that a list of offenders is empty, and name them all if it is not."""
    assert not wrong, "\n  ".join([where, *wrong])


def ask(tab: Page, question: str, *arguments: object) -> list[str]:
    """Run one of the questions above in the page."""
    return tab.evaluate(f"(argument) => {{ {NAME} return ({question})(argument); }}", *arguments)


def lay_out(tab: Page) -> None:
    """Have all sections laid out, not only those near the window.

    One that is not cuts off what sticks out of it, and every question about it lays it out anew.
    """
    # Playwright's own way to add a style waits for an event that never comes without scripts.
    tab.evaluate(
        """() => {
          const style = document.createElement("style");
          style.textContent = "section { content-visibility: visible !important }";
          document.head.append(style);
        }"""
    )


def pale_text(tab: Page) -> list[str]:
    """Texts with too little contrast, in the theme that is on."""
    return ask(tab, PALE_TEXT)


def sticking_out(tab: Page) -> list[str]:
    """What sticks out of the window to the right."""
    lay_out(tab)
    return ask(tab, STICKING_OUT)


def wrong_headings(tab: Page) -> list[str]:
    """More or less than one visible h1; levels that are skipped."""
    return ask(tab, HEADINGS)


def wrong_pictures(tab: Page) -> list[str]:
    """Images and drawings without words for those who do not see them, images without a size."""
    return ask(tab, PICTURES)


def raw_formulas(tab: Page) -> list[str]:
    """Pieces of TeX that a reader would see as such."""
    return ask(tab, RAW_FORMULAS)


def wrong_formula_boxes(tab: Page) -> list[str]:
    """Formulas that were not typeset, or have no sensible size."""
    return ask(tab, FORMULA_BOXES)


def wrong_in_print(tab: Page) -> list[str]:
    """On paper (the page must already show its print style): navigation over the text."""
    return ask(tab, WRONG_IN_PRINT)


def small_targets(tab: Page, scope: str) -> list[str]:
    """Controls inside the elements `scope` selects that are too small for a finger."""
    return ask(tab, SMALL_TARGETS, scope)


def unfold(tab: Page) -> None:
    """Open every folded answer, so that its content is looked at too."""
    tab.evaluate(
        """() => {
          document.querySelectorAll("details").forEach((node) => { node.open = true; });
          document.querySelectorAll("button.toggle-button-hidden").forEach((node) => node.click());
        }"""
    )
