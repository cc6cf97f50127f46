"""Muon for the matrices inside blocks, Adam for everything else, in one small object.

Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/) replaces a matrix's averaged
gradient by the nearest matrix whose singular values are all about 1. In trial runs on this problem,
on the machine this was written on, it needed fewer tokens than AdamW for the same loss. Adam:
Kingma and Ba 2015, arXiv:1412.6980.

``torch.optim.Muon`` exists, but orthogonalises in bfloat16. On the machine this was written on,
which has no bfloat16 instructions, that took far longer than the rest of the step; here it is
float32.
The state is a flat table of tensors, so that it can be stored beside the weights without pickle.
"""

from __future__ import annotations

from typing import Final, cast

import torch
from torch import Tensor, nn

__all__ = ["Optimizer", "orthogonalize"]

# quintic a·s + b·s³ + c·s⁵ that pushes singular values from (0, 1] to about [0.7, 1.2] in 5 rounds
quintic: Final = (3.4445, -4.7750, 2.0315)
momentum: Final = 0.95
betas: Final = (0.9, 0.98)
# names of Muon's matrices
inside: Final = ("h.", "from_target.", "from_self.", "from_feature.", "from_token.", "hidden.")


class Optimizer:
    """Updates a model's weights from their gradients.

    Args:
        model: the model; matrices of its blocks, and those that read features, go to Muon.
        matrix_rate: Muon's learning rate.
        other_rate: Adam's learning rate.
    """

    def __init__(self, model: nn.Module, matrix_rate: float, other_rate: float) -> None:
        self.matrix_rate = matrix_rate
        self.other_rate = other_rate
        self.weights = dict(model.named_parameters())
        self.steps = 0
        self.state: dict[str, Tensor] = {}
        for name, weight in self.weights.items():
            for slot in ("momentum",) if _is_matrix(name, weight) else ("first", "second"):
                self.state[f"{slot}.{name}"] = torch.zeros_like(weight)

    def load(self, state: dict[str, Tensor], steps: int) -> None:
        """Continue from a stored state; a weight without one (a grown layer) starts from zero."""
        self.steps = steps
        for key in self.state.keys() & state.keys():
            self.state[key].copy_(state[key])

    @torch.no_grad()
    def step(self, scale: float = 1.0) -> None:
        """Apply the gradients with both rates multiplied by ``scale``, then clear them."""
        self.steps += 1
        for name, weight in self.weights.items():
            if weight.grad is None:
                continue
            if _is_matrix(name, weight):
                self._muon(name, weight, weight.grad, scale * self.matrix_rate)
            else:
                self._adam(name, weight, weight.grad, scale * self.other_rate)
            weight.grad = None

    def _muon(self, name: str, weight: Tensor, gradient: Tensor, rate: float) -> None:
        average = self.state[f"momentum.{name}"]
        average.lerp_(gradient, 1 - momentum)
        update = orthogonalize(gradient.lerp(average, momentum))  # Nesterov's look ahead
        taller = max(1.0, weight.shape[0] / weight.shape[1])
        weight.add_(update, alpha=-rate * taller**0.5)

    def _adam(self, name: str, weight: Tensor, gradient: Tensor, rate: float) -> None:
        first, second = self.state[f"first.{name}"], self.state[f"second.{name}"]
        first.lerp_(gradient, 1 - betas[0])
        second.lerp_(gradient.square(), 1 - betas[1])
        unbiased = second.div(1 - betas[1] ** self.steps).sqrt_().add_(1e-10)
        weight.addcdiv_(first, unbiased, value=-rate / (1 - betas[0] ** self.steps))


def orthogonalize(matrix: Tensor, rounds: int = 5) -> Tensor:
    """The nearest matrix with all singular values about 1, by a Newton-Schulz iteration.

    Args:
        matrix: (M, N).
        rounds: iterations of the quintic; with 5, singular values end in about [0.7, 1.2].
    """
    a, b, c = quintic
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix  # (m, n) with m <= n: the products below are m by m
    x = x / (x.norm() + 1e-10)
    for _ in range(rounds):
        gram = x @ x.T  # (m, m)
        x = a * x + torch.addmm(gram, gram, gram, beta=b, alpha=c) @ x  # (m, n)
    return cast(Tensor, x.T if tall else x)


def _is_matrix(name: str, weight: Tensor) -> bool:
    is_inside = name.startswith(inside) or ".h." in name
    return is_inside and weight.dim() == 2
