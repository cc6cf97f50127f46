"""The parts of a forward pass and how its time adds up; ``specmini.roofline`` says what is counted.

Nothing here is checked: that is done where a caller's numbers come in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from specmini.checks import FloatArray, TextArray
from specmini.roofline.experts import Touched, touched_by
from specmini.roofline.machine import Machine
from specmini.roofline.overhead import Overhead, all_reduce_time
from specmini.roofline.shape import Model

__all__ = ["LARGEST_PARTS", "Load", "PassTime", "Run", "plain", "timed"]

Array = TypeVar("Array", bound=NDArray[Any])

ACTIVATION_BYTES = 2  # what devices send each other is in 16 bits
LARGEST_PARTS = (
    "weight reads",
    "weight arithmetic",
    "cache traffic",
    "attention arithmetic",
    "communication",
    "overhead",
)


@dataclass(frozen=True)
class PassTime:
    """Where the time of a forward pass goes. All arrays have the common shape of the inputs.

    Bytes and operations are those of one device, the only one unless there are more.

    Attributes:
        time: seconds, the sum of the four parts that follow.
        weights_time: seconds in the linear layers, the larger of reading and arithmetic.
        attention_time: seconds in attention, the larger of cache traffic and arithmetic.
        communication_time: seconds in which devices add up what each has computed.
        overhead_time: seconds of the engine's own, as told.
        weight_bytes: bytes of weights read.
        kv_bytes: bytes of the key-value cache read and written.
        linear_flops: operations in the linear layers.
        attention_flops: operations in attention.
        experts_touched: routed experts read in each sparse layer; 0 for a dense model.
        bound: ``"memory"`` or ``"compute"``, what limits the linear layers.
        attention_bound: the same of attention.
        largest_part: what takes the most time, one of ``LARGEST_PARTS``.
        memory_needed: bytes for all parameters and the cache of every sequence after the pass.
        fits: ``memory_needed`` is at most the machine's memory. A pass that does not fit still
            has a time here: what it would take if it did. Activations and the runtime's own
            memory come on top (engines set aside about a tenth of a device).
    """

    time: FloatArray
    weights_time: FloatArray
    attention_time: FloatArray
    communication_time: FloatArray
    overhead_time: FloatArray
    weight_bytes: FloatArray
    kv_bytes: FloatArray
    linear_flops: FloatArray
    attention_flops: FloatArray
    experts_touched: FloatArray
    bound: TextArray
    attention_bound: TextArray
    largest_part: TextArray
    memory_needed: FloatArray
    fits: NDArray[np.bool_]


class Load(NamedTuple):
    """What a pass is asked to do; arrays of one shape."""

    new_tokens: FloatArray
    batch: FloatArray
    context: FloatArray
    bytes_per_weight: FloatArray
    bytes_per_cache_value: FloatArray


class Run(NamedTuple):
    """How a model runs: everything about a pass that is not its load."""

    machine: Machine
    model: Model
    peak: float
    attention_peak: float
    devices: int
    overhead: Overhead
    experts_touched: Touched


def timed(run: Run, load: Load) -> PassTime:
    """Return where the time of a pass goes."""
    machine, model, devices = run.machine, run.model, run.devices
    tokens = load.batch * load.new_tokens
    touched, weight_bytes = _weights_read(run, load, tokens)
    linear_flops = 2.0 * tokens * _share(model, model.matmul_parameters, devices)
    reading = weight_bytes / machine.bandwidth
    multiplying = linear_flops / run.peak
    attention = _attention(run, load)
    weights_time = np.maximum(reading, multiplying)
    communication = np.zeros_like(tokens)
    if devices > 1 and machine.interconnect is not None:
        message = tokens * model.hidden * ACTIVATION_BYTES
        latency = run.overhead.transfer_latency
        once = all_reduce_time(message, devices, machine.interconnect, latency)
        communication = 2 * model.layers * once
    overhead = run.overhead.pass_time(model.layers, load.batch, load.new_tokens)
    computing, attention_computing = multiplying > reading, attention.arithmetic > attention.memory
    parts = [
        np.where(computing, 0.0, reading),
        np.where(computing, multiplying, 0.0),
        np.where(attention_computing, 0.0, attention.time),
        np.where(attention_computing, attention.time, 0.0),
        communication,
        overhead,
    ]
    memory_needed = model.parameters / devices * load.bytes_per_weight + attention.cache_bytes
    fields: dict[str, NDArray[Any]] = {
        "time": weights_time + attention.time + communication + overhead,
        "weights_time": weights_time,
        "attention_time": attention.time,
        "communication_time": communication,
        "overhead_time": overhead,
        "weight_bytes": weight_bytes,
        "kv_bytes": attention.cache_bytes,
        "linear_flops": linear_flops,
        "attention_flops": attention.flops,
        "experts_touched": touched,
        "bound": np.where(computing, "compute", "memory"),
        "attention_bound": np.where(attention_computing, "compute", "memory"),
        "largest_part": np.asarray(LARGEST_PARTS)[np.argmax(parts, axis=0)],
        "memory_needed": memory_needed,
        "fits": np.asarray(memory_needed <= machine.memory),
    }
    return PassTime(**{name: plain(field) for name, field in fields.items()})


def _share(model: Model, parameters: FloatArray | int, devices: int) -> FloatArray | float:
    """Of a pass's parameters, those that one device reads or multiplies."""
    whole = model.replicated_parameters
    return whole + (parameters - whole) / devices


def _weights_read(run: Run, load: Load, tokens: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Routed experts touched in a sparse layer, and bytes of weights that one device reads."""
    model = run.model
    touched, parameters = np.zeros_like(tokens), np.full_like(tokens, model.matmul_parameters)
    if model.experts:
        touched = touched_by(model.experts, tokens, run.experts_touched)
        beyond_one_token = touched - model.experts.per_token
        parameters = parameters + beyond_one_token * model.expert_layers * model.expert_parameters
    return touched, _share(model, parameters, run.devices) * load.bytes_per_weight


class _Attention(NamedTuple):
    """One device's part in attention; ``memory`` and ``arithmetic`` in seconds."""

    time: FloatArray
    memory: FloatArray
    arithmetic: FloatArray
    cache_bytes: FloatArray
    flops: FloatArray


def _attention(run: Run, load: Load) -> _Attention:
    model, new, context = run.model, load.new_tokens, load.context
    # A KV head stays whole, so more devices than KV heads hold copies.
    cache_share = 1 / min(run.devices, model.kv_heads)
    parts = []
    for layers, window in model.attention_layers:
        reach = np.inf if window is None else float(window)
        # The new tokens' windows together; the first tokens may still see the beginning.
        seen = np.minimum(context, reach - 1) + new
        growing = np.clip(reach - context, 0.0, new)
        attended = growing * context + growing * (growing + 1) / 2
        if window is not None:
            attended = attended + (new - growing) * reach
        values = layers * model.kv_values_per_layer * cache_share
        cache_bytes = load.batch * seen * values * load.bytes_per_cache_value
        flops = load.batch * attended * (layers * model.flops_per_attended / run.devices)
        memory, arithmetic = cache_bytes / run.machine.bandwidth, flops / run.attention_peak
        parts.append(
            _Attention(np.maximum(memory, arithmetic), memory, arithmetic, cache_bytes, flops)
        )
    return _Attention(*(np.sum(column, axis=0) for column in zip(*parts, strict=True)))


def plain(array: Array) -> Array:
    """Turn a zero-dimensional array into the NumPy scalar it holds; leave others alone."""
    return cast(Array, np.asarray(array)[()])
