"""The round player: drafting and checking, word by word."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import traitlets

from specmini import theory
from specmini.widgets import passage
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import Number, SettingError

FALLBACK_ROUNDS = 12
FALLBACK_LENGTHS = (1, 2, 4, 8)


class RoundPlayer(PageWidget):
    """A junior drafts, an editor checks: simulated rounds, or a recording of real ones.

    Attributes:
        alpha: acceptance rate, 0 to 1: every guess is right with this probability, independently.
        K: draft length, a whole number from 0 to 16.
        seed: of the simulated coin, a whole number from 0 to 2**32 - 1.
        rounds: recorded rounds, each ``{"drafted": list of str, "accepted": int, "next": str}``
            with the drafted tokens, how many of them stand, and the token the target added. If
            there are any they are played back, and ``alpha``, ``K`` and ``seed`` are not used.
            Tokens are joined as they are if any begins or ends with white space, else by blanks.
        title: a line above the player.

    Raises:
        ValueError: a setting is not in its range, or a round is malformed (also a
            ``traitlets.TraitError``).
    """

    script_name: ClassVar[str] = "player"

    alpha = Number("alpha", 0.8)
    K = Number("K", 4)
    seed = Number("seed", 1)
    rounds: Any = traitlets.List(default_value=[]).tag(sync=True, page=True)
    title = traitlets.Unicode("").tag(sync=True, page=True)

    @traitlets.validate("rounds")
    def _well_formed(self, proposal: Any) -> list[dict[str, Any]]:
        return [_checked_round(index, given) for index, given in enumerate(proposal["value"])]

    @property
    def expected_tokens_per_round(self) -> float:
        """Tokens per round: the mean of the recording, or what the formula expects."""
        if self.rounds:
            tokens: int = sum(entry["accepted"] + 1 for entry in self.rounds)
            return tokens / len(self.rounds)
        return float(theory.tokens_per_round(self.alpha, self.K))

    def __repr__(self) -> str:
        title = f", title={self.title!r}" if self.title else ""
        if self.rounds:
            return f"RoundPlayer({len(self.rounds)} recorded rounds{title})"
        return f"RoundPlayer(alpha={self.alpha!r}, K={self.K!r}, seed={self.seed!r}{title})"

    def fallback_html(self) -> str:
        """Return some rounds as a table, and the tokens per round to expect."""
        title = f"<p><strong>{escape(self.title)}</strong></p>" if self.title else ""
        table = _rounds_table(self.rounds[:FALLBACK_ROUNDS] or passage.examples())
        size = f"--fields:{0 if self.rounds else 2};--title:{int(bool(self.title))}"
        return (
            f'<div class="sm-fallback sm-fallback-player" style="{size}">{title}{table}'
            f"<p>{self._summary()}</p></div>"
        )

    def _summary(self) -> str:
        if self.rounds:
            return (
                f"The whole recording has {len(self.rounds)} rounds and "
                f"{self.expected_tokens_per_round:.2f} tokens per round. With JavaScript it plays "
                f"step by step."
            )
        by_length = ", ".join(
            f"{float(theory.tokens_per_round(self.alpha, length)):.2f} with K = {length}"
            for length in FALLBACK_LENGTHS
        )
        return (
            f"Words per round to expect when each guess is right with probability "
            f"α = {self.alpha:g}, independently: {by_length}. With JavaScript the rounds play step "
            f"by step."
        )


def _checked_round(index: int, given: Any) -> dict[str, Any]:
    """Return a copy of one recorded round, or raise and say what is wrong with it."""
    name = f"rounds[{index}]"
    if not isinstance(given, dict) or set(given) != {"drafted", "accepted", "next"}:
        raise SettingError(
            f"{name} must be a dict with the keys drafted, accepted and next, got {given!r}"
        )
    drafted, accepted, following = given["drafted"], given["accepted"], given["next"]
    if not isinstance(drafted, (list, tuple)) or not all(isinstance(x, str) for x in drafted):
        raise SettingError(f"{name}['drafted'] must be a list of strings, got {drafted!r}")
    whole = isinstance(accepted, int) and not isinstance(accepted, bool)
    if not whole or not 0 <= accepted <= len(drafted):
        raise SettingError(
            f"{name}['accepted'] must be a whole number in [0, {len(drafted)}], got {accepted!r}"
        )
    if not isinstance(following, str):
        raise SettingError(f"{name}['next'] must be a string, got {following!r}")
    return {"drafted": list(drafted), "accepted": accepted, "next": following}


def _rounds_table(rounds: list[dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{number}</td><td>{_drafted(entry)}</td><td>{entry['accepted']} of "
        f"{len(entry['drafted'])}</td><td>{escape(entry['next'])}</td>"
        f"<td>{entry['accepted'] + 1}</td></tr>"
        for number, entry in enumerate(rounds, start=1)
    )
    heads = ("round", "the junior drafts", "accepted", "the editor writes", "tokens")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _drafted(entry: dict[str, Any]) -> str:
    stand = entry["drafted"][: entry["accepted"]]
    fall = entry["drafted"][entry["accepted"] :]
    kept = escape(" ".join(stand))
    struck = f"<del>{escape(' '.join(fall))}</del>" if fall else ""
    return f"{kept} {struck}".strip()
