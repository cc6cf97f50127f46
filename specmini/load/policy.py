"""How far to draft in a round, given what is known of acceptance and load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from specmini.checks import single, whole_number
from specmini.drafters.gate import most_worthwhile

__all__ = ["PLAIN", "Fixed", "LoadAware", "Policy"]


class Policy(Protocol):
    """Chooses the draft length of a round, the same for every request in it."""

    @property
    def longest(self) -> int:
        """Largest K it may choose; 0 if it never drafts, so that no drafter is loaded."""

    def draft_length(
        self, acceptance_rate: float, cost_ratio: float, verify_costs: Sequence[float]
    ) -> int:
        """K for the next round.

        Args:
            acceptance_rate: alpha, as estimated from the rounds so far.
            cost_ratio: c at the load of the round.
            verify_costs: (longest + 1,) v for each K, at the load of the round.
        """


@dataclass(frozen=True)
class Fixed:
    """Always the same K.

    Attributes:
        longest: K, at least 0; 0 decodes plainly.

    Raises:
        ValueError: it is no whole number of at least 0.
    """

    longest: int

    def __post_init__(self) -> None:
        single("longest", whole_number("longest", self.longest))

    def draft_length(
        self, acceptance_rate: float, cost_ratio: float, verify_costs: Sequence[float]
    ) -> int:
        """K, whatever the load."""
        return self.longest


PLAIN = Fixed(0)


@dataclass(frozen=True)
class LoadAware:
    """The K with the most tokens a second at the load of the round, 0 if none beats plain decoding.

    Tokens a second of the batch, "goodput", are its size times E / (K d + t(K)) with the seconds d
    of a draft step and t of a check. Size and plain step are the same for every K, so the K with
    the highest speedup is the K with the highest goodput (Liu et al. 2024, "SmartSpec",
    arXiv:2406.14066, which chooses a length for each request; here it is one for all).

    Attributes:
        longest: largest K, at least 1.

    Raises:
        ValueError: it is no whole number of at least 1.
    """

    longest: int = 8

    def __post_init__(self) -> None:
        single("longest", whole_number("longest", self.longest, minimum=1))

    def draft_length(
        self, acceptance_rate: float, cost_ratio: float, verify_costs: Sequence[float]
    ) -> int:
        """The best K at this load."""
        rates = [acceptance_rate] * self.longest
        return most_worthwhile(rates, cost_ratio, verify_costs.__getitem__)
