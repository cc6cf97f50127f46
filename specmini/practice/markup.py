r"""MyST Markdown of a block as HTML for a widget, or as plain text for paper.

Blocks stand in pages that Sphinx renders. Cards and sheets show them elsewhere, so what Sphinx
would resolve is resolved here: formulas become MathML or text, references become links or words.
Only the syntax that blocks use is known; what is not is an error, never a raw ``\frac`` on a card.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from math_core import LatexError, LatexToMathML
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from specmini.practice import gather
from specmini.practice.unicode_math import as_text

__all__ = ["anki_math", "mathml", "relative_link", "to_html", "to_text"]

# What a reference to a labelled thing is called away from its page, by the beginning of the label.
NOUNS: Final = {
    "eq-": "this equation",
    "thm-": "this theorem",
    "prop-": "this proposition",
    "cor-": "this corollary",
    "fig-": "this figure",
    "tab-": "this table",
}
ROLES: Final = ("doc", "eq", "ref", "prf:ref", "numref", "cite")
with_punctuation: Final = re.compile(r"(<math>(?:(?!</math>).)*</math>[,.;:?!)]+)")
relative_link: Final = re.compile(r'<a href="(?!https?:)[^"]*">(.*?)</a>')
titled: Final = re.compile(r"(?P<title>.+?) <(?P<target>[\w-]+)>")


def mathml(tex: str, display: bool) -> str:
    """Return a formula as MathML.

    Raises:
        ValueError: it cannot be typeset.
    """
    try:
        return LatexToMathML(fancy_error=False).convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        raise ValueError(f"formula must be typeset by math-core, got {tex!r}: {error}") from None


def anki_math(tex: str, display: bool) -> str:
    r"""Return a formula between the delimiters that Anki's MathJax reads."""
    inner = escape(tex)
    return rf"\[{inner}\]" if display else rf"\({inner}\)"


@dataclass
class _Reader:
    """Renders the tokens of one text."""

    math: Callable[[str, bool], str]
    page: str
    titles: Mapping[str, str] = field(default_factory=gather.chapter_titles)

    def role(self, name: str, content: str) -> str:
        if name not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {name!r}")
        match = titled.fullmatch(content)
        target = match["target"] if match else content
        if name == "cite":
            return f"({_cited(content)})"
        if name == "doc":
            words = match["title"] if match else self.titles.get(target, target.capitalize())
            return f'<a href="{escape(target)}.html">{escape(words)}</a>'
        noun = next((noun for start, noun in NOUNS.items() if target.startswith(start)), target)
        words = match["title"] if match else noun
        anchor = f"equation-{target}" if name == "eq" else target
        return f'<a href="{escape(self.page)}.html#{escape(anchor)}">{escape(words)}</a>'


def to_html(text: str, page: str, math: Callable[[str, bool], str] = mathml) -> str:
    """Return MyST Markdown as HTML.

    Args:
        text: paragraphs, lists, emphasis, code, links, formulas, references.
        page: the page it comes from; references to labels lead there.
        math: makes HTML of a formula and whether it stands on a line of its own.

    Raises:
        ValueError: a role or a formula that is not known here.
    """
    parser, reader = _parser(), _Reader(math, page)
    tokens = parser.parse(text)
    for token in tokens:
        _resolve(token, reader)
    html = str(parser.renderer.render(tokens, parser.options, {})).strip()
    # Browsers would let a comma begin a line after a formula.
    return with_punctuation.sub(r'<span style="white-space:nowrap">\1</span>', html)


def to_text(text: str) -> str:
    """Return MyST Markdown as one paragraph of plain text, formulas in Unicode.

    Raises:
        ValueError: a role, or a TeX command, that is not known here.
    """
    html = to_html(text, "", lambda tex, display: escape(as_text(tex)))
    html = re.sub(r"</(p|li|ul|ol|pre)>", " ", html)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False})
    parser.use(dollarmath_plugin, allow_space=False, double_inline=True)
    return parser.use(myst_role_plugin)


def _resolve(token: Token, reader: _Reader) -> None:
    """Replace formulas and roles by finished HTML, in place."""
    for child in token.children or ():
        _resolve(child, reader)
    made: str | None = None
    if token.type in ("math_inline", "math_inline_double", "math_block"):
        made = reader.math(token.content.strip(), token.type != "math_inline")
        if token.type != "math_inline":
            made = f'<span class="sm-display">{made}</span>'
    elif token.type == "myst_role":
        made = reader.role(str(token.meta["name"]), token.content)
    if made is not None:
        token.type, token.content = "html_inline", made


@cache
def _authors() -> dict[str, str]:
    """Author and year of every entry of the bibliography, as they are cited in the book."""
    text = (gather.BOOK / "references.bib").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for entry in re.split(r"^@", text, flags=re.MULTILINE)[1:]:
        fields: dict[str, Any] = dict(re.findall(r"^  (\w+) *= \{(.*)\}", entry, re.MULTILINE))
        names = [name.split(",")[0] for name in fields["author"].split(" and ")]
        last = re.sub(r"[{}]", "", names[0]) + (" et al." if len(names) > 2 else "")
        if len(names) == 2:
            last += f" and {names[1]}"
        found[entry[entry.index("{") + 1 : entry.index(",")]] = f"{last}, {fields['year']}"
    return found


def _cited(content: str) -> str:
    key, _, place = content.partition("{")
    if key not in _authors():
        raise ValueError(f"cite must name a key of references.bib, got {key!r}")
    return _authors()[key] + (f", {place.rstrip('}')}" if place else "")
