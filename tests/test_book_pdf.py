"""The book as one document: every page in its order, ids that are unique, links that arrive."""

import io
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from fpdf import FPDF
from pypdf import PdfReader

from specmini.publish import book_pdf, chromium, contents, one_page
from specmini.publish.contents import Entry, listing, target
from specmini.publish.one_page import OnePage, article, join, parsed

NAVIGATION = """<a class="logo__title">The book</a><nav class="bd-docs-nav">
<a class="reference internal" href="#">The book</a>
<p class="caption">Part one</p><a class="reference internal" href="a.html">1. First <b>page</b></a>
<p class="caption">Part two</p><a class="reference internal" href="b.html">2. Second</a>
<a class="reference internal" href="api/x.html">Reference</a></nav>"""
PAGES = {
    "book/index": '<h1>The book</h1><a href="a.html">start</a><a href="b.html#same">there</a>',
    "book/a": """<section id="same"><h1>First<a class="headerlink" href="#same">#</a></h1>
        <a id="own" href="#same">here</a> <a href="b.html#same">next</a> <a href="b.html">page</a>
        <a href="b.html#folded">code</a> <a href="api/x.html#f">function</a>
        <a href="../a.pdf">pdf</a>
        <a href="https://example.org/b.html#same">elsewhere</a>
        <a href="mailto:a@b.example">post</a>
        <details class="sd-dropdown"><summary>Why?</summary>Because.</details>
        <button>Copy</button></section>""",
    "book/b": """<section id="same"><h1>Second</h1><a href="a.html?q=1#same">back</a>
        <div class="cell"><details class="hide"><p id="folded">draw()</p></details></div>
        <section id="proof-content">one</section><section id="proof-content">two</section>
        <div class="cell"><details class="hide">draw()</details><img src="../_images/c.png"></div>
        <svg aria-labelledby="t d"><title id="t">T</title><desc id="d">D</desc>
        <clipPath id="clip"></clipPath><path id="p" clip-path="url(#clip)"></path>
        <use xlink:href="#p" style="fill: url('#clip')"></use></svg></section>""",
    "book/api/x": '<h1 id="f">x</h1>',
}


def page(name, body):
    up = "../" * name.count("/")
    return (
        f'<html lang="en"><link rel="stylesheet" href="{up}_static/book.css?v=1">{NAVIGATION}'
        f'<article class="bd-article">{body}</article>'
        f'<p class="component-author">By A. Writer</p></html>'
    )


@pytest.fixture
def site(tmp_path):
    for name, body in PAGES.items():
        path = tmp_path / "site" / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(name, body), encoding="utf-8")
    return tmp_path / "site"


@pytest.fixture
def book(site):
    return OnePage.of(site)


@pytest.fixture
def document(book):
    return BeautifulSoup(book.document("p { color: red }", {"book/a": 7}), "html.parser")


def hrefs(document, page):
    links = document.find(id=page).select("a[href]")
    return {link.get_text(): link["href"] for link in links}


def test_the_contents_are_the_navigation_without_what_is_left_out():
    found = contents.contents(parsed(NAVIGATION), left_out=("book/api/",))
    assert found == (
        Entry("book/index", "The book", ""),
        Entry("book/a", "1. First page", "Part one"),
        Entry("book/b", "2. Second", "Part two"),
    )
    some = contents.contents(parsed(NAVIGATION), left_out=("book/a", "book/api/x"))
    assert [one.page for one in some] == ["book/index", "book/b"]
    with pytest.raises(ValueError, match="html must be a page with the site's navigation, got 'x'"):
        contents.contents(parsed("<p>none</p>"), "x")


@pytest.mark.parametrize(
    ("href", "place"),
    [
        ("b.html#c", ("book/b", "c")),
        ("../index.html", ("index", "")),
        ("#c", ("book/a", "c")),
        ("#%CE%B1", ("book/a", "α")),
        ("api/x.html?q#f", ("book/api/x", "f")),
        ("../_static/a.css?v=1", ("_static/a.css", "")),
    ],
)
def test_a_link_leads_to_a_page_and_a_place(href, place):
    assert target("book/a", href) == place


def test_every_page_stands_there_once_in_order(document):
    pages = [one["id"] for one in document.select("article.bd-article")]
    assert pages == ["book/index", "book/a", "book/b"]
    listed = [link["href"] for link in document.select("nav a")]
    assert listed == [f"#{page}" for page in pages]
    assert [one.get_text() for one in document.select("nav .number")] == ["000", "7", "000"]
    assert [one.get_text() for one in document.select("nav .part")] == ["Part one", "Part two"]


def test_ids_are_unique_and_no_link_dangles(document):
    ids = [tag["id"] for tag in document.select("[id]")]
    assert len(ids) == len(set(ids)) >= 11
    links = [link["href"] for link in document.select("a[href^='#']")]
    assert len(links) >= 8
    assert {link[1:] for link in links} <= set(ids)


def test_links_between_pages_become_links_within(document):
    assert hrefs(document, "book/index") == {"start": "#book/a", "there": "#book/b:same"}
    assert hrefs(document, "book/a") == {
        "here": "#book/a:same",
        "next": "#book/b:same",
        "page": "#book/b",
        "code": "#book/b",  # what it named is not on paper
        "elsewhere": "https://example.org/b.html#same",
        "post": "mailto:a@b.example",
    }
    assert hrefs(document, "book/b") == {"back": "#book/a:same"}
    words = document.find(id="book/a").get_text()
    assert "function" in words
    assert "pdf" in words


def test_a_drawing_refers_to_its_own_parts(document):
    drawing = document.find(id="book/b").svg
    assert drawing["aria-labelledby"] == "book/b:t book/b:d"
    assert drawing.path["clip-path"] == "url(#book/b:clip)"
    assert drawing.use["xlink:href"] == "#book/b:p"
    assert drawing.use["style"] == "fill: url(#book/b:clip)"


def test_what_needs_a_screen_is_gone_and_answers_are_open(document):
    assert not document.select("button, script, a.headerlink, details:not([open])")
    assert "Because." in document.find(id="book/a").get_text()
    assert "draw()" not in document.get_text()
    assert len(document.select("div.cell")) == 1  # the other held folded code alone
    assert document.img["src"] == one_page.LOGO
    assert document.select_one("main img")["src"] == "_images/c.png"


def test_the_document_says_whose_it_is_and_loads_each_style_once(book, document):
    assert (book.title, book.author, book.language) == ("The book", "A. Writer", "en")
    assert [link["href"] for link in document.select("link")] == ["_static/book.css"]
    assert document.html["lang"] == "en"
    assert document.title.get_text() == document.select_one(".title-page h1").get_text()
    assert "A. Writer" in document.select_one(".title-page").get_text()


def test_titles_run_above_their_pages_and_no_title_ends_the_rule(site):
    path = site / "book/index.html"
    path.write_text(path.read_text().replace("2. Second", '2. "So&lt;/style>" &amp; \\so'))
    rules = OnePage.of(site).document("").split("<style>")[1].split("</style>")[0]
    found = re.findall(r'@page (\S+) .*@top-right { content: "(.*)" }', rules)
    assert found == [
        ("chapter-0", ""),  # the book's own, which stands at the left
        ("chapter-1", "1. First page"),
        ("chapter-2", r"2. \22 So\3c /style>\22  & \5c so"),
    ]
    assert rules.count('@top-left { content: "The book" }') == 3


def test_what_is_no_site_is_refused(site, tmp_path):
    with pytest.raises(ValueError, match=r"site must be the folder of a built site, got .*none"):
        OnePage.of(tmp_path / "none")
    (site / "book/b.html").unlink()
    with pytest.raises(ValueError, match="lacks 'book/b'"):
        OnePage.of(site)
    assert len(OnePage.of(site, (*contents.LEFT_OUT, "book/b")).entries) == 2
    with pytest.raises(ValueError, match="must hold an article of the book, got 'x' without"):
        article(parsed("<p>none</p>"), "x")


def test_names_with_signs_stay_names():
    articles = {"p": parsed('<a href="#a%20b">x</a><i id="a b"></i>')}
    join(articles)
    assert articles["p"].a["href"] == "#p:a b"
    assert articles["p"].i["id"] == "p:a b"
    assert "&lt;b&gt;" in listing([Entry("p", "<b>", "")], {})


def made_up_pdf():
    sheet = FPDF()
    sheet.add_page()
    sheet.set_title("none")
    return bytes(sheet.output())


def test_author_and_date_are_added_behind_the_print(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    before = made_up_pdf()
    after = book_pdf.finished(before, "Wörter", "A. Writer")
    assert after.startswith(before)
    reader = PdfReader(io.BytesIO(after))
    assert (reader.metadata.title, reader.metadata.author) == ("Wörter", "A. Writer")
    assert reader.metadata["/CreationDate"] == "D:20231114221320Z"
    assert reader.page_mode == "/UseOutlines"
    assert reader.trailer["/Root"]["/ViewerPreferences"]["/DisplayDocTitle"]
    assert len(reader.pages) == 1
    again = PdfReader(io.BytesIO(book_pdf.finished(after, "Twice", "B. Writer")))
    assert again.metadata.title == "Twice"
    with pytest.raises(ValueError, match="pdf must end with the place of its xref table"):
        book_pdf.finished(b"%PDF-1.4 and no more", "", "")


def test_other_paper_is_refused_and_no_browser_is_said(site, tmp_path, monkeypatch):
    assert re.fullmatch(r"specmini-book-[\d.]+-letter\.pdf", book_pdf.file_name("Letter"))
    with pytest.raises(ValueError, match="paper"):
        book_pdf.write(site, tmp_path / "book.pdf", "A5")
    monkeypatch.setattr(chromium, "find", lambda bundled: None)
    with pytest.raises(FileNotFoundError, match="no Chromium: install it"):
        book_pdf.write(site, tmp_path / "book.pdf")
    assert not (tmp_path / "book.pdf").exists()


def test_a_named_browser_comes_before_those_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROMIUM", "mine")
    assert chromium.find("none") == "mine"
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium.find(str(tmp_path / "none")) is None
    assert chromium.find(str(Path(__file__))) == __file__
