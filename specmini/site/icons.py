"""Cut the theme's icon font down to the icons that the built site shows.

The theme draws its buttons with Font Awesome, 1,400 icons of which a page shows some thirty: more
bytes than all of a chapter's text. When the site is built the font is cut to what the pages and the
theme's style sheet name, and the style sheet is pointed to the small one.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from fontTools import subset

__all__ = ["cut_icons", "icons"]

STYLE_SHEET = "styles/pydata-sphinx-theme.css"
WHOLE_FONT = "vendor/fontawesome/webfonts/fa-solid-900.ttf"
FONT = "specmini-icons.woff"
SOURCES = re.compile(
    r"url\([^)]*fa-solid-900\.woff2\)[^,}]*,\s*url\([^)]*fa-solid-900\.ttf\)[^;}]*"
)
NAMED_ICON = re.compile(r'([^{}]*)\{content:"\\([0-9a-f]+)"\}')
PRIVATE_USE = re.compile("[\ue000-\uf8ff]")


def icons(style_sheet: str, pages: str) -> set[int]:
    """Code points of the icons that pages can show.

    Args:
        style_sheet: the theme's; it says which icon a class stands for, and uses some itself.
        pages: all pages in one string.
    """
    used = {ord(icon) for icon in PRIVATE_USE.findall(style_sheet)}
    classes = set(re.findall(r"\bfa-[a-z0-9-]+", pages))
    for selectors, point in NAMED_ICON.findall(style_sheet):
        names = set(re.findall(r"\.(fa-[a-z0-9-]+)", selectors))
        if not names or names & classes:
            used.add(int(point, 16))
    return used


def cut_icons(site: Path) -> None:
    """Replace the icon font of a built site by one with the icons it uses.

    Args:
        site: folder of the built pages.

    Raises:
        ValueError: the theme's style sheet does not load the font in the way that is known here.
    """
    static = site / "_static"
    sheet = static / STYLE_SHEET
    if not sheet.exists():  # another theme, without this font
        return
    css = sheet.read_text(encoding="utf-8")
    # a build that copies no static files finds the style sheet of the build before
    small = SOURCES.sub(f'url(../{FONT}) format("woff")', css)
    if FONT not in small:
        raise ValueError(f"{sheet.name} must load fa-solid-900 as woff2 and ttf, and does not")
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(site.rglob("*.html")))
    options = subset.Options(flavor="woff", hinting=False)
    target = io.BytesIO()
    with subset.load_font(str(static / WHOLE_FONT), options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=sorted(icons(css, pages)))
        subsetter.subset(font)
        subset.save_font(font, target, options)
    (static / FONT).write_bytes(target.getvalue())
    sheet.write_text(small, encoding="utf-8")
