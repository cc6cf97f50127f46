"""New positions of many sequences against caches of different lengths.

Everything else in a pass treats a token like any other, whichever sequence it belongs to; one
product serves all. Attention does not: each sequence has keys and values of its own, so a batch
shares neither their reading nor a product. Padding all to one length would read what is not there,
so the two products run sequence by sequence; the softmax is taken over all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specmini.engine.step_model import Array
from specmini.engine.tree_model import Placed

__all__ = ["Attend", "Integers", "Places", "attention", "places_of"]

Integers = NDArray[np.int64]
Attend = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Places:
    """Where the N packed tokens of a pass belong.

    Attributes:
        slots: R slots in the pass.
        past: positions each has stored before, R numbers.
        new: tokens each takes in, R numbers, N in sum.
        rows: (N,) index in ``slots`` of each token's slot.
        offsets: (N,) place of each token among its slot's new ones.
        cells: (N,) place of each token's keys and values in its slot's cache.
        positions: (N,) position of each token in its sequence: its cell, but for nodes of a tree,
            which stand beside each other.
        sees: of trees, for each slot whether its T new tokens see each of the last W stored ones
            and new ones, R arrays (T, W); they see all before. None if tokens follow each other.
    """

    slots: list[int]
    past: list[int]
    new: list[int]
    rows: Integers
    offsets: Integers
    cells: Integers
    positions: Integers
    sees: list[NDArray[np.bool_]] | None = None

    @property
    def last(self) -> Integers:
        """(R,) where each slot's last token is among the packed ones."""
        return np.cumsum(self.new) - 1


def places_of(
    slots: Sequence[int],
    past: Sequence[int],
    new: Sequence[int],
    placed: Sequence[Placed] | None = None,
) -> Places:
    """The places of tokens that are packed slot by slot.

    Args:
        slots: R slots.
        past: positions each has stored before, nodes of its tree among them.
        new: tokens each takes in, at least 1.
        placed: where the tokens of each stand in its tree; one after the other if not given.
    """
    rows = np.arange(len(slots))  # (R,)
    offsets = np.zeros(len(slots), np.int64)  # (R,)
    cells = np.array(past, np.int64)  # (R,)
    if max(new) > 1:
        counts = np.array(new, np.int64)  # (R,)
        rows = np.repeat(rows, counts)  # (N,)
        offsets = np.arange(len(rows)) - (counts.cumsum() - counts)[rows]  # (N,)
        cells = cells[rows] + offsets  # (N,)
    if placed is None:
        return Places(list(slots), list(past), list(new), rows, offsets, cells, cells)
    positions = np.concatenate(
        [
            stored + len(tree.depths) - tree.sees.shape[1] + tree.depths
            for stored, tree in zip(past, placed, strict=True)
        ]
    )  # (N,)
    sees = [tree.sees for tree in placed]
    return Places(list(slots), list(past), list(new), rows, offsets, cells, positions, sees)


def attention(places: Places) -> Attend:
    """What every layer of a pass does with queries, keys and values.

    Returns:
        A function of the (N, 3, H, D/H) queries, keys and values of the packed tokens, the queries
        divided by √(D/H), and of a layer's (2, S, H, C, D/H) cache. It stores the new keys and
        values and gives the (N, D) mixtures.
    """
    rows, offsets, cells = places.rows, places.offsets, places.cells  # each (N,)
    slots = np.array(places.slots)[rows]  # (N,)
    ends = [past + new for past, new in zip(places.past, places.new, strict=True)]
    width, most = max(ends), max(places.new)
    parts = []
    start = 0
    for row, (slot, new, end) in enumerate(zip(places.slots, places.new, ends, strict=True)):
        parts.append((row, slot, slice(start, start + new), new, end))
        start += new
    # what a new position must not see: what comes after it, and what another sequence is longer by
    last = np.array(places.past)[:, None] + np.arange(most)  # (R, T)
    unseen = (np.arange(width) > last[:, :, None])[:, None]  # (R, 1, T, W)
    for row, sees in enumerate(places.sees or ()):
        new, end = places.new[row], ends[row]
        unseen[row, 0, :new, end - sees.shape[1] : end] = ~sees
    scratch: list[Array] = []

    def attend(qkv: Array, cache: Array) -> Array:
        if not scratch:
            scratch.append(np.zeros((len(parts), qkv.shape[2], most, width), np.float32))
        scores = scratch[0]  # (R, H, T, W)
        cache[:, slots, :, cells] = qkv[:, 1:]
        queries = qkv[:, 0]  # (N, H, D/H)
        keys, values = cache  # each (S, H, C, D/H)
        for row, slot, own, new, end in parts:
            np.matmul(
                queries[own].swapaxes(0, 1),  # (H, T, D/H)
                keys[slot, :, :end].swapaxes(1, 2),  # (H, D/H, past + T)
                out=scores[row, :, :new, :end],
            )
        np.copyto(scores, lowest, where=unseen)
        scores -= np.maximum.reduce(scores, -1, keepdims=True)
        np.exp(scores, out=scores)
        sums = np.add.reduce(scores, -1)  # (R, H, T)
        mixed = np.empty(queries.shape, np.float32)  # (N, H, D/H)
        for row, slot, own, new, end in parts:
            np.matmul(
                scores[row, :, :new, :end],
                values[slot, :, :end],
                out=mixed[own].swapaxes(0, 1),
            )
        mixed /= sums[rows, :, offsets][:, :, None]
        return mixed.reshape(len(mixed), -1)  # (N, D)

    return attend


lowest: Final = np.float32(-np.inf)
