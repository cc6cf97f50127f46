"""What a pass costs beside its own bytes and operations: launches, bookkeeping, and peers.

All of it is zero unless told. A catalog cannot know it: it belongs to an engine, and is fitted to
times that were measured. What it does to speculation is easy to say. A cost a pass or a layer is
paid by the plain step as well as by the check, so it pulls the verify cost towards 1; the draft
pays it K times a round, so it raises the cost ratio. A cost a token is paid K + 1 times by a check.
"""

from __future__ import annotations

from dataclasses import dataclass

from specmini import checks
from specmini.checks import FloatArray

__all__ = ["NO_OVERHEAD", "Overhead", "all_reduce_time"]


@dataclass(frozen=True)
class Overhead:
    """Seconds that an engine adds to a pass. All default to 0.

    Attributes:
        seconds_per_pass: to schedule and launch a pass and to return its result.
        seconds_per_layer: to launch the kernels of a layer, as far as the device waits for them.
        seconds_per_sequence: for each sequence of the batch, such as tables of its cache.
        seconds_per_token: for each new token, such as softmax and sampling over the vocabulary.
        transfer_latency: for one device to start sending to its neighbour.

    Raises:
        ValueError: one is negative or not finite.
    """

    seconds_per_pass: float = 0.0
    seconds_per_layer: float = 0.0
    seconds_per_sequence: float = 0.0
    seconds_per_token: float = 0.0
    transfer_latency: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, checks.single(name, checks.non_negative(name, value)))

    def pass_time(self, layers: int, batch: FloatArray, new_tokens: FloatArray) -> FloatArray:
        """Seconds it adds to a pass over ``batch`` sequences of ``new_tokens`` each, unchecked."""
        fixed = self.seconds_per_pass + layers * self.seconds_per_layer
        return fixed + batch * (self.seconds_per_sequence + new_tokens * self.seconds_per_token)


NO_OVERHEAD = Overhead()


def all_reduce_time(
    message: FloatArray, devices: int, interconnect: float, transfer_latency: float
) -> FloatArray:
    """Seconds to add up one array over all devices in a ring, unchecked.

    In ``devices - 1`` steps every device comes to hold one finished slice, and in as many more it
    passes the slices on; each step sends 1 / devices of the message. No order of sending moves
    fewer bytes. For the small messages of decoding, engines use kernels of fewer steps, so what
    ``transfer_latency`` stands for there is their whole latency over these steps.

    Args:
        message: bytes of the array, any shape.
        devices: number of devices, at least 1.
        interconnect: bytes/s that a device sends.
        transfer_latency: seconds before a step's first byte arrives.

    Returns:
        Seconds, same shape.

    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", Journal of Parallel and Distributed Computing 69(2), 2009.
    """
    steps = 2 * (devices - 1)
    return steps * (transfer_latency + message / devices / interconnect)
