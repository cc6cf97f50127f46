"""Roofline: how long one forward pass takes, from the machine, the model's shape and the load.

A pass takes ``batch`` sequences, each with ``context`` positions in its cache, and runs
``new_tokens`` tokens of each through the target: one for plain decoding, ``draft_length + 1`` to
verify a draft. Two parts run one after the other, and each costs the larger of its memory time
(bytes / bandwidth) and its arithmetic time (operations / peak): Williams, Waterman and Patterson,
"Roofline", CACM 52(4), 2009.

What is counted:

* **Linear layers.** Every weight but the input embedding table is read once, whatever the batch,
  and costs 2 operations a new token. The output head runs on *every* new token, because
  verification needs the target's distribution at each position. Of experts, those that the pass's
  tokens touch are read (``experts``), and a token costs operations in those it visits.
* **Attention.** Every sequence reads the keys and values of its context once (all new tokens and
  all query heads of a group share that read) and writes those of its new tokens once. New token i
  attends to the context, to the new tokens before it and to itself: ``context + i`` positions, at
  ``4 * heads * head_dim`` operations a position and layer (2 for the scores, 2 for the values);
  in a windowed layer to the last ``window`` of these. ``specmini.roofline.shape`` says what latent
  attention costs; prompts of it are cheaper than here, since over many tokens it pays to
  decompress the cache.
* **Overhead and communication**, if told: ``overhead``. With tensor parallelism each
  device reads and multiplies its share of the weights and of the heads, and the outputs of
  attention and of the MLP are added up over the devices, in 16 bits, twice a layer. A KV head is
  not divided: with more devices than KV heads some hold the same cache, and with latent attention
  all do.

What is not counted, and what that costs:

* **Activations.** With no fusion and no cache at all, every token in the pass would add at most
  0.4 % to the weight reads for any dense model of the catalog but GPT-2, all in 16 bits. For
  Llama-3.1-8B it is 0.08 %: 23 % by the time 295 tokens reach an H100's ridge. Kernels fuse or
  cache most of it away.
* **Launches, sampling, scheduling**, unless an ``Overhead`` is given. They lengthen the plain step
  as well as the verification, so small models are slower, and their verify cost is nearer to 1,
  than here. Do not take the cost ratio of a small draft from here: one vLLM log has Qwen3-32B at
  23.65 ms and Qwen3-1.7B at 2.27, a ratio of .096; the times here for an H100 are 19.1 and 1.04,
  so .055 (tomasruizt/vllm-scripts @d94d714; the log does not name its GPU).
* **Efficiency.** Peaks are the vendor's, so times are lower bounds. One public roofline counts on
  78 % of an H100's arithmetic for large products, and on 92 % of the bandwidth of a variant of it
  for long pointwise kernels (pytorch/ao, roofline_utils.py @0598012); a serving simulator fitted
  82 % of the bandwidth (inference-sim, issue 415). A ratio of two passes on the same side of the
  ridge keeps its value; the ridge itself comes 5-15 % sooner.
* **The knee.** ``max`` assumes that reading and arithmetic overlap completely. With no overlap at
  all the two times would add up, so near the ridge a part can take up to 2 times as long.
* **Balance.** Experts are taken to be equally busy, and devices to wait for nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks
from specmini.checks import FloatArray
from specmini.roofline.experts import Touched
from specmini.roofline.machine import Machine
from specmini.roofline.overhead import NO_OVERHEAD, Overhead
from specmini.roofline.pass_parts import Load, PassTime, Run, plain, timed
from specmini.roofline.shape import Model

__all__ = ["pass_time", "ridge_tokens", "verify_cost"]


def pass_time(
    machine: Machine,
    model: Model,
    batch: ArrayLike,
    new_tokens: ArrayLike,
    context: ArrayLike,
    bytes_per_weight: ArrayLike = 2,
    bytes_per_cache_value: ArrayLike = 2,
    *,
    arithmetic_bits: int = 16,
    devices: int = 1,
    overhead: Overhead = NO_OVERHEAD,
    experts_touched: Touched = None,
) -> PassTime:
    """Time of one forward pass, with everything that went into it.

    Args:
        machine: the accelerator.
        model: the shape of the model.
        batch: sequences in the pass, at least 1.
        new_tokens: tokens of each sequence that run through the model, at least 1.
        context: positions of each sequence already in the cache, at least 0.
        bytes_per_weight: 2 for bfloat16; smaller shrinks the weight reads only, arithmetic stays
            what ``arithmetic_bits`` says (weight-only quantization).
        bytes_per_cache_value: bytes a number in the key-value cache takes.
        arithmetic_bits: width of what the linear layers multiply: 16, 8 or 4. Attention stays in
            16 bits.
        devices: devices that share every matrix (tensor parallelism).
        overhead: what the engine adds.
        experts_touched: routed experts read in each sparse layer: ``None`` for independent routing
            (``experts.experts_touched``), numbers that broadcast to the load, or a
            function of an array of tokens in the pass. Only for a model with experts.

    Returns:
        A ``PassTime``; the five arguments from ``batch`` on broadcast against each other.

    Raises:
        ValueError: an argument is out of range, the shapes do not broadcast, or the machine's
            peak or interconnect is needed and not documented.
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
    run = _checked_run(machine, model, arithmetic_bits, devices, overhead, experts_touched)
    return timed(run, Load(*load))


def verify_cost(
    machine: Machine,
    model: Model,
    batch: ArrayLike,
    draft_length: ArrayLike,
    context: ArrayLike,
    bytes_per_weight: ArrayLike = 2,
    bytes_per_cache_value: ArrayLike = 2,
    *,
    arithmetic_bits: int = 16,
    devices: int = 1,
    overhead: Overhead = NO_OVERHEAD,
    experts_touched: Touched = None,
) -> FloatArray:
    """Time to verify a draft over the time of a plain step: the v of the speedup formula.

    A verification runs ``draft_length + 1`` tokens of each sequence through the target, a plain
    step runs 1, at the same batch and context. While the extra tokens hide behind the weight reads,
    only attention takes longer and the result stays close above 1. It nears ``draft_length + 1``
    when arithmetic is the limit and the context short. It can pass that by a factor of at most
    ``1 + draft_length / (2 * (context + 1))``, and only where arithmetic limits attention too,
    because later new tokens attend to earlier ones. With experts it starts above 1, because more
    tokens touch more of them.

    Args:
        machine: the accelerator.
        model: the shape of the target.
        batch: sequences in the pass, at least 1.
        draft_length: drafted tokens a round, at least 0; 0 gives exactly 1.
        context: positions of each sequence already in the cache, at least 0.
        bytes_per_weight: see ``pass_time``.
        bytes_per_cache_value: see ``pass_time``.
        arithmetic_bits: see ``pass_time``.
        devices: see ``pass_time``.
        overhead: see ``pass_time``.
        experts_touched: see ``pass_time``; a function is asked for both passes.

    Returns:
        The ratio, at least 1 (as long as more tokens touch no fewer experts), in the common shape
        of the five arguments from ``batch`` on.

    Raises:
        ValueError: an argument is out of range, the shapes do not broadcast, or the machine's
            peak or interconnect is needed and not documented.
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
    run = _checked_run(machine, model, arithmetic_bits, devices, overhead, experts_touched)
    verification = timed(run, Load(drafted + 1, *load))
    plain_step = timed(run, Load(np.ones_like(drafted), *load))
    return plain(verification.time / plain_step.time)


def ridge_tokens(
    machine: Machine, bytes_per_weight: ArrayLike = 2, arithmetic_bits: int = 16
) -> FloatArray:
    """Tokens a pass at which reading the weights and computing with them take equally long.

    One weight costs ``bytes_per_weight / bandwidth`` to read and ``2 / peak`` a token to use, so
    the two meet at ``peak * bytes_per_weight / (2 * bandwidth)``, whatever the model if it is
    dense. Tokens count over the whole batch: ``batch * new_tokens``.

    Args:
        machine: the accelerator.
        bytes_per_weight: bytes a stored weight takes, any shape.
        arithmetic_bits: width of what is multiplied: 16, 8 or 4.

    Returns:
        Tokens, a real number, same shape as ``bytes_per_weight``.

    Raises:
        ValueError: ``bytes_per_weight`` is not positive and finite, or the peak is not documented.
    """
    _require_machine(machine)
    per_weight = checks.positive("bytes_per_weight", bytes_per_weight)
    return plain(machine.peak(arithmetic_bits) * per_weight / (2 * machine.bandwidth))


def _checked(
    machine: Machine,
    model: Model,
    batch: ArrayLike,
    context: ArrayLike,
    bytes_per_weight: ArrayLike,
    bytes_per_cache_value: ArrayLike,
    **tokens: NDArray[Any],
) -> list[FloatArray]:
    """Return the fields of a ``Load`` in one shape, the tokens under their caller's name first."""
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


def _checked_run(
    machine: Machine,
    model: Model,
    arithmetic_bits: int,
    devices: int,
    overhead: Overhead,
    experts_touched: Touched,
) -> Run:
    count = checks.single("devices", checks.whole_number("devices", devices, minimum=1))
    if model.heads % count:
        raise ValueError(f"devices must divide the model's {model.heads} heads, got {count}")
    if count > 1 and machine.interconnect is None:
        raise ValueError(
            f"devices must be 1 on {machine.name}, whose interconnect is not documented "
            f"(dataclasses.replace can give it one), got {count}"
        )
    if not isinstance(overhead, Overhead):
        raise ValueError(f"overhead must be an Overhead, got {overhead!r}")
    if experts_touched is not None and model.experts is None:
        raise ValueError(
            f"experts_touched must be None for {model.name}, which has no experts, "
            f"got {checks.shown(experts_touched)}"
        )
    peaks = machine.peak(arithmetic_bits), machine.peak()
    return Run(machine, model, *peaks, count, overhead, experts_touched)


def _require_machine(machine: Machine) -> None:
    if not isinstance(machine, Machine):
        raise ValueError(f"machine must be a Machine (see specmini.catalog), got {machine!r}")
