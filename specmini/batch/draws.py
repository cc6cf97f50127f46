"""Draws for many sequences, each with a source of randomness of its own.

A sequence's text then does not depend on what it is batched with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.checks import FloatArray

__all__ = ["draw_each"]


def draw_each(weights: FloatArray, rngs: Sequence[np.random.Generator]) -> list[int]:
    """Draw an index from each row; the same numbers as ``sampling.draw`` row by row.

    Args:
        weights: (R, V) at least 0 (not checked); each row has a positive, finite sum.
        rngs: R sources of randomness; one uniform number of each is used.

    Raises:
        ValueError: the shapes do not fit, or a sum is not positive and finite.
    """
    if weights.ndim != 2 or weights.shape[0] != len(rngs) or not weights.size:
        raise ValueError(
            f"weights must have shape ({len(rngs)}, V), V and the number of rngs at least 1, "
            f"got {weights.shape}"
        )
    cumulated = weights.cumsum(-1)  # (R, V)
    totals = cumulated[:, -1]  # (R,)
    if not (totals.min() > 0 and totals.max() < np.inf):
        raise ValueError(f"weights must have sums in (0, inf), got {totals.tolist()}")
    uniform = np.array([rng.random() for rng in rngs])  # (R,)
    # a subnormal product can round up to the total, which is behind every token
    below = np.minimum(uniform * totals, np.nextafter(totals, 0))  # (R,)
    indices: list[int] = (cumulated <= below[:, None]).sum(-1).tolist()
    return indices
