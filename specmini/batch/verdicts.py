"""Accept, recover, bonus for many sequences: ``verify`` with the sums and draws of all at once.

For one sequence these calls cost little beside a pass. With many sequences a pass costs each of
them less and the calls cost the same, most of all in plain decoding: a slow baseline, which would
flatter speculation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from specmini.batch.draws import draw_each
from specmini.checks import FloatArray
from specmini.verify.chain import Draft, Verdict, Verify, check_rows, check_tokens, residual

__all__ = ["VerifyEach", "one_by_one", "verify_each"]

VerifyEach = Callable[
    [FloatArray, Sequence[Draft], Sequence[np.random.Generator]], Sequence[Verdict]
]
"""From packed target probabilities, drafts and sources of randomness to verdicts."""


def verify_each(
    target_probs: FloatArray, drafts: Sequence[Draft], rngs: Sequence[np.random.Generator]
) -> list[Verdict]:
    """The verdict on each draft; the same as ``verify`` gives one by one.

    Args:
        target_probs: (N, V), packed: for each draft of K tokens K + 1 rows, as in ``verify``.
        drafts: R of them.
        rngs: source of randomness of each.

    Raises:
        ValueError: a shape does not fit, a token is not in the vocabulary, or a row is no
            distribution.
    """
    rows = sum(len(draft) + 1 for draft in drafts)
    if target_probs.ndim != 2 or len(target_probs) != rows or len(rngs) != len(drafts):
        raise ValueError(
            f"target_probs must have shape ({rows}, V) for {len(drafts)} drafts and as many "
            f"rngs, got {target_probs.shape} and {len(rngs)} rngs"
        )
    vocabulary = target_probs.shape[1]
    check_tokens(list(chain.from_iterable(draft.tokens.tolist() for draft in drafts)), vocabulary)
    check_rows("target_probs", target_probs)
    accepted, weights = [], np.empty((len(drafts), vocabulary))  # (R, V)
    start = 0
    for row, (draft, rng) in enumerate(zip(drafts, rngs, strict=True)):
        p = target_probs[start : start + len(draft) + 1]  # (K + 1, V)
        start += len(p)
        n_accepted = _accepted(p, draft, rng)
        accepted.append(n_accepted)
        weights[row] = p[n_accepted]
        if n_accepted < len(draft):
            q = None if draft.probs is None else draft.probs[n_accepted].astype(np.float64)  # (V,)
            weights[row] = residual(p[n_accepted], q, int(draft.tokens[n_accepted]))
    return [
        Verdict(n_accepted, token)
        for n_accepted, token in zip(accepted, draw_each(weights, rngs), strict=True)
    ]


def one_by_one(verify: Verify) -> VerifyEach:
    """A rule for one sequence, applied to each of many."""

    def verdicts(
        target_probs: FloatArray, drafts: Sequence[Draft], rngs: Sequence[np.random.Generator]
    ) -> list[Verdict]:
        ends = np.cumsum([len(draft) + 1 for draft in drafts]).tolist()  # (R,)
        rows = [
            target_probs[end - len(draft) - 1 : end]
            for draft, end in zip(drafts, ends, strict=True)
        ]
        return [verify(p, draft, rng) for p, draft, rng in zip(rows, drafts, rngs, strict=True)]

    return verdicts


def _accepted(p: FloatArray, draft: Draft, rng: np.random.Generator) -> int:
    """How many of a draft's first tokens stay; p is (K + 1, V)."""
    for position, token in enumerate(draft.tokens.tolist()):
        drafted = 1.0 if draft.probs is None else float(draft.probs[position, token])
        if rng.random() * drafted >= p[position, token]:
            return position
    return len(draft)
