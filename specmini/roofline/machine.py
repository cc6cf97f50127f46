"""A machine: what one accelerator can compute, read, hold and send."""

from __future__ import annotations

import datetime
from dataclasses import KW_ONLY, dataclass

from specmini import checks

__all__ = ["ARITHMETIC_BITS", "Machine"]

ARITHMETIC_BITS = (16, 8, 4)


@dataclass(frozen=True)
class Machine:
    """One accelerator. ``None`` stands for a number that no public document states.

    Attributes:
        name: as a reader knows it.
        peak_flops: dense 16-bit matrix operations with 32-bit accumulation, FLOP/s. For a machine
            that was measured: of the arithmetic it was measured with.
        bandwidth: device memory bandwidth, bytes/s.
        memory: device memory, bytes.
        source: where the numbers come from.
        checked_on: the day they were last read there.
        peak_flops_8bit: dense 8-bit matrix operations, FLOP/s.
        peak_flops_4bit: dense 4-bit floating-point matrix operations, FLOP/s.
        interconnect: bytes/s that one device can send to its peers while it receives as much
            (vendors print the sum of both directions, which is twice that).

    Raises:
        ValueError: a number is not positive and finite.
    """

    name: str
    peak_flops: float | None
    bandwidth: float
    memory: float
    source: str
    checked_on: datetime.date
    _: KW_ONLY
    peak_flops_8bit: float | None = None
    peak_flops_4bit: float | None = None
    interconnect: float | None = None

    def __post_init__(self) -> None:
        needed = ("bandwidth", "memory")
        optional = ("peak_flops", "peak_flops_8bit", "peak_flops_4bit", "interconnect")
        known = [number for number in optional if getattr(self, number) is not None]
        for number in (*needed, *known):
            checked = checks.positive(number, getattr(self, number))
            object.__setattr__(self, number, checks.single(number, checked))

    def peak(self, bits: int = 16) -> float:
        """Return the dense matrix peak of an arithmetic, FLOP/s.

        Args:
            bits: width of the numbers that are multiplied: 16, 8 or 4.

        Raises:
            ValueError: there is no such arithmetic, or its peak is not documented.
        """
        peaks = (self.peak_flops, self.peak_flops_8bit, self.peak_flops_4bit)
        if isinstance(bits, bool) or bits not in ARITHMETIC_BITS:
            raise ValueError(f"bits must be one of {list(ARITHMETIC_BITS)}, got {bits!r}")
        peak = peaks[ARITHMETIC_BITS.index(bits)]
        if peak is None:
            raise ValueError(
                f"bits must be an arithmetic with a documented peak, and none is documented for "
                f"{bits}-bit arithmetic on {self.name}, got {bits}; "
                "measure it and use dataclasses.replace"
            )
        return peak
