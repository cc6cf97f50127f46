"""What a round costs in plain steps, from data sheets and one measured term.

The roofline gives the plain step, the check and a drafting pass. Four things it does not know are
added here, each from one place:

* **What an engine adds to a pass**, for servers: 0.7 ms and 15 microseconds a layer, and 5
  microseconds before a device's neighbor hears from it. With 82 % of the printed bandwidth
  (``specmini.roofline`` has the source) these give 6.6 ms for Llama-3.1-8B on an H100, where two
  reports have 7.1 (vllm issue 20780) and 6.3 (sglang, 158 tokens a second), and 2.4 ms for a
  Qwen3-1.7B, where a log has 2.3 (vllm-scripts @d94d714).
* **The bend.** Reading and arithmetic overlap incompletely: t = (w^p + a^p)^(1/p) with p = 1.3,
  between the 1.19 and 1.40 that the plain runs of ``specmini.record.vllm_grid`` fit.
* **The marginal token**, kappa: the share of a plain step that one more token in a pass costs where
  kernels are not those of a data sheet. It differs by class and is fitted (``advisor.terms``).
  Outside of servers a pass over n tokens takes 1 - kappa + kappa n plain steps; kappa is meant for
  weights of 4.8 bits, and kappa / (1 - kappa) grows in proportion as weights get smaller, because
  the reading shrinks and the arithmetic stays.
* **A draft model on several devices** takes 3.6 times what the data sheet says: between 2.2
  (vllm-scripts @d94d714, Llama-3.2-1B for 70B on two) and 6 (vllm pull request 4840, OPT-125M,
  where c rose from .06 on one device to .36 on two and .57 on four).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.configuration import Configuration
from specmini.configuration.defaults import LOCAL_BITS
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import DraftCost, draft_head, draft_model
from specmini.roofline.overhead import NO_OVERHEAD, Overhead
from specmini.roofline.shape import Model

__all__ = ["HEAD_VOCABULARY", "RoundCost", "round_cost", "sequences_running"]

BANDWIDTH_SHARE = 0.82
BEND = 1.3
SERVER = Overhead(seconds_per_pass=0.7e-3, seconds_per_layer=15e-6, transfer_latency=5e-6)
HEAD_VOCABULARY = 32_000  # of an EAGLE-3 head for Llama
LOOKUP_SHARE = 0.5  # rounds in which an n-gram lookup finds something to draft
SPLIT_DRAFT = 3.6  # times the data sheet
MEMORY_SHARE = 0.9  # of a device that engines use
UNDOCUMENTED_PEAK = 5e13  # of Apple's chips; their class has its own term, which outweighs it
MOST_SMALLER = 3.0  # weights below 1.6 bits are not told apart


@dataclass(frozen=True)
class RoundCost:
    """A round in plain steps. Arrays have the shape of the concurrencies.

    Attributes:
        check: v, time of a check over that of a plain step, both with what runs at once.
        drafting: time to draft over that of a plain step, K c for a chain.
        plain_seconds: time of a plain step; beyond servers that of the data sheet.
        plain_running: sequences that decode at once without speculation.
        running: the same with the drafter's weights and cache in memory.
        largest_part: what takes most of a check, of ``specmini.roofline.LARGEST_PARTS``.
    """

    check: FloatArray
    drafting: FloatArray
    plain_seconds: FloatArray
    plain_running: FloatArray
    running: FloatArray
    largest_part: tuple[str, ...]

    def total(self, marginal: ArrayLike, configuration: Configuration) -> FloatArray:
        """r, plain steps a round takes with the measured term of the class.

        Args:
            marginal: kappa in [0, 1), any shape that broadcasts.
            configuration: the one this cost was made for.

        Raises:
            ValueError: kappa is out of range.
        """
        kappa = checks.probability("marginal", marginal)
        tokens = configuration.tokens_checked
        if configuration.kernels in ("server", "experts"):
            return np.asarray(self.check + self.drafting + kappa * (tokens - 1))
        odds = kappa / np.maximum(1 - kappa, 1e-9)
        odds = odds * min(LOCAL_BITS / configuration.bits, MOST_SMALLER)
        grown = (1 + odds * self.running * tokens) / (1 + odds * self.plain_running)
        return np.asarray(self.check * grown + self.drafting)


def round_cost(configuration: Configuration, concurrency: ArrayLike | None = None) -> RoundCost:
    """The parts of a round that data sheets and engines explain.

    Args:
        configuration: what runs.
        concurrency: requests in flight, any shape; the configuration's own if not given.

    Raises:
        ValueError: a concurrency is below 1, or the drafter's heads do not divide over devices.
    """
    asked = checks.whole_number(
        "concurrency", configuration.concurrency if concurrency is None else concurrency, minimum=1
    )
    target, draft = deployments(configuration)
    plain_running, running = sequences_running(configuration, asked)
    context, tokens = configuration.context, configuration.tokens_checked
    step = _seconds(target, plain_running, 1, context)
    check = _seconds(target, running, tokens, context)
    drafting = np.zeros_like(step)
    if draft.deployment is not None:
        one = _seconds(draft.deployment, running, 1, context)
        split = SPLIT_DRAFT if configuration.split_draft else 1.0
        drafting = split * configuration.drafting_steps * one / step
    growth = check / step
    if configuration.drafter == "lookup":
        growth = 1 + LOOKUP_SHARE * (growth - 1)
    if configuration.cost_ratio is not None:
        drafting = np.full_like(step, configuration.drafting_steps * configuration.cost_ratio)
    parts = np.atleast_1d(target.pass_time(np.rint(running), tokens, context).largest_part)
    return RoundCost(
        check=growth,
        drafting=drafting,
        plain_seconds=step,
        plain_running=plain_running,
        running=running,
        largest_part=tuple(str(part) for part in parts),
    )


def sequences_running(
    configuration: Configuration, concurrency: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Sequences that decode at once, without and with the drafter, as memory allows.

    Args:
        configuration: what runs; its ``fitting`` comes first if it is given.
        concurrency: requests in flight, any shape.

    Returns:
        Two arrays of that shape, at least 1. A server that does not fit at all is taken to.
    """
    asked = np.asarray(concurrency, dtype=np.float64)
    if configuration.fitting is not None:
        plain, with_draft = configuration.fitting
    elif configuration.engine == "server":
        target, draft = deployments(configuration)
        positions = max(configuration.context, 1)
        one = _cache_bytes(target, positions)
        left = MEMORY_SHARE * target.machine.memory - _weight_bytes(target)
        if left < one:
            return asked, asked
        more = float(draft.memory_needed(1, positions))
        cache = 0.0 if draft.deployment is None else _cache_bytes(draft.deployment, positions)
        plain, with_draft = left / one, (left - more + cache) / (one + cache)
    else:
        return asked, asked
    limited = [np.maximum(np.minimum(asked, np.floor(room)), 1.0) for room in (plain, with_draft)]
    return limited[0], limited[1]


def deployments(configuration: Configuration) -> tuple[Deployment, DraftCost]:
    """The target and the drafter where they run, the engine's overhead included."""
    machine = configuration.machine
    if machine.peak_flops is None:
        machine = replace(machine, peak_flops=UNDOCUMENTED_PEAK)
    machine = replace(machine, bandwidth=BANDWIDTH_SHARE * machine.bandwidth)
    overhead = SERVER if configuration.engine == "server" else NO_OVERHEAD

    def deployed(model: Model, bits: float) -> Deployment:
        devices = configuration.devices
        while model.heads % devices:
            devices -= 1
        return Deployment(
            machine, model, bytes_per_weight=bits / 8, devices=devices, overhead=overhead
        )

    target = deployed(configuration.target, configuration.bits)
    if configuration.drafter == "lookup":
        return target, DraftCost("lookup")
    if configuration.draft is not None:
        return target, draft_model(deployed(configuration.draft, configuration.draft_bits))
    vocabulary = HEAD_VOCABULARY if configuration.drafter == "eagle-3" else None
    return target, draft_head(target, vocabulary=vocabulary)


def _seconds(
    deployment: Deployment, batch: FloatArray, new_tokens: int, context: int
) -> FloatArray:
    """Time of a pass with the bend between reading and arithmetic."""
    run = deployment.pass_time(np.rint(batch), new_tokens, context)
    reading = run.weight_bytes / deployment.machine.bandwidth
    multiplying = run.linear_flops / deployment.machine.peak(deployment.arithmetic_bits)
    bent = (reading**BEND + multiplying**BEND) ** (1 / BEND)
    return np.asarray(bent + run.time - run.weights_time)


def _weight_bytes(deployment: Deployment) -> float:
    return deployment.model.parameters / deployment.devices * deployment.bytes_per_weight


def _cache_bytes(deployment: Deployment, positions: int) -> float:
    return float(deployment.memory_needed(2, positions) - deployment.memory_needed(1, positions))
