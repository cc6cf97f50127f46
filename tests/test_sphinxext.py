"""What the built site needs: outputs as nodes, no foreign files, a cache that forgets in time."""

import importlib.metadata
import json
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from docutils import nodes

from specmini import notebooks, palette, sphinxext
from specmini.figures import tokens
from specmini.site import logo
from specmini.widgets import assemble
from specmini.widgets.page import MIME as WIDGET_MIME

WIDGET = {"widget": "explorer", "key": "abc", "state": {"K": 4}, "fallback": "<p>No script</p>"}


def output(mime, content):
    return SimpleNamespace(
        mime_type=mime, content=content, string=content if isinstance(content, str) else ""
    )


def handled(mime, content):
    return sphinxext.PageOutputRenderer.handle_mime(None, output(mime, content), inline=False)


# --- outputs --------------------------------------------------------------------------------


def test_a_figure_is_inlined_and_follows_the_page():
    [node] = handled(sphinxext.FIGURE_MIME, tokens.tokens_distribution(0.8, 4)._repr_svg_())
    assert node["classes"] == ["specmini-figure"]
    assert node["format"] == "html"
    assert f"var({palette.css_variable('accepted')})" in node.astext()
    assert palette.ROLES["accepted"].light not in node.astext()


def test_a_widget_becomes_a_mount_point_with_its_state():
    [node] = handled(WIDGET_MIME, WIDGET)
    assert node["classes"] == ["specmini-widget"]
    before, _, after = node.astext().partition('<script type="application/json">')
    assert before == '<div class="specmini-host" data-specmini="explorer"><p>No script</p>'
    state = json.loads(after.removesuffix("</script></div>"))
    assert state == {"widget": "explorer", "key": "abc", "state": {"K": 4}}


@pytest.mark.parametrize(
    ("mime", "content"), [("image/svg+xml", "<svg></svg>"), ("text/plain", "3.36")]
)
def test_outputs_of_others_are_left_alone(mime, content):
    assert handled(mime, content) is None


def test_ours_come_first_on_every_page_builder():
    wanted = {
        (builder, mime)
        for builder in sphinxext.HTML_BUILDERS
        for mime in (WIDGET_MIME, sphinxext.FIGURE_MIME)
    }
    overrides = sphinxext.PageOutputRenderer.mime_priority_overrides
    assert {(builder, mime) for builder, mime, _ in overrides} == wanted


# --- the cache ------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "theory.py").write_text("x = 1")
    (tmp_path / "data" / "table.toml").write_text("a = 1")
    (tmp_path / "data" / "weights.safetensors").write_bytes(b"\0\1")
    return tmp_path


def installed(**versions):
    return [SimpleNamespace(name=name, version=version) for name, version in versions.items()]


def test_the_cache_is_kept_when_nothing_changed_that_a_chapter_could_print(package):
    before = sphinxext._fingerprint(package, installed(numpy="2.4", torch="2.13"))
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "theory.cpython-311.pyc").write_bytes(b"compiled")
    (package / "style").mkdir()
    (package / "style" / "book.css").write_text("a { color: red }")
    assert sphinxext._fingerprint(package, installed(torch="2.13", numpy="2.4")) == before


@pytest.mark.parametrize("name", ["theory.py", "data/table.toml", "data/weights.safetensors"])
def test_the_cache_is_void_when_a_file_of_the_package_changes(package, name):
    before = sphinxext._fingerprint(package, [])
    (package / name).write_bytes((package / name).read_bytes() + b" ")
    changed = sphinxext._fingerprint(package, [])
    (package / name).unlink()
    assert len({before, changed, sphinxext._fingerprint(package, [])}) == 3


def test_the_cache_is_void_when_another_version_is_installed(package):
    before = sphinxext._fingerprint(package, installed(numpy="2.4"))
    assert sphinxext._fingerprint(package, installed(numpy="2.5")) != before


def test_the_cache_sees_what_is_really_installed():
    found = {dist.name for dist in importlib.metadata.distributions()}
    assert {"numpy", "matplotlib"} <= found


def images_of(config):
    return [config.html_theme_options["logo"][f"image_{mode}"] for mode in logo.MODES]


def test_configuring_names_the_cache_writes_assets_and_clears_old_reports(tmp_path):
    site = tmp_path / "html"
    report = site / "reports" / "book" / "editor.err.log"
    report.parent.mkdir(parents=True)
    report.write_text("Traceback")
    config = SimpleNamespace(
        html_static_path=[], html_theme_options={"show_toc_level": 2}, project="The book"
    )
    sphinxext._configure(SimpleNamespace(outdir=str(site)), config)
    assert not (site / "reports").exists()
    assert f"{tmp_path}" in config.nb_execution_cache_path
    assert config.html_static_path == [str(tmp_path / "assets")]
    names = {path.name for path in (tmp_path / "assets").iterdir()}
    taken_along = {"specmini-cards.apkg", "specmini-sheet-a4.pdf", "specmini-sheet-letter.pdf"}
    mark = {logo.FAVICON, *logo.LOGO.values()}
    assert names == {"book.css", "specmini.css", *assemble.files()} | taken_along | mark
    assert {Path(config.html_favicon), *map(Path, images_of(config))} <= {
        tmp_path / "assets" / name for name in mark
    }
    assert config.html_theme_options["show_toc_level"] == 2
    assert config.html_theme_options["logo"]["text"] == "The book"
    assert "--sm-draft:" in (tmp_path / "assets" / "book.css").read_text(encoding="utf-8")


# --- pages ----------------------------------------------------------------------------------


class App:
    """The part of a Sphinx application that the page hooks use."""

    def __init__(self, scripts=()):
        self.env = SimpleNamespace(
            nb_metadata={"page": {"js_files": dict.fromkeys(scripts)}},
            toctree_includes={"index": ["book/speedup", "book/glossary"]},
            toc_secnumbers={"book/speedup": {"": (6,)}},
            titles={"book/speedup": nodes.title("", "Speed</script>up")},
            all_docs={"book/progress": 0},
        )
        self.config = SimpleNamespace(root_doc="index")
        self.files = []

    def add_js_file(self, name, **options):
        self.files.append(name)

    def add_css_file(self, name):
        self.files.append(name)


def document(*children):
    tree = nodes.section()
    tree += list(children)
    return tree


def test_only_a_page_with_a_widget_loads_the_widget_script():
    for doctree, files in (
        (document(*handled(WIDGET_MIME, WIDGET)), ["specmini.js", "specmini.css"]),
        (document(nodes.paragraph(text="words")), []),
        (None, []),
    ):
        app = App()
        sphinxext._add_page_files(app, "page", "page.html", {}, doctree)
        assert app.files == files


def test_a_chapter_ends_in_a_button_and_the_panel_gets_the_list_of_chapters():
    app, chapter, other = App(), {"body": "<p>Text</p>"}, {"body": "<p>Text</p>"}
    sphinxext._add_progress(app, "book/speedup", "page.html", chapter, None)
    sphinxext._add_progress(app, "book/glossary", "page.html", other, None)
    assert chapter["body"].startswith('<p>Text</p><div class="specmini-host" data-specmini="read">')
    assert '"progress": "progress.html"' in chapter["body"]
    assert other["body"] == "<p>Text</p>"
    sphinxext._add_page_files(app, "book/speedup", "page.html", {}, None)
    assert app.files == ["specmini.js", "specmini.css"]
    panel = {"body": '<div data-specmini="progress"><table><tbody></tbody></table></div>'}
    sphinxext._add_progress(app, "book/progress", "page.html", panel, None)
    assert '<a href="speedup.html">Speed&lt;/script&gt;up</a>' in panel["body"]
    data = panel["body"].partition('id="specmini-contents">')[2].removesuffix("</script>")
    assert "<" not in data
    assert json.loads(data) == [{"id": "speedup", "title": "Speed</script>up"}]


def test_the_scripts_of_ipywidgets_are_not_asked_for():
    app = App(["ipywidgets_requirejs", "ipywidgets_state", "other"])
    sphinxext._add_page_files(app, "page", "page.html", {}, None)
    assert list(app.env.nb_metadata["page"]["js_files"]) == ["other"]


def test_thebe_is_dropped_by_name_and_by_body():
    inline = SimpleNamespace(filename=None, attributes={"body": "const THEBE_JS_URL = 1"})
    named = SimpleNamespace(filename="_static/sphinx-thebe.js", attributes={})
    kept = SimpleNamespace(filename="specmini.js", attributes={"body": None})
    context = {"script_files": [inline, named, kept], "css_files": ["_static/sphinx-thebe.css"]}
    sphinxext._drop_live_kernel(None, "page", "page.html", context, None)
    assert context == {"script_files": [kept], "css_files": []}


PAGE = (
    '<link rel="preload" as="script" href="_static/scripts/fontawesome.js?digest=1"/>\n'
    '<script src="_static/searchtools.js"></script>\n'
    '<div id="pst-primary-sidebar" class="x"></div><p role="doc-biblioentry">é</p>'
)
CONTAINER = '<div id="pst-primary-sidebar" role="region" aria-label="Book" class="x"></div>'


@pytest.fixture
def site(tmp_path):
    static = tmp_path / "_static"
    (static / "scripts").mkdir(parents=True)
    (tmp_path / "_sources").mkdir()
    for name in ("index.html", "search.html", "_static/example.html"):
        (tmp_path / name).write_text(PAGE, encoding="utf-8")
    for name in ("scripts/fontawesome.js", "scripts/theme.js", "theme.js.map", "sphinx-thebe.js"):
        (static / name).write_text("")
    cell = nbformat.v4.new_code_cell("1", execution_count=7, metadata={"execution": {"at": "now"}})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "_sources" / "a.ipynb")
    return tmp_path


def finish(site, exception=None, kind="html"):
    app = SimpleNamespace(
        outdir=str(site),
        builder=SimpleNamespace(format=kind),
        config=SimpleNamespace(html_theme_options={}),
    )
    sphinxext._finish(app, exception)
    return {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*")
        if path.is_file()
    }


def test_finishing_mends_pages_and_drops_what_none_uses(site):
    files = finish(site)
    assert files["index.html"] == f'\n{CONTAINER}<p role="listitem">é</p>'
    assert "searchtools" in files["search.html"]
    assert 'role="listitem"' in files["search.html"]
    assert files["_static/example.html"] == PAGE
    left = {name for name in files if name.startswith("_static/") and "example" not in name}
    assert left == {"_static/scripts/theme.js"}


def test_finishing_offers_notebooks_in_normal_form(site):
    finish(site)
    offered = nbformat.read(site / "_sources" / "a.ipynb", as_version=4)
    assert offered.cells[0].execution_count == 1
    assert offered.cells[0].metadata == {}
    assert offered == notebooks.normalized(offered)


@pytest.mark.parametrize(("exception", "kind"), [(ValueError("x"), "html"), (None, "latex")])
def test_a_build_that_failed_or_is_no_site_is_left_alone(site, exception, kind):
    files = finish(site, exception, kind)
    assert files["index.html"] == PAGE
    assert "_static/sphinx-thebe.js" in files


def test_a_page_s_script_uses_nothing_that_was_left_out_of_it():
    """Only the full script is run by the parity tests; the others must not lack a function."""
    source = {name: assemble._source(f"{name}.js") for name in assemble.SCRIPTS}
    kind_of = {name: kind for kind, names in assemble.SCARCE.items() for name in names}
    declared = re.compile(r"^(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
    owner = {word: name for name in kind_of for word in declared.findall(source[name])}
    assert len(owner) > 50
    for name, text in source.items():
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
        for word, home in owner.items():
            own = re.search(rf"\b{word}\s*=(?!=)", code)
            if kind_of[home] != kind_of.get(name) and not own:
                assert not re.search(rf"(?<![\w.\"'-]){word}\(", code), (name, word)
