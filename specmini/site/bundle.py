"""Load what every page loads as one style sheet and one script.

The theme and the extensions bring a dozen small files each. On a phone every request waits for the
network before it brings a byte, so their number costs more than their size. Scripts move from
blocking the page to running after it, in the same order: they add menus, copy buttons and the like
to a page that can be read without, so that text and widgets come first. What only some pages load,
such as the widgets, stays by itself.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

__all__ = ["OPTIONS", "SCRIPT", "STYLE_SHEET", "bundle", "common", "moved_sheet"]

STYLE_SHEET: Final = "specmini-page.css"
SCRIPT: Final = "specmini-page.js"
# Inline scripts set values in it, so that it must be there while the page is read.
OPTIONS: Final = "documentation_options.js"
# Its scripts call each other while the page is read.
LEFT_ALONE: Final = "search.html"

LINK = re.compile(r'[ \t]*<link\b[^>]*\brel="stylesheet"[^>]*>\n?')
# Asked for once the page is read, and so before its load event, for which some of it waits.
LATER: Final = (
    '<script>addEventListener("DOMContentLoaded", () => {{ const late = '
    'document.createElement("script"); late.src="{}"; document.head.append(late); }});</script>'
)
LOADED = re.compile(
    r'[ \t]*(?:<script (?:defer )?src="[^"]*"></script>'
    r'|<script>addEventListener\("DOMContentLoaded", [^<]*late\.src="[^<]*</script>)\n?'
)
PRELOAD = re.compile(r'[ \t]*<link rel="preload" as="script"[^>]*>\n?')
ADDRESS = re.compile(r'(?:href|src)="((?:\.\./)*)_static/([^"?]+)[^"]*"')
REFERENCE = re.compile(r"""url\(\s*(["']?)(?!data:|https?:|#|/)([^"')]+)\1\s*\)""")
IMPORT = re.compile(r"""@import\s+(?:url\()?["']([^"']+)["']\)?\s*;""")
CHARSET = re.compile(r"""@charset\s+["'][^"']+["'];""")
# The first line of a bundle names what is in it, for a build that writes only a few pages.
CONTENTS = re.compile(r"/\* of: (.*) \*/")


def common(lists: Iterable[list[str]]) -> list[str]:
    """What stands in every one of some lists, in the order of the first."""
    first, *others = [*lists] or [[]]
    return [name for name in first if all(name in other for other in others)]


def moved_sheet(static: Path, name: str) -> str:
    """A style sheet as it must read in the folder of static files itself, imports filled in.

    Args:
        static: that folder.
        name: path of the sheet from there; what it refers to is found from there afterwards.
    """
    folder = posixpath.dirname(name)

    def from_here(address: str) -> str:
        return posixpath.normpath(posixpath.join(folder, address))

    text = CHARSET.sub("", (static / name).read_text("utf-8"))
    text = REFERENCE.sub(lambda found: f'url("{from_here(found[2])}")', text)
    return IMPORT.sub(lambda found: moved_sheet(static, from_here(found[1])), text)


def _script(static: Path, name: str) -> str:
    # The semicolon ends what the file before left open. It also keeps a file's own "use strict"
    # from holding for all of them: some set names that they never declared.
    return ";\n" + (static / name).read_text("utf-8")


def _named(tag: re.Pattern[str], page: str) -> list[str]:
    """Paths in the folder of static files that the tags of a page load."""
    addresses = (ADDRESS.search(found[0]) for found in tag.finditer(page))
    return [found[2] for found in addresses if found]


def _contents(path: Path) -> list[str]:
    known = CONTENTS.match(path.read_text("utf-8")) if path.exists() else None
    return known[1].split() if known else []


def _write(
    path: Path, tag: re.Pattern[str], pages: Iterable[str], text_of: Callable[[Path, str], str]
) -> list[str]:
    """Write a bundle of what pages load by one kind of tag; return what is in it."""
    static = path.parent
    lists = [_named(tag, page) for page in pages]
    fresh = [names for names in lists if path.name not in names]
    kept = _contents(path)
    if len(fresh) == len(lists) or not all(set(kept) <= set(names) for names in fresh):
        kept = common(names for names in fresh)
    kept = [name for name in kept if name != OPTIONS and (static / name).is_file()]
    texts = "\n".join(text_of(static, name) for name in kept)
    path.write_text(f"/* of: {' '.join(kept)} */\n{texts}\n", "utf-8")
    return kept


def bundle(site: Path) -> None:
    """Join the style sheets and the scripts that all pages of a built site share.

    Args:
        site: folder of the built pages; pages that are joined already get the files as they are
            now.
    """
    static = site / "_static"
    paths = [path for path in sorted(site.rglob("*.html")) if static not in path.parents]
    texts = {path: path.read_text("utf-8") for path in paths}
    loading = {path: text for path, text in texts.items() if LINK.search(text)}
    if not loading:  # redirects, or another builder's pages
        return
    scripted = [text for path, text in loading.items() if path.name != LEFT_ALONE]
    sheets = _write(static / STYLE_SHEET, LINK, loading.values(), moved_sheet)
    scripts = _write(static / SCRIPT, LOADED, scripted, _script)
    options = (static / OPTIONS).read_text("utf-8") if (static / OPTIONS).exists() else ""
    for path, text in loading.items():
        page = _replaced(
            text, LINK, sheets, static / STYLE_SHEET, '<link rel="stylesheet" href="{}">'
        )
        if path.name != LEFT_ALONE:
            page = _replaced(page, LOADED, scripts, static / SCRIPT, LATER)
            page = _inlined(page, options)
            page = PRELOAD.sub("", page)
        if page != text:
            path.write_text(page, "utf-8")


def _replaced(page: str, tag: re.Pattern[str], names: list[str], bundled: Path, new: str) -> str:
    """The page with one tag in place of those that load ``names``, or load the bundle."""
    version = hashlib.sha256(bundled.read_bytes()).hexdigest()[:8]
    done = False

    def replacement(found: re.Match[str]) -> str:
        nonlocal done
        address = ADDRESS.search(found[0])
        if not address or address[2] not in {*names, bundled.name}:
            return found[0]
        if done:
            return ""
        done = True
        return new.format(f"{address[1]}_static/{bundled.name}?v={version}") + "\n"

    return tag.sub(replacement, page)


def _inlined(page: str, options: str) -> str:
    def replacement(found: re.Match[str]) -> str:
        address = ADDRESS.search(found[0])
        if not options or not address or address[2] != OPTIONS:
            return found[0]
        return f"<script>{options.strip()}</script>\n"

    return LOADED.sub(replacement, page)
