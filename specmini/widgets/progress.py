"""The panel that shows what a reader has done, and the button at the end of a chapter."""

from __future__ import annotations

import re
from html import escape
from typing import Any, ClassVar

import traitlets

from specmini.practice.interview import interview
from specmini.practice.passages import passages
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import refuse, with_keys

KEYS = ("id", "title", "items")
id_form = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
READ_FALLBACK = (
    '<div class="sm-fallback sm-fallback-read">With JavaScript a button here notes that you have '
    "read this page.</div>"
)


class ProgressPanel(PageWidget):
    """What a reader has done of the book, kept in the reader's browser by the built site.

    The site adds its chapters; a notebook shows the exercises alone.

    Attributes:
        pages: the pages with exercises: dicts of ``id``, ``title`` and the ids of ``items``; those
            of the book if not given.

    Raises:
        ValueError: a page is malformed (also a ``traitlets.TraitError``); there is no setting of
            this name.
    """

    script_name: ClassVar[str] = "progress"

    pages: Any = traitlets.List().tag(sync=True, page=True)

    @traitlets.default("pages")
    def _of_the_book(self) -> list[dict[str, Any]]:
        return [
            {"id": "spot", "title": "Spot the errors", "items": [one.id for one in passages()]},
            {
                "id": "interview",
                "title": "The interview",
                "items": [step["id"] for step in interview().steps],
            },
        ]

    @traitlets.validate("pages")
    def _well_formed(self, proposal: Any) -> list[dict[str, Any]]:
        return [_page(f"pages[{index}]", one) for index, one in enumerate(proposal["value"])]

    def __repr__(self) -> str:
        return f"ProgressPanel(pages={[page['id'] for page in self.pages]})"

    def fallback_html(self) -> str:
        """Return what can be known without a script: the exercises there are."""
        rows = "".join(
            f'<tr><th scope="row">{escape(page["title"])}</th>'
            f"<td>{len(page['items'])} exercises</td></tr>"
            for page in self.pages
        )
        return (
            '<div class="sm-fallback sm-fallback-progress"><table><caption>With JavaScript this '
            "table says which chapters you have read and which exercises you have done. It is kept "
            'in your browser and nowhere else.</caption><thead><tr><th scope="col">page</th>'
            f'<th scope="col">to do</th></tr></thead><tbody>{rows}</tbody></table></div>'
        )


def read_mark(page: str, progress: str) -> dict[str, Any]:
    """Return the button at the end of a chapter, as the output of a ``PageWidget`` would be.

    Args:
        page: name of the chapter.
        progress: address of the page with the panel, relative to the chapter; may be empty.

    Raises:
        ValueError: the name is not made of small letters, digits and hyphens.
    """
    if not id_form.fullmatch(page):
        refuse("page", "be made of small letters, digits and hyphens", page)
    state = {"page": page, "progress": progress}
    return {"widget": "read", "key": f"read-{page}", "state": state, "fallback": READ_FALLBACK}


def _page(name: str, given: Any) -> dict[str, Any]:
    page = with_keys(name, given, KEYS)
    items = page["items"]
    if not isinstance(items, (list, tuple)) or not items:
        refuse(f"{name}['items']", "be a list of at least one id", items)
    for one in (page["id"], *items):
        if not isinstance(one, str) or not id_form.fullmatch(one):
            refuse(f"ids of {name}", "be made of small letters, digits and hyphens", one)
    if not isinstance(page["title"], str) or not page["title"]:
        refuse(f"{name}['title']", "be a string with something in it", page["title"])
    return {**page, "items": list(items)}
