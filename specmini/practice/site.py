"""What the built site adds for the practice pages.

* Anchors: a typed block without a name of its own gets the id that ``gather`` derives for it.
* Files to take along: the flash cards for Anki and the sheet as a PDF, made with every build.
* Freshness: a page that gathers from chapters is read again when any of them has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from specmini.practice import anki, gather, sheet_pdf

__all__ = ["GATHERING", "setup", "write_files"]

# Pages whose outputs come from other pages. Their notebooks say ``execution_mode: force``, since
# the cache of outputs knows a page's own cells and the package, and no other page.
GATHERING: Final = ("cards", "followups", "sheet")


def write_files(folder: Path) -> None:
    """Write what readers take along into a folder.

    The cards are dated by SOURCE_DATE_EPOCH, the variable by which builds that must come out the
    same again are told the time (https://reproducible-builds.org/specs/source-date-epoch/); without
    it, by the clock.

    Raises:
        ValueError: a block holds what cannot be shown, the sheet does not fit its page, or the
            variable is no number of seconds.
    """
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    if told and not told.isdecimal():
        raise ValueError(f"SOURCE_DATE_EPOCH must be whole seconds since 1970, got {told!r}")
    anki.write(folder / anki.FILE, moment=int(told) if told else None)
    for paper in sheet_pdf.FORMATS:
        sheet_pdf.write(folder / sheet_pdf.file_name(paper), paper)


def add_anchors(document: nodes.document, blocks: Iterable[gather.Block]) -> None:
    """Give the blocks of a page that have no name of their own their ids, in place.

    Args:
        document: the page.
        blocks: its typed blocks, in the order of the page.
    """
    blocks = list(blocks)
    found: dict[str, list[nodes.Element]] = {
        "followup": [
            node[0]  # where sphinx-design looks for the id of the whole
            for section in document.findall(nodes.section)
            if section[0].astext() == gather.QUESTIONS
            for node in section.findall(nodes.container)
            if node.get("design_component") == "dropdown"
        ]
    }
    for admonition in document.findall(nodes.admonition):
        for kind in set(admonition["classes"]).intersection(gather.KINDS):
            found.setdefault(kind, []).append(admonition)
    for kind, places in found.items():
        named = [block for block in blocks if block.kind == kind]
        for place, block in zip(places, named, strict=True):
            if block.id not in place["ids"]:
                place["ids"].append(block.id)


def _on_doctree_read(app: Sphinx, document: nodes.document) -> None:
    page = Path(app.env.docname)
    if page.parent.name == gather.BOOK.name and page.name in gather.chapters():
        add_anchors(document, (one for one in gather.blocks() if one.chapter == page.name))


def _outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    if not added | changed | removed:
        return []
    return [page for page in env.found_docs if Path(page).name in GATHERING]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build; ``specmini.sphinxext`` calls it."""
    app.connect("doctree-read", _on_doctree_read)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
