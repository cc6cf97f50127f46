"""Spot the errors: a paragraph of confident claims in which a reader marks what is wrong."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import traitlets

from specmini.practice import marking
from specmini.practice.passages import TITLES, Passage, Span, passage, passages
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import Choice, SettingError, refuse

TASK = "Mark every phrase that is wrong. Some that sound wrong are right."


class SpotTheErrors(PageWidget):
    """A paragraph to mark, word by word or phrase by phrase.

    Attributes:
        passage: id of the paragraph; ``specmini.practice.passages`` has them all.
        content: the paragraph as the page takes it; it follows ``passage`` and cannot be set.
        marks: positions of the marked words, in order; of a judged phrase all words or none.
        tries: how often the reader had it checked since the start.
        score: of the last check, in [0, 1]; None before the first.

    Raises:
        ValueError: there is no such paragraph, a mark is no word of it, or the content was set
            (also a ``traitlets.TraitError``); there is no setting of this name.
    """

    script_name: ClassVar[str] = "spot"

    passage = Choice([one.id for one in passages()], passages()[0].id)
    content: Any = traitlets.Dict().tag(sync=True, page=True)
    marks: Any = traitlets.List().tag(sync=True, page=True)
    tries = traitlets.Int(0, min=0).tag(sync=True)
    score = traitlets.Float(None, allow_none=True)

    def __init__(self, **settings: Any) -> None:
        # Another paragraph starts without marks, so these come after it.
        marks = settings.pop("marks", [])
        super().__init__(**settings)
        self.marks = marks

    @traitlets.default("content")
    def _of_the_passage(self) -> dict[str, Any]:
        return as_content(passage(self.passage))

    @traitlets.validate("content")
    def _unchanged(self, proposal: Any) -> dict[str, Any]:
        if proposal["value"] != as_content(passage(self.passage)):
            raise SettingError(f"content must be that of the passage {self.passage!r}, got another")
        return dict(proposal["value"])

    @traitlets.validate("marks")
    def _whole_phrases(self, proposal: Any) -> list[int]:
        given = proposal["value"]
        try:
            whole = list(marking.completed(passage(self.passage), given))
        except ValueError as error:
            raise SettingError(str(error)) from None
        if whole != list(given):
            refuse("marks", "be in order and hold phrases whole", given)
        return whole

    @traitlets.observe("passage")
    def _another(self, _: Any) -> None:
        with self.hold_sync():
            self.marks = []
            self.tries = 0
            self.content = as_content(passage(self.passage))

    @traitlets.observe("tries")
    def _checked(self, _: Any) -> None:
        self.score = self.grade.score if self.tries else None

    @property
    def grade(self) -> marking.Grade:
        """What the marks are worth now."""
        return marking.grade(passage(self.passage), self.marks)

    def __repr__(self) -> str:
        marked = f", marks={self.marks}" if self.marks else ""
        return f"SpotTheErrors(passage={self.passage!r}{marked})"

    def fallback_html(self) -> str:
        """Return the paragraph, and where its reasons stand: once, after all paragraphs."""
        one = passage(self.passage)
        words = " ".join(f'<span class="sm-w">{escape(word)}</span>' for word in one.words)
        return (
            f'<div class="sm-fallback sm-fallback-spot"><p class="sm-task">{TASK}</p>'
            f'<p class="sm-words">{words}</p><div class="sm-foot"><p>'
            f"It holds {len(one.errors)} errors. "
            f'<a href="#answers-{one.id}">Which, and why</a>, stands under Answers at the end of '
            "the page.</p></div></div>"
        )


def as_content(one: Passage) -> dict[str, Any]:
    """Return a paragraph as plain JSON values, for the page."""
    spans = [
        {
            **{name: getattr(span, name) for name in ("id", "first", "last", "verdict", "why")},
            "links": links(span),
        }
        for span in one.spans
    ]
    return {
        "id": one.id,
        "title": one.title,
        "words": list(one.words),
        "sentences": list(one.sentences),
        "spans": spans,
    }


def links(span: Span) -> list[list[str]]:
    """Return where the book shows it: page, anchor or nothing, and the words of the link."""
    page, _, label = span.shown.partition("#")
    # Sphinx gives an equation's label another anchor.
    anchor = f"equation-{label}" if label.startswith("eq-") else label
    found = [] if page == "ledger" else [[page, anchor, f"“{TITLES[page]}”"]]
    if span.claim:
        found.append(["ledger", f"claim-{span.claim}", "the claims ledger"])
    return found
