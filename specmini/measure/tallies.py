"""Counts and clocks of rounds, added up: what every estimate in this book starts from.

Sums, not averages of averages: a ratio of sums weighs each token and each second alike, whatever
text it belongs to. Everything here is a plain number, so it can be stored and added again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from specmini.checks import FloatArray
from specmini.generate import Round
from specmini.theory.positions import tokens_per_round_by_position

__all__ = ["Acceptance", "Tally", "acceptance", "tally", "total"]


@dataclass(frozen=True)
class Tally:
    """What some rounds did and took, in sum.

    Attributes:
        rounds: how many there were; a plain step is a round with an empty draft.
        tokens: tokens the text gained.
        drafted: tokens the drafter proposed.
        accepted: how many of them the target accepted.
        draft_seconds: time in the drafter.
        target_seconds: time in the target's passes.
        seconds: time of the rounds, everything included.
    """

    rounds: int
    tokens: int
    drafted: int
    accepted: int
    draft_seconds: float
    target_seconds: float
    seconds: float

    @property
    def tokens_per_round(self) -> float:
        """E, mean tokens gained in a round."""
        return self.tokens / self.rounds

    @property
    def accepted_share(self) -> float:
        """ρ, accepted over drafted tokens; NaN if nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else float("nan")

    @property
    def bookkeeping_seconds(self) -> float:
        """Time that is neither draft nor target: softmax, verdict, cutting the cache back."""
        return self.seconds - self.draft_seconds - self.target_seconds

    @property
    def round_seconds(self) -> float:
        """Mean time of a round."""
        return self.seconds / self.rounds

    @property
    def seconds_per_token(self) -> float:
        """Mean time of a token."""
        return self.seconds / self.tokens


@dataclass(frozen=True)
class Acceptance:
    """How often drafted tokens were accepted, by their position in the draft.

    A token is *offered* if those before it in its draft were accepted; only then does the target
    decide about it. So accepted over offered estimates the chance of acceptance also where a
    draft was cut short by the end of the text: what was not drafted was not offered.

    Attributes:
        offered: tokens offered at position 1, 2, ..., K.
        accepted: how many of them were accepted.
    """

    offered: tuple[int, ...]
    accepted: tuple[int, ...]

    @property
    def rate(self) -> float:
        """α, the chance that a drafted token is accepted given that those before it were.

        For a rate that is the same at all positions this is the maximum-likelihood estimate.
        """
        return sum(self.accepted) / sum(self.offered)

    @property
    def rates(self) -> FloatArray:
        """The same for each position, (K,); NaN where nothing was offered."""
        offered = np.array(self.offered, dtype=np.float64)  # (K,)
        return _ratio(np.array(self.accepted, dtype=np.float64), offered)

    @property
    def standard_errors(self) -> FloatArray:
        """Binomial standard error of each position's rate, (K,), as if contexts were independent.

        NaN where nothing was offered.
        """
        rates = self.rates  # (K,)
        return np.sqrt(_ratio(rates * (1 - rates), np.array(self.offered, dtype=np.float64)))

    @property
    def tokens_per_round(self) -> float:
        """E of rounds that draft all K tokens and have these rates by position.

        NaN if drafts survive to a position where nothing was offered: few rounds, all cut short.
        """
        rates = self.rates  # (K,)
        dead = np.cumprod(np.append(1.0, rates[:-1])) == 0  # (K,) no draft survives to here
        known = np.where(dead, 0.0, rates)  # (K,)
        return float("nan") if np.isnan(known).any() else float(tokens_per_round_by_position(known))


def tally(rounds: Iterable[Round]) -> Tally:
    """Add up rounds."""
    return total(
        Tally(
            rounds=1,
            tokens=len(round.tokens),
            drafted=len(round.drafted),
            accepted=round.n_accepted,
            draft_seconds=round.draft_seconds,
            target_seconds=round.target_seconds,
            seconds=round.seconds,
        )
        for round in rounds
    )


def total(tallies: Iterable[Tally]) -> Tally:
    """Add up tallies.

    Raises:
        ValueError: there is none.
    """
    rows = [[getattr(one, field.name) for field in fields(Tally)] for one in tallies]
    if not rows:
        raise ValueError("tallies must hold at least one, got none")
    return Tally(*(sum(column) for column in zip(*rows, strict=True)))


def acceptance(rounds: Sequence[Round], draft_length: int) -> Acceptance:
    """Count offered and accepted tokens by position.

    Args:
        rounds: of any texts.
        draft_length: K, the most a round drafted.

    Raises:
        ValueError: a round drafted more than K, or none drafted anything.
    """
    longest = max((len(round.drafted) for round in rounds), default=0)
    if not 1 <= longest <= draft_length:
        raise ValueError(
            f"rounds must draft at most draft_length = {draft_length} tokens and some at least "
            f"1, got at most {longest}"
        )
    offered, accepted = [0] * draft_length, [0] * draft_length
    for round in rounds:
        for position in range(round.n_accepted + (not round.is_bonus)):
            offered[position] += 1
            accepted[position] += position < round.n_accepted
    return Acceptance(tuple(offered), tuple(accepted))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Element by element; NaN where the denominator is 0."""
    unknown = np.full_like(below, np.nan)
    return np.divide(above, below, out=unknown, where=below > 0)
