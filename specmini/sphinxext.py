"""What turns the chapters into a site that needs nothing but its own files.

* Figures and widgets: their notebook outputs become inline SVG that follows the page's colors, and
  mount points that one small script brings to life without a kernel.
* Nothing from elsewhere: the scripts that the book theme would fetch from other hosts (live
  kernels, ipywidgets) are left out, and so are files that no page uses.
* Fresh numbers: executed chapters are cached, and the cache is void once the package changes or
  another version of something is installed.
* Practice: see ``specmini.practice.site``. Colab and Binder: see ``specmini.publish.launch``.
* A face: the logo, and what other sites show of a page, see ``specmini.site.social``.
"""

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from specmini import __version__, notebooks, palette
from specmini.figures.style import themed_svg
from specmini.practice import site as practice_site
from specmini.publish import launch
from specmini.site import bundle, dead_rules, formulas, icons, logo, social
from specmini.widgets import assemble
from specmini.widgets.page import MIME as WIDGET_MIME
from specmini.widgets.progress import read_mark

PACKAGE = Path(__file__).parent
FIGURE_MIME = "image/svg+xml"
HTML_BUILDERS = ("html", "dirhtml", "singlehtml")

# Loaded by the theme for kernels, source maps and scripted icons; the pages work without them.
UNUSED_ASSETS = (
    "**/*.map",
    "scripts/fontawesome.js",
    "scripts/fontawesome.js.LICENSE.txt",
    "sphinx-thebe.js",
    "sphinx-thebe.css",
)
WIDGET_KIND = re.compile(r'data-specmini="(\w+)"')
# An array type as autodoc spells it out: NumPy's alias for any shape, followed to its end.
SPELLED_ARRAY = re.compile(r"ndarray\[tuple\[(?:~typing\.)?Any, \.\.\.\], (?:~numpy\.)?dtype\[")
UNUSED_TAGS = re.compile(
    r'\s*<script[^>]*src="[^"]*scripts/fontawesome\.js[^"]*"></script>'
    r'|\s*<link rel="preload" as="script" href="[^"]*scripts/fontawesome\.js[^"]*"\s*/?>'
    r'|\s*<link rel="preload" as="font"[^>]*fa-(?:brands|regular|solid)[^>]*>'
)


# Loaded on every page, and of use only where something is shown in tabs.
TABS_TAG = re.compile(r'\s*<script[^>]*src="[^"]*design-tabs\.js[^"]*"></script>')
TABS = 'class="sd-tab-set'

# Loaded on every page for results while one types, which this book does not switch on; the
# search page keeps them.
SEARCH_TAGS = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)

# What accessibility rules object to in the markup of the theme and of docutils.
MENDED_MARKUP = {
    # The title and the search button stand outside any landmark.
    '<div id="pst-primary-sidebar" class': (
        '<div id="pst-primary-sidebar" role="region" aria-label="Book" class'
    ),
    # A deprecated role, not allowed inside a list.
    ' role="doc-biblioentry"': ' role="listitem"',
    # Not every system has a font of colored signs.
    "<p>✅</p>": "<p>✓ ran</p>",
    # The logo stands beside the book's title, and takes its room before it is there.
    'class="logo__image': (
        f'data-decorative width="{logo.WIDTH}" height="{logo.HEIGHT}" class="logo__image'
    ),
}


class PageOutputRenderer:
    """myst-nb plug-in (entry point ``myst_nb.mime_renderers``) for figures and widgets."""

    mime_priority_overrides: ClassVar[Sequence[tuple[str, str, int]]] = [
        (builder, mime, 1) for builder in HTML_BUILDERS for mime in (WIDGET_MIME, FIGURE_MIME)
    ]

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[nodes.Element] | None:
        """Nodes for an output of ours, or None to leave it to myst-nb."""
        if data.mime_type == WIDGET_MIME:
            return [_raw_html(_mount_point(data.content), "specmini-widget")]
        if data.mime_type == FIGURE_MIME and 'class="specmini-figure"' in data.string:
            return [_raw_html(themed_svg(data.string), "specmini-figure")]
        return None


def _raw_html(html: str, css_class: str) -> nodes.raw:
    return nodes.raw("", html, format="html", classes=[css_class])


def _mount_point(content: dict[str, Any]) -> str:
    """The element that the page's script turns into a widget; until then, the widget's fallback."""
    payload = {key: content[key] for key in ("widget", "key", "state")}
    # "</script>" or "<!--" inside a string would change where the script element ends.
    data = json.dumps(payload, sort_keys=True, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<div class="specmini-host" data-specmini="{content["widget"]}">{content["fallback"]}'
        f'<script type="application/json">{data}</script></div>'
    )


def _fingerprint(package: Path, installed: Iterable[Distribution]) -> str:
    """Hash of what can change what a chapter prints, beside the chapter itself.

    Args:
        package: folder of the package; all of its files count, code and data, but for the site's
            style sheets, which no chapter can print.
        installed: what its imports may find; names and versions count, and so does Python's.
    """
    digest = hashlib.sha256(sys.version.encode())
    for name in sorted({f"{found.name}=={found.version}\n" for found in installed}):
        digest.update(name.encode())
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.is_file() and "__pycache__" not in path.parts and not name.startswith("style/"):
            content = path.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def _configure(app: Sphinx, config: Config) -> None:
    build = Path(app.outdir).parent
    launch.settle_buttons(config.html_theme_options)
    # The cache is keyed by cell source alone. Without this, a chapter would keep the numbers that
    # an older version of the package, or of NumPy, computed.
    state = _fingerprint(PACKAGE, distributions())
    config.nb_execution_cache_path = str(build / ".jupyter_cache" / state)
    # Tracebacks of an earlier build that failed would stay in the site.
    shutil.rmtree(Path(app.outdir) / "reports", ignore_errors=True)

    assets = build / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    book_style = (PACKAGE / "style" / "book.css").read_text(encoding="utf-8")
    (assets / "book.css").write_text(palette.css_variables() + book_style, encoding="utf-8")
    for name, script in assemble.files().items():
        (assets / name).write_text(script, encoding="utf-8")
    (assets / "specmini.css").write_text(assemble.stylesheet(), encoding="utf-8")
    practice_site.write_files(assets)
    logo.write_files(assets)
    images = {f"image_{mode}": str(assets / name) for mode, name in logo.LOGO.items()}
    # the title stands beside the picture, which then needs no words of its own
    brand = {"logo": images | {"text": config.project, "alt_text": ""}}
    config.html_theme_options = {**config.html_theme_options, **brand}
    config.html_favicon = str(assets / logo.FAVICON)
    config.html_static_path.append(str(assets))


def _short_types(
    app: Sphinx, what: str, name: str, object: Any, options: Any, signature: str, returned: str
) -> tuple[str, str]:
    """For the reference: arrays by the name that the source uses, ``NDArray[float64]``."""

    def short(types: str) -> str:
        text = types.replace("~numpy.ndarray[", "ndarray[")
        while found := SPELLED_ARRAY.search(text):
            rest = text[found.end() :]
            text = text[: found.start()] + "NDArray[" + rest.replace("]]", "]", 1)
        return text

    return (signature and short(signature)), (returned and short(returned))


def _has_widget(doctree: nodes.document | None) -> bool:
    return doctree is not None and any(
        "specmini-widget" in node.get("classes", ()) for node in doctree.findall(nodes.raw)
    )


def _chapters(app: Sphinx) -> list[str]:
    """The documents that the table of contents numbers, in its order."""
    listed = app.env.toctree_includes.get(app.config.root_doc, [])
    return [name for name in listed if app.env.toc_secnumbers.get(name)]


def _add_progress(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """A button at the end of each chapter; beside the panel, the list of chapters it needs."""
    chapters, body = _chapters(app), context.get("body", "")
    if page in chapters:
        panel = f"{page.rpartition('/')[0]}/progress"
        place = "progress.html" if panel in app.env.all_docs else ""
        context["body"] = body + _mount_point(read_mark(page.rpartition("/")[2], place))
    elif 'data-specmini="progress"' in body:
        listed = [
            {"id": name.rpartition("/")[2], "title": app.env.titles[name].astext()}
            for name in chapters
        ]
        data = json.dumps(listed, ensure_ascii=False).replace("<", "\\u003c")
        contents = f'<script type="application/json" id="specmini-contents">{data}</script>'
        # Without a script the table lists the chapters all the same, and takes the same room.
        rows = "".join(
            f'<tr><th scope="row"><a href="{one["id"]}.html">{escape(one["title"])}</a></th>'
            "<td>to read</td></tr>"
            for one in listed
        )
        context["body"] = body.replace("<tbody>", f"<tbody>{rows}", 1) + contents


def _add_page_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Before myst-nb adds its own: load the widget script only where a widget stands."""
    metadata = getattr(app.env, "nb_metadata", {}).get(page, {})
    scripts = metadata.get("js_files", {})
    for key in [key for key in scripts if key.startswith("ipywidgets")]:
        del scripts[key]
    if page == "search":
        # Previews of the hits are fetched, which browsers refuse to a page opened as a file.
        app.add_js_file(
            None,
            body='if (location.protocol === "file:") '
            "DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;",
        )
    if _has_widget(doctree) or page in _chapters(app):
        # Deferred scripts run in order and would wait for the theme's; this one need not.
        kinds = WIDGET_KIND.findall(context.get("body", ""))
        app.add_js_file(assemble.file_name(kinds), loading_method="async")
        app.add_css_file("specmini.css")


def _drop_live_kernel(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Remove sphinx-thebe, which names a third-party host and declares a constant twice."""

    def mentions_thebe(asset: Any) -> bool:
        name = str(getattr(asset, "filename", asset) or "")
        body = str(getattr(asset, "attributes", {}).get("body", ""))
        return "thebe" in (name + body).lower()

    for files in ("script_files", "css_files"):
        context[files] = [asset for asset in context.get(files, []) if not mentions_thebe(asset)]


def _finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for page in site.rglob("*.html"):
        if "_static" in page.relative_to(site).parts:
            continue
        text = page.read_text(encoding="utf-8")
        mended = UNUSED_TAGS.sub("", text)
        if page.name != "search.html":
            mended = SEARCH_TAGS.sub("", mended)
        if TABS not in text:
            mended = TABS_TAG.sub("", mended)
        for found, better in MENDED_MARKUP.items():
            mended = mended.replace(found, better)
        if mended != text:
            page.write_text(mended, encoding="utf-8")
    icons.cut_icons(site)
    for pattern in UNUSED_ASSETS:
        for unused in (site / "_static").glob(pattern):
            unused.unlink()
    dead_rules.drop_dead_rules(site)  # what is gone must not count as a place that names a class
    bundle.bundle(site)
    package = launch.settle_buttons(app.config.html_theme_options)
    for source in (site / "_sources").rglob("*.ipynb"):  # what the download button offers
        offered = notebooks.normalized(notebooks.read(source))
        nbformat.write(launch.launchable(offered, package) if package else offered, source)


def setup(app: Sphinx) -> dict[str, Any]:
    """Entry point for Sphinx."""
    formulas.setup(app)
    practice_site.setup(app)
    social.setup(app)
    app.add_css_file("book.css")
    app.connect("config-inited", _configure)
    app.connect("html-page-context", _add_progress, priority=90)
    app.connect("html-page-context", _add_page_files, priority=100)
    app.connect("html-page-context", _drop_live_kernel, priority=900)
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-signature", _short_types)
    app.connect("build-finished", _finish, priority=900)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
