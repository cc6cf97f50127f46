"""Accept, recover, bonus: the rule that makes speculative decoding exact.

A draft of K tokens is compared with the target's distributions at its K positions and at the one
after. Token x is accepted with probability min(1, p(x) / q(x)). The first token that is not is
replaced by one from the *residual* max(p - q, 0), normalized; if all are accepted, the target's
last distribution gives a bonus token. What comes out is distributed as p, whatever q is
(Leviathan et al. 2023, arXiv:2211.17192, algorithm 1 and appendix A.1; Chen et al. 2023,
arXiv:2302.01318, theorem 1).

This is a pure function of arrays: no model, no cache, no clock. It serves greedy decoding (all
rows put 1 on one token), sampling, and drafters that have no distribution: their q is 1 at the
token they name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray, IntArray, number_array
from specmini.sampling import draw

__all__ = ["Draft", "Verdict", "Verify", "empty_draft", "verify"]

# a float32 softmax over 150 000 tokens misses 1 by some 1e-5, since a sum that long rounds so
# much; what is no distribution, such as logits, misses it by far more
sum_tolerance = 1e-4


@dataclass(frozen=True, eq=False)
class Draft:
    """Tokens that a drafter proposes.

    Attributes:
        tokens: (K,) ids, integers; K may be 0.
        probs: (K, V); row i is the distribution q that token i was drawn from. None if the
            drafter names its tokens with certainty.

    Raises:
        ValueError: the shapes do not fit, a row is no distribution, or a row gives 0 to the token
            drawn from it.
    """

    tokens: IntArray
    probs: FloatArray | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tokens, np.ndarray):
            raise ValueError(f"tokens must be an array of integers, got {self.tokens!r}")
        if self.tokens.ndim != 1 or self.tokens.dtype.kind not in "iu":
            raise ValueError(
                "tokens must be integers of shape (K,), "
                f"got {self.tokens.dtype} of shape {self.tokens.shape}"
            )
        if self.probs is None:
            return
        if not isinstance(self.probs, np.ndarray):
            raise ValueError(f"probs must be an array of numbers or None, got {self.probs!r}")
        if self.probs.ndim != 2 or len(self.probs) != len(self.tokens):
            raise ValueError(
                f"probs must have shape ({len(self.tokens)}, V) for {len(self.tokens)} tokens, "
                f"got {self.probs.shape}"
            )
        check_tokens(self.tokens, self.probs.shape[1])
        check_rows("probs", self.probs)
        for position, token in enumerate(self.tokens.tolist()):
            if not self.probs[position, token] > 0:
                raise ValueError(
                    f"probs must be positive at the token drawn, got "
                    f"{self.probs[position, token]} for token {token} at position {position}"
                )

    def __len__(self) -> int:
        """Number of tokens, K."""
        return len(self.tokens)


empty_draft: Final = Draft(np.array([], dtype=np.int64))


@dataclass(frozen=True)
class Verdict:
    """What the target makes of a draft.

    Attributes:
        n_accepted: the draft's first tokens that stay, from 0 to K.
        next_token: the token the target adds: recovered if n_accepted < K, else the bonus.
    """

    n_accepted: int
    next_token: int


Verify = Callable[[ArrayLike, Draft, np.random.Generator], Verdict]


def verify(target_probs: ArrayLike, draft: Draft, rng: np.random.Generator) -> Verdict:
    """Accept a draft's tokens from the left, and add one from the target.

    Args:
        target_probs: (K + 1, V); row i is p at the position of draft token i, the last row that
            after the draft.
        draft: K tokens.
        rng: source of randomness: one uniform number for each token looked at, one for the token
            that is added.

    Raises:
        ValueError: a shape does not fit, a token is not in the vocabulary, or a row is no
            distribution.
    """
    p, q = checked_probs(target_probs, draft)  # (K + 1, V) and (K, V)
    for position, token in enumerate(draft.tokens.tolist()):
        drafted = 1.0 if q is None else q[position, token]
        # no quotient, so nothing divides by 0; "or equal", so a token with p = 0 never passes
        if rng.random() * drafted >= p[position, token]:
            left = residual(p[position], None if q is None else q[position], token)  # (V,)
            return Verdict(position, draw(left, rng))
    return Verdict(len(draft), draw(p[-1], rng))


def checked_probs(target_probs: ArrayLike, draft: Draft) -> tuple[FloatArray, FloatArray | None]:
    """The (K + 1, V) rows of p and the (K, V) rows of q, if there are any.

    They come in double precision, or a product of single ones could round up to p and reject it.

    Raises:
        ValueError: as ``verify``.
    """
    p = checked_target(target_probs, draft.tokens, draft.probs)  # (K + 1, V)
    return p, None if draft.probs is None else np.asarray(draft.probs, dtype=np.float64)


def checked_target(
    target_probs: ArrayLike, tokens: IntArray, draft_probs: FloatArray | None
) -> FloatArray:
    """The rows of p for a draft of N tokens, be it a chain or a tree: (N + 1, V), in double.

    Raises:
        ValueError: as ``verify``.
    """
    p = number_array("target_probs", target_probs).astype(np.float64, copy=False)  # (N + 1, V)
    if p.ndim != 2 or len(p) != len(tokens) + 1:
        raise ValueError(
            f"target_probs must have shape ({len(tokens) + 1}, V) for {len(tokens)} draft tokens, "
            f"got {p.shape}"
        )
    if draft_probs is not None and draft_probs.shape[1] != p.shape[1]:
        raise ValueError(
            f"target_probs must have the draft's vocabulary of {draft_probs.shape[1]}, "
            f"got {p.shape[1]}"
        )
    check_tokens(tokens, p.shape[1])
    check_rows("target_probs", p)
    return p


def excess(p: FloatArray, q: FloatArray | None, token: int) -> FloatArray:
    """What p has more than q, (V,); q is 1 at the token if the drafter named it with certainty."""
    if q is None:
        left = p.copy()  # (V,)
        left[token] = 0.0
        return left
    return np.maximum(p - q, 0.0)


def residual(p: FloatArray, q: FloatArray | None, token: int) -> FloatArray:
    """The weights of the recovered token, (V,)."""
    left = excess(p, q, token)  # (V,)
    # equal distributions are never rejected; if rounding did it, p is what is left to draw from
    return left if np.count_nonzero(left) else p


def check_tokens(tokens: ArrayLike, vocabulary: int, name: str = "tokens") -> None:
    """Check that ids are integers in [0, vocabulary).

    Raises:
        ValueError: another shape than (T,), another type, or names the first id outside.
    """
    ids = np.asarray(tokens)  # (T,)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be integers of shape (T,), got {ids.dtype} of shape {ids.shape}"
        )
    for position, token in enumerate(ids.tolist()):
        if not 0 <= token < vocabulary:
            raise ValueError(f"{name} must be in [0, {vocabulary}), got {token} at {position}")


def check_rows(name: str, rows: FloatArray) -> None:
    """Check that rows are distributions.

    Raises:
        ValueError: no real numbers, one is negative or NaN, or a row does not sum to 1.
    """
    number_array(name, rows)
    if rows.size and not rows.min() >= 0:
        raise ValueError(f"{name} must be at least 0, got {rows.min()}")
    for row, total in enumerate(rows.sum(-1).tolist()):
        if not abs(total - 1) <= sum_tolerance:
            raise ValueError(f"{name} must sum to 1 in each row, got {total} in row {row}")
