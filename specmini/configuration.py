"""A configuration: what somebody runs, as far as it decides whether speculation pays.

``configure`` makes one from words and numbers and fills what is missing with a default that the
configuration remembers in ``assumed``, so that an answer can say what it rests on.
"""

from __future__ import annotations

import math
import re
from dataclasses import KW_ONLY, dataclass, replace
from typing import Final

from specmini import catalog, checks, wording
from specmini.machine import Machine
from specmini.positions import falling_survival
from specmini.shape import Model

__all__ = [
    "CLASSES",
    "DEFAULT_LENGTH",
    "Configuration",
    "PlainTime",
    "configure",
    "shape_of_size",
]

CLASSES: Final = {
    "server": "a serving engine on tensor cores",
    "experts": "a mixture of experts",
    "card": "quantized weights on a graphics card",
    "old card": "quantized weights on a card whose tensor cores the kernels do not use",
    "apple": "an Apple GPU",
    "unified": "a GPU that shares the CPU's memory",
    "cpu": "weights in CPU memory",
}

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
DEFAULT_CONTEXT: Final = 512
LOCAL_BITS: Final = 4.8  # what a Q4_K_M file takes a weight


@dataclass(frozen=True)
class PlainTime:
    """Time of an output token without speculation, measured.

    Attributes:
        concurrency: requests in flight.
        seconds: time of an output token after the first.
        running: mean number of requests that were decoding, output tokens a second times
            ``seconds``; ``None`` if the rate is not known.

    Raises:
        ValueError: a number is not positive.
    """

    concurrency: int
    seconds: float
    running: float | None = None

    def __post_init__(self) -> None:
        checks.single(
            "concurrency", checks.whole_number("concurrency", self.concurrency, minimum=1)
        )
        checks.single("seconds", checks.positive("seconds", self.seconds))
        if self.running is not None:
            checks.single("running", checks.positive("running", self.running))


@dataclass(frozen=True)
class Configuration:
    """Target, machine, drafter and load.

    Attributes:
        target: shape of the target.
        machine: one accelerator; its bandwidth and peak matter in the class "server" and with
            experts, its memory always.
        engine: "server" for one that batches and captures graphs, "local" for one on a desk.
        kernels: class of kernels that check a few tokens at once, a key of ``CLASSES``.
        drafter: one of ``specmini.wording.DRAFTERS``.
        draft_length: K, drafting steps a round.
        bits: that a stored weight of the target takes.
        draft: shape of a draft model; ``None`` for other drafters.
        draft_bits: that a stored weight of the draft takes.
        devices: that share every matrix.
        check_tokens: tokens of a sequence in a check; ``None`` for K + 1, more for a tree.
        concurrency: requests in flight.
        context: positions of each in the cache.
        tokens_per_round: E as measured with this K, ``None`` if it is not known.
        survival: share of rounds that accept at least i drafts, i = 1..K, as measured; empty if
            it is not known. For a smaller K it tells E exactly.
        cost_ratio: c as measured, ``None`` to work it out.
        plain_times: measured without speculation, in order of concurrency.
        prompt_share: prompt tokens that the engine takes in for each token it puts out.
        fitting: sequences that fit into memory without and with the drafter, as an engine's log
            tells; ``None`` to work it out.
        assumed: what was taken for granted, in words.

    Raises:
        ValueError: a field is out of its range; the message names it.
    """

    target: Model
    machine: Machine
    engine: str
    kernels: str
    drafter: str
    draft_length: int
    _: KW_ONLY
    bits: float = 16.0
    draft: Model | None = None
    draft_bits: float = 16.0
    devices: int = 1
    check_tokens: int | None = None
    concurrency: int = 1
    context: int = DEFAULT_CONTEXT
    tokens_per_round: float | None = None
    survival: tuple[float, ...] = ()
    cost_ratio: float | None = None
    plain_times: tuple[PlainTime, ...] = ()
    prompt_share: float = 0.0
    fitting: tuple[float, float] | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.choice("engine", self.engine, wording.ENGINES)
        checks.choice("kernels", self.kernels, tuple(CLASSES))
        checks.choice("drafter", self.drafter, wording.DRAFTERS)
        for name in ("draft_length", "devices", "concurrency"):
            checks.single(name, checks.whole_number(name, getattr(self, name), minimum=1))
        checks.single("context", checks.whole_number("context", self.context))
        for name in ("bits", "draft_bits"):
            checks.single(name, checks.positive(name, getattr(self, name)))
        checks.single("prompt_share", checks.non_negative("prompt_share", self.prompt_share))
        if self.cost_ratio is not None:
            checks.single("cost_ratio", checks.non_negative("cost_ratio", self.cost_ratio))
        if (self.draft is None) == (self.drafter == "draft model"):
            raise ValueError(
                f"draft must be a Model for a draft model and None for {self.drafter!r}, "
                f"got {self.draft!r}"
            )
        if self.check_tokens is not None:
            checks.single(
                "check_tokens", checks.whole_number("check_tokens", self.check_tokens, minimum=2)
            )
        highest = max(self.draft_length, (self.check_tokens or 1) - 1) + 1
        if self.tokens_per_round is not None and not 1 <= self.tokens_per_round <= highest:
            raise ValueError(
                f"tokens_per_round must be in [1, {highest}] (one more than the draft length), "
                f"got {self.tokens_per_round!r}"
            )
        falling_survival("survival", self.survival or (1.0,))
        if len(self.survival) not in (0, self.draft_length):
            raise ValueError(
                f"survival must hold draft_length = {self.draft_length} numbers or none, "
                f"got {len(self.survival)}"
            )
        if [one.concurrency for one in self.plain_times] != sorted(
            {one.concurrency for one in self.plain_times}
        ):
            raise ValueError(
                "plain_times must have rising concurrencies, "
                f"got {[one.concurrency for one in self.plain_times]}"
            )

    @property
    def tokens_checked(self) -> int:
        """Tokens of one sequence in a check."""
        return self.check_tokens or self.draft_length + 1

    @property
    def drafting_steps(self) -> int:
        """Passes of the drafter in a round: K, one for a block drafter, none for a lookup."""
        return {"block": 1, "lookup": 0}.get(self.drafter, self.draft_length)

    def with_length(self, draft_length: int) -> Configuration:
        """The same with another K, as a chain; E is known where survival by position tells it."""
        left = self.survival[:draft_length] if draft_length <= len(self.survival) else ()
        return replace(
            self,
            draft_length=draft_length,
            check_tokens=None,
            tokens_per_round=1 + sum(left) if left else None,
            survival=left,
        )


def configure(
    target: str,
    drafter: str,
    *,
    machine: str = "",
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
    """A configuration from words; see ``specmini.wording`` for what is understood.

    Args:
        target: model name or size, such as "Qwen3-32B" or "35B-A3B"; an 8B model if no size is
            told.
        drafter: such as "EAGLE-3", "MTP", "ngram" or "draft model Qwen3-0.6B".
        machine: such as "2x H100"; without one an H100 for a server, else an RTX 4090.
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
        ValueError: target or drafter is empty, or a number is out of range.
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
        if engine == "":
            default(f"a {place} engine", "none named")
    platform = found.platform if found else ("data center" if place == "server" else "card")
    if found is None:
        default("H100" if place == "server" else "a graphics card", "no known machine named")
    key = found.key if found and found.key else ("h100" if place == "server" else "rtx-4090")
    if found and found.key and not found.exact:
        default(f"bandwidth and peak of {catalog.machine(key).name}", f"the nearest to {machine}")
    one = catalog.machine(key)
    if gigabytes := re.search(r"(\d+) ?gb", machine.casefold()):
        one = replace(one, memory=float(gigabytes[1]) * 1e9)
    bits = wording.read_bits(weights) or wording.read_bits(target)
    if bits is None:
        bits = 16.0 if place == "server" else LOCAL_BITS
        default(f"{bits:g} bits a weight", "none named")
    size = wording.read_size(target)
    if size is None:
        size = wording.Size(8e9, 8e9, "llama-3.1-8b")
        default("a dense target of 8 billion parameters", f"no size in {target!r}")
    draft_size = wording.read_size(drafter) if kind == "draft model" else None
    if kind == "draft model" and draft_size is None:
        draft_size = wording.Size(1e9, 1e9)
        default("a draft of 1 billion parameters", f"no size in {drafter!r}")
    length, nodes = wording.read_draft_length(draft_length, drafter)
    if length is None:
        length = 2 if "mlx" in engine.casefold() else DEFAULT_LENGTH[kind]
        default(f"K = {length}", "no draft length told")
    tokens = None
    if not early_stop:
        tokens = wording.read_acceptance(acceptance, acceptance_is, length)
    in_cpu_memory = wording.in_cpu_memory(f"{machine} {weights}")
    devices = wording.read_devices(machine)
    return Configuration(
        shape_of_size(size),
        one,
        place,
        _kernels(place, "cpu" if in_cpu_memory else platform, bits, size.sparse),
        kind,
        length,
        bits=bits,
        draft=shape_of_size(draft_size) if draft_size else None,
        draft_bits=wording.read_bits(draft_weights) or bits,
        devices=devices if place == "server" and one.interconnect else 1,
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
    """
    if size.key:
        return catalog.model(size.key)
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


def _kernels(place: str, platform: str, bits: float, sparse: bool) -> str:
    """The class of a configuration; the first that applies."""
    if sparse:
        return "experts"
    if place == "server" and not (bits < 8 and platform == "card"):
        return "server"
    return "card" if platform == "data center" else platform
