"""How a run trains: sizes, rates and their schedule, and what is learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from specmini.checks import choice
from specmini.training.lessons import Objective

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """How a run trains; all may change when it is resumed, but for the seed with good reason.

    Attributes:
        batch: windows a step.
        length: tokens that a window predicts.
        prose_share: chance that a window is prose.
        matrix_rate: Muon's learning rate.
        other_rate: Adam's learning rate.
        warm_up: steps over which the rates rise.
        decay_from: step at which the rates start to fall; None while the run is stable.
        decay_steps: steps over which they fall to zero.
        seed: of the initial weights and of the windows.
        objective: what a student shall have with its teacher (see ``lessons``).
        passes: guesses of a round that a head learns, S.

    Raises:
        ValueError: a number is out of its range, or an unknown objective.
    """

    batch: int = 16
    length: int = 256
    prose_share: float = 0.35
    matrix_rate: float = 0.02
    other_rate: float = 0.003
    warm_up: int = 50
    decay_from: int | None = None
    decay_steps: int = 1
    seed: int = 0
    objective: Objective = "likelihood"
    passes: int = 1

    def __post_init__(self) -> None:
        choice("objective", self.objective, get_args(Objective))
        for name in ("batch", "length", "warm_up", "decay_steps", "passes"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("matrix_rate", "other_rate"):
            if not 0 < (rate := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {rate}")
        if not 0 <= self.prose_share <= 1:
            raise ValueError(f"prose_share must be in [0, 1], got {self.prose_share}")

    def rate(self, step: int) -> float:
        """Factor on both learning rates at a step, in [0, 1]."""
        rising = min(1.0, (step + 1) / self.warm_up)
        if self.decay_from is None or step < self.decay_from:
            return rising
        return rising * max(0.0, 1 - (step - self.decay_from) / self.decay_steps)
