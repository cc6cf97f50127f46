"""The sixty-second sheet as a PDF of one page, made without a browser.

fpdf2 sets real text in the fonts that come with matplotlib, so the file can be searched and read
aloud; the links lead nowhere on paper and are left out.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Final, NamedTuple

import matplotlib
from fpdf import FPDF

from specmini import checks
from specmini.files import replaced
from specmini.palette import ROLES
from specmini.practice import markup
from specmini.practice.sheet import lines, symbols
from specmini.practice.unicode_math import as_text

__all__ = ["FORMATS", "TITLE", "file_name", "write"]

FORMATS: Final = ("A4", "Letter")
TITLE: Final = "Speculative decoding in sixty seconds"
MARGIN: Final = 12.0  # mm
GAP: Final = 8.0
LARGEST, SMALLEST = 10.0, 7.0  # points
FONT: Final = "sheet"


class Side(NamedTuple):
    """One column: its heading, names with texts, and the role whose color the heading has."""

    heading: str
    entries: list[tuple[str, str]]
    role: str


def file_name(paper: str) -> str:
    """Name of the file for a format of paper."""
    return f"specmini-sheet-{checks.choice('paper', paper, FORMATS).lower()}.pdf"


def write(path: Path, paper: str = "A4") -> None:
    """Write the sheet in the largest type that fits on one page; the file appears in one step.

    Args:
        path: where.
        paper: ``"A4"`` or ``"Letter"``.

    Raises:
        ValueError: another format, or it does not fit in the smallest type that can be read.
    """
    checks.choice("paper", paper, FORMATS)
    found = lines()
    names = "   ".join(f"{as_text(tex)} {name}" for tex, name in symbols().items())
    said = [(line.title, markup.to_text(line.memory)) for line in found]
    not_said = [(f"✗ “{markup.to_text(line.flag)}”", markup.to_text(line.why)) for line in found]
    sides = (Side("Remember", said, "target"), Side("Don't say", not_said, "rejected"))
    size = LARGEST
    while True:
        sheet, bottom = _set(names, sides, paper, size)
        if bottom <= sheet.h - MARGIN:
            break
        size -= 0.5
        if size < SMALLEST:
            raise ValueError(f"sheet must fit one page in type of {SMALLEST} points or more")
    replaced(path, lambda unfinished: sheet.output(str(unfinished)))


def _set(names: str, sides: tuple[Side, ...], paper: str, size: float) -> tuple[FPDF, float]:
    """The sheet in one size of type, and how far down the longer side reaches, in mm."""
    sheet = FPDF(format=paper.lower())
    sheet.set_title(TITLE)
    sheet.set_lang("en")
    sheet.set_creation_date(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    sheet.add_font(FONT, "", fonts / "DejaVuSans.ttf")
    sheet.add_font(FONT, "B", fonts / "DejaVuSans-Bold.ttf")
    sheet.set_auto_page_break(False)
    sheet.add_page()
    sheet.set_margins(MARGIN, MARGIN, MARGIN)
    whole = sheet.w - 2 * MARGIN
    sheet.set_xy(MARGIN, MARGIN)
    _write(sheet, TITLE, whole, 1.5 * size, bold=True)
    _write(sheet, names, whole, 0.9 * size, role="muted")
    top, width = sheet.get_y() + 0.3 * size, (whole - GAP) / 2
    bottoms = []
    for number, side in enumerate(sides):
        sheet.set_left_margin(MARGIN + number * (width + GAP))
        sheet.set_xy(MARGIN + number * (width + GAP), top)
        _write(sheet, side.heading, width, 1.15 * size, bold=True, role=side.role)
        for name, text in side.entries:
            sheet.set_y(sheet.get_y() + 0.12 * size)
            _write(sheet, name, width, size, bold=True)
            _write(sheet, text, width, size)
        bottoms.append(sheet.get_y())
    return sheet, max(bottoms)


def _write(
    sheet: FPDF, text: str, width: float, size: float, *, bold: bool = False, role: str = "ink"
) -> None:
    color = ROLES[role].light.lstrip("#")
    sheet.set_text_color(*(int(color[place : place + 2], 16) for place in (0, 2, 4)))
    sheet.set_font(FONT, "B" if bold else "", size)
    sheet.multi_cell(width, 0.45 * size, text, align="L", new_x="LMARGIN", new_y="NEXT")
