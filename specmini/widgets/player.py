"""The round player: drafting and checking, token by token."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import traitlets

from specmini import theory
from specmini.widgets import passage, recorded
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import Number

FALLBACK_ROUNDS = 12
FALLBACK_LENGTHS = (1, 2, 4, 8)
SIMULATED_HEADS = ("round", "the junior drafts", "accepted", "the editor writes", "tokens")
RECORDED_HEADS = ("round", "drafted", "accepted", "the target writes", "ms")


class RoundPlayer(PageWidget):
    """A junior drafts, an editor checks: simulated rounds, or a recording of real ones.

    Attributes:
        alpha: acceptance rate, 0 to 1: every guess is right with this probability, independently.
        K: draft length, a whole number from 0 to 16.
        seed: of the simulated coin, a whole number from 0 to 2**32 - 1.
        recording: recorded texts, at most one of each kind, as ``specmini.recording`` makes them.
            If there are any they are played back on their true clock beside plain decoding, and
            ``alpha``, ``K`` and ``seed`` are not used. Tokens are joined as they are.
        title: a line above the player.

    Raises:
        ValueError: a setting is not in its range, or a recording is malformed (also a
            ``traitlets.TraitError``); there is no setting of this name.
    """

    script_name: ClassVar[str] = "player"

    alpha = Number("alpha", 0.8)
    K = Number("K", 4)
    seed = Number("seed", 1)
    recording: Any = traitlets.List(default_value=[]).tag(sync=True, page=True)
    title = traitlets.Unicode("").tag(sync=True, page=True)

    @traitlets.validate("recording")
    def _well_formed(self, proposal: Any) -> list[dict[str, Any]]:
        return recorded.checked(proposal["value"])

    @property
    def expected_tokens_per_round(self) -> float:
        """Tokens per round: the mean of the recording, or what the formula expects."""
        rounds = [entry for text in self.recording for entry in text["rounds"]]
        if rounds:
            return recorded.tokens(rounds) / len(rounds)
        return float(theory.tokens_per_round(self.alpha, self.K))

    def __repr__(self) -> str:
        title = f", title={self.title!r}" if self.title else ""
        if self.recording:
            kinds = " and ".join(text["kind"] for text in self.recording)
            return f"RoundPlayer(recording of {kinds}{title})"
        return f"RoundPlayer(alpha={self.alpha!r}, K={self.K!r}, seed={self.seed!r}{title})"

    def fallback_html(self) -> str:
        """Return some rounds as a table, and what they come to."""
        title = f"<p><strong>{escape(self.title)}</strong></p>" if self.title else ""
        content = self._recorded_html() if self.recording else self._simulated_html()
        # What decides the height of the player; the style sheet keeps that much room.
        size = f"--title:{int(bool(self.title))}"
        kind = "recording" if self.recording else "player"
        return f'<div class="sm-fallback sm-fallback-{kind}" style="{size}">{title}{content}</div>'

    def _simulated_html(self) -> str:
        rows = [
            [
                number,
                _drafted(entry, " "),
                f"{entry['accepted']} of {len(entry['drafted'])}",
                escape(entry["next"]),
                entry["accepted"] + 1,
            ]
            for number, entry in enumerate(passage.examples(), start=1)
        ]
        by_length = ", ".join(
            f"{float(theory.tokens_per_round(self.alpha, length)):.2f} with K = {length}"
            for length in FALLBACK_LENGTHS
        )
        return (
            f"{_table(SIMULATED_HEADS, rows)}"
            f"<p>Words per round to expect when each guess is right with probability "
            f"α = {self.alpha:g}, independently: {by_length}. With JavaScript the rounds play step "
            f"by step.</p>"
        )

    def _recorded_html(self) -> str:
        first = self.recording[0]
        rows = [
            [
                number,
                _drafted(entry, ""),
                f"{entry['accepted']} of {len(entry['drafted'])}",
                escape(recorded.visible(entry["next"])),
                f"{entry['ms'][2]:.1f}",
            ]
            for number, entry in enumerate(first["rounds"][:FALLBACK_ROUNDS], start=1)
        ]
        sums = " ".join(recorded.in_words(text) for text in self.recording)
        about = escape(first["about"])
        return (
            f"<p>{sums} With JavaScript the rounds play on their true clock. "
            f"Recorded: {about}. The first rounds of {first['kind']}:</p>"
            f"{_table(RECORDED_HEADS, rows, 'sm-pieces')}"
        )


def _table(heads: tuple[str, ...], rows: list[list[Any]], css_class: str = "") -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    styled = f' class="{css_class}"' if css_class else ""
    return f"<table{styled}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _drafted(entry: dict[str, Any], between: str) -> str:
    """What was drafted, with what did not stand struck out."""
    words = [recorded.visible(word) for word in entry["drafted"]]
    kept = escape(between.join(words[: entry["accepted"]]))
    fallen = escape(between.join(words[entry["accepted"] :]))
    struck = f"<del>{fallen}</del>" if fallen else ""
    return between.join(part for part in (kept, struck) if part)
