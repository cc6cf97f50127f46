"""One style sheet and one script for what all pages load, and the same order as before."""

from pathlib import Path

import pytest

from specmini.site.bundle import OPTIONS, SCRIPT, STYLE_SHEET, bundle, common, moved_sheet

HEAD = """<head>
<link href="{up}_static/styles/theme.css?digest=1" rel="stylesheet" />
<link rel="stylesheet" type="text/css" href="{up}_static/own.css?v=2" />
{more}<link rel="preload" as="script" href="{up}_static/late.js?digest=1" />
<script src="{up}_static/documentation_options.js?v=9"></script>
<script src="{up}_static/first.js?v=3"></script>
<script>let between = 1;</script>
<script async="async" src="{up}_static/widget.js"></script>
</head><script defer src="{up}_static/late.js?digest=1"></script>
"""


def page(site: Path, name: str, more: str = "") -> None:
    path = site / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD.format(up="../" * name.count("/"), more=more))


@pytest.fixture
def site(tmp_path):
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    (static / "base.css").write_text('@charset "UTF-8"; body{a:b}')
    (static / "styles/theme.css").write_text(
        '@import "../base.css";\np{background:url(../font.woff);c:url("data:x,../y")}'
    )
    (static / "own.css").write_text("p{color:red}")
    (static / "extra.css").write_text("p{color:blue}")
    (static / OPTIONS).write_text("const DOCUMENTATION_OPTIONS = {};")
    (static / "first.js").write_text('"use strict";one()')
    (static / "late.js").write_text("two()")
    page(tmp_path, "index.html")
    extra = '<link rel="stylesheet" href="../_static/extra.css" />\n'
    page(tmp_path, "book/chapter.html", extra)
    page(tmp_path, "search.html")
    (tmp_path / "door.html").write_text('<meta http-equiv="refresh" content="0; url=index.html">')
    return tmp_path


def test_pages_load_one_of_each(site):
    bundle(site)
    text = (site / "book/chapter.html").read_text()
    assert text.count("stylesheet") == 2  # the page's own one stays, after the shared ones
    assert text.index(f"../_static/{STYLE_SHEET}?v=") < text.index("extra.css")
    assert text.count(f'late.src="../_static/{SCRIPT}?v=') == 1
    assert "<script defer" not in text
    for gone in ("theme.css", "own.css", "first.js", "late.js", "preload", OPTIONS):
        assert gone not in text, gone
    assert "<script>const DOCUMENTATION_OPTIONS = {};</script>" in text
    assert 'async="async" src="../_static/widget.js"' in text


def test_order_is_kept_and_references_still_lead_somewhere(site):
    bundle(site)
    css = (site / "_static" / STYLE_SHEET).read_text()
    assert css.index("body{a:b}") < css.index("p{background") < css.index("p{color:red}")
    assert 'url("font.woff")' in css
    assert 'url("data:x,../y")' in css
    assert "@import" not in css
    assert "@charset" not in css
    js = (site / "_static" / SCRIPT).read_text()
    assert js.index('*/\n;\n"use strict";one()\n;\ntwo()') > 0  # strict for nobody


def test_search_page_keeps_its_scripts(site):
    bundle(site)
    text = (site / "search.html").read_text()
    assert STYLE_SHEET in text
    assert SCRIPT not in text
    assert "first.js" in text
    assert OPTIONS in text


def test_page_without_style_sheets_is_left(site):
    before = (site / "door.html").read_text()
    bundle(site)
    assert (site / "door.html").read_text() == before


def test_again_changes_nothing(site):
    bundle(site)
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    bundle(site)
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before


def test_a_build_of_one_page_joins_the_others(site):
    bundle(site)
    was = (site / "index.html").read_text()
    (site / "_static/own.css").write_text("p{color:green}")
    extra = '<link rel="stylesheet" href="../_static/extra.css" />\n'
    page(site, "book/chapter.html", extra)
    bundle(site)
    assert "p{color:green}" in (site / "_static" / STYLE_SHEET).read_text()
    assert "p{color:blue}" not in (site / "_static" / STYLE_SHEET).read_text()
    now = (site / "index.html").read_text()
    assert now != was, "a browser would keep the old file"
    assert now.count(STYLE_SHEET) == 1


def test_what_is_common():
    assert common([["a", "b", "c"], ["c", "a"]]) == ["a", "c"]
    assert common([]) == []


def test_sheet_moves_up_a_folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/one.css").write_text("a{b:url(c/d.png)}")
    assert moved_sheet(tmp_path, "deep/one.css") == 'a{b:url("deep/c/d.png")}'
