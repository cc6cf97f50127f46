"""A configuration: what somebody runs, as far as it decides whether speculation pays.

``specmini.configuration.defaults`` makes one from words.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Final

from specmini import checks
from specmini.configuration import wording
from specmini.roofline.machine import Machine
from specmini.roofline.shape import Model
from specmini.theory.positions import falling_survival

__all__ = [
    "CLASSES",
    "Configuration",
    "PlainTime",
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

DEFAULT_CONTEXT: Final = 512


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
        drafter: one of ``specmini.configuration.wording.DRAFTERS``.
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

    @property
    def split_draft(self) -> bool:
        """A draft model that runs on several devices."""
        return self.draft is not None and self.devices > 1

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
