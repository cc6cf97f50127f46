"""A speedup from clocks, and how sure it is: prompts are the units.

The speedup is a ratio of sums over prompts. Each prompt moves its logarithm by its share of the
seconds less its share of the tokens, on both sides together. These influences give the standard
error (the delta method); Student's t allows for few prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from specmini.checks import FloatArray
from specmini.measure.student import student_t

__all__ = ["Timed", "TokensAndSeconds", "pooled_speedup", "speedup_interval"]


class TokensAndSeconds(Protocol):
    """What was written for a prompt, and how long it took."""

    @property
    def tokens(self) -> int:
        """New tokens."""

    @property
    def seconds(self) -> float:
        """Time they took."""


@dataclass(frozen=True)
class Timed:
    """The least that has tokens and seconds.

    Attributes:
        tokens: new tokens.
        seconds: time they took.
    """

    tokens: int
    seconds: float


def pooled_speedup(
    plain: Sequence[TokensAndSeconds], speculative: Sequence[TokensAndSeconds]
) -> float:
    """Time of a plain token over time of a speculative one, all prompts pooled.

    Args:
        plain: one entry a prompt.
        speculative: the same.

    Raises:
        ValueError: a side is empty.
    """
    for name, side in (("plain", plain), ("speculative", speculative)):
        if not side:
            raise ValueError(f"{name} must hold at least one prompt, got none")
    before, after = (
        sum(one.seconds for one in side) / sum(one.tokens for one in side)
        for side in (plain, speculative)
    )
    return before / after


def speedup_interval(
    plain: Sequence[TokensAndSeconds],
    speculative: Sequence[TokensAndSeconds],
    level: float = 0.95,
) -> tuple[float, float]:
    """Confidence interval of a speedup.

    It covers that other prompts of the same kind would give other texts, and the noise of the
    clock that comes and goes between prompts. It does not cover another machine, another kernel,
    or a slow drift of this one.

    Args:
        plain: one entry a prompt.
        speculative: the same prompts, in the same order.
        level: chance to cover, in (0, 1).

    Raises:
        ValueError: fewer than two prompts, numbers of prompts that differ, or a level outside
            (0, 1).
    """
    prompts = len(plain)
    if prompts < 2:
        raise ValueError(f"an interval needs at least 2 prompts, got {prompts}")
    if len(speculative) != prompts:
        raise ValueError(
            f"speculative must have the {prompts} prompts of plain, got {len(speculative)}"
        )
    before, after = map(_influences, (plain, speculative))  # each (N,), with sum 0
    error = np.sqrt(prompts / (prompts - 1) * ((before - after) ** 2).sum())
    factor = float(np.exp(student_t(level, prompts - 1) * float(error)))
    middle = pooled_speedup(plain, speculative)
    return middle / factor, middle * factor


def _influences(side: Sequence[TokensAndSeconds]) -> FloatArray:
    seconds = np.array([one.seconds for one in side], dtype=np.float64)  # (N,)
    tokens = np.array([one.tokens for one in side], dtype=np.float64)  # (N,)
    influences: FloatArray = seconds / seconds.sum() - tokens / tokens.sum()
    return influences
