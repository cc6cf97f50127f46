"""The logits of a context, condensed to a few pairs that a page can carry.

The likeliest tokens are named. The others share some pairs of logits: tokens of which both models
think nearly the same are one pair with a count.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray, IntArray
from specmini.sampling import plain

__all__ = ["condense", "named"]

named: Final = 7  # tokens with a row of their own
cells: Final = 80  # pairs of logits that the others share


def condense(
    target_logits: ArrayLike, draft_logits: ArrayLike, named: int = named, cells: int = cells
) -> tuple[IntArray, str]:
    """Write the logits of a context as a few pairs.

    The likeliest tokens keep a pair each; the others are cut into cells of tokens with nearly the
    same pair, smallest where there is most probability at temperature 1 and 2. At temperature 1
    each cell keeps its probability under both models.

    Args:
        target_logits: (V,) finite.
        draft_logits: (V,) finite.
        named: tokens with a pair of their own; the favorites of both are always among them.
        cells: pairs that the others share at most.

    Returns:
        (named,) ids, the likeliest first, and the pairs as ``Context`` holds them.

    Raises:
        ValueError: the shapes differ, or ``named`` is not in [2, V] or ``cells`` below 1.
    """
    logits = np.stack([np.asarray(side, np.float64) for side in (target_logits, draft_logits)], -1)
    if logits.ndim != 2:
        raise ValueError(f"logits must have shape (V,) each, got {logits.shape[:-1]}")
    if not 2 <= named <= len(logits):
        raise ValueError(f"named must be in [2, {len(logits)}], got {named}")
    if cells < 1:
        raise ValueError(f"cells must be at least 1, got {cells}")
    logs = np.log(plain.probs(logits.T)).T  # (V, 2)
    order = np.argsort(-logs.max(1), kind="stable")  # (V,)
    favorites = list(dict.fromkeys(logs.argmax(0).tolist()))
    unnamed = [token for token in order.tolist() if token not in favorites]
    ids = favorites + unnamed[: named - len(favorites)]
    ids.sort(key=order.tolist().index)
    rest = logs[[token for token in unnamed if token not in ids]]  # (V - named, 2)
    rows = [(*logs[token], 1) for token in ids]
    rows += [(*np.log(np.exp(cell).mean(0)), len(cell)) for cell in _cells(rest, cells)]
    text = "; ".join(
        f"{p:.2f} {q:.2f}" + (f" {count}" if count > 1 else "") for p, q, count in rows
    )
    return np.array(ids), text


def _cells(logs: FloatArray, most: int) -> list[FloatArray]:
    """Halve, again and again, the cell that would blur most: wide and likely."""
    found = [logs] if len(logs) else []

    def blur(cell: FloatArray) -> float:
        mass = np.exp(cell).sum() + np.exp(cell / 2).sum()  # at temperatures 1 and 2
        return float(mass * np.ptp(cell, axis=0).max()) if len(cell) > 1 else 0.0

    while found and len(found) < most and max(map(blur, found)) > 0:
        cell = found.pop(int(np.argmax([blur(one) for one in found])))
        wider = int(np.ptp(cell, axis=0).argmax())
        ordered = cell[np.argsort(cell[:, wider], kind="stable")]
        found += [ordered[: len(cell) // 2], ordered[len(cell) // 2 :]]
    return found
