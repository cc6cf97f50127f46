"""The shape of a tree, as the parent of each node: how deep nodes are, and who stands before whom.

Nodes are numbered, parents before children; -1 is what the tree grows from, the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specmini.checks import IntArray

__all__ = ["ancestors", "check_parents", "depths"]


def depths(parents: Sequence[int] | IntArray) -> IntArray:
    """How many nodes stand before each on its path, (N,): 0 for those that follow the text."""
    found: list[int] = []
    for parent in parents:
        found.append(0 if parent < 0 else found[parent] + 1)
    return np.array(found, dtype=np.int64)


def ancestors(parents: Sequence[int] | IntArray) -> NDArray[np.bool_]:
    """Whether node j stands on the path to node i, itself included: (N, N) at [i, j]."""
    on_path = np.eye(len(parents), dtype=np.bool_)  # (N, N)
    for node, parent in enumerate(parents):
        if parent >= 0:
            on_path[node] |= on_path[parent]
    return on_path


def check_parents(parents: Sequence[int] | IntArray, earlier: int = 0) -> None:
    """Check that every parent is an earlier node, or -1.

    Args:
        parents: (N,) of nodes that follow ``earlier`` others.
        earlier: number of nodes before them.

    Raises:
        ValueError: they are no integers of shape (N,), or names the first parent outside.
    """
    array = np.asarray(parents)  # (N,)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"parents must be integers of shape (N,), got {array.dtype} of shape {array.shape}"
        )
    for node, parent in enumerate(array.tolist(), start=earlier):
        if not -1 <= parent < node:
            raise ValueError(f"parents must be in [-1, {node}) at node {node}, got {parent}")
