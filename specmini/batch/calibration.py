"""Calibration: the roofline's constants for the computer at hand, from passes that were timed.

A data sheet states what silicon can do at best. What an engine reaches on a processor, with its
calls and caches, is fitted here: arithmetic, bandwidth for weights and for caches, and seconds for
a pass, a layer, a sequence and a token. The result is a ``roofline.Machine`` and, for each model, a
``deployment.Deployment``, so that every function of the roofline runs on the reader's computer.

The fit is no better than its form. The roofline adds two maxima and a few constants, while a
processor's speed changes smoothly with the number of tokens. So a calibration says how far off it
is at the passes it saw, and at passes that were left out.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from specmini.batch.fast import fast_batch
from specmini.batch.latency import AllSlots
from specmini.batch.model import BatchModel
from specmini.checks import FloatArray
from specmini.gpt import GPT, Config
from specmini.measure.latency import pass_times
from specmini.roofline import pass_time
from specmini.roofline.deployment import Deployment
from specmini.roofline.machine import Machine
from specmini.roofline.overhead import Overhead
from specmini.roofline.shape import Model
from specmini.sampling import plain

__all__ = ["Calibration", "TimedPass", "calibrate", "calibrated", "physical_memory", "shape_of"]

bytes_per_number: Final = 4  # the lab computes in float32


@dataclass(frozen=True)
class TimedPass:
    """A pass whose time was measured.

    Attributes:
        model: name of the model, a key of the shapes that ``calibrated`` gets.
        batch: sequences in it.
        new_tokens: tokens of each.
        context: positions of each in the cache before.
        seconds: how long it took.
    """

    model: str
    batch: int
    new_tokens: int
    context: int
    seconds: float


@dataclass(frozen=True)
class Calibration:
    """A computer's constants as an engine meets them.

    Attributes:
        machine: what matrix products reach: arithmetic in float32, and bandwidth of weights.
        cache_bandwidth: at which keys and values are read, bytes/s.
        seconds_per_pass: what a pass costs beside its bytes and operations.
        seconds_per_layer: what each layer adds to that.
        seconds_per_sequence: what each sequence adds in each layer: attention runs by sequence.
        seconds_per_token: what each token adds: softmax and the draw over the vocabulary.
        error: mean of ``abs(log(fitted / measured))`` over the passes it was fitted to.
        held_out_error: the same over passes that were left out, each half by a fit to the other.
    """

    machine: Machine
    cache_bandwidth: float
    seconds_per_pass: float
    seconds_per_layer: float
    seconds_per_sequence: float
    seconds_per_token: float
    error: float
    held_out_error: float

    def deployment(self, model: Model) -> Deployment:
        """A model on this computer, in float32.

        The roofline knows one bandwidth. That of the cache is put into the size of its numbers,
        so ``memory_needed`` is off by that factor in the cache.
        """
        slower = self.machine.bandwidth / self.cache_bandwidth
        return Deployment(
            self.machine,
            model,
            bytes_per_weight=bytes_per_number,
            bytes_per_cache_value=bytes_per_number * slower,
            overhead=Overhead(
                seconds_per_pass=self.seconds_per_pass,
                seconds_per_layer=self.seconds_per_layer,
                seconds_per_sequence=self.seconds_per_sequence * model.layers,
                seconds_per_token=self.seconds_per_token,
            ),
        )


def calibrated(
    passes: Sequence[TimedPass],
    shapes: Mapping[str, Model],
    rng: np.random.Generator,
    *,
    name: str,
    memory: float,
) -> Calibration:
    """Fit the constants to timed passes, by squares of relative errors.

    Args:
        passes: at least 16, with batches, tokens, contexts and models that vary; two models of
            different size at least, or what a pass and what a layer costs cannot be told apart.
        shapes: the models by name.
        rng: chooses where the search starts, and what is left out.
        name: of the computer.
        memory: of the computer, bytes; ``physical_memory`` may know it.

    Raises:
        ValueError: too few passes, a pass of an unknown model, or a time that is not positive.
    """
    if len(passes) < 16:
        raise ValueError(f"passes must be at least 16, got {len(passes)}")
    if unknown := {one.model for one in passes} - shapes.keys():
        raise ValueError(f"passes must be of models in {sorted(shapes)}, got {sorted(unknown)}")
    if not min(one.seconds for one in passes) > 0:
        raise ValueError("passes must take positive times, got one that does not")
    work = np.array([_work(one, shapes[one.model]) for one in passes])  # (P, 8)
    seconds = np.array([one.seconds for one in passes])  # (P,)
    constants = _fit(work, seconds, rng)
    side = rng.permutation(len(passes)) % 2 == 0  # (P,)
    left_out = [
        _error(_fit(work[seen], seconds[seen], rng), work[~seen], seconds[~seen])
        for seen in (side, ~side)
    ]
    flops, bandwidth, cache_bandwidth, a_pass, a_layer, a_sequence, a_token = constants.tolist()
    return Calibration(
        machine=Machine(
            name=name,
            peak_flops=flops,
            bandwidth=bandwidth,
            memory=memory,
            source=f"fitted to {len(passes)} passes in float32",
            checked_on=datetime.date.today(),
        ),
        cache_bandwidth=cache_bandwidth,
        seconds_per_pass=a_pass,
        seconds_per_layer=a_layer,
        seconds_per_sequence=a_sequence,
        seconds_per_token=a_token,
        error=float(_error(constants, work, seconds).mean()),
        held_out_error=float(np.concatenate(left_out).mean()),
    )


def calibrate(
    models: Mapping[str, GPT],
    rng: np.random.Generator,
    *,
    name: str,
    memory: float,
    batches: Sequence[int] = (1, 4, 16, 64),
    tokens: Sequence[int] = (1, 2, 4, 8),
    contexts: Sequence[int] = (32, 160),
    repeats: int = 5,
) -> Calibration:
    """Time passes of lab models on this computer, alone on one core, and fit the constants.

    Args:
        models: by name; two of different size at least.
        rng: source of all randomness.
        name: of the computer.
        memory: of the computer, bytes; ``physical_memory`` may know it.
        batches: sequences in a pass.
        tokens: new ones of each.
        contexts: positions of each in the cache before.
        repeats: passes of each kind.

    Raises:
        ValueError: as ``calibrated`` and ``latency.pass_times``.
    """
    passes = [
        TimedPass(model, batch, new, context, seconds)
        for model, gpt in models.items()
        for batch in batches
        for context in contexts
        for new, seconds in zip(
            *_medians(fast_batch(gpt, batch), tokens, context, repeats, rng), strict=True
        )
    ]
    shapes = {model: shape_of(gpt.config, model) for model, gpt in models.items()}
    return calibrated(passes, shapes, rng, name=name, memory=memory)


def _medians(
    model: BatchModel, tokens: Sequence[int], context: int, repeats: int, rng: np.random.Generator
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Numbers of tokens a slot and the median time of a pass over them, choice included."""
    alike = AllSlots(model, rng, plain)
    times = pass_times(alike, tokens, past=context, repeats=repeats, rng=rng)
    return times.tokens, times.seconds


def shape_of(config: Config, name: str) -> Model:
    """A lab model as the roofline knows models.

    Args:
        config: shape of the GPT.
        name: as a reader knows it.
    """
    return Model(
        name=name,
        layers=config.layers,
        hidden=config.width,
        intermediate=4 * config.width,
        heads=config.heads,
        kv_heads=config.heads,
        head_dim=config.width // config.heads,
        vocabulary=config.vocabulary,
        tied_embeddings=True,
        source="specmini.gpt",
        checked_on=datetime.date.today(),
        gated_mlp=False,
        biases=True,
        norm_biases=True,
        positions=config.context,
    )


def physical_memory() -> float:
    """Memory of this computer in bytes.

    Raises:
        ValueError: the system does not say.
    """
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        raise ValueError("memory must be given, for this system does not say it") from None


def _work(one: TimedPass, model: Model) -> list[float]:
    """What a pass reads and computes, and how often it pays each overhead."""
    unit = Machine("unit", 1.0, 1.0, 1.0, "none", datetime.date.min)
    parts = pass_time(
        unit, model, one.batch, one.new_tokens, one.context, bytes_per_number, bytes_per_number
    )
    return [
        float(parts.linear_flops),
        float(parts.weight_bytes),
        float(parts.kv_bytes),
        float(parts.attention_flops),
        1.0,
        model.layers,
        one.batch * model.layers,
        one.batch * one.new_tokens,
    ]


def _seconds(constants: FloatArray, work: FloatArray) -> FloatArray:
    """Times of passes, as ``Deployment.pass_time`` gives them: (P,) from (7,) and (P, 8)."""
    flops, bandwidth, cache_bandwidth = constants[:3]
    weights = np.maximum(work[:, 0] / flops, work[:, 1] / bandwidth)  # (P,)
    attention = np.maximum(work[:, 2] / cache_bandwidth, work[:, 3] / flops)  # (P,)
    times: FloatArray = weights + attention + work[:, 4:] @ constants[3:]  # (P,)
    return times


def _error(constants: FloatArray, work: FloatArray, seconds: FloatArray) -> FloatArray:
    """(P,) ``abs(log(fitted / measured))``."""
    errors: FloatArray = np.abs(np.log(_seconds(constants, work) / seconds))
    return errors


floor: Final = math.log(1e-12)
start: Final = np.array([3e10, 1e10, 5e9, 1e-4, 1e-4, 1e-5, 1e-6])  # a laptop, to a factor of 10


def _fit(work: FloatArray, seconds: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The best constants of several searches."""

    def loss(logarithms: FloatArray) -> float:
        return float((_error(np.exp(logarithms), work, seconds) ** 2).sum())

    found = [
        _search(loss, np.log(start) + rng.normal(size=len(start)) * spread)
        for spread in (0.0, 1.0, 1.0, 1.0, 1.0)
    ]
    return np.exp(min(found, key=loss))


def _search(loss: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    """Minimize by steps along one axis at a time, longer after a success, else shorter.

    The roofline's kinks rule out derivatives, and seven constants are few.
    """
    at, steps = at.copy(), np.ones_like(at)  # each (7,)
    least = loss(at)
    while steps.max() > 1e-3:
        for axis in range(len(at)):
            for step in (steps[axis], -steps[axis]):
                tried = at.copy()
                # a constant that wants to vanish may, but not go on for ever
                tried[axis] = max(tried[axis] + step, floor)
                if (here := loss(tried)) < least:
                    at, least = tried, here
                    steps[axis] = min(2 * steps[axis], 1.0)
                    break
            else:
                steps[axis] /= 2
    return at
