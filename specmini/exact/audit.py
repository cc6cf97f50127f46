"""Try a verification rule on every draft and every random number, and see what text it writes.

A statistical test of a sampler can be unlucky, and it cannot say how wrong a wrong rule is. On a
tiny model both are avoidable. The drafts of K tokens are few, and their chances are known. The
random numbers a rule asks for are replaced by a grid: in place of each uniform number stand the
midpoints of n equal cells. If every threshold that the rule compares with is a multiple of 1/n, the
average over the grid is the exact distribution of its output. The thresholds are p/q and running
sums of p and of the scaled residual; that the tables themselves are multiples of 1/n is not enough.
The rule itself runs as it is, whatever is inside it.

The command ``specmini audit`` is about whole engines, which can only be sampled: that is
``specmini.lossless``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray
from specmini.verify.chain import Draft, Verdict, check_rows

__all__ = ["Audit", "Rule", "audit"]

Rule = Callable[[FloatArray, Draft, Any], Verdict]


@dataclass(frozen=True)
class Audit:
    """What a rule writes in one round, beside what the target writes.

    A round that yields fewer than K + 1 tokens is continued by the target alone.

    Attributes:
        written: (V,) * (K + 1); the chance of each text of K + 1 tokens.
        wanted: the same for the target on its own.
        tokens_per_round: mean number of tokens the round yields.
    """

    written: FloatArray
    wanted: FloatArray
    tokens_per_round: float

    def distance(self, tokens: int) -> float:
        """Total variation distance of the first tokens' joint distributions, in [0, 1].

        Raises:
            ValueError: ``tokens`` is not in [1, K + 1].
        """
        if not 1 <= tokens <= self.wanted.ndim:
            raise ValueError(f"tokens must be in [1, {self.wanted.ndim}], got {tokens}")
        later = tuple(range(tokens, self.wanted.ndim))
        gap = (self.written - self.wanted).sum(later)  # (V,) * tokens
        return float(np.abs(gap).sum() / 2)


def audit(
    rule: Rule,
    target_table: ArrayLike,
    draft_table: ArrayLike,
    draft_length: int = 2,
    cells: int = 10,
) -> Audit:
    """Run a rule on everything that can happen in one round after token 0.

    Args:
        rule: takes target_probs (K + 1, V), a draft with its distributions and a source of random
            numbers with the one method ``random()``; ``specmini.verify.verify`` is such a rule.
        target_table: (V, V); row a is the target's distribution after token a.
        draft_table: (V, V), the same for the draft.
        draft_length: K.
        cells: grid cells for each random number. The result is exact if every threshold is a
            multiple of 1/cells, and otherwise off by at most (K + 1) V / cells.

    Raises:
        ValueError: the tables do not fit, or the rule asks for more than K + 1 random numbers or
            gives an impossible verdict.
    """
    p, q = (np.asarray(table, dtype=np.float64) for table in (target_table, draft_table))
    if p.ndim != 2 or p.shape[0] != p.shape[1] or q.shape != p.shape:
        raise ValueError(f"tables must both have shape (V, V), got {p.shape} and {q.shape}")
    check_rows("target_table", p)
    check_rows("draft_table", q)
    for name, value in (("draft_length", draft_length), ("cells", cells)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")

    vocabulary, places = len(p), draft_length + 1
    wanted = _continued(p, 0, places)  # (V,) * (K + 1)
    written, yields = np.zeros_like(wanted), 0.0
    grid = (np.arange(cells) + 0.5) / cells  # (cells,)
    for tokens in itertools.product(range(vocabulary), repeat=draft_length):
        before = [0, *tokens]
        chance = float(q[before[:-1], tokens].prod()) * cells**-places
        if not chance:
            continue
        draft = Draft(np.array(tokens), q[before[:-1]])
        for numbers in itertools.product(grid, repeat=places):
            verdict = rule(p[before], draft, _Script(numbers))
            text = _gained(verdict, tokens, vocabulary)
            written[text] += chance * _continued(p, text[-1], places - len(text))
            yields += chance * len(text)
    return Audit(written, wanted, yields)


class _Script:
    """A source of random numbers that says what it was told to."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers: Iterator[float] = iter(numbers)

    def random(self) -> float:
        for number in self._numbers:
            return number
        raise ValueError("rule must ask for at most K + 1 random numbers a round")


def _gained(verdict: Verdict, drafted: tuple[int, ...], vocabulary: int) -> tuple[int, ...]:
    """Tokens that a verdict adds to the text."""
    if not 0 <= verdict.n_accepted <= len(drafted) or not 0 <= verdict.next_token < vocabulary:
        raise ValueError(
            f"rule must accept 0 to {len(drafted)} tokens and add one in [0, {vocabulary}), "
            f"got {verdict}"
        )
    return (*drafted[: verdict.n_accepted], int(verdict.next_token))


def _continued(table: FloatArray, last: int, places: int) -> FloatArray:
    """Chance of each text of so many tokens after ``last``: (V,) * places."""
    chances = np.ones(())
    for place in range(places):
        chances = chances[..., None] * (table if place else table[last])
    return chances
