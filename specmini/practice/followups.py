"""Follow-up questions with answers in three depths, and those that the chapters ask themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any, Final

from specmini.practice import gather, markup, source
from specmini.record import claims

__all__ = ["ChapterQuestions", "FollowUp", "FollowUps", "followups", "topics"]

topics: Final = {
    "yield": "What a round yields",
    "acceptance": "Acceptance",
    "cost": "Price and draft length",
    "lossless": "What stays the same",
    "batch": "Batch, context and load",
    "machine": "Machines and models",
    "drafters": "Drafters",
    "serving": "Serving",
    "measuring": "Measuring",
}
DEPTHS: Final = (("one_minute", "In one minute"), ("whiteboard", "At the whiteboard"))


@dataclass(frozen=True)
class FollowUp:
    """A question and its answer in three depths; the texts are MyST Markdown.

    Attributes:
        id: its anchor on the page is ``ask-`` and the id.
        topic: a key of ``topics``.
        question: as an interviewer would put it.
        one_line: the answer in a breath.
        one_minute: with its reason.
        whiteboard: what one writes while saying it.
        shown: places of the book that show it, as in ``specmini.record.claims``.
        checks: calls that compute the numbers, see ``specmini.practice.stated``.
        heard: where it is asked in public; empty if the question is ours.
    """

    id: str
    topic: str
    question: str
    one_line: str
    one_minute: str
    whiteboard: str
    shown: tuple[str, ...]
    checks: tuple[str, ...] = ()
    heard: str = ""


@cache
def followups() -> tuple[FollowUp, ...]:
    """Read all follow-up questions, in the order of ``followups.yaml``.

    Raises:
        ValueError: the file breaks its schema.
    """
    return tuple(map(_followup, source.read("followups")))


def _followup(item: dict[str, Any]) -> FollowUp:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value.strip()
        for name, value in item.items()
    }
    return FollowUp(**fields)


class FollowUps:
    """Questions as a page shows them: folded, the depths folded once more.

    Args:
        asked: the questions.
    """

    def __init__(self, asked: Sequence[FollowUp]) -> None:
        self.asked = tuple(asked)

    def __repr__(self) -> str:
        return "\n\n".join(f"{one.question}\n{one.one_line}" for one in self.asked)

    def _repr_markdown_(self) -> str:
        return "\n\n".join(map(_folded, self.asked))


class ChapterQuestions:
    """The questions at the end of each chapter, as links to them."""

    def __init__(self) -> None:
        titles = gather.chapter_titles()
        self.asked = {
            title: [block for block in gather.blocks("followup") if block.chapter == chapter]
            for chapter, title in titles.items()
        }

    def __repr__(self) -> str:
        return "\n".join(
            f"{title}: {' '.join(block.title for block in asked)}"
            for title, asked in self.asked.items()
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<dt>{escape(title)}</dt>"
            + "".join(
                f'<dd><a href="{block.chapter}.html#{block.id}">{_inline(block)}</a></dd>'
                for block in asked
            )
            for title, asked in self.asked.items()
        )
        return f'<dl class="specmini-questions">{rows}</dl>'


def _inline(block: gather.Block) -> str:
    html = markup.to_html(block.title, block.chapter)
    return html.removeprefix("<p>").removesuffix("</p>")


def _folded(one: FollowUp) -> str:
    deeper = "\n\n".join(
        f":::{{dropdown}} {heading}\n{getattr(one, name)}\n:::" for name, heading in DEPTHS
    )
    evidence = "; ".join(claims.places(one.shown))
    heard = f" *Heard:* {one.heard}." if one.heard else ""
    return (
        f"::::{{dropdown}} {one.question}\n:name: ask-{one.id}\n\n{one.one_line}\n\n{deeper}\n\n"
        f"*Shown in* {evidence}.{heard}\n::::"
    )
