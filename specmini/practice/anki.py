"""The flash cards as a package for Anki.

Every note keeps its identity from build to build, since it hangs on the card's id: a newer package
updates the cards that a reader has already learned, and leaves their schedule alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import genanki

from specmini.files import replaced
from specmini.practice import gather, markup
from specmini.practice.cards import Card, cards
from specmini.publish.archive import write_undated

__all__ = ["FILE", "note_id", "write"]

FILE: Final = "specmini-cards.apkg"
DECK_NAME: Final = "When does speculative decoding win?"
# Random once, and never again: Anki knows a deck and a kind of note by these.
DECK_ID: Final = 1_739_204_511
MODEL_ID: Final = 1_284_907_633
FIELDS: Final = ("Question", "Answer", "Chapter", "Id")
STYLE: Final = """\
.card { font-family: system-ui, sans-serif; font-size: 19px; line-height: 1.5; text-align: left;
  max-width: 34em; margin: 1em auto; padding: 0 1em; }
.chapter { color: #59616b; font-size: 14px; }
.nightMode .chapter { color: #a3adb8; }
"""


def note_id(card: str) -> str:
    """Return the identity of a card's note: the same in every build."""
    return str(genanki.guid_for("specmini", card))


def write(path: Path, given: Iterable[Card] | None = None, moment: float | None = None) -> int:
    """Write a package, in one step, and return the number of its notes.

    Args:
        path: where; ``.apkg`` by custom.
        given: the cards; those of the book if not given.
        moment: when the notes were made, in seconds since 1970; now if not given. Anki takes a
            note's new text only from a package younger than its own note. The same cards and the
            same moment make the same bytes.

    Raises:
        ValueError: a text holds a role or a formula that cannot be shown.
    """
    model = genanki.Model(
        MODEL_ID,
        "specmini",
        fields=[{"name": name} for name in FIELDS],
        templates=[
            {
                "name": "Card",
                "qfmt": "{{Question}}",
                "afmt": '{{FrontSide}}<hr id="answer">{{Answer}}<p class="chapter">{{Chapter}}</p>',
            }
        ],
        css=STYLE,
    )
    deck = genanki.Deck(DECK_ID, DECK_NAME)
    titles = gather.chapter_titles()
    for card in cards() if given is None else given:
        texts = (card.question, card.answer)
        shown = [_without_links(markup.to_html(t, card.chapter, markup.anki_math)) for t in texts]
        deck.add_note(
            genanki.Note(
                model=model,
                fields=[*shown, titles[card.chapter], card.id],
                tags=[card.chapter],
                guid=note_id(card.id),
            )
        )
    package = genanki.Package(deck)

    def pack(unfinished: Path) -> None:
        package.write_to_file(str(unfinished), timestamp=moment)
        with ZipFile(unfinished) as dated:
            content = {name: dated.read(name) for name in dated.namelist()}
        write_undated(unfinished, content)

    replaced(path, pack)
    return len(deck.notes)


def _without_links(html: str) -> str:
    """Anki has no page beside the card; what leads to one becomes its words."""
    return markup.relative_link.sub(r"\1", html)
