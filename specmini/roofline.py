"""Roofline: how long one forward pass takes, from the machine, the model's shape and the load.

A pass takes ``batch`` sequences, each with ``context`` positions in its cache, and runs
``new_tokens`` tokens of each through the target: one for plain decoding, ``draft_length + 1`` to
verify a draft. Two parts run one after the other, and each costs the larger of its memory time
(bytes / bandwidth) and its arithmetic time (operations / peak): Williams, Waterman and Patterson,
"Roofline", CACM 52(4), 2009.

What is counted:

* **Linear layers.** Every weight but the input embedding table is read once, whatever the batch,
  and costs 2 operations a new token. The output head runs on *every* new token, because
  verification needs the target's distribution at each position.
* **Attention.** Every sequence reads the keys and values of its context once (all new tokens and
  all query heads of a group share that read) and writes those of its new tokens once. New token i
  attends to the context, to the new tokens before it and to itself: ``context + i`` positions, at
  ``4 * heads * head_dim`` operations a position and layer (2 for the scores, 2 for the values).

What is not counted, and what that costs:

* **Activations.** With no fusion and no cache at all, every token in the pass would add at most
  0.4 % to the weight reads for any model of the catalog, all in 16 bits. For Llama-3.1-8B it is
  0.08 %: 23 % by the time 295 tokens reach an H100's ridge. Kernels fuse or cache most of it away.
* **Launches, sampling, scheduling.** A fixed cost a pass: it lengthens the plain step as well as
  the verification, so small models are slower, and their verify cost is nearer to 1, than here.
  Do not take the cost ratio of a small draft from here: one vLLM log has Qwen3-32B at 23.65 ms and
  Qwen3-1.7B at 2.27, a ratio of .096; the times here for an H100 are 19.1 and 1.04, so .055
  (tomasruizt/vllm-scripts @d94d714; the log does not name its GPU).
* **Efficiency.** Peaks are the vendor's, so times are lower bounds. On an H100 good kernels reach
  78 % of the arithmetic and 92 % of the bandwidth (pytorch/ao, roofline_utils.py); a serving
  simulator fitted 82 % of the bandwidth (inference-sim, issue 415). A ratio of two passes on the
  same side of the ridge keeps its value; the ridge itself comes 5-15 % sooner.
* **The knee.** ``max`` assumes that reading and arithmetic overlap completely. With no overlap at
  all the two times would add up, so near the ridge a part can take up to 2 times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks
from specmini.catalog import Machine, Model

__all__ = ["Machine", "Model", "PassTime", "pass_time", "ridge_tokens", "verify_cost"]

FloatArray = NDArray[np.float64]
Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True)
class PassTime:
    """Where the time of a forward pass goes. All arrays have the common shape of the inputs.

    Attributes:
        time: seconds, ``weights_time + attention_time``.
        weights_time: seconds in the linear layers, the larger of reading and arithmetic.
        attention_time: seconds in attention, the larger of cache traffic and arithmetic.
        weight_bytes: bytes of weights read.
        kv_bytes: bytes of the key-value cache read and written.
        linear_flops: operations in the linear layers.
        attention_flops: operations in attention.
        bound: ``"memory"`` or ``"compute"``, what limits the linear layers.
        memory_needed: bytes for all parameters and the cache of every sequence after the pass.
        fits: ``memory_needed`` is at most the machine's memory. A pass that does not fit still
            has a time here: what it would take if it did. Activations and the runtime's own
            memory come on top (engines set aside about a tenth of a device).
    """

    time: FloatArray
    weights_time: FloatArray
    attention_time: FloatArray
    weight_bytes: FloatArray
    kv_bytes: FloatArray
    linear_flops: FloatArray
    attention_flops: FloatArray
    bound: NDArray[np.str_]
    memory_needed: FloatArray
    fits: NDArray[np.bool_]


def pass_time(
    machine: Machine,
    model: Model,
    batch: ArrayLike,
    new_tokens: ArrayLike,
    context: ArrayLike,
    bytes_per_weight: ArrayLike = 2,
    bytes_per_cache_value: ArrayLike = 2,
) -> PassTime:
    """Time of one forward pass, with everything that went into it.

    Args:
        machine: the accelerator.
        model: the shape of the model.
        batch: sequences in the pass, at least 1.
        new_tokens: tokens of each sequence that run through the model, at least 1.
        context: positions of each sequence already in the cache, at least 0.
        bytes_per_weight: 2 for bfloat16; smaller shrinks the weight reads only, arithmetic stays
            at ``machine.peak_flops`` (weight-only quantization).
        bytes_per_cache_value: bytes a number in the key-value cache takes.

    Returns:
        A ``PassTime``; the five last arguments broadcast against each other.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    load = _checked(
        machine,
        model,
        batch,
        context,
        bytes_per_weight,
        bytes_per_cache_value,
        new_tokens=checks.whole_number("new_tokens", new_tokens, minimum=1),
    )
    return _timed(machine, model, _Load(*load))


def verify_cost(
    machine: Machine,
    model: Model,
    batch: ArrayLike,
    draft_length: ArrayLike,
    context: ArrayLike,
    bytes_per_weight: ArrayLike = 2,
    bytes_per_cache_value: ArrayLike = 2,
) -> FloatArray:
    """Time to verify a draft over the time of a plain step: the v of the speedup formula.

    A verification runs ``draft_length + 1`` tokens of each sequence through the target, a plain
    step runs 1, at the same batch and context. While the extra tokens hide behind the weight reads,
    only attention takes longer and the result stays close above 1. It nears ``draft_length + 1``
    when arithmetic is the limit and the context short. It can pass that by a factor of at most
    ``1 + draft_length / (2 * (context + 1))``, and only where arithmetic limits attention too,
    because later new tokens attend to earlier ones.

    Args:
        machine: the accelerator.
        model: the shape of the target.
        batch: sequences in the pass, at least 1.
        draft_length: drafted tokens a round, at least 0; 0 gives exactly 1.
        context: positions of each sequence already in the cache, at least 0.
        bytes_per_weight: see ``pass_time``.
        bytes_per_cache_value: see ``pass_time``.

    Returns:
        The ratio, at least 1, in the common shape of the five last arguments.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    drafted, *load = _checked(
        machine,
        model,
        batch,
        context,
        bytes_per_weight,
        bytes_per_cache_value,
        draft_length=checks.whole_number("draft_length", draft_length),
    )
    verification = _timed(machine, model, _Load(drafted + 1, *load))
    plain_step = _timed(machine, model, _Load(np.ones_like(drafted), *load))
    return _plain(verification.time / plain_step.time)


def ridge_tokens(machine: Machine, bytes_per_weight: ArrayLike = 2) -> FloatArray:
    """Tokens a pass at which reading the weights and computing with them take equally long.

    One weight costs ``bytes_per_weight / bandwidth`` to read and ``2 / peak_flops`` a token to
    use, so the two meet at ``peak_flops * bytes_per_weight / (2 * bandwidth)``, whatever the
    model. Tokens count over the whole batch: ``batch * new_tokens``.

    Args:
        machine: the accelerator.
        bytes_per_weight: bytes a stored weight takes, any shape.

    Returns:
        Tokens, a real number, same shape as ``bytes_per_weight``.

    Raises:
        ValueError: ``bytes_per_weight`` is not positive and finite.
    """
    _require_machine(machine)
    per_weight = checks.positive("bytes_per_weight", bytes_per_weight)
    return _plain(machine.peak_flops * per_weight / (2 * machine.bandwidth))


class _Load(NamedTuple):
    new_tokens: FloatArray
    batch: FloatArray
    context: FloatArray
    bytes_per_weight: FloatArray
    bytes_per_cache_value: FloatArray


def _checked(
    machine: Machine,
    model: Model,
    batch: ArrayLike,
    context: ArrayLike,
    bytes_per_weight: ArrayLike,
    bytes_per_cache_value: ArrayLike,
    **tokens: NDArray[Any],
) -> list[FloatArray]:
    """Return the fields of a ``_Load`` in one shape, the tokens under their caller's name first."""
    _require_machine(machine)
    if not isinstance(model, Model):
        raise ValueError(f"model must be a Model (see specmini.catalog), got {model!r}")
    arrays = checks.broadcast(
        **tokens,
        batch=checks.whole_number("batch", batch, minimum=1),
        context=checks.whole_number("context", context),
        bytes_per_weight=checks.positive("bytes_per_weight", bytes_per_weight),
        bytes_per_cache_value=checks.positive("bytes_per_cache_value", bytes_per_cache_value),
    )
    # Products of these overflow int64 long before they overflow a double.
    return [array.astype(np.float64) for array in arrays]


class _Work(NamedTuple):
    """What a pass moves and computes on any machine."""

    weight_bytes: FloatArray
    kv_bytes: FloatArray
    linear_flops: FloatArray
    attention_flops: FloatArray
    memory_needed: FloatArray


def _work(model: Model, load: _Load) -> _Work:
    batch, new, context = load.batch, load.new_tokens, load.context
    bytes_per_position = model.kv_values_per_token * load.bytes_per_cache_value
    attended = new * context + new * (new + 1) / 2
    return _Work(
        weight_bytes=model.matmul_parameters * load.bytes_per_weight,
        kv_bytes=batch * (context + new) * bytes_per_position,
        linear_flops=2.0 * model.matmul_parameters * batch * new,
        attention_flops=4.0 * model.layers * model.heads * model.head_dim * batch * attended,
        memory_needed=model.parameters * load.bytes_per_weight
        + batch * (context + new) * bytes_per_position,
    )


def _timed(machine: Machine, model: Model, load: _Load) -> PassTime:
    work = _work(model, load)
    reading = work.weight_bytes / machine.bandwidth
    multiplying = work.linear_flops / machine.peak_flops
    weights_time = np.maximum(reading, multiplying)
    attention_time = np.maximum(
        work.kv_bytes / machine.bandwidth, work.attention_flops / machine.peak_flops
    )
    parts: dict[str, NDArray[Any]] = {
        "time": weights_time + attention_time,
        "weights_time": weights_time,
        "attention_time": attention_time,
        "weight_bytes": work.weight_bytes,
        "kv_bytes": work.kv_bytes,
        "linear_flops": work.linear_flops,
        "attention_flops": work.attention_flops,
        "bound": np.where(multiplying > reading, "compute", "memory"),
        "memory_needed": work.memory_needed,
        "fits": np.asarray(work.memory_needed <= machine.memory),
    }
    return PassTime(**{name: _plain(part) for name, part in parts.items()})


def _require_machine(machine: Machine) -> None:
    if not isinstance(machine, Machine):
        raise ValueError(f"machine must be a Machine (see specmini.catalog), got {machine!r}")


def _plain(array: Array) -> Array:
    """Turn a zero-dimensional array into the NumPy scalar it holds; leave others alone."""
    return cast(Array, np.asarray(array)[()])
