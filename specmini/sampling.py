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

from specmini.checks import FloatArray, number_array, real, single, whole_number

__all__ = ["Sampling", "draw", "greedy", "plain"]


@dataclass(frozen=True)
class Sampling:
    """How a next token is chosen from logits.

    The order is that of most engines: temperature, then top-k, then top-p. Tokens that tie with
    the last one kept are kept too, so equal logits are treated equally.

    Attributes:
        temperature: divides the logits; 0 chooses the likeliest token (the first of equals).
        top_k: keep the k likeliest tokens; None keeps all.
        top_p: keep the smallest set of likeliest tokens whose probability reaches this; 1 keeps
            all.

    Raises:
        ValueError: a temperature that is neither 0 nor in [1e-30, 1e30], a k that is no whole
            number from 1, or a p outside (0, 1].
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            single(name, real(name, getattr(self, name)))
        # single precision holds no smaller and no larger divisor
        if self.temperature != 0 and not 1e-30 <= self.temperature <= 1e30:
            raise ValueError(f"temperature must be 0 or in [1e-30, 1e30], got {self.temperature}")
        if self.top_k is not None:
            single("top_k", whole_number("top_k", self.top_k, minimum=1))
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")

    def probs(self, logits: ArrayLike) -> FloatArray:
        """The distributions that these logits stand for.

        Args:
            logits: (..., V) with V at least 1; -inf forbids a token. Single precision stays
                single up to the exponential, as exact as such logits are and twice as fast.

        Returns:
            (..., V) float64; each row sums to 1.

        Raises:
            ValueError: no numbers, no token, NaN, +inf, or a row that forbids every token.
        """
        scores = number_array("logits", logits)  # (..., V)
        if scores.dtype != np.float32:
            scores = scores.astype(np.float64, copy=False)  # (..., V)
        if scores.ndim == 0 or scores.shape[-1] == 0:
            raise ValueError(f"logits must have shape (..., V), V at least 1, got {scores.shape}")
        best = scores.max(-1, keepdims=True)  # (..., 1)
        if np.count_nonzero(np.isfinite(best)) < best.size:
            raise ValueError(
                "logits must be finite or -inf, with a finite one in each row, "
                f"got a row whose largest is {best[~np.isfinite(best)][0]}"
            )
        if self.temperature == 0:
            likeliest = scores.argmax(-1)[..., None]  # (..., 1)
            certain: FloatArray = (np.arange(scores.shape[-1]) == likeliest).astype(np.float64)
            return certain  # (..., V)
        scores = (scores - best) / self.temperature  # (..., V)
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            k = int(self.top_k)
            kth = np.partition(scores, -k, axis=-1)[..., [-k]]  # (..., 1)
            scores = np.where(scores < kth, -np.inf, scores)  # (..., V)
        probs: FloatArray = np.exp(scores).astype(np.float64, copy=False)  # (..., V)
        probs /= probs.sum(-1, keepdims=True)
        return probs if self.top_p == 1 else _nucleus(probs, self.top_p)


plain = Sampling()
greedy = Sampling(temperature=0.0)


def draw(weights: ArrayLike, rng: np.random.Generator) -> int:
    """Draw an index with probability proportional to its weight; never one of weight 0.

    Args:
        weights: (V,) at least 0 (not checked), with a positive sum; it need not be 1.
        rng: source of randomness; one uniform number is used.

    Raises:
        ValueError: no numbers, another shape, or a sum that is not positive and finite.
    """
    weights = number_array("weights", weights).astype(np.float64, copy=False)  # (V,)
    if weights.ndim != 1 or not weights.size:
        raise ValueError(f"weights must have shape (V,), V at least 1, got {weights.shape}")
    cumulated = weights.cumsum()  # (V,)
    total = float(cumulated[-1])
    if not 0 < total < np.inf:
        raise ValueError(f"weights must have a sum in (0, inf), got {total}")
    index = int(cumulated.searchsorted(rng.random() * total, side="right"))
    # a subnormal product can round up to the total, which is behind every token
    return index if index < len(cumulated) else int(cumulated.searchsorted(total))


def _nucleus(probs: FloatArray, top_p: float) -> FloatArray:
    """Keep the likeliest tokens of each row until their probability reaches ``top_p``."""
    ordered = np.sort(probs, axis=-1)[..., ::-1]  # (..., V) likeliest first
    before = ordered.cumsum(-1) - ordered  # (..., V) probability of the likelier tokens
    last = np.where(before < top_p, ordered, 1.0).min(-1, keepdims=True)  # (..., 1)
    kept = np.where(probs < last, 0.0, probs)  # (..., V)
    nucleus: FloatArray = kept / kept.sum(-1, keepdims=True)  # (..., V)
    return nucleus
