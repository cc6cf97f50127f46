"""Rules that accept more than they may: what they give is no longer the target's text.

They are offered to users, some under a name that does not say so. Each is a chance of acceptance
and a word on what the target adds after it. ``lossy_distance`` and ``lossy_text`` say exactly how
far the text is from the target's, and what that buys (``lossy_price``).

- *Lenience*: accept with min(1, p / (l q)), so that no token comes with more than p / l
  (Leviathan et al. 2023, arXiv:2211.17192, appendix A.5). With l = 1 it is the exact rule.
- *Typical acceptance*: accept where p > min(ε, δ exp(-H)), H the entropy of p in nats (Cai et al.
  2024, arXiv:2401.10774, section 2.3.1). The token that is sure to come is the target's likeliest.
- *Relaxed acceptance*: accept what is among the target's top N and within δ of the likeliest
  (TensorRT-LLM, ``relaxed_topk`` and ``relaxed_delta``, used while a model thinks). It decodes
  greedily, so what it adds is the likeliest.
- *Thresholds*: accept with min(1, p / a), and always where p is at least s (SGLang,
  ``--speculative-accept-threshold-acc`` and ``-single``). With both at 1 it is the exact rule for
  drafts that are named with certainty.

None of these is a threshold on the draft's own confidence, such as llama.cpp's p-min: that ends a
draft early, and loses nothing (``drafters.confidence``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray, non_negative, probability, single, whole_number
from specmini.sampling import draw
from specmini.verify.chain import Draft, Verdict, checked_probs, residual

__all__ = [
    "LossyRule",
    "lossy_lenience",
    "lossy_relaxed",
    "lossy_thresholds",
    "lossy_typical",
]

# from p and from q, each (V,), to each token's chance of acceptance if it is drafted, (V,);
# q is None where drafts are named with certainty
Acceptance = Callable[[FloatArray, FloatArray | None], FloatArray]


@dataclass(frozen=True)
class LossyRule:
    """A rule of acceptance that does not keep the target's distribution.

    Attributes:
        name: what it is called, with its numbers.
        accepted: each token's chance of acceptance.
        adds_likeliest: whether the target adds its likeliest token; else one is drawn, from the
            residual after a rejection, as in ``verify``.
        sees_draft: whether it looks at q; else every draft counts as named with certainty.
    """

    name: str
    accepted: Acceptance
    adds_likeliest: bool = False
    sees_draft: bool = False

    def lossy_verify(
        self, target_probs: ArrayLike, draft: Draft, rng: np.random.Generator
    ) -> Verdict:
        """Accept a draft's tokens from the left, and add one; in the place of ``verify``.

        Args:
            target_probs: (K + 1, V), as in ``verify``.
            draft: K tokens.
            rng: source of randomness: one uniform number for each token looked at, one for the
                token that is added.

        Raises:
            ValueError: as ``verify``.
        """
        p, q = checked_probs(target_probs, draft)  # (K + 1, V) and (K, V)
        for position, token in enumerate(draft.tokens.tolist()):
            here = q[position] if q is not None and self.sees_draft else None
            if rng.random() >= self.accepted(p[position], here)[token]:
                return Verdict(position, draw(self.added(p[position], here, token), rng))
        return Verdict(len(draft), draw(self.added(p[-1]), rng))

    def added(
        self, p: FloatArray, q: FloatArray | None = None, rejected: int | None = None
    ) -> FloatArray:
        """Weights of the token that the target adds.

        Args:
            p: (V,).
            q: (V,) of the draft; None if its tokens are named with certainty.
            rejected: the token that was; None after a whole draft.

        Returns:
            (V,) with a positive sum.
        """
        if self.adds_likeliest:
            certain: FloatArray = (np.arange(len(p)) == p.argmax()).astype(np.float64)
            return certain
        return p if rejected is None else residual(p, q, rejected)


def lossy_lenience(lenience: float) -> LossyRule:
    """Accept with min(1, p / (l q)): Leviathan et al. 2023, appendix A.5.

    The paper changes the comparison only, so a rejected token is replaced as in the exact rule.

    Args:
        lenience: l in (0, 1]; 1 is exact, and no token comes with more than p / l.

    Raises:
        ValueError: a number outside.
    """
    factor = _share("lenience", lenience)

    def accepted(p: FloatArray, q: FloatArray | None) -> FloatArray:
        if q is None:
            return np.minimum(1.0, p / factor)
        # without a quotient by 0; what is not drafted is not judged
        return np.divide(p, factor * q, out=np.ones_like(p), where=p < factor * q)

    return LossyRule(f"lenience {factor:g}", accepted, sees_draft=True)


def lossy_typical(epsilon: float = 0.09, delta: float = 0.3) -> LossyRule:
    """Accept where p > min(ε, δ exp(-H)): Cai et al. 2024, section 2.3.1.

    Args:
        epsilon: a probability that is always enough, in [0, 1].
        delta: the same where the target is unsure, for H = 0; in [0, inf).

    Raises:
        ValueError: a number outside.
    """
    enough: float = single("epsilon", probability("epsilon", epsilon))
    base: float = single("delta", non_negative("delta", delta))

    def accepted(p: FloatArray, q: FloatArray | None) -> FloatArray:
        some = p[p > 0]  # 0 log 0 is 0
        bound = min(enough, base * float(np.exp((some * np.log(some)).sum())))
        return (p > bound).astype(np.float64)

    return LossyRule(f"typical ε {enough:g} δ {base:g}", accepted, adds_likeliest=True)


def lossy_relaxed(top: int, delta: float) -> LossyRule:
    """Accept the target's top N as far as they are within δ of the likeliest (TensorRT-LLM).

    δ is a difference of probabilities, as in that engine's ``mtp.py``, which takes a softmax and
    calls it log-probabilities.

    Source: TensorRT-LLM, technical blog 2, "DeepSeek R1 MTP Implementation and Optimization",
    section "Relaxed Acceptance".

    Args:
        top: N, at least 1; 1 is greedy decoding, exactly.
        delta: largest difference of probabilities, in [0, 1].

    Raises:
        ValueError: a number outside.
    """
    kept: int = single("top", whole_number("top", top, minimum=1))
    gap: float = single("delta", probability("delta", delta))

    def accepted(p: FloatArray, q: FloatArray | None) -> FloatArray:
        order = np.argsort(-p, kind="stable")[:kept]  # (N,) the first of equals first
        chances = np.zeros_like(p)
        chances[order[p[order] >= p.max() - gap]] = 1.0
        return chances

    return LossyRule(f"relaxed top {kept} δ {gap:g}", accepted, adds_likeliest=True)


def lossy_thresholds(single_threshold: float = 1.0, accumulated: float = 1.0) -> LossyRule:
    """Accept with min(1, p / a), and always where p ≥ s (SGLang); q is not looked at.

    In a tree SGLang adds up p over the siblings tried so far; a chain has none. Source: the kernel
    ``tree_speculative_sampling_target_only`` and the server's arguments, see ``engines.toml``.

    Args:
        single_threshold: s in (0, 1].
        accumulated: a in (0, 1]; with both at 1 nothing is lost.

    Raises:
        ValueError: a number outside.
    """
    enough = _share("single_threshold", single_threshold)
    divisor = _share("accumulated", accumulated)

    def accepted(p: FloatArray, q: FloatArray | None) -> FloatArray:
        return np.where(p >= enough, 1.0, np.minimum(1.0, p / divisor))

    return LossyRule(f"thresholds {enough:g} and {divisor:g}", accepted)


def _share(name: str, value: float) -> float:
    """A number in (0, 1]."""
    share: float = single(name, probability(name, value))
    if share == 0:
        raise ValueError(f"{name} must be in (0, 1], got {value}")
    return share
