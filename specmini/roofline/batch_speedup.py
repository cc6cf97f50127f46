"""Speedup when many sequences are decoded together: the theory with the roofline's costs.

``specmini.theory`` holds the formula, E / (K c + v). Here c and v are no constants but what the
machine makes of them at a batch and a context.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks, theory
from specmini.checks import FloatArray
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import Draft, DraftCost, cost_ratio

__all__ = ["BestDraft", "best_draft_by_batch", "speedup_by_batch"]


class BestDraft(NamedTuple):
    """The draft length with the highest speedup; arrays of the common shape.

    Attributes:
        draft_length: K, 0 where plain decoding is the fastest.
        speedup: at that K; 1 where it is 0.
    """

    draft_length: NDArray[np.int64]
    speedup: FloatArray


def speedup_by_batch(
    target: Deployment,
    draft: Draft,
    acceptance_rate: ArrayLike,
    draft_length: ArrayLike,
    batch: ArrayLike,
    context: ArrayLike,
) -> FloatArray:
    """Throughput of speculative over plain decoding, at the same batch.

    Whether both batches fit into memory is another question: ``specmini.roofline.crossover``.

    Args:
        target: the target on its machine.
        draft: a ``specmini.roofline.draft_cost.DraftCost``, or the cost ratio c itself in [0, inf).
        acceptance_rate: alpha in [0, 1].
        draft_length: K, whole numbers >= 0; 0 gives exactly 1.
        batch: sequences decoded together, whole numbers >= 1.
        context: positions of each sequence already in the cache, whole numbers >= 0.

    Returns:
        Ratio, in the common shape of all that are arrays.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: Leviathan et al. 2023, arXiv 2211.17192, Theorem 3.8, with v from the roofline.
    """
    cost = cost_ratio(target, draft, batch, context)
    verify = target.verify_cost(batch, draft_length, context)
    return np.asarray(theory.speedup(acceptance_rate, cost, draft_length, verify))[()]


def best_draft_by_batch(
    target: Deployment,
    draft: Draft,
    acceptance_rate: ArrayLike,
    batch: ArrayLike,
    context: ArrayLike,
    longest: int = 16,
) -> BestDraft:
    """The best K at each batch, of all from 0 to ``longest``.

    The closed form of ``specmini.theory`` needs one v for all K; here v grows with K, so every K
    is tried. Ties go to the shorter draft.

    Args:
        target: the target on its machine.
        draft: a ``specmini.roofline.draft_cost.DraftCost``, or the cost ratio c itself in [0, inf).
        acceptance_rate: alpha in [0, 1].
        batch: sequences decoded together, whole numbers >= 1.
        context: positions of each sequence already in the cache, whole numbers >= 0.
        longest: largest K to try, at least 1.

    Returns:
        A ``BestDraft``, in the common shape of the arrays.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    most = checks.single("longest", checks.whole_number("longest", longest, minimum=1))
    rate = np.asarray(checks.probability("acceptance_rate", acceptance_rate))[..., None]
    number = np.asarray(checks.whole_number("batch", batch, minimum=1))[..., None]
    positions = np.asarray(checks.whole_number("context", context))[..., None]
    if not isinstance(draft, DraftCost):
        draft = np.asarray(checks.non_negative("draft", draft))[..., None]
    gains = speedup_by_batch(target, draft, rate, np.arange(most + 1), number, positions)
    best = np.argmax(gains, axis=-1)  # (...), from gains (..., K + 1)
    highest = np.take_along_axis(gains, best[..., None], axis=-1)[..., 0]
    return BestDraft(best[()], highest[()])
