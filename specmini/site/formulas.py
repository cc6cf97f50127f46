r"""Formulas of the built book: typeset once, at build time, as MathML Core.

A page shows its formulas with scripts off and asks nobody else for anything. Two packages do the
work, both found where pip put them: ``math-core`` turns TeX into MathML Core and refuses what it
does not know; ``ziamath`` carries STIX Two Math, a font with the OpenType MATH table that stretchy
braces, roots and big operators are drawn from. The site gets a copy of it with only the glyphs
that it uses, which is small enough to be fetched before the text is first drawn.

``specmini.sphinxext`` calls ``formulas.setup(app)``; no key in ``_config.yml`` is needed. One is
possible: ``formula_macros``, a mapping such as ``{tokens: '\mathbb{E}[T]'}`` for ``\tokens``.
Sphinx numbers the equations: a label, ``$$ ... $$ (eq:name)``, gives a block exactly one number.
"""

from __future__ import annotations

import html
import io
import re
import unicodedata
from importlib.metadata import distribution
from itertools import zip_longest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from fontTools import subset
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number

STYLE_SHEET = "specmini-formulas.css"
FONT = "specmini-formulas.woff"
# Entries of a font's name table: the licence and its address, which must go wherever the font goes.
LICENCE_NAMES = (13, 14)

# In em of the formula's own font: the room beside an equation number inside an admonition on a
# phone 390 px wide. What is wider may have to scroll there, so the keyboard must reach it.
_WIDEST_WITHOUT_SCROLLING = 13.0

# Units of spaces, in em of the formula's font: a rem is the page's type, which _RULES enlarges.
_EM = {"em": 1.0, "ex": 0.5, "rem": 1 / 1.12}

# Letter -> mathematical italic letter. The first is "<font> 0041"; the italic h is older.
_ITALIC = map(chr, [*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), 0x1D6A4, 0x1D6A5])
_DECOMPOSED = {letter: unicodedata.decomposition(letter)[7:] for letter in _ITALIC}
_SLANTED = {chr(int(base, 16)): letter for letter, base in _DECOMPOSED.items() if base}
_SLANTED["h"] = "\u210e"

# Environments that number their own lines, and the ones that look the same and do not.
_UNNUMBERED = dict.fromkeys(("align", "equation", "split"), "aligned")
_UNNUMBERED |= dict.fromkeys(("gather", "multline"), "gathered")

# The rules for cells and accents are what math-core's output asks for; the theme's rules for page
# tables would otherwise reach into formulas. Chromium sets rows too tight and accents too low, and
# cuts wide braces off where its painting tiles meet, unless they have a layer of their own.
_RULES = f"""\
@font-face {{ font-family: "Book Math"; src: url("{FONT}") format("woff"); }}
math {{ font-family: "Book Math", "STIX Two Math", "Cambria Math", math, serif;
  font-size: 1.12em; line-height: normal; white-space: nowrap; }}
math mtd {{ padding: 0.5ex 0.4em; }}
@supports (not (-moz-appearance: none)) {{
  math mtd {{ padding: 0.9ex 0.4em; }}
  math mover[accent="true"] > mo:nth-child(2) {{ margin-bottom: 0.15ex; }}
  math :is([accent], [accentunder]):has(> mrow:first-child) {{ will-change: transform; }}
}}
math mtr > mtd:first-child {{ padding-left: 0; }}
math mtr > mtd:last-child {{ padding-right: 0; }}
div.math {{ display: flex; flex-direction: row-reverse; align-items: center; gap: 0.5em;
  margin: 1em 0; }}
.math.formula, .math > .formula {{ max-width: 100%; padding: 0.3em 0; overflow: auto hidden; }}
div.math > .formula {{ flex: 1 1 auto; min-width: 0; }}
span.math.formula {{ display: inline-flex; }}
.unbroken {{ white-space: nowrap; }}
@media print {{
  .math.formula, .math > .formula {{ overflow: visible; }}
  .formula[tabindex] > math {{ font-size: 0.85em; }}
}}
"""


class Typesetter:
    """Turns the math nodes of one Sphinx application into MathML."""

    _converter = LatexToMathML(fancy_error=False)  # until configure() knows the macros

    def configure(self, app: Sphinx, config: Config) -> None:
        """Read the macros, and let Markdown outputs of notebooks contain formulas."""
        try:
            self._converter = LatexToMathML(fancy_error=False, macros=config.formula_macros)
        except LatexError as error:
            raise ExtensionError(f"formula_macros {config.formula_macros!r}: {error}") from error
        # MyST-NB's default, commonmark, would show the dollar signs.
        if getattr(config, "nb_render_markdown_format", None) == "commonmark":
            config.nb_render_markdown_format = "myst"

    def typeset(self, tex: str, *, display: bool, place: str) -> tuple[str, dict[str, str]]:
        """Return the ``<math>`` element for a formula, and the attributes of a box around it.

        Args:
            tex: the formula, without dollar signs.
            display: True for a formula on its own line.
            place: where the formula stands, for the error message.

        Returns:
            MathML, and what its box needs if it may have to scroll; nothing if it is short.

        Raises:
            ExtensionError: the formula cannot be typeset. It stops the build.

        """
        try:
            plain = without_numbers(tex)
            math = self._converter.convert_with_local_state(plain, displaystyle=display)
            return math, _scrolling(math)
        except (LatexError, ElementTree.ParseError) as error:
            message = f"{place}: cannot typeset the formula '{tex.strip()}': {error}"
            raise ExtensionError(message) from error

    def visit_inline(self, translator: Any, node: nodes.math) -> None:
        """Write an inline formula; one too long for a phone scrolls in its own box."""
        place = _place(translator, node)
        math, scrolling = self.typeset(node.astext(), display=False, place=place)
        names = "math notranslate nohighlight" + (" formula" if scrolling else "")
        translator.body.append(translator.starttag(node, "span", "", CLASS=names, **scrolling))
        translator.body.append(f"{math}</span>")
        raise nodes.SkipNode

    def visit_display(self, translator: Any, node: nodes.math_block) -> None:
        """Write a formula on its own line, with its number if it has one."""
        place = _place(translator, node)
        math, scrolling = self.typeset(node.astext(), display=True, place=place)
        body = translator.body
        body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight"))
        if node["number"]:
            body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
            translator.add_permalink_ref(node, _("Link to this equation"))
            body.append("</span>")
        attributes = "".join(f' {name}="{value}"' for name, value in scrolling.items())
        body.append(f'<div class="formula"{attributes}>{math}</div></div>\n')
        raise nodes.SkipNode


def without_numbers(tex: str) -> str:
    r"""Return the formula without environments that number lines; Sphinx numbers the block.

    ``align`` becomes ``aligned``, and so on. A formula with ``\\`` outside every environment
    becomes ``aligned``, as Sphinx does it for MathJax.
    """
    tex = tex.strip()
    for outer, inner in _UNNUMBERED.items():
        tex = re.sub(rf"\\(begin|end){{{outer}\*?}}", rf"\\\1{{{inner}}}", tex)
    innermost = re.compile(r"\\begin\{([^}]*)\}(?:(?!\\begin\{).)*?\\end\{\1\}", re.DOTALL)
    outside, found = tex, 1
    while found:
        outside, found = innermost.subn("", outside)
    return rf"\begin{{aligned}}{tex}\end{{aligned}}" if r"\\" in outside else tex


def width(element: ElementTree.Element) -> float:
    """Return roughly how wide a MathML element is drawn, in em of its font."""
    parts = [width(child) for child in element]
    text = (element.text or "").strip("\u2061\u2062\u2063\u2064")
    if element.tag == "mtable":
        rows = [[width(cell) + 0.8 for cell in row] for row in element]
        return sum(max(column) for column in zip_longest(*rows, fillvalue=0.0))
    if element.tag == "mfrac":
        return max(parts) + 0.2
    if element.tag in ("msub", "msup", "msubsup"):
        return parts[0] + 0.7 * max(parts[1:])
    if element.tag in ("munder", "mover", "munderover"):
        return max([parts[0], *(0.7 * part for part in parts[1:])])
    if element.tag == "mspace":
        length = element.get("width", "0em")
        unit = length.lstrip("-.0123456789")
        return float(length.removesuffix(unit)) * _EM[unit]
    if element.tag == "mo" and text not in ("", *"()[]{}|.,⌈⌉⌊⌋"):
        return 1.2
    return sum(parts) + 0.5 * len(text)


def _scrolling(math: str) -> dict[str, str]:
    """Return what a box that may scroll needs for the keyboard: a tab stop and a name."""
    xml = re.sub(r"&(?!lt;|gt;|amp;|quot;|#)\w+;", lambda name: html.unescape(name[0]), math)
    if width(ElementTree.fromstring(xml)) <= _WIDEST_WITHOUT_SCROLLING:
        return {}
    return {"tabindex": "0", "role": "group", "aria-label": _("Formula, scrolls sideways")}


def _place(translator: Any, node: nodes.Element) -> str:
    holder: Any = node
    while holder.parent is not None and not holder.line:
        holder = holder.parent
    document = getattr(translator.builder, "current_docname", "")
    return f"{document}:{holder.line}" if holder.line else document


def characters(page: str) -> set[str]:
    """Return what browsers draw for a page's formulas: written, slanted (``<mi>``) or a root."""
    drawn: set[str] = set()
    for math in re.findall(r"<math\b.*?</math>", page, flags=re.DOTALL):
        drawn.update(html.unescape(re.sub(r"<[^>]*>", "", math)))
        alone = re.findall(r"<mi>(.)</mi>", math)
        drawn.update(_SLANTED[letter] for letter in alone if letter in _SLANTED)
        drawn.update("√" if "<msqrt" in math or "<mroot" in math else "")
    return drawn


# A page is shown when the font of its formulas is there, so that nothing moves under a reader's
# eyes. It waits no longer than the three seconds for which browsers hide text whose font is late.
# A page opened as a file gets the font from its style sheet: browsers refuse it to scripts there.
_FIRST_PAINT = """<script>if (location.protocol !== "file:") {
  const root = document.documentElement.style;
  const show = () => { root.visibility = ""; };
  root.visibility = "hidden";
  new FontFace("Book Math", 'url("{url}")').load()
    .then((font) => document.fonts.add(font)).catch(() => {}).finally(show);
  setTimeout(show, 3000);
}</script>"""


def font(text: set[str]) -> bytes:
    """Return STIX Two Math as WOFF with the glyphs for ``text``, in every size they come in."""
    source = distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")
    # ssty: the drawings for exponents; dtls: i and j without a dot, under an accent.
    options = subset.Options(flavor="woff", hinting=False, layout_features=["ssty", "dtls"])
    options.name_IDs = [*options.name_IDs, *LICENCE_NAMES]
    target = io.BytesIO()
    with subset.load_font(str(source), options) as stix:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[ord(character) for character in text])
        subsetter.subset(stix)
        subset.save_font(stix, target, options)
    return target.getvalue()


def _link_style_sheet(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add style sheet and font to a page with a formula in its text or in the titles it lists."""
    shown = [*app.env.titles.values(), *([] if doctree is None else [doctree])]
    formulas = (nodes.math, nodes.math_block)
    # an output of a cell may hold formulas that are markup already
    if "<math" in context.get("body", "") or any(
        isinstance(node, formulas) for part in shown for node in part.findall()
    ):
        app.add_css_file(STYLE_SHEET)
        url = context["pathto"](f"_static/{FONT}", resource=True)
        context["metatags"] = context.get("metatags", "") + _FIRST_PAINT.replace("{url}", url)


# A browser may end a line on either side of an inline formula, whatever stands there.
_WITH_SIGNS = re.compile(
    r'([(\[“‘]*)(<span class="math notranslate nohighlight"><math\b.*?</math></span>)([^\w\s<&]*)',
    flags=re.DOTALL,
)


def keep_signs(body: str) -> str:
    """Return a page's text in which no line ends between a formula and the signs that touch it.

    A formula that scrolls stays as it is, since it may need the whole line.
    """

    def kept(found: re.Match[str]) -> str:
        signs = found[1] or found[3]
        return f'<span class="unbroken">{found[0]}</span>' if signs else found[0]

    return _WITH_SIGNS.sub(kept, body)


def _keep_signs(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    if "body" in context:
        context["body"] = keep_signs(context["body"])


def _write_style_sheet(app: Sphinx, exception: Exception | None) -> None:
    """Write style sheet and font once all pages are there, since the font holds what they use."""
    if exception is not None or app.builder.format != "html":
        return
    used: set[str] = set()
    for page in Path(app.outdir).rglob("*.html"):
        used |= characters(page.read_text(encoding="utf8"))
    if used:
        static = Path(app.outdir) / "_static"
        (static / STYLE_SHEET).write_text(_RULES, encoding="utf8", newline="\n")
        (static / FONT).write_bytes(font(used))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; Sphinx prefers a renderer of one's own to its MathJax."""
    typesetter = Typesetter()
    app.add_config_value("formula_macros", {}, "html", [dict])
    app.add_html_math_renderer(
        "specmini", (typesetter.visit_inline, None), (typesetter.visit_display, None)
    )
    app.connect("config-inited", typesetter.configure, priority=100)
    app.connect("html-page-context", _link_style_sheet)
    app.connect("html-page-context", _keep_signs)
    app.connect("build-finished", _write_style_sheet)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
