"""Flash cards: one at a time, the next day of each chosen by how well it was known."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from typing import Any, ClassVar

import traitlets

from specmini.practice import gather, markup, schedule
from specmini.practice.cards import Card, cards
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import Number, SettingError, refuse, with_keys

CARD_KEYS = ("id", "deck", "title", "place", "question", "answer")
ANSWER_KEYS = ("card", "grade", "day")
EVERY_DECK = ""
FIRST_DAY = datetime.date(1970, 1, 1)


class FlashCards(PageWidget):
    """Cards with spaced repetition; see ``specmini.practice.schedule`` for the algorithm.

    On a page, what was learned is kept in the browser. In a notebook it is the trait ``memories``,
    which Python can store and give back.

    Attributes:
        cards: the cards, HTML in question and answer; those of the book if not given.
        deck: name of a chapter, or ``""`` for all.
        new_per_day: most cards begun on one day, 1 to 100.
        memories: card id to the fields of a ``schedule.Memory``.
        answers: what was answered since the widget was made: card, grade and day of each.

    Raises:
        ValueError: a setting is not in its range or malformed (also a ``traitlets.TraitError``);
            there is no setting of this name.
    """

    script_name: ClassVar[str] = "cards"

    cards: Any = traitlets.List().tag(sync=True, page=True)
    deck = traitlets.Unicode(EVERY_DECK).tag(sync=True, page=True)
    new_per_day = Number("new_per_day", 10)
    memories: Any = traitlets.Dict().tag(sync=True)
    answers: Any = traitlets.List().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cards": shown(cards()), **settings})

    @traitlets.validate("cards")
    def _well_formed(self, proposal: Any) -> list[dict[str, str]]:
        given = [
            with_keys(f"cards[{n}]", one, CARD_KEYS) for n, one in enumerate(proposal["value"])
        ]
        ids = [one["id"] for one in given]
        if not ids or len(set(ids)) < len(ids):
            refuse("cards", "be at least one, with ids that differ", ids)
        return given

    @traitlets.validate("deck")
    def _known_deck(self, proposal: Any) -> str:
        decks = [EVERY_DECK, *dict.fromkeys(one["deck"] for one in self.cards)]
        if self.cards and proposal["value"] not in decks:
            refuse("deck", f"be one of {', '.join(map(repr, decks))}", proposal["value"])
        return str(proposal["value"])

    @traitlets.validate("memories")
    def _remembered(self, proposal: Any) -> dict[str, dict[str, Any]]:
        try:
            found = schedule.memories_from(proposal["value"])
        except ValueError as error:
            raise SettingError(str(error)) from None
        return {card: asdict(memory) for card, memory in found.items()}

    @traitlets.validate("answers")
    def _answered(self, proposal: Any) -> list[dict[str, Any]]:
        given = [
            with_keys(f"answers[{n}]", one, ANSWER_KEYS) for n, one in enumerate(proposal["value"])
        ]
        for number, one in enumerate(given):
            if one["grade"] not in schedule.grades:
                must = f"be one of {', '.join(schedule.grades)}"
                refuse(f"answers[{number}]['grade']", must, one["grade"])
        return given

    def due(self, today: datetime.date) -> list[str]:
        """Return the ids of the cards to show on a day, in their order."""
        ids = [one["id"] for one in self.cards if self.deck in (EVERY_DECK, one["deck"])]
        known = schedule.memories_from(self.memories)
        return schedule.queue(known, ids, (today - FIRST_DAY).days, int(self.new_per_day))

    def __repr__(self) -> str:
        return f"FlashCards({len(self.cards)} cards, deck={self.deck!r})"

    def fallback_html(self) -> str:
        """Return every question with its answer folded, chapter by chapter."""
        return f'<div class="sm-fallback sm-fallback-cards">{card_list(self.cards)}</div>'


def shown(given: Iterable[Card]) -> list[dict[str, str]]:
    """Return cards as the widget takes them.

    Raises:
        ValueError: a text holds a role or a formula that a card cannot show.
    """
    titles = gather.chapter_titles()
    return [
        {
            "id": card.id,
            "deck": card.chapter,
            "title": titles[card.chapter],
            "place": f"{card.chapter}.html" + (f"#{card.anchor}" if card.anchor else ""),
            "question": markup.to_html(card.question, card.chapter),
            "answer": markup.to_html(card.answer, card.chapter),
        }
        for card in given
    ]


def card_list(given: list[dict[str, str]]) -> str:
    """Return cards as folded HTML, a heading line for each deck."""
    html, deck = "", None
    for one in given:
        if one["deck"] != deck:
            deck = one["deck"]
            html += f'<p class="sm-label">{escape(one["title"])}</p>'
        html += (
            f"<details><summary>{_unwrapped(one['question'])}</summary>{one['answer']}</details>"
        )
    return html


def _unwrapped(paragraph: str) -> str:
    return paragraph.removeprefix("<p>").removesuffix("</p>")
