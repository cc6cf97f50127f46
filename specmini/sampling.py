"""From logits to the distribution that is sampled: temperature, top-k, top-p, and the draw itself.

Speculative decoding is exact for whatever distribution the target samples from, so the same
``Sampling`` goes over the logits of target and draft before either is compared with the other
(Leviathan et al. 2023, arXiv:2211.17192, section 2.2). Greedy decoding needs no case of its own:
temperature 0 is the distribution that puts everything on the likeliest token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray

__all__ = ["Sampling", "draw", "greedy", "plain"]


@dataclass(frozen=True)
class Sampling:
    """How a next token is chosen from logits.

    The order is that of most engines: temperature, then top-k, then top-p. Tokens that tie with
    the last one kept by top-k are kept too, so equal logits are treated equally.

    Attributes:
        temperature: divides the logits; 0 chooses the likeliest token (the first of equals).
        top_k: keep the k likeliest tokens; None keeps all.
        top_p: keep the smallest set of likeliest tokens whose probability reaches this.

    Raises:
        ValueError: a temperature below 0, a k below 1, or a p outside (0, 1].
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature must be in [0, inf), got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, or None, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")

    def probs(self, logits: ArrayLike) -> FloatArray:
        """The distributions that these logits stand for.

        Args:
            logits: (..., V).

        Returns:
            (..., V) float64; each row sums to 1.
        """
        scores = np.asarray(logits, dtype=np.float64)  # (..., V)
        if self.temperature == 0:
            best = scores.argmax(-1)[..., None]  # (..., 1)
            certain = np.zeros_like(scores)  # (..., V)
            np.put_along_axis(certain, best, 1.0, axis=-1)
            return certain
        # subtracting first keeps a tiny temperature from overflowing
        scores = (scores - scores.max(-1, keepdims=True)) / self.temperature  # (..., V)
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            kth = np.partition(scores, -self.top_k, axis=-1)[..., [-self.top_k]]  # (..., 1)
            scores = np.where(scores < kth, -np.inf, scores)  # (..., V)
        probs = np.exp(scores)  # (..., V)
        probs /= probs.sum(-1, keepdims=True)
        return probs if self.top_p == 1 else _nucleus(probs, self.top_p)


plain = Sampling()
greedy = Sampling(temperature=0.0)


def draw(weights: FloatArray, rng: np.random.Generator) -> int:
    """Draw an index with probability proportional to its weight.

    Args:
        weights: (V,) at least 0, with a positive sum; it need not be 1.
        rng: source of randomness; one uniform number is used.
    """
    cumulated = weights.cumsum()  # (V,)
    total = cumulated[-1]
    index = int(cumulated.searchsorted(rng.random() * total, side="right"))
    # a product that rounds up to the total would fall behind the last token that may be drawn
    return index if index < len(cumulated) else int(cumulated.searchsorted(total))


def _nucleus(probs: FloatArray, top_p: float) -> FloatArray:
    """Keep the likeliest tokens of each row until their probability reaches ``top_p``."""
    order = np.argsort(-probs, axis=-1, kind="stable")  # (..., V) likeliest first
    ordered = np.take_along_axis(probs, order, axis=-1)  # (..., V)
    before = ordered.cumsum(-1) - ordered  # (..., V) probability of the likelier tokens
    kept = np.where(before < top_p, ordered, 0.0)  # (..., V)
    nucleus = np.zeros_like(probs)  # (..., V)
    np.put_along_axis(nucleus, order, kept, axis=-1)
    nucleus /= nucleus.sum(-1, keepdims=True)
    return nucleus
