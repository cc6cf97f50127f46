"""A first look at a page: one cold visit, and everything that can be noted without touching it.

Several tests judge one look, since opening a page is what takes the time.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from browser import facts
from browser.reader import SCROLL_THROUGH, Reader

COMPRESSED_ALREADY = {".woff2", ".woff", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".ico"}

OBSERVE_SHIFTS = """
  window.layoutShifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) layoutShifts.push({
      value: entry.value,
      moved: entry.sources.map(({ node }) => node && (node.id || node.className || node.nodeName)),
    });
  }).observe({ type: "layout-shift", buffered: true });
"""
# Parts of a page with controls of their own; links in running text need not be that large.
TOUCHED = ".header-article-items, .specmini-host, details, .toggle"
LOADED_FONTS = "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family)"


@dataclass(frozen=True)
class Look:
    """What one visit saw. `files` maps each file it loaded to its bytes after gzip; `shifts` are
    the layout shifts in words; the other lists name what is wrong, and are empty if nothing is."""

    title: str
    language: str | None
    complaints: list[str]
    files: dict[str, int]
    shift: float
    shifts: list[str]
    sticking_out: list[str]
    sticking_out_unfolded: list[str]
    headings: list[str]
    pictures: list[str]
    raw_formulas: list[str]
    formula_boxes: list[str]
    fonts: list[str]
    has_formulas: bool
    small_targets: list[str]
    printed: list[str]

    @property
    def kilobytes(self) -> float:
        return sum(self.files.values()) / 1000


# Every look of this run by page and width; the summary prints a table of them.
LOOKS: dict[tuple[str, int], Look] = {}


@cache
def wire_bytes(path: Path) -> int:
    """Bytes a server sends for a file: text at gzip level 9, the rest as it is."""
    content = path.read_bytes()
    if path.suffix in COMPRESSED_ALREADY:
        return len(content)
    return len(gzip.compress(content, compresslevel=9, mtime=0))


def take(reader: Reader, page: str, width: int) -> Look:
    """Visit a page with an empty cache, scroll through it, unfold it, and look at its print."""
    tab = reader.open(page, width=width, before=OBSERVE_SHIFTS, laid_out=False)
    tab.evaluate(SCROLL_THROUGH)
    tab.wait_for_timeout(50)
    shifts = tab.evaluate("layoutShifts")
    facts.lay_out(tab)
    reader.settle(tab)  # a formula far down asks for its font only now
    noted = {
        "title": tab.title().strip(),
        "language": tab.locator("html").get_attribute("lang"),
        "files": {name: wire_bytes(reader.site / name) for name in sorted(set(reader.requested))},
        "shift": sum(shift["value"] for shift in shifts),
        "shifts": [f"{shift['value']:.4f} by {shift['moved']}" for shift in shifts],
        "sticking_out": facts.sticking_out(tab),
        "headings": facts.wrong_headings(tab),
        "fonts": tab.evaluate(LOADED_FONTS),
        "has_formulas": bool(tab.locator(".math").count()),
    }
    facts.unfold(tab)
    noted |= {
        "sticking_out_unfolded": facts.sticking_out(tab),
        "pictures": facts.wrong_pictures(tab),
        "raw_formulas": facts.raw_formulas(tab),
        "formula_boxes": facts.wrong_formula_boxes(tab),
        "small_targets": facts.small_targets(tab, TOUCHED),
    }
    tab.emulate_media(media="print")
    noted["printed"] = facts.wrong_in_print(tab)
    reader.close()
    return Look(**noted, complaints=list(reader.complaints))
