"""What every drafter is: something that proposes tokens and may learn from the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specmini.verify import Draft, Verdict

__all__ = ["Drafter", "agreement"]


class Drafter(Protocol):
    """A source of guesses.

    A drafter gets the whole text each time, so it cannot lose track of it; what it has computed
    for an earlier text it may use again as far as the two agree.
    """

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess the tokens that follow.

        Args:
            text: all tokens so far, at least one.
            draft_length: most tokens to propose, K.
            rng: source of randomness.

        Returns:
            At most K tokens. Fewer, or none, when it has nothing to say or no room. Whether a
            token that was drawn is proposed must not depend on what it turned out to be: keeping
            only likely draws changes their distribution, and then q is not what they came from.
        """

    def observe(self, verdict: Verdict) -> None:
        """Learn what the target made of the last proposal."""


def agreement(seen: Sequence[int], text: Sequence[int]) -> int:
    """Number of first tokens that are the same in both: what was made of them still holds.

    Args:
        seen: tokens read before.
        text: tokens now.
    """
    shorter = min(len(seen), len(text))
    # a text that only grew is the rule, and lists are compared much faster than token by token
    if list(seen[:shorter]) == list(text[:shorter]):
        return shorter
    return next(place for place in range(shorter) if seen[place] != text[place])
