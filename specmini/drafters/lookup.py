"""Draft by copying: what followed the last few tokens when they stood in the text before.

Prompt lookup decoding (Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding) needs no model.
It takes the last n tokens, longest n first, finds them earlier in the text, and proposes what came
next there. Summaries, edits and loops repeat their prompt or themselves; free prose rarely does.
Then nothing is found and the round is a plain step, so a *hit rate* belongs beside the acceptance
rate (``specmini.theory.hit_rate``).

Of several earlier places this takes the last, since texts change their subject. Saxena takes the
first that a whole draft follows, and vLLM's n-gram proposer the first of all. Here too the draft is
short where the text ends soon after the match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.checks import single, whole_number
from specmini.drafters.base import agreement
from specmini.verify import Draft, Verdict

__all__ = ["LookupDrafter"]


class LookupDrafter:
    """Proposes what followed the last n tokens at their last earlier occurrence.

    An index of n-grams saves the search: each new token costs ``max_ngram`` entries, a proposal at
    most as many questions, however long the text is. Tokens are named with certainty, so they are
    accepted with chance p.

    Args:
        max_ngram: tokens of the longest n-gram that is looked for.
        min_ngram: tokens of the shortest. A match of one token is weak evidence; a larger number
            proposes less often and is accepted more often.

    Raises:
        ValueError: a length is no whole number of at least 1, or the shortest exceeds the longest.
    """

    def __init__(self, max_ngram: int = 3, min_ngram: int = 1) -> None:
        self.max_ngram = single("max_ngram", whole_number("max_ngram", max_ngram, minimum=1))
        self.min_ngram = single("min_ngram", whole_number("min_ngram", min_ngram, minimum=1))
        if self.min_ngram > self.max_ngram:
            raise ValueError(f"min_ngram must be in [1, {max_ngram}], got {min_ngram}")
        self._seen: list[int] = []
        self._followed: dict[tuple[int, ...], int] = {}  # n-gram to the place right after it

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Copy at most K tokens; none if the text's end is new."""
        self._read(text)
        copied: Sequence[int] = ()
        for size in range(min(self.max_ngram, len(text)), self.min_ngram - 1, -1):
            start = self._followed.get(tuple(text[-size:]))
            if start is not None:
                copied = text[start : start + draft_length]
                break
        return Draft(np.array(copied, dtype=np.int64))

    def observe(self, verdict: Verdict) -> None:
        """The text itself says what was right."""

    def _read(self, text: Sequence[int]) -> None:
        """Index what is new in the text; all of it, if it is not the old one continued."""
        if agreement(self._seen, text) < len(self._seen):
            self._seen, self._followed = [], {}
        for place in range(len(self._seen), len(text)):
            # these end right before the token, so the text's own end never finds itself
            for size in range(self.min_ngram, min(self.max_ngram, place) + 1):
                self._followed[tuple(self._seen[place - size :])] = place
            self._seen.append(int(text[place]))
