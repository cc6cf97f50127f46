"""Should speculation be on? A configuration in, a verdict out, and how far to trust it.

``advise`` works out E over r: tokens a round yields over plain steps it takes. E is the measured
one or that of the drafter's usual acceptance; r comes from data sheets and one measured term
(``specmini.cost.round_cost``, ``terms``), or from the time per token that the reader measured
without speculation (``specmini.cost.calibrated``). The interval is made of the errors that the same
procedure made on public reports it had not seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from specmini import theory
from specmini.advisor.expected import cost_of, plain_steps, speedup_by_length
from specmini.advisor.reasons import bound_by, sensitivities, warnings_about
from specmini.advisor.terms import Terms, expected_tokens, fit_terms, half_width
from specmini.configuration import CLASSES, Configuration
from specmini.cost.round_cost import RoundCost
from specmini.record.grid_check import curve_half_width

__all__ = ["Advice", "advise"]

MOST_REQUESTS = 1024  # concurrencies that are tried for break-even


@dataclass(frozen=True)
class Advice:
    """What to do, and why.

    Attributes:
        verdict: "win", "lose" or "too close to call": the whole 80 % interval of the speedup is
            above 1, below 1, or neither. At loads that hardly any report tests, the interval is so
            wide that it is mostly neither. "faster tokens, less output" is a win for each request
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
        sensitivities: by input, the change of log speedup that its likely error makes; for
            "requests in flight", that a doubling makes.
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
        configuration: what runs, see ``specmini.configuration.defaults.configure``.
        terms: measured terms; those of the whole record if not given.

    Raises:
        ValueError: measured times do not rise with concurrency.
    """
    terms = fit_terms() if terms is None else terms
    gained = expected_tokens(configuration, terms)
    cost = cost_of(configuration, gained)
    total = float(plain_steps(configuration, cost, terms))
    speedup = gained / total
    width = _width(configuration, cost, terms)
    low, high = speedup * math.exp(-width), speedup * math.exp(width)
    throughput = speedup * float(cost.running / cost.plain_running)
    lengths, gains = speedup_by_length(configuration, terms)
    best = int(np.argmax(gains))
    moves = sensitivities(configuration, terms, speedup)
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
        bound=bound_by(configuration, cost, terms),
        matters_most=max(moves, key=lambda name: moves[name]),
        sensitivities=MappingProxyType(moves),
        plain_seconds=float(cost.plain_seconds) if told else None,
        kernels=CLASSES[configuration.kernels],
        calibrated=bool(measured),
        warnings=warnings_about(configuration, cost, terms, speedup, throughput),
        assumed=configuration.assumed,
    )


def _verdict(low: float, high: float, throughput: float) -> str:
    if low > 1:
        return "win" if throughput >= 1 else "faster tokens, less output"
    return "lose" if high < 1 else "too close to call"


def _width(configuration: Configuration, cost: RoundCost, terms: Terms) -> float:
    """Half of the 80 % interval of log speedup."""
    if len(configuration.plain_times) < 2 or configuration.tokens_per_round is None:
        return half_width(configuration)
    waiting = float(cost.running) < 0.95 * float(cost.plain_running)
    rates = all(one.running is not None for one in configuration.plain_times)
    return curve_half_width("server" if rates else "latencies", waiting)


def _break_even_acceptance(configuration: Configuration, total: float) -> float:
    """Alpha whose E is r."""
    length = configuration.draft_length
    return float(theory.break_even_acceptance(0.0, length, verify_cost=max(total, 1e-9)))


def _break_even_concurrency(configuration: Configuration, terms: Terms) -> int | None:
    """First concurrency from which on it loses at all that are tried, throughput counted."""
    asked = np.unique(np.geomspace(1, MOST_REQUESTS, 200).round().astype(np.int64))
    gained = expected_tokens(configuration, terms)
    cost = cost_of(configuration, gained, asked)
    output = gained / plain_steps(configuration, cost, terms) * cost.running / cost.plain_running
    losing = output < 1
    if not losing[-1]:
        return None
    return int(asked[np.flatnonzero(~losing)[-1] + 1]) if not losing.all() else 1
