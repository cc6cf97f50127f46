"""Formulas in built pages: typeset at build time, numbered once, nothing fetched from elsewhere."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError
from sphinx.testing.util import SphinxTestApp

from specmini.site import formulas

ITALIC_ALPHA = "\N{MATHEMATICAL ITALIC SMALL ALPHA}"
DOUBLE_STRUCK_E = "\N{MATHEMATICAL DOUBLE-STRUCK CAPITAL E}"

CONFIGURATION = """
extensions = ["myst_parser", "specmini.site.formulas"]
myst_enable_extensions = ["amsmath", "dollarmath"]
exclude_patterns = ["_build"]
html_theme = "basic"
numfig = True
"""

FORMULAS = r"""# Speedup $S$

Inline $\frac{1-\alpha^{K+1}}{1-\alpha}$, $\sum_{x}\min(p(x), q(x))$, $K^\star$, $\lceil x \rceil$,
$\Pr[T = t]$, $\operatorname{W}_{-1}(-e^{-A})$, $a \ge b$ and $\left(\frac{a}{b}\right)^{n}$.

| name | formula |
|---|---|
| mean | $\mathbb{E}[T] = \sum_{k=0}^{K}\alpha^k$ |

$$
S(\alpha, c, K) = \frac{1-\alpha^{K+1}}{(1-\alpha)(1+Kc)}
$$ (eq:speedup)

$$
a &= \underbrace{b + c}_{\text{two terms}} \\
  &= \begin{cases} d & \text{if } e \\ f & \text{otherwise} \end{cases} \\
  &= \sqrt{g}
$$ (eq:lines)

\begin{align*}
u &= v \\
  &= w
\end{align*}

$$
K = \frac{1}{\ln \alpha}\bigl(\operatorname{W}_{-1}(-e^{-A}) + A\bigr) - 1
    + \sum_{x} \min(p(x), q(x))
$$

See {eq}`eq:speedup` and {eq}`eq:lines`.

```{toctree}
words
```
"""

Builder = Callable[..., Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Build a site from texts by page name; return its folder."""

    def build_site(configuration: str = CONFIGURATION, **pages: str) -> Path:
        source = tmp_path_factory.mktemp("source")
        (source / "conf.py").write_text(configuration, encoding="utf8")
        for name, text in pages.items():
            (source / f"{name}.md").write_text(text, encoding="utf8")
        app = SphinxTestApp("html", srcdir=source)
        try:
            app.build()
        finally:
            app.cleanup()
        assert app.warning.getvalue() == ""
        return Path(app.outdir)

    return build_site


@pytest.fixture(scope="module")
def site(build: Builder) -> Path:
    """Build the test formulas beside a page of words."""
    return build(index=FORMULAS, words="# Words\n\nNone here.\n")


def visible(page: str) -> str:
    page = re.sub(r"<(script|style|annotation)\b.*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_no_tex_is_visible_and_no_script_is_needed(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf8")
    assert page.count("<math") >= 14
    assert not re.search(r"\\[a-zA-Z]+|\$|\^\{", visible(page))
    assert "MathJax" not in page


def test_nothing_comes_from_another_site(site: Path) -> None:
    loaded = r'(?:src|href)="(?:https?:)?//(?!www\.sphinx-doc\.org)[^"]*"'
    for page in site.rglob("*.html"):
        assert re.findall(loaded, page.read_text(encoding="utf8")) == []
    style = (site / "_static" / formulas.STYLE_SHEET).read_text(encoding="utf8")
    assert re.findall(r'url\("([^"]*)"\)', style) == [formulas.FONT]


def test_one_number_for_each_labelled_equation(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf8")
    assert re.findall(r'class="eqno">\((\d+)\)', page) == ["1", "2"]
    assert not re.search(r"<mtext>\(\d+\)</mtext>", page)
    references = re.findall(r'href="#equation-eq-(\w+)">\((\d)\)</a>', page)
    assert references == [("speedup", "1"), ("lines", "2")]
    assert all(page.count(f'id="equation-eq-{name}"') == 1 for name in ("speedup", "lines"))


def test_three_lines_without_an_environment_become_three_rows(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf8")
    block = page.split('id="equation-eq-lines"')[1].split("</math>")[0]
    assert block.count("<mtr>") == 3 + 2  # the cases are two rows of their own


def test_only_a_formula_wider_than_a_phone_takes_the_focus(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf8")
    boxes = re.findall(r'<div class="formula"( tabindex="0")?', page)
    assert boxes == ["", "", "", ' tabindex="0"']
    assert 'role="group" aria-label="Formula, scrolls sideways"' in page


def test_no_line_ends_between_a_formula_and_the_signs_that_touch_it(build: Builder) -> None:
    text = "# Signs\n\nIt is ($x$), so **$y$**. Then $z$ or $K$-th; $\\alpha$.\n"
    page = (build(index=text) / "index.html").read_text(encoding="utf8")
    kept = re.findall(r'<span class="unbroken">(.*?</math></span>[^<]*)</span>', page)
    assert [visible(one) for one in kept] == ["(x),", "K-", "α."]
    assert visible(page).count("It is (x), so y. Then z or K-th; α.") == 1


def test_page_without_formulas_loads_nothing_for_them(build: Builder) -> None:
    words = "# Words\n\n```{toctree}\nmore\n```\n"
    site = build(index=words, more="# More\n\nA formula, $x$.\n")
    assert formulas.STYLE_SHEET not in (site / "index.html").read_text(encoding="utf8")
    page = (site / "more.html").read_text(encoding="utf8")
    assert page.count(formulas.STYLE_SHEET) == 1
    assert f'url("_static/{formulas.FONT}")\').load()' in page


def test_site_without_formulas_gets_no_font(build: Builder) -> None:
    site = build(index="# Words\n")
    assert not (site / "_static" / formulas.FONT).exists()


def test_spaces_in_every_unit_are_typeset(build: Builder) -> None:
    units = ("em", "ex", "pt", "mm", "cm", "in", "sp")
    spaces = "".join(rf"\kern1{unit} x" for unit in units)
    site = build(index=f"# Title\n\n${spaces}$ and $a\\hspace{{1cm}}b$\n")
    assert (site / "index.html").read_text(encoding="utf8").count("<mspace") == len(units) + 1


@pytest.mark.parametrize(
    ("tex", "mark"),
    [
        (r"\fracc{a}{b}", "$"),
        (r"\frac{a", "$$"),
        (r"\left( a", "$"),
        (r"\begin{align} a", "$$"),
        ("a\x01b", "$"),
    ],
)
def test_broken_formula_stops_the_build_and_is_named(build: Builder, tex: str, mark: str) -> None:
    with pytest.raises(ExtensionError) as caught:
        build(index=f"# Title\n\nText {mark}{tex}{mark} text.\n")
    assert f"'{tex}'" in str(caught.value)
    assert "index:3" in str(caught.value)


def test_macros_of_the_configuration_are_known(build: Builder) -> None:
    macros = CONFIGURATION + r'formula_macros = {"tokens": r"\mathbb{E}[T]"}'
    site = build(macros, index="# Title\n\n$\\tokens$\n")
    assert DOUBLE_STRUCK_E in (site / "index.html").read_text(encoding="utf8")


def test_broken_macro_stops_the_build(build: Builder) -> None:
    macros = CONFIGURATION + r'formula_macros = {"tokens": r"\unknown"}'
    with pytest.raises(ExtensionError, match="formula_macros"):
        build(macros, index="# Title\n")


def test_font_draws_every_character_of_the_site(site: Path) -> None:
    font = TTFont(site / "_static" / formulas.FONT)
    drawn = formulas.characters((site / "index.html").read_text(encoding="utf8"))
    assert {"√", "∑", "⏟", ITALIC_ALPHA, DOUBLE_STRUCK_E} <= drawn
    missing = {ord(character) for character in drawn} - set(font.getBestCmap())
    assert missing <= set(range(0x2061, 0x2065))  # signs for "apply" and "times", never drawn
    braces = font["MATH"].table.MathVariants.HorizGlyphCoverage.glyphs
    assert font.getBestCmap()[ord("⏟")] in braces
    assert (site / "_static" / formulas.FONT).stat().st_size < 50_000


def test_the_cut_font_still_tells_its_licence() -> None:
    names = TTFont(io.BytesIO(formulas.font({"x"})))["name"]
    assert "STIX" in names.getDebugName(0)
    assert "SIL Open Font License" in names.getDebugName(13)
    assert names.getDebugName(14).startswith("https://")


def test_same_characters_give_the_same_font() -> None:
    first, second = formulas.font({"x", "√"}), formulas.font({"√", "x"})
    assert first == second
    assert "x" in map(chr, TTFont(io.BytesIO(first)).getBestCmap())


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        ("a", "a"),
        (r"\begin{align} a \\ b \end{align}", r"\begin{aligned} a \\ b \end{aligned}"),
        (r"\begin{gather*} a \end{gather*}", r"\begin{gathered} a \end{gathered}"),
        (r"a \\ b", r"\begin{aligned}a \\ b\end{aligned}"),
        (r"\begin{cases} a \\ b \end{cases}", r"\begin{cases} a \\ b \end{cases}"),
        (
            r"\begin{array}{c} \begin{cases} a \\ b \end{cases} \\ c \end{array}",
            r"\begin{array}{c} \begin{cases} a \\ b \end{cases} \\ c \end{array}",
        ),
    ],
)
def test_environments_that_number_lines_are_replaced(tex: str, plain: str) -> None:
    assert formulas.without_numbers(tex) == plain


@pytest.mark.parametrize(
    ("mathml", "em"),
    [
        ("<math><mi>x</mi><mo>=</mo><mn>10</mn></math>", 2.7),
        ("<math><mfrac><mi>x</mi><mn>100</mn></mfrac></math>", 1.7),
        ("<math><msup><mi>x</mi><mn>10</mn></msup></math>", 1.2),
        ('<math><mi>x</mi><mspace width="2em"/></math>', 2.5),
        ('<math><mi>x</mi><mspace width="1.12rem"/></math>', 1.5),
        ('<math><mi>x</mi><mspace width="4ex"/><mspace style="margin-left:-1em"/></math>', 2.5),
        (
            "<math><mtable><mtr><mtd><mi>x</mi></mtd><mtd><mi>y</mi></mtd></mtr>"
            "<mtr><mtd><mn>100</mn></mtd></mtr></mtable></math>",
            3.6,
        ),
    ],
)
def test_estimated_width(mathml: str, em: float) -> None:
    assert formulas.width(ElementTree.fromstring(mathml)) == pytest.approx(em)
