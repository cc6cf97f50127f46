"""Mixture of experts: many MLPs side by side of which each token visits a few.

A dense MLP is read once a pass, whatever the number of tokens. An expert is read only if one of
the pass's tokens is routed to it, so a pass reads more weights the more tokens it holds, until all
experts are touched. That is why checking a draft is not free here even at batch 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray

__all__ = ["Experts", "Touched", "experts_touched"]

Touched: TypeAlias = ArrayLike | Callable[[FloatArray], ArrayLike] | None


@dataclass(frozen=True)
class Experts:
    """The experts of a model's sparse layers.

    Attributes:
        count: routed experts in a layer.
        per_token: routed experts that a token visits, at most ``count``.
        width: width inside one routed expert.
        shared_width: width inside the shared expert that every token visits (the sum, if there
            are several); 0 for none.
        dense_layers: layers that have an ordinary MLP instead (DeepSeek-V3: the first three).
        router_bias: the router has a bias for each expert.
        shared_gate: a learned gate scales the shared expert's output (Qwen2).

    Raises:
        ValueError: a size is no whole number in its range, a switch is not a bool, or
            ``per_token`` exceeds ``count``.
    """

    count: int
    per_token: int
    width: int
    _: KW_ONLY
    shared_width: int = 0
    dense_layers: int = 0
    router_bias: bool = False
    shared_gate: bool = False

    def __post_init__(self) -> None:
        minimum = {"count": 1, "per_token": 1, "width": 1, "shared_width": 0, "dense_layers": 0}
        for size, least in minimum.items():
            checked = checks.whole_number(size, getattr(self, size), minimum=least)
            object.__setattr__(self, size, checks.single(size, checked))
        for switch in ("router_bias", "shared_gate"):
            checks.switch(switch, getattr(self, switch))
        if self.per_token > self.count:
            raise ValueError(
                f"per_token must be a whole number in [1, count (= {self.count})], "
                f"got {self.per_token}"
            )


def experts_touched(experts: Experts, tokens: ArrayLike) -> FloatArray:
    """Experts of a layer that at least one of t tokens visits, on average: E (1 - (1 - k/E)^t).

    A token misses a given expert with chance 1 - k/E. If tokens choose independently of each other
    and every expert is as likely, t tokens all miss it with chance (1 - k/E)^t. Real tokens of one
    text choose alike, so this is an upper estimate: for k = 8 of E = 128 four tokens would touch
    29.1 experts, 3.6 times those of one; Cohere reports about 2.5 times (blog, 2026-04-21).

    Args:
        experts: E is its ``count``, k its ``per_token``.
        tokens: tokens t in the pass, whole numbers >= 1, any shape.

    Returns:
        Experts, real numbers in [k, E], same shape.

    Raises:
        ValueError: ``tokens`` is out of range.

    Source: arXiv 2505.19645 (MoESD), which calls it N(t).
    """
    number = checks.whole_number("tokens", tokens, minimum=1)
    return np.asarray(independent(experts, number.astype(np.float64)))[()]


def independent(experts: Experts, tokens: FloatArray) -> FloatArray:
    """``experts_touched`` without checks, for real t."""
    if experts.per_token == experts.count:
        return np.full_like(tokens, experts.count)
    miss = np.log1p(-experts.per_token / experts.count)
    return np.asarray(-experts.count * np.expm1(miss * tokens))


def touched_by(experts: Experts, tokens: FloatArray, told: Touched) -> FloatArray:
    """The number of experts that a pass over ``tokens`` reads in each sparse layer.

    Args:
        experts: the experts.
        tokens: tokens in the pass, real numbers of any shape.
        told: ``None`` for independent routing, numbers that broadcast to ``tokens``, or a function
            of an array of tokens.

    Returns:
        Experts, same shape as ``tokens``.

    Raises:
        ValueError: ``told`` is outside [k, E] somewhere or does not broadcast.
    """
    if told is None:
        return independent(experts, tokens)
    numbers = checks.real("experts_touched", told(tokens) if callable(told) else told)
    try:
        numbers = np.broadcast_to(numbers, tokens.shape)
    except ValueError:
        raise ValueError(
            f"experts_touched must broadcast to the shape of the load, {tokens.shape}, "
            f"got shape {numbers.shape}"
        ) from None
    least, most = experts.per_token, experts.count
    # A function may carry a rounding error of its own past the ends.
    slack = 1e-9 * most
    outside = (numbers < least - slack) | (numbers > most + slack)
    if outside.any():
        raise ValueError(
            f"experts_touched must be numbers in [{least}, {most}] (experts that one token "
            f"visits, all experts), got {numbers[outside][0].item()}"
        )
    return np.asarray(numbers)
