"""Leave out the rules of the theme's style sheets that no page can ever match.

The theme brings all of Bootstrap and one rule for each of 1,400 icons: more bytes than most
chapters. A rule stays if one of its selectors could match: if each class it names occurs somewhere
in the pages or the scripts, or begins with a string that a script may build it from.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

__all__ = ["STYLE_SHEETS", "Names", "drop_dead_rules", "without_dead_rules"]

# Ours are not among them: they hold nothing to leave out.
STYLE_SHEETS: Final = (
    "styles/pydata-sphinx-theme.css",
    "styles/sphinx-book-theme.css",
    "sphinx-design.min.css",
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# The innermost braces: a rule, alone or within a condition such as @media.
RULE = re.compile(r"([^{}@;]+)\{[^{}]*\}")
EMPTY_CONDITION = re.compile(r"@(?:media|supports|container)[^{};]*\{\s*\}")
CLASS = re.compile(r"\.([A-Za-z_][\w-]*)")
NEGATION = re.compile(r":not\([^)]*\)")  # its classes may well occur nowhere
STRING = re.compile(r"""["'`]([A-Za-z][\w-]{2,})["'`]""")


class Names:
    """What may be a class: every word of the pages and scripts.

    Args:
        pages: all pages in one string.
        scripts: all scripts in one string.
    """

    def __init__(self, pages: str, scripts: str) -> None:
        self._words = set(re.findall(r"[\w-]+", pages)) | set(re.findall(r"[\w-]+", scripts))
        self._strings = set(STRING.findall(scripts))

    def __contains__(self, name: str) -> bool:
        parts = name.split("-")
        beginnings = ("-".join(parts[:count]) for count in range(1, len(parts)))
        # "bs-tooltip" + "-" + side
        return name in self._words or any(
            start in self._strings or f"{start}-" in self._strings for start in beginnings
        )


def without_dead_rules(style_sheet: str, names: Names) -> str:
    """The style sheet without the rules of which no selector can match.

    Args:
        style_sheet: CSS. A comma inside ``:is(…)`` splits a selector as any other; each part
            then names fewer classes than the whole, so nothing that can match is lost.
        names: what may be a class.
    """

    def can_match(selector: str) -> bool:
        return all(name in names for name in CLASS.findall(NEGATION.sub("", selector)))

    def kept(rule: re.Match[str]) -> str:
        return rule[0] if any(map(can_match, rule[1].split(","))) else ""

    return EMPTY_CONDITION.sub("", RULE.sub(kept, COMMENT.sub("", style_sheet)))


def drop_dead_rules(site: Path) -> None:
    """Rewrite the theme's style sheets of a built site.

    Args:
        site: folder of the built pages.
    """
    static = site / "_static"

    def text(pattern: str) -> str:
        return "\n".join(path.read_text("utf-8") for path in sorted(site.rglob(pattern)))

    names = Names(text("*.html"), text("*.js"))
    for sheet in map(static.joinpath, STYLE_SHEETS):
        if sheet.exists():
            sheet.write_text(without_dead_rules(sheet.read_text("utf-8"), names), "utf-8")
