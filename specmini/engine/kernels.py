"""Ways to multiply by a weight matrix in torch, of which each machine has some.

All compute the same function, float32 in and out, to rounding. They differ in how the matrix is
laid out in memory, and that decides how long a decoding step takes: for a few rows the time goes
into reading the matrix, not into arithmetic.

Not among them, since they would be another function: kernels that round the *activations* to 8 bits
or to bfloat16. A row's rounding then depends on the rows it is batched with, so a target that
verifies would not be the target that decodes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor, nn

__all__ = ["Kernel", "available_kernels", "is_half_exact"]

Kernel = Callable[[Tensor, Tensor], nn.Module]  # from (N, M) and (N,), applied to (T, M)


class PlainLinear(nn.Module):
    """The matrix as torch stores it; works everywhere."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = weight, bias

    def forward(self, x: Tensor) -> Tensor:
        """(T, M) to (T, N)."""
        return F.linear(x, self.weight, self.bias)


class HalfLinear(nn.Module):
    """The matrix in 16 bits, in FBGEMM's order of blocks: half the bytes to read.

    The numbers are widened to float32 on the way in, so results are those of float32 weights if
    ``is_half_exact``.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        with warnings.catch_warnings():
            # "deprecated", but its successor's calls took longer on the machine this was written on
            warnings.simplefilter("ignore")
            self.packed = torch.fbgemm_pack_gemm_matrix_fp16(weight)
            self.bias = bias
            self.forward(weight[:1])

    def forward(self, x: Tensor) -> Tensor:
        """(T, M) to (T, N)."""
        return torch.fbgemm_linear_fp16_weight_fp32_activation(x, self.packed, self.bias)


class PackedLinear(nn.Module):
    """The matrix in float32, in oneDNN's order of blocks."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        few = 5  # rows that the order is chosen for
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, few)
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        """(T, M) to (T, N)."""
        no_activation: list[float | int | None] = []
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.packed, self.bias, "none", no_activation, ""
        )
        return product


def is_half_exact(module: nn.Module) -> bool:
    """Whether every matrix of a module holds only numbers that 16-bit floats hold too."""
    return all(
        torch.equal(weight.half().to(weight.dtype), weight)
        for weight in module.parameters()
        if weight.dim() == 2
    )


def available_kernels(module: nn.Module) -> dict[str, Kernel]:
    """The kernels that run on this machine and compute a module's function, by name."""
    candidates: dict[str, Kernel] = {"torch": PlainLinear, "oneDNN": PackedLinear}
    if is_half_exact(module):
        candidates["fp16"] = HalfLinear
    return {name: kernel for name, kernel in candidates.items() if _runs(kernel)}


def _runs(kernel: Kernel) -> bool:
    """Whether a kernel works here: some builds lack it, and say so only when it is called."""
    identity = torch.eye(16)
    try:
        product = kernel(identity, torch.ones(16))(identity)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return torch.equal(product, identity + 1)
