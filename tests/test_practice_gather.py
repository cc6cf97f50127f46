"""Typed blocks: all are found, each under an id of its own, and can be shown elsewhere."""

import re

import pytest
from chapters import BOOK, load, markdown

from specmini.practice import gather, markup
from specmini.practice.unicode_math import as_text

CHAPTER = """# A chapter

:::{admonition} "It is *free*."
:class: red-flag
:name: red-flag-free
It is not: $c > 0$.

A second paragraph.
:::

:::{admonition} Not ours
:class: tip
text
:::

## Check yourself

:::{dropdown} Two
No.
:::

## Follow-up questions

:::{dropdown} Is α a rate?
Yes.
:::

## Remember

:::{admonition} Takeaways
:class: takeaways
- One.
:::
"""


def test_blocks_of_a_chapter_are_found_with_kind_id_and_text():
    found = gather.parse("page", CHAPTER)
    assert [(one.kind, one.id) for one in found] == [
        ("red-flag", "red-flag-free"),
        ("followup", "followup-page-is-alpha-a-rate"),
        ("takeaways", "takeaways-page"),
    ]
    assert found[0].title == "It is *free*."
    assert found[0].text == "It is not: $c > 0$.\n\nA second paragraph."
    assert found[1].text == "Yes."


def test_an_id_that_stands_twice_is_refused():
    with pytest.raises(ValueError, match="ids of 'page' must differ, got 'red-flag-free' twice"):
        gather.parse("page", CHAPTER + CHAPTER)


def test_every_block_of_every_chapter_is_gathered_under_an_id_of_its_own():
    ids = [block.id for block in gather.blocks()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) for one in ids)
    for chapter in gather.chapters():
        text = "\n".join(markdown(load(BOOK / f"{chapter}.ipynb")))
        blocks = [block for block in gather.blocks() if block.chapter == chapter]
        for kind in ("answer", "red-flag", "memory", "takeaways", "systems"):
            written = len(re.findall(rf"^:class: {kind}$", text, re.MULTILINE))
            assert sum(block.kind == kind for block in blocks) == written, (chapter, kind)
        questions = text.partition(f"## {gather.QUESTIONS}")[2].partition("\n## ")[0]
        asked = questions.count(":::{dropdown}")
        assert sum(block.kind == "followup" for block in blocks) == asked > 0, chapter


def test_a_given_name_is_the_id():
    text = "\n".join("\n".join(markdown(load(BOOK / f"{one}.ipynb"))) for one in gather.chapters())
    names = set(
        re.findall(r"^:class: (?:red-flag|memory|answer)\n:name: (.+)$", text, re.MULTILINE)
    )
    assert len(names) > 50
    assert names <= {block.id for block in gather.blocks()}


def test_chapters_come_in_reading_order_and_pages_without_the_parts_do_not():
    found = gather.chapters()
    assert found.index("tokens") < found.index("speedup") < found.index("batch")
    assert not {"index", "ledger", "notation", "cards", "followups", "sheet"} & set(found)


def test_bad_kind_and_missing_book_are_refused(tmp_path):
    with pytest.raises(ValueError, match="kind must be one of 'answer'"):
        gather.blocks("flag")
    with pytest.raises(ValueError, match="book must be a folder of chapters"):
        gather.chapters(tmp_path)


def test_symbols_come_from_the_notation_page():
    known = gather.notation()
    assert known["K"][0] == "draft_length"
    assert known[r"\alpha"][0] == "acceptance_rate"


@pytest.mark.parametrize("block", gather.blocks(), ids=lambda block: block.id)
def test_every_block_can_be_shown_away_from_its_page(block):
    if block.kind not in ("red-flag", "memory"):
        return
    html = markup.to_html(block.text, block.chapter)
    text = markup.to_text(block.text)
    for shown in (html, text, markup.to_text(block.title)):
        assert not re.search(r"\\[a-z]+|\$|\{[a-z:]+\}`", shown), shown


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**a** and *b*", "<p><strong>a</strong> and <em>b</em></p>"),
        ("see {doc}`speedup`", '<p>see <a href="speedup.html">Speedup</a></p>'),
        ("in {eq}`eq-x`", '<p>in <a href="page.html#equation-eq-x">this equation</a></p>'),
        ("by {cite}`chen2023`", "<p>by (Chen et al., 2023)</p>"),
        ("by {cite}`leviathan2023{Table 3}`", "<p>by (Leviathan et al., 2023, Table 3)</p>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("{ref}`red flag <red-flag-x>`", '<p><a href="page.html#red-flag-x">red flag</a></p>'),
    ],
)
def test_markup_becomes_html(text, html):
    assert markup.to_html(text, "page") == html


def test_formulas_become_mathml_mathjax_or_text():
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in markup.to_html(r"$\frac12$", "page")
    anki = markup.to_html("$a < b$", "page", markup.anki_math)
    assert anki == r"<p>\(a &lt; b\)</p>"
    assert markup.to_text(r"$\alpha^{K+1}$ & more") == "α^(K+1) & more"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{video}`x`", "role must be one of doc, eq"),
        ("{cite}`nobody1999`", "cite must name a key of references.bib, got 'nobody1999'"),
        (r"$\frac{1$", "formula must be typeset"),
    ],
)
def test_what_a_card_cannot_show_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        markup.to_html(text, "page")


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\frac{1-\alpha^{K+1}}{1-\alpha}", "(1−α^(K+1))/(1−α)"),
        (r"\alpha^2", "α²"),
        (r"s_i", "sᵢ"),
        (r"n_\text{ridge}\,(E - Kc)", "n_ridge (E − Kc)"),
        (r"p(\operatorname{argmax} q)", "p(argmax q)"),
        (r"\frac{b}{2} \cdot x", "b/2 · x"),
        (r"B^\star", "B*"),
    ],
)
def test_tex_becomes_a_line_of_text(tex, text):
    assert as_text(tex) == text


@pytest.mark.parametrize("tex", [r"\nonsense", r"{a", "a}", r"\frac{1}"])
def test_tex_that_is_not_known_is_refused(tex):
    with pytest.raises(ValueError, match="formula must"):
        as_text(tex)
