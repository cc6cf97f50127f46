"""A model on a machine: everything about a pass but its load, said once.

The questions about batches ask for many passes of two models. A ``Deployment`` carries what stays
the same in all of them, and answers with ``specmini.roofline``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar

from numpy.typing import ArrayLike

from specmini import checks, roofline
from specmini.checks import FloatArray
from specmini.roofline import PassTime
from specmini.roofline.experts import Touched
from specmini.roofline.machine import Machine
from specmini.roofline.overhead import NO_OVERHEAD, Overhead
from specmini.roofline.shape import Model

__all__ = ["Deployment"]

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Deployment:
    """A model on a machine.

    Attributes:
        machine: the accelerator.
        model: the shape of the model.
        bytes_per_weight: bytes a stored weight takes.
        bytes_per_cache_value: bytes a number in the key-value cache takes.
        arithmetic_bits: width of what the linear layers multiply: 16, 8 or 4.
        devices: devices that share every matrix (tensor parallelism).
        overhead: what the engine adds to a pass.
        experts_touched: see ``specmini.roofline.pass_time``.

    Raises:
        ValueError: one of them does not fit the others or its range.
    """

    machine: Machine
    model: Model
    _: KW_ONLY
    bytes_per_weight: float = 2
    bytes_per_cache_value: float = 2
    arithmetic_bits: int = 16
    devices: int = 1
    overhead: Overhead = NO_OVERHEAD
    experts_touched: Touched = None

    def __post_init__(self) -> None:
        for name in ("bytes_per_weight", "bytes_per_cache_value"):
            checks.single(name, checks.positive(name, getattr(self, name)))
        self.pass_time(1, 1, 0)

    def pass_time(self, batch: ArrayLike, new_tokens: ArrayLike, context: ArrayLike) -> PassTime:
        """Time of a pass, see ``specmini.roofline.pass_time``."""
        return self._ask(roofline.pass_time, batch, new_tokens, context)

    def verify_cost(
        self, batch: ArrayLike, draft_length: ArrayLike, context: ArrayLike
    ) -> FloatArray:
        """Time to verify over time of a plain step, see ``specmini.roofline.verify_cost``."""
        return self._ask(roofline.verify_cost, batch, draft_length, context)

    def memory_needed(self, batch: ArrayLike, context: ArrayLike) -> FloatArray:
        """Bytes of one device for the weights and a cache of ``context`` positions a sequence.

        Args:
            batch: sequences, whole numbers >= 1, any shape.
            context: positions of each, whole numbers >= 1, any shape that broadcasts.

        Raises:
            ValueError: an argument is out of range or the shapes do not broadcast.
        """
        positions = checks.whole_number("context", context, minimum=1)
        return self.pass_time(batch, 1, positions - 1).memory_needed

    @property
    def ridge_tokens(self) -> float:
        """Tokens a pass at which a dense model's reading and arithmetic take equally long."""
        return float(
            roofline.ridge_tokens(self.machine, self.bytes_per_weight, self.arithmetic_bits)
        )

    def _ask(
        self,
        question: Callable[..., Answer],
        batch: ArrayLike,
        tokens: ArrayLike,
        context: ArrayLike,
    ) -> Answer:
        """What a function of ``specmini.roofline`` says of this deployment under a load."""
        return question(
            self.machine,
            self.model,
            batch,
            tokens,
            context,
            self.bytes_per_weight,
            self.bytes_per_cache_value,
            arithmetic_bits=self.arithmetic_bits,
            devices=self.devices,
            overhead=self.overhead,
            experts_touched=self.experts_touched,
        )
