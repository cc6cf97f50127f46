"""What is expected of a configuration: the cost of its rounds, and the speedup at every K."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from specmini import checks, theory
from specmini.advisor.terms import Terms, expected_tokens, fit_terms
from specmini.checks import FloatArray
from specmini.configuration import Configuration
from specmini.conversions import acceptance_rate_from_tokens
from specmini.cost.calibrated import calibrated_cost
from specmini.cost.round_cost import LOOKUP_SHARE, RoundCost, round_cost

__all__ = ["cost_of", "drafting_share", "plain_steps", "speedup_by_length", "usual_rate"]

LONGEST = 16  # drafts that are tried for the best K


def speedup_by_length(
    configuration: Configuration, terms: Terms | None = None, longest: int = LONGEST
) -> tuple[NDArray[np.int64], FloatArray]:
    """Expected speedup for every K from 0, plain decoding, to ``longest``.

    Up to a measured K acceptance is that of the positions, if they were measured. Otherwise it is
    that of a single alpha with the same E, so far from the measured K this is a guide, not a
    forecast: alpha by position falls or rises.

    Args:
        configuration: what runs.
        terms: measured terms; those of the whole record if not given.
        longest: largest K, at least 1.

    Returns:
        K and the speedup, both of shape (longest + 1,).

    Raises:
        ValueError: ``longest`` is below 1.
    """
    checks.single("longest", checks.whole_number("longest", longest, minimum=1))
    terms = fit_terms() if terms is None else terms
    rate = usual_rate(configuration, terms)
    lengths, gains = np.arange(longest + 1), np.ones(longest + 1)
    for length in range(1, longest + 1):
        chain = configuration.with_length(length)
        usual = 1 + drafting_share(configuration) * float(theory.accepted_drafts(rate, length))
        gained = chain.tokens_per_round or usual
        gains[length] = gained / float(plain_steps(chain, cost_of(chain, gained), terms))
    if configuration.check_tokens is not None:  # a tree is not a chain of its depth
        return lengths, gains
    if configuration.draft_length <= longest:
        gained = expected_tokens(configuration, terms)
        total = plain_steps(configuration, cost_of(configuration, gained), terms)
        gains[configuration.draft_length] = gained / float(total)
    return lengths, gains


def cost_of(
    configuration: Configuration, gained: float, concurrency: NDArray[np.int64] | None = None
) -> RoundCost:
    """The parts of a round, from measured plain times where there are any.

    Args:
        configuration: what runs.
        gained: E, tokens a round yields.
        concurrency: requests in flight, any shape; the configuration's own if not given.

    Raises:
        ValueError: measured times do not rise with concurrency.
    """
    if configuration.plain_times:
        return calibrated_cost(configuration, gained, concurrency)
    return round_cost(configuration, concurrency)


def plain_steps(configuration: Configuration, cost: RoundCost, terms: Terms) -> FloatArray:
    """r; a measured curve has in it what the term of the class stands for."""
    curve = len(configuration.plain_times) > 1
    return cost.total(0.0 if curve else terms.marginal[configuration.kernels], configuration)


def usual_rate(configuration: Configuration, terms: Terms) -> float:
    """One alpha for all lengths: from the measured E, or the drafter's usual one."""
    if configuration.tokens_per_round is None:
        return terms.acceptance[configuration.drafter]
    length = max(configuration.draft_length, math.ceil(configuration.tokens_per_round - 1))
    drafted = (configuration.tokens_per_round - 1) / drafting_share(configuration)
    return float(acceptance_rate_from_tokens(1 + min(drafted, length), length))


def drafting_share(configuration: Configuration) -> float:
    """Share of rounds in which something is drafted: a lookup finds nothing in the others."""
    return LOOKUP_SHARE if configuration.drafter == "lookup" else 1.0
