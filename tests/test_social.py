"""Cards carry the page's own words; what needs the site's address waits for it."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from PIL import Image
from sphinx.errors import ConfigError

from specmini.site import social

CARD = social.Card('Speed "up"', "A round yields E tokens.")
ADDRESS = "https://example.org/book/"
NEEDS_ADDRESS = ("og:url", "og:image", "og:image:alt", "twitter:image", "twitter:image:alt")


def page(*parts, title="Speedup"):
    section = nodes.section("", nodes.title("", title), *parts)
    document = nodes.document(None, None)
    document += section
    return document


def paragraph(*parts):
    return nodes.paragraph("", "", *parts)


def answer(*parts):
    block = nodes.admonition("", nodes.title("", "The answer"), *parts)
    block["classes"] = ["answer"]
    return block


def found(html):
    return dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"', html))


# --- words ----------------------------------------------------------------------------------


def test_the_answer_comes_before_the_text_and_formulas_become_text():
    first = paragraph(nodes.Text("A remark."))
    said = answer(
        paragraph(nodes.Text("It costs "), nodes.math("", r"K c + v"), nodes.Text(" steps, so")),
        nodes.math_block("", r"S = \frac{E}{Kc + v}."),
    )
    assert social.card(page(first, said)).text == "It costs K c + v steps, so S = E/(Kc + v)."


def test_a_page_without_an_answer_gives_its_first_paragraph():
    document = page(paragraph(nodes.Text("A few\ncards a day.")))
    assert social.card(document) == social.Card("Speedup", "A few cards a day.")


def test_a_page_without_words_gets_no_card():
    assert social.card(page()) is None
    assert social.card(nodes.document(None, None)) is None


def test_only_whole_sentences_are_taken_while_one_fits():
    long = "It has a sentence. " * 30
    text = social.card(page(paragraph(nodes.Text(long)))).text
    assert len(text) <= social.LONGEST
    assert text.endswith("sentence.")
    endless = social.card(page(paragraph(nodes.Text("word " * 90)))).text
    assert len(endless) <= social.LONGEST
    assert endless.endswith("word …")


# --- tags -----------------------------------------------------------------------------------


def test_without_an_address_no_tag_needs_one():
    tags = found(social.tags(CARD, "book/speedup", "The book"))
    assert not set(NEEDS_ADDRESS) & set(tags)
    assert tags["twitter:card"] == "summary"
    assert tags["description"] == tags["og:description"] == CARD.text
    assert "http" not in "".join(tags.values())


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS.rstrip("/")])
def test_with_an_address_the_picture_has_one_and_words(address):
    html = social.tags(CARD, "book/speedup", "The book", address)
    tags = found(html)
    assert set(NEEDS_ADDRESS) <= set(tags)
    assert tags["og:url"] == "https://example.org/book/book/speedup.html"
    assert tags["og:image"] == "https://example.org/book/_static/cards/book-speedup.png"
    assert tags["og:image:alt"] == "Speed &quot;up&quot;. A round yields E tokens."
    assert tags["twitter:card"] == "summary_large_image"


@pytest.mark.parametrize("address", ["example.org", "/book", "ftp://example.org"])
def test_an_address_that_is_none_stops_the_build(address):
    with pytest.raises(ConfigError, match=f"html_baseurl must be empty or .* got '{address}'"):
        social._check_address(None, SimpleNamespace(html_baseurl=address))


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_no_address_and_a_whole_one_are_fine(address):
    social._check_address(None, SimpleNamespace(html_baseurl=address))


# --- pictures -------------------------------------------------------------------------------


def test_a_card_has_its_size_its_colors_and_few_bytes(tmp_path):
    path = tmp_path / "card.png"
    social.draw(social.Card("When does speculative decoding win?", "Often. " * 38), path)
    with Image.open(path) as image:
        assert image.size == (social.WIDTH, social.HEIGHT)
        colors = {color for _, color in image.convert("RGB").getcolors(1 << 20)}
        edge = image.convert("RGB").crop((1150, 0, 1200, 500)).getcolors()
    for role in ("target", "ink", "accepted", "rejected", "recovered"):
        color = social.COLOR[role].lstrip("#")
        assert tuple(bytes.fromhex(color)) in colors, role
    assert len(edge) == 1, "text runs into the edge"
    assert path.stat().st_size < 100_000


def test_other_words_are_another_card():
    assert CARD.digest == social.Card(CARD.title, CARD.text).digest
    assert CARD.digest != social.Card(CARD.title, CARD.text + "!").digest


def test_a_card_is_drawn_once_and_a_page_gets_its_tags(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(social, "draw", lambda words, path: drawn.append(path.write_text("png")))
    document = page(paragraph(nodes.Text("Words.")))
    app = SimpleNamespace(
        outdir=str(tmp_path / "html"),
        config=SimpleNamespace(project="The book", html_baseurl=ADDRESS, root_doc="book/index"),
        env=SimpleNamespace(get_doctree=lambda name: document),
    )
    for _ in range(2):
        context = {"metatags": "<meta before>", "docstitle": "The book"}
        social._add_tags(app, "book/speedup", "page.html", context, document)
    assert len(drawn) == 1
    assert (tmp_path / "html" / "_static" / "cards" / "book-speedup.png").exists()
    assert context["metatags"].startswith("<meta before>")
    assert "og:image" in context["metatags"]
    assert context["docstitle"] == "The book"
    social._add_tags(app, "book/index", "page.html", context, document)
    assert context["docstitle"] == "", "the tab would say the title twice"
    generated = {}
    social._add_tags(app, "genindex", "genindex.html", generated, None)
    assert generated == {}
