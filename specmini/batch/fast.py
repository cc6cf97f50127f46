"""The fastest batched engine for a GPT on this machine, found by trying.

A kernel that is best for one token is not best for five hundred: a few rows cost the reading of a
matrix, many cost arithmetic. So for each number of slots every candidate is timed once, at several
numbers of tokens a slot, and each pass runs what was fastest at the nearest of them. The baseline
of a speedup is then the fastest plain batch decoding there is here.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from specmini.batch.attention import places_of
from specmini.batch.model import BatchEngine
from specmini.batch.passes import CompiledBatchStep, NumpyBatchStep, TorchBatchStep
from specmini.batch.side_by_side import SideBySideEngines
from specmini.batch.steps import BatchStep, StepBatch, new_batch_cache
from specmini.checks import single, whole_number
from specmini.engine.fast_model import FastModel, chosen, prepared
from specmini.engine.kernels import available_kernels, is_half_exact
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.gpt import GPT, Config

__all__ = ["BatchChoice", "FastBatch", "batch_candidates", "batch_seconds", "fast_batch"]

tokens_a_slot: Final = (1, 2, 3, 5, 9)  # decoding, and verification of 1, 2, 4 and 8 drafts


@dataclass(frozen=True)
class BatchChoice:
    """Which steps run, and why.

    Attributes:
        steps: name of the step by the number of tokens a slot.
        seconds: for each candidate the seconds it took, by the same numbers.
    """

    steps: Mapping[int, str]
    seconds: Mapping[str, Mapping[int, float]]


class FastBatch(StepBatch):
    """A ``BatchEngine`` in float32 on the CPU, for S sequences.

    Which candidates win is measured once a process for each shape and S, on one thread. A step
    does not set the number of threads itself; use it inside ``single_thread``.

    Args:
        model: the weights, which are copied or shared: do not train it on.
        slots: number of sequences S.
        choice: names of ``batch_candidates`` to run; measured if not given.

    Attributes:
        choice: what runs, with the times measured.

    Raises:
        ValueError: a chosen name is not available here, or ``slots`` is below 1.
    """

    def __init__(self, model: GPT, slots: int, choice: BatchChoice | None = None) -> None:
        slots = single("slots", whole_number("slots", slots, minimum=1))
        self.choice = choice or _measured_choice(model, slots)
        steps = {slots * n: _step(model, name) for n, name in self.choice.steps.items()}

        def choose(tokens: int) -> BatchStep:
            return steps[min(steps, key=lambda probe: abs(math.log(probe / tokens)))]

        super().__init__(model.config, slots, choose)


def fast_batch(model: GPT, slots: int) -> BatchEngine:
    """The fastest ``BatchEngine`` for a GPT here.

    For one slot it is ``fast_model``'s, so that a batch of one is the engine of the single
    sequence. On a GPU, or not in float32, ``TorchModel`` runs slot by slot.

    Args:
        model: the weights.
        slots: number of sequences, at least 1.

    Raises:
        ValueError: ``slots`` is no whole number of at least 1.
    """
    slots = single("slots", whole_number("slots", slots, minimum=1))
    weight = model.wte.weight
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return SideBySideEngines([TorchModel(model) for _ in range(slots)])
    return SideBySideEngines([FastModel(model)]) if slots == 1 else FastBatch(model, slots)


def batch_candidates(model: GPT) -> dict[str, Callable[[], BatchStep]]:
    """Makers of the steps that compute a model's function here, by name."""
    makers: dict[str, Callable[[], BatchStep]] = {"NumPy": lambda: NumpyBatchStep(model).run}
    for name, kernel in available_kernels(model).items():
        makers[name] = functools.partial(TorchBatchStep, model, kernel)
        makers[f"{name}, compiled"] = functools.partial(CompiledBatchStep, model, kernel)
    return makers


def batch_seconds(step: BatchStep, config: Config, slots: int, tokens: int) -> list[float]:
    """Seconds of each of some equal passes over all slots, half a context behind them.

    Args:
        step: the forward pass.
        config: shape of its model.
        slots: number of sequences S.
        tokens: new ones in each, at most half a context.

    Returns:
        At least two; more of passes over few tokens, which are over soon.
    """
    cache = new_batch_cache(config, slots)
    places = places_of(range(slots), [config.context // 2] * slots, [tokens] * slots)
    ids = np.zeros(slots * tokens, np.int64)  # (N,)
    seconds = []
    for _ in range(max(2, 16 // len(ids))):
        started = time.perf_counter()
        step(ids, cache, places, False)
        seconds.append(time.perf_counter() - started)
    return seconds


def _step(model: GPT, name: str) -> BatchStep:
    """A model's step by name."""
    return prepared(model, f"batch: {name}", lambda: chosen(batch_candidates(model), name))


def _measured_choice(model: GPT, slots: int) -> BatchChoice:
    """The fastest candidates, measured the first time that a shape and S are asked for."""
    key = (model.config, is_half_exact(model), slots)
    if key not in _choices:
        _choices[key] = _measure(model, slots)
    return _choices[key]


_choices: dict[tuple[Config, bool, int], BatchChoice] = {}


def _measure(model: GPT, slots: int, rounds: int = 2) -> BatchChoice:
    """Time all candidates in turns; the least time counts, since other work only ever adds."""
    steps = {name: _step(model, name) for name in batch_candidates(model)}
    probes = [tokens for tokens in tokens_a_slot if tokens <= model.config.context // 2]
    taken: dict[str, dict[int, float]] = {name: {} for name in steps}
    with single_thread():
        for _ in range(rounds):
            for tokens in probes:
                for name, step in steps.items():
                    # the first passes compile and warm up; they are never the least
                    least = min(batch_seconds(step, model.config, slots, tokens))
                    taken[name][tokens] = min(least, taken[name].get(tokens, math.inf))
    fastest = {tokens: min(taken, key=lambda name: taken[name][tokens]) for tokens in probes}
    return BatchChoice(fastest, taken)
