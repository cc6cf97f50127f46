"""Should speculation be on? A configuration in, a verdict out, and how far to trust it.

``advise`` works out E over r: tokens a round yields over plain steps it takes. E is the measured
one or that of the drafter's usual acceptance; r comes from data sheets and one measured term
(``specmini.round_cost``, ``specmini.terms``), or from the time per token that the reader measured
without speculation (``specmini.calibrated``). The interval is made of the errors that the same
procedure made on public reports it had not seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from specmini import checks, theory
from specmini.acceptance import FloatArray
from specmini.calibrated import calibrated_cost
from specmini.configuration import CLASSES, Configuration
from specmini.conversions import acceptance_rate_from_tokens
from specmini.grid_check import grid_half_width
from specmini.round_cost import LOOKUP_SHARE, RoundCost, round_cost
from specmini.terms import Terms, expected_tokens, fit_terms, half_width

__all__ = ["Advice", "advise", "speedup_by_length"]

LONGEST = 16  # drafts that are tried for the best K
MOST_REQUESTS = 1024  # concurrencies that are tried for break-even
DISAGREE = 0.05  # by which throughput may fall short of time per token without a warning

SERVER_PARTS = {
    "weight reads": "reading the weights",
    "weight arithmetic": "arithmetic with the weights",
    "cache traffic": "reading the key-value cache",
    "attention arithmetic": "arithmetic in attention",
    "communication": "devices adding up what each computed",
    "overhead": "the engine's own time for a pass",
}


@dataclass(frozen=True)
class Advice:
    """What to do, and why.

    Attributes:
        verdict: "win", "lose" or "too close to call": the whole 80 % interval of the speedup is
            above 1, below 1, or neither. "faster tokens, less output" is a win for each request
            that runs and a loss for the server.
        speedup: expected, of the time of an output token.
        low: lower end of the 80 % interval.
        high: upper end of the 80 % interval.
        throughput: expected ratio of output rates; below the speedup where the drafter's memory
            makes requests wait.
        tokens_per_round: E that was used.
        round_cost: r, plain steps a round takes.
        best_length: K with the highest expected speedup of all up to 16, 0 for none.
        best_speedup: at that K, 1 for none.
        break_even_acceptance: alpha from which on this K pays, NaN if even 1 does not.
        break_even_concurrency: requests in flight from which on this K loses for good, ``None``
            if it does not up to 1,024.
        bound: what takes most of a check.
        matters_most: the input whose likely error moves the speedup most.
        sensitivities: by input, the change of log speedup that its likely error makes.
        plain_seconds: time of a plain step, ``None`` where only ratios are known.
        kernels: class whose measured term was used, in words.
        calibrated: whether plain times were measured.
        warnings: what else to know.
        assumed: what was taken for granted.
    """

    verdict: str
    speedup: float
    low: float
    high: float
    throughput: float
    tokens_per_round: float
    round_cost: float
    best_length: int
    best_speedup: float
    break_even_acceptance: float
    break_even_concurrency: int | None
    bound: str
    matters_most: str
    sensitivities: Mapping[str, float]
    plain_seconds: float | None
    kernels: str
    calibrated: bool
    warnings: tuple[str, ...]
    assumed: tuple[str, ...]


def advise(configuration: Configuration, terms: Terms | None = None) -> Advice:
    """Tell whether speculation pays for a configuration.

    Args:
        configuration: what runs, see ``specmini.configuration.configure``.
        terms: measured terms; those of the whole record if not given.

    Raises:
        ValueError: measured times do not rise with concurrency.
    """
    terms = fit_terms() if terms is None else terms
    gained = expected_tokens(configuration, terms)
    cost = _cost(configuration, gained)
    total = float(_total(configuration, cost, terms))
    speedup = gained / total
    width = _width(configuration, cost, terms)
    low, high = speedup * math.exp(-width), speedup * math.exp(width)
    throughput = speedup * float(cost.running / cost.plain_running)
    lengths, gains = speedup_by_length(configuration, terms)
    best = int(np.argmax(gains))
    sensitivities = _sensitivities(configuration, terms, speedup)
    measured = configuration.plain_times
    told = configuration.engine == "server" or measured
    return Advice(
        verdict=_verdict(low, high, throughput),
        speedup=speedup,
        low=low,
        high=high,
        throughput=throughput,
        tokens_per_round=gained,
        round_cost=total,
        best_length=int(lengths[best]),
        best_speedup=float(gains[best]),
        break_even_acceptance=_break_even_acceptance(configuration, total),
        break_even_concurrency=_break_even_concurrency(configuration, terms),
        bound=_bound(configuration, cost, terms),
        matters_most=max(sensitivities, key=lambda name: sensitivities[name]),
        sensitivities=MappingProxyType(sensitivities),
        plain_seconds=float(cost.plain_seconds) if told else None,
        kernels=CLASSES[configuration.kernels],
        calibrated=bool(measured),
        warnings=_warnings(configuration, cost, terms, speedup, throughput),
        assumed=configuration.assumed,
    )


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
    rate = _rate(configuration, terms)
    lengths, gains = np.arange(longest + 1), np.ones(longest + 1)
    for length in range(1, longest + 1):
        chain = configuration.with_length(length)
        usual = 1 + _drafting_share(configuration) * float(theory.accepted_drafts(rate, length))
        gained = chain.tokens_per_round or usual
        gains[length] = gained / float(_total(chain, _cost(chain, gained), terms))
    if configuration.check_tokens is not None:  # a tree is not a chain of its depth
        return lengths, gains
    if configuration.draft_length <= longest:
        gained = expected_tokens(configuration, terms)
        total = _total(configuration, _cost(configuration, gained), terms)
        gains[configuration.draft_length] = gained / float(total)
    return lengths, gains


def _verdict(low: float, high: float, throughput: float) -> str:
    if low > 1:
        return "win" if throughput >= 1 else "faster tokens, less output"
    return "lose" if high < 1 else "too close to call"


def _cost(
    configuration: Configuration, gained: float, concurrency: NDArray[np.int64] | None = None
) -> RoundCost:
    if configuration.plain_times:
        return calibrated_cost(configuration, gained, concurrency)
    return round_cost(configuration, concurrency)


def _total(configuration: Configuration, cost: RoundCost, terms: Terms) -> FloatArray:
    """r; a measured curve has in it what the term of the class stands for."""
    curve = len(configuration.plain_times) > 1
    return cost.total(0.0 if curve else terms.marginal[configuration.kernels], configuration)


def _width(configuration: Configuration, cost: RoundCost, terms: Terms) -> float:
    """Half of the 80 % interval of log speedup."""
    known = configuration.tokens_per_round is not None
    if len(configuration.plain_times) < 2 or configuration.tokens_per_round is None:
        return half_width(configuration.kernels, known)
    waiting = float(cost.running) < 0.95 * float(cost.plain_running)
    rates = all(one.running is not None for one in configuration.plain_times)
    return grid_half_width("server" if rates else "latencies", waiting)


def _rate(configuration: Configuration, terms: Terms) -> float:
    """One alpha for all lengths: from the measured E, or the drafter's usual one."""
    if configuration.tokens_per_round is None:
        return terms.acceptance[configuration.drafter]
    length = max(configuration.draft_length, math.ceil(configuration.tokens_per_round - 1))
    drafted = (configuration.tokens_per_round - 1) / _drafting_share(configuration)
    return float(acceptance_rate_from_tokens(1 + min(drafted, length), length))


def _drafting_share(configuration: Configuration) -> float:
    return LOOKUP_SHARE if configuration.drafter == "lookup" else 1.0


def _break_even_acceptance(configuration: Configuration, total: float) -> float:
    """Alpha whose E is r."""
    length = configuration.draft_length
    return float(theory.break_even_acceptance(0.0, length, verify_cost=max(total, 1e-9)))


def _break_even_concurrency(configuration: Configuration, terms: Terms) -> int | None:
    """First concurrency from which on it loses at all that are tried, throughput counted."""
    asked = np.unique(np.geomspace(1, MOST_REQUESTS, 200).round().astype(np.int64))
    gained = expected_tokens(configuration, terms)
    cost = _cost(configuration, gained, asked)
    output = gained / _total(configuration, cost, terms) * cost.running / cost.plain_running
    losing = output < 1
    if not losing[-1]:
        return None
    return int(asked[np.flatnonzero(~losing)[-1] + 1]) if not losing.all() else 1


def _bound(configuration: Configuration, cost: RoundCost, terms: Terms) -> str:
    local = configuration.kernels not in ("server", "experts")
    if local and len(configuration.plain_times) < 2 and terms.marginal[configuration.kernels] > 0.1:
        return "kernels that take longer for each further token"
    return SERVER_PARTS[cost.largest_part[0]]


def _sensitivities(configuration: Configuration, terms: Terms, speedup: float) -> dict[str, float]:
    """Change of log speedup for a likely error of each input."""

    def moved(other: Configuration, changed: Terms) -> float:
        gained = expected_tokens(other, changed)
        total = float(_total(other, _cost(other, gained), changed))
        return abs(math.log(gained / total / speedup))

    kinds = terms.acceptance
    rate = _rate(configuration, terms)
    off = 0.02 if configuration.tokens_per_round is not None else 0.08
    worse = max(rate - off, 0.0)
    forgotten = replace(configuration, tokens_per_round=None, check_tokens=None, survival=())
    usual = replace(terms, acceptance={**kinds, configuration.drafter: rate})
    base = replace(terms, acceptance={**kinds, configuration.drafter: worse})
    gained, lower = (expected_tokens(forgotten, one) for one in (usual, base))
    found = {"acceptance": abs(math.log(lower / gained))}
    cost = _cost(configuration, expected_tokens(configuration, terms))
    total = float(_total(configuration, cost, terms))
    drafting = float(cost.drafting)
    spread = 0.1 if configuration.cost_ratio is not None else 0.3
    found["cost of drafting"] = math.log(1 + spread * drafting / total)
    if len(configuration.plain_times) < 2:
        kappa = min(1.3 * terms.marginal[configuration.kernels] + 0.02, 0.95)
        marginal = {**terms.marginal, configuration.kernels: kappa}
        found["cost of checking"] = moved(configuration, replace(terms, marginal=marginal))
    else:
        found["cost of checking"] = math.log(1 + 0.05 * float(cost.check) / total)
    crowded = replace(configuration, concurrency=2 * configuration.concurrency)
    found["requests in flight"] = moved(crowded, terms)
    return found


def _warnings(
    configuration: Configuration, cost: RoundCost, terms: Terms, speedup: float, throughput: float
) -> tuple[str, ...]:
    found = []
    if throughput < (1 - DISAGREE) * speedup:
        found.append(
            f"time per token and throughput disagree: a token comes {speedup:.2f} times as fast, "
            f"but the server puts out {throughput:.2f} times as much, because the drafter's "
            f"weights and cache leave room for {float(cost.running):.0f} requests at once instead "
            f"of {float(cost.plain_running):.0f}"
        )
    weights = configuration.target.parameters * configuration.bits / 8
    if configuration.draft is not None:
        weights += configuration.draft.parameters * configuration.draft_bits / 8
    room = configuration.machine.memory * configuration.devices
    if weights > room and configuration.kernels != "cpu":
        found.append(
            f"the weights take {weights / 1e9:.0f} GB of {room / 1e9:.0f} GB: what spills into the "
            f"CPU's memory makes every number here wrong"
        )
    supported = terms.reports.get(configuration.kernels, 0)
    if len(configuration.plain_times) < 2 and configuration.kernels != "server":
        found.append(
            f"no data sheet tells what checking costs on {CLASSES[configuration.kernels]}; the "
            f"term used is the middle of {supported} public report{'s' * (supported != 1)}"
        )
    if configuration.devices > 1 and configuration.draft is not None:
        found.append(
            "a draft model on several devices waits for them in every layer: in one report its "
            "cost ratio rose from .06 on one device to .36 on two (vllm pull request 4840)"
        )
    if configuration.check_tokens is not None:
        found.append("the best K and the break-even acceptance are those of chains, not of trees")
    return tuple(found)
