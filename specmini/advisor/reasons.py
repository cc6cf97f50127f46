"""Why an advice is what it is: what bounds a check, which input matters, what else to know."""

from __future__ import annotations

import math
from dataclasses import replace

from specmini.advisor.expected import cost_of, plain_steps, usual_rate
from specmini.advisor.terms import Terms, expected_tokens, untested
from specmini.configuration import CLASSES, Configuration
from specmini.cost.round_cost import RoundCost

__all__ = ["bound_by", "sensitivities", "warnings_about"]

DISAGREE = 0.05  # by which throughput may fall short of time per token without a warning

SERVER_PARTS = {
    "weight reads": "reading the weights",
    "weight arithmetic": "arithmetic with the weights",
    "cache traffic": "reading the key-value cache",
    "attention arithmetic": "arithmetic in attention",
    "communication": "devices adding up what each computed",
    "overhead": "the engine's own time for a pass",
}


def bound_by(configuration: Configuration, cost: RoundCost, terms: Terms) -> str:
    """What takes most of a check, in words."""
    local = configuration.kernels not in ("server", "experts")
    if local and len(configuration.plain_times) < 2 and terms.marginal[configuration.kernels] > 0.1:
        return "kernels that take longer for each further token"
    return SERVER_PARTS[cost.largest_part[0]]


def sensitivities(configuration: Configuration, terms: Terms, speedup: float) -> dict[str, float]:
    """Change of log speedup for a likely error of each input."""

    def moved(other: Configuration, changed: Terms) -> float:
        gained = expected_tokens(other, changed)
        total = float(plain_steps(other, cost_of(other, gained), changed))
        return abs(math.log(gained / total / speedup))

    kinds = terms.acceptance
    rate = usual_rate(configuration, terms)
    off = 0.02 if configuration.tokens_per_round is not None else 0.08
    worse = max(rate - off, 0.0)
    forgotten = replace(configuration, tokens_per_round=None, check_tokens=None, survival=())
    usual = replace(terms, acceptance={**kinds, configuration.drafter: rate})
    base = replace(terms, acceptance={**kinds, configuration.drafter: worse})
    gained, lower = (expected_tokens(forgotten, one) for one in (usual, base))
    found = {"acceptance": abs(math.log(lower / gained))}
    cost = cost_of(configuration, expected_tokens(configuration, terms))
    total = float(plain_steps(configuration, cost, terms))
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


def warnings_about(
    configuration: Configuration, cost: RoundCost, terms: Terms, speedup: float, throughput: float
) -> tuple[str, ...]:
    """What else to know of an advice.

    Args:
        configuration: what runs.
        cost: of its round.
        terms: measured terms that were used.
        speedup: expected, of the time of a token.
        throughput: expected ratio of output rates.
    """
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
    if untested(configuration):
        found.append(
            "hardly any public report tests a forecast at this load, so the interval is wide: time "
            "plain decoding at two loads, count the tokens a round, and ask again"
        )
    supported = terms.reports.get(configuration.kernels, 0)
    if len(configuration.plain_times) < 2 and configuration.kernels != "server":
        found.append(
            f"no data sheet tells what checking costs on {CLASSES[configuration.kernels]}; the "
            f"term used is the middle of {supported} public report{'s' * (supported != 1)}"
        )
    if configuration.split_draft and configuration.cost_ratio is None:
        found.append(
            "a draft model on several devices waits for them in every layer: two reports found "
            "2.2 and 6 times the time of the data sheet, and 3.6 is used; run it on one device"
        )
    if configuration.check_tokens is not None:
        found.append("the best K and the break-even acceptance are those of chains, not of trees")
    return tuple(found)
