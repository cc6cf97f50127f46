"""A configuration from words, with a documented default for every word that is missing.

What was taken for granted is remembered in ``Configuration.assumed``, so that an answer can say
what it rests on.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, Final

from specmini import catalog, checks
from specmini.configuration import wording
from specmini.configuration.configuration import DEFAULT_CONTEXT, Configuration
from specmini.roofline.shape import Model

__all__ = ["DEFAULT_LENGTH", "LOCAL_BITS", "configure", "shape_of_size"]

# Steps that engines draft unless told: SGLang's 3 for models other than Llama, llama.cpp's 3,
# vLLM's recipes for MTP 1 to 2, Transformers' 5 before 2025, mlx-lm's 2.
DEFAULT_LENGTH: Final = {
    "draft model": 5,
    "eagle": 3,
    "eagle-3": 3,
    "mtp": 2,
    "block": 4,
    "lookup": 5,
}
MOST_PARAMETERS: Final = 1e15
LOCAL_BITS: Final = 4.8  # what a Q4_K_M file takes a weight
_NUMBERS: Final = {"bandwidth": "bandwidth", "peak_flops": "peak", "memory": "memory"}


def configure(
    target: str,
    drafter: str,
    *,
    machine: str = "",
    memory: float | None = None,
    bandwidth: float | None = None,
    peak_flops: float | None = None,
    devices: int | None = None,
    engine: str = "",
    weights: str = "",
    draft_weights: str = "",
    draft_length: str = "",
    concurrency: int | None = None,
    context: int | None = None,
    acceptance: str = "",
    acceptance_is: str = "tokens per round",
    early_stop: bool = False,
) -> Configuration:
    """A configuration from words; see ``specmini.configuration.wording`` for what is understood.

    Args:
        target: model name or size, such as "Qwen3-32B" or "35B-A3B"; an 8B model if no size is
            told.
        drafter: such as "EAGLE-3", "MTP", "ngram" or "draft model Qwen3-0.6B".
        machine: such as "2x H100"; without one an H100 for a server, else an RTX 4090.
        memory: of one device, bytes; else what ``machine`` says.
        bandwidth: of one device's memory, bytes/s; else that of ``machine``.
        peak_flops: dense 16-bit matrix operations of one device, FLOP/s; else those of ``machine``.
        devices: that share every matrix; else, on a server, as many as ``machine`` says.
        engine: such as "vLLM" or "llama.cpp"; without one a server if the machine is one of a
            data center.
        weights: such as "Q4_K_M"; without them 16 bits on a server, else 4.8.
        draft_weights: of the draft model; those of the target if not told.
        draft_length: such as "4" or "tree 3,3,8"; else ``DEFAULT_LENGTH``.
        concurrency: requests in flight, 1 if not told.
        context: positions, 512 if not told.
        acceptance: as printed.
        acceptance_is: what the number is: "mean acceptance length", "tokens per round" or
            "accepted / drafted".
        early_stop: rounds stop drafting when the drafter is unsure, so that a share of drafted
            tokens does not tell E.

    Raises:
        ValueError: drafter names none, or a number is out of range.
    """
    assumed: list[str] = []

    def default(value: str, reason: str) -> None:
        assumed.append(f"{value} ({reason})")

    kind = wording.read_drafter(drafter)
    if kind is None:
        raise ValueError(f"drafter must name one of {', '.join(wording.DRAFTERS)}, got {drafter!r}")
    found = wording.read_machine(machine)
    place = wording.read_engine(engine)
    if place is None:
        served = found is not None and found.platform == "data center"
        place = "server" if served else "local"
        default(f"a {place} engine", f"{engine!r} is not known" if engine else "none named")
    platform = found.platform if found else ("data center" if place == "server" else "card")
    key = found.key if found and found.key else ("h100" if place == "server" else "rtx-4090")
    if memory is None and (written := re.search(r"(\d+) ?gb", machine.casefold())):
        memory = float(written[1]) * 1e9
    own = {"bandwidth": bandwidth, "peak_flops": peak_flops, "memory": memory}
    told: dict[str, Any] = {name: number for name, number in own.items() if number is not None}
    one = replace(catalog.machine(key), **told)
    count = wording.read_devices(machine)
    sharing = count if place == "server" and one.interconnect else 1
    if devices is not None:
        sharing = devices
    exact = found is not None and found.exact
    untold = [] if exact else [words for name, words in _NUMBERS.items() if name not in told]
    if sharing > 1 and not exact:
        untold.append("interconnect")
    if untold:
        reason = "no known machine named"
        if found:
            reason = f"the nearest to {machine}" if found.key else f"not known of {machine}"
        default(f"{_listed(untold)} of {one.name}", reason)
    bits = wording.read_bits(weights)
    if bits is None:
        bits = wording.read_bits(target)
    if bits is None:
        bits = 16.0 if place == "server" else LOCAL_BITS
        default(f"{bits:g} bits a weight", f"none in {weights!r}" if weights else "none named")
    draft_bits = wording.read_bits(draft_weights)
    if draft_bits is None:
        draft_bits = bits
        if draft_weights:
            default(f"{bits:g} bits a weight of the draft", f"none in {draft_weights!r}")
    if found is None and (place == "local" or bits < 8):  # where the kernels depend on the machine
        platforms = {"card": "a graphics card", "data center": "a data center"}
        default(f"kernels of {platforms[platform]}", "no known machine named")
    size = wording.read_size(target)
    if size is None:
        size = wording.Size(8e9, 8e9, "llama-3.1-8b")
        default("a dense target of 8 billion parameters", f"no size in {target!r}")
    draft_size = wording.read_size(drafter) if kind == "draft model" else None
    if kind == "draft model" and draft_size is None:
        draft_size = wording.Size(1e9, 1e9)
        default("a draft of 1 billion parameters", f"no size in {drafter!r}")
    for name, text, of in (("target", target, size), ("drafter", drafter, draft_size)):
        if of and not 0 < of.active <= of.parameters <= MOST_PARAMETERS:
            raise ValueError(
                f"{name} must have between 0 and {MOST_PARAMETERS:g} parameters, of which a token "
                f"meets at most all, got {text!r}"
            )
    length, nodes = wording.read_draft_length(draft_length, drafter)
    if length is None:
        length = 2 if "mlx" in engine.casefold() else DEFAULT_LENGTH[kind]
        default(f"K = {length}", "no draft length told")
    tokens = None
    if not early_stop:
        tokens = wording.read_acceptance(acceptance, acceptance_is, length)
    if place == "local":  # layers are split over devices, which hold the model together
        one = replace(one, memory=count * one.memory)
    in_cpu_memory = wording.in_cpu_memory(f"{machine} {weights}")
    held = "memory" in told or exact
    if place == "local" and held and size.parameters * bits / 8 > one.memory:
        in_cpu_memory = True
        default(
            "the rest of the weights in CPU memory", f"{one.memory / 1e9:.0f} GB do not hold them"
        )
    shape = shape_of_size(size)
    most = max(
        (n for n in range(1, min(sharing, shape.heads) + 1) if shape.heads % n == 0), default=0
    )
    if most < sharing:
        default(
            f"every matrix on {most} devices", f"{shape.heads} heads do not divide over {sharing}"
        )
    return Configuration(
        shape,
        one,
        place,
        _kernels(place, "cpu" if in_cpu_memory else platform, bits, size.sparse),
        kind,
        length,
        bits=bits,
        draft=shape_of_size(draft_size) if draft_size else None,
        draft_bits=draft_bits,
        devices=sharing,
        check_tokens=nodes,
        concurrency=1 if concurrency is None else concurrency,
        context=DEFAULT_CONTEXT if context is None else context,
        tokens_per_round=tokens,
        assumed=tuple(assumed),
    )


def shape_of_size(size: wording.Size) -> Model:
    """The shape of a model, or that of the nearest of the catalog with more or fewer layers.

    Args:
        size: numbers of parameters; nearest is meant in the logarithm of all parameters, among
            dense models for a dense one and among mixtures for a mixture.

    Raises:
        ValueError: a number of parameters is not positive and finite.
    """
    if size.key:
        return catalog.model(size.key)
    for name in ("parameters", "active"):
        checks.single(name, checks.positive(name, getattr(size, name)))
    alike = [
        model
        for model in catalog.models().values()
        if (model.experts is not None) == size.sparse and not model.latent and not model.positions
    ]
    nearest = min(alike, key=lambda model: abs(math.log(model.parameters / size.parameters)))
    layers = max(round(nearest.layers * size.parameters / nearest.parameters), 1)
    windowed = min(nearest.windowed_layers, layers)
    return replace(
        nearest,
        name=f"{size.parameters / 1e9:g}B like {nearest.name}",
        layers=layers,
        windowed_layers=windowed,
        window=nearest.window if windowed else None,
    )


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1])] * (len(words) > 1) + words[-1:])


def _kernels(place: str, platform: str, bits: float, sparse: bool) -> str:
    """The class of a configuration; the first that applies."""
    if sparse:
        return "experts"
    if place == "server" and not (bits < 8 and platform == "card"):
        return "server"
    return "card" if platform == "data center" else platform
