"""Decide before each round how far to speculate, or not to, from what the last rounds brought.

The best K depends on the acceptance rate, which depends on the text, and on the cost of a check,
which depends on the load. So both are watched: the rate by an average over past rounds that forgets
exponentially, the cost by asking. The K with the highest predicted speedup is drafted, and none if
no K is predicted to win.

Engines do parts of this. vLLM's ``num_speculative_tokens_per_batch_size`` sets K by load, from a
table; TensorRT-LLM's ``acceptance_rate_threshold`` turns speculation off by acceptance, for good.
A gate that was shut learns nothing about drafts, so here evidence fades in plain rounds too, and
the estimate returns to what was believed at first: after a while the gate tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specmini.checks import non_negative, positive, probability, single
from specmini.drafters.base import Drafter
from specmini.verify import Draft, Verdict, empty_draft

__all__ = ["Gate", "RunningAcceptance", "most_worthwhile"]


class RunningAcceptance:
    """Acceptance rates by position, estimated from the rounds so far, the last ones most.

    The rate at a position is accepted over offered tokens there, each round weighing ``memory``
    times what the next one weighs. It is drawn towards the rate of the position before it, the
    first towards ``prior``, as if ``weight`` more tokens had been offered with that rate. So deep
    positions, which are rarely offered, borrow from those before.

    Args:
        prior: rate believed before anything is known, in [0, 1].
        weight: offered tokens that this belief is worth, in (0, inf).
        memory: in [0, 1]; 1 never forgets, 0.95 remembers some 20 rounds.

    Raises:
        ValueError: a number outside its range.
    """

    def __init__(self, prior: float = 0.7, weight: float = 2.0, memory: float = 0.95) -> None:
        self.prior: float = single("prior", probability("prior", prior))
        self.weight: float = single("weight", positive("weight", weight))
        self.memory: float = single("memory", probability("memory", memory))
        self._offered: list[float] = []
        self._accepted: list[float] = []

    def rates(self, draft_length: int) -> list[float]:
        """Chance of acceptance at positions 1, ..., K given that those before were accepted."""
        rates = []
        rate = self.prior
        for position in range(draft_length):
            if position < len(self._offered):
                believed = self.weight * rate
                rate = (self._accepted[position] + believed) / (
                    self._offered[position] + self.weight
                )
            rates.append(rate)
        return rates

    def observe(self, drafted: int, n_accepted: int) -> None:
        """Count a round; one with nothing drafted only makes the others older."""
        new = [0.0] * max(0, drafted - len(self._offered))
        self._offered = [self.memory * count for count in self._offered + new]
        self._accepted = [self.memory * count for count in self._accepted + new]
        for position in range(min(n_accepted + 1, drafted)):
            self._offered[position] += 1.0
            self._accepted[position] += position < n_accepted


def most_worthwhile(
    rates: Sequence[float], cost_ratio: float, verify_cost: Callable[[int], float]
) -> int:
    """The draft length with the highest predicted speedup, E / (K c + v); 0 if none exceeds 1.

    ``theory.best_draft_length`` for a rate of each position and a cost of each length. In plain
    numbers, since it runs in every round: some microseconds.

    Args:
        rates: acceptance rates by position, for the longest draft allowed.
        cost_ratio: c.
        verify_cost: from K to v, the time of a check of K drafts over that of a plain step.
    """
    best, best_speedup = 0, 1.0
    tokens, survival = 1.0, 1.0
    for length, rate in enumerate(rates, start=1):
        survival *= rate
        tokens += survival
        speedup = tokens / (length * cost_ratio + verify_cost(length))
        if speedup > best_speedup:
            best, best_speedup = length, speedup
    return best


class Gate:
    """Asks another drafter for as many tokens as pay, or for none.

    K is chosen before anything is drawn, from earlier rounds only, so nothing is lost. With a
    drafter that may find nothing, the rates are those given a proposal. That is right for the
    question whether to ask (``specmini.theory.hit_rate``); the best K is a little longer then.

    Args:
        drafter: makes the proposals.
        cost_ratio: c, time of a draft step over time of a target step, in [0, inf).
        verify_cost: v, time of a check over time of a plain step, in (0, inf): a number, or a
            function of K, which may also depend on the load: it is asked in every round.
        acceptance: the estimate to start from; ``RunningAcceptance()`` if not given. A prior below
            the break-even shuts the gate for good.

    Raises:
        ValueError: a cost outside its range.
    """

    def __init__(
        self,
        drafter: Drafter,
        cost_ratio: float,
        verify_cost: float | Callable[[int], float] = 1.0,
        acceptance: RunningAcceptance | None = None,
    ) -> None:
        self.drafter = drafter
        self.cost_ratio: float = single("cost_ratio", non_negative("cost_ratio", cost_ratio))
        if callable(verify_cost):
            self.verify_cost = verify_cost
        else:
            constant: float = single("verify_cost", positive("verify_cost", verify_cost))
            self.verify_cost = lambda length: constant
        self.acceptance = RunningAcceptance() if acceptance is None else acceptance
        self._drafted, self._asked = 0, False

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess as many tokens as are predicted to pay, at most K."""
        rates = self.acceptance.rates(draft_length)
        length = most_worthwhile(rates, self.cost_ratio, self.verify_cost)
        draft = self.drafter.propose(text, length, rng) if length else empty_draft
        self._drafted, self._asked = len(draft), length > 0
        return draft

    def observe(self, verdict: Verdict) -> None:
        """Learn how far the draft came, and let the other drafter learn too."""
        self.acceptance.observe(self._drafted, verdict.n_accepted)
        if self._asked:
            self.drafter.observe(verdict)
