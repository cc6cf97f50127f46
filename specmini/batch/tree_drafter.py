"""Draft trees for many sequences with a small language model: a level of all trees at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specmini.batch.model import TreeBatch
from specmini.batch.room import begin
from specmini.drafters.sapling import Growth, Sapling
from specmini.drafters.tree import Grower
from specmini.sampling import Sampling, plain
from specmini.verify.tree import DraftTree, empty_tree

__all__ = ["BatchModelTreeDrafter", "BatchTreeDrafter"]


class BatchTreeDrafter(Protocol):
    """A source of guesses that branch, for the sequences in a batch's slots.

    In a slot a text only grows, until ``admit`` puts another one there.
    """

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Begin new texts, as ``BatchDrafter.admit``."""

    def propose_trees(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        nodes: Sequence[int],
        levels: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[DraftTree]:
        """Guess the tokens that follow, as ``TreeDrafter.propose_tree`` does.

        Args:
            slots: R slots.
            texts: all tokens of each so far.
            nodes: most nodes of each tree; 0 asks for none.
            levels: most tokens on a path of each.
            rngs: source of randomness of each.
        """


class BatchModelTreeDrafter:
    """Trees that grow on a draft model: the same for each sequence as it would get alone.

    Args:
        model: the draft model, which is this drafter's alone, with a slot for each of the target's.
        sampling: that of the target, to draw siblings; None to name the likeliest tokens.
        grower: how trees grow, ``StaticGrower`` for example.
    """

    def __init__(self, model: TreeBatch, sampling: Sampling | None, grower: Grower) -> None:
        self.model, self.sampling, self.grower = model, sampling, grower
        self._saplings: dict[int, Sapling] = {}  # by slot, the last that grew there

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Forget what the slots have seen, and read the prompts but for their last token."""
        for slot in slots:
            self._saplings.pop(slot, None)
        begin(self.model, slots, prompts)

    def propose_trees(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        nodes: Sequence[int],
        levels: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[DraftTree]:
        """At most so many nodes for each; none where the draft model's context ends."""
        room = [self.model.context - len(text) + 1 for text in texts]
        busy = [row for row in range(len(slots)) if min(nodes[row], room[row]) > 0]
        trees = [empty_tree] * len(slots)
        if not busy:
            return trees
        self._read(slots, texts, busy, rngs)
        growing: dict[int, Growth] = {}
        asked: dict[int, tuple[list[int], list[int]]] = {}
        for row in busy:
            sapling = self._saplings[slots[row]]
            growth = self.grower.grow(sapling, nodes[row], levels[row], room[row])
            try:
                asked[row] = next(growth)
                growing[row] = growth
            except StopIteration as grown:
                trees[row] = grown.value
        while asked:
            rows = list(asked)
            logits = self.model.forward_tree(
                [slots[row] for row in rows],
                [asked[row][0] for row in rows],
                [asked[row][1] for row in rows],
            )  # (N, V)
            q = (self.sampling or plain).probs(logits)  # (N, V)
            start = 0
            for row in rows:
                stop = start + len(asked[row][0])
                try:
                    asked[row] = growing[row].send(q[start:stop])
                except StopIteration as grown:
                    trees[row] = grown.value
                    del asked[row]
                start = stop
        return trees

    def _read(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        busy: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Keep what was right of the last trees, read the rest of the texts, and plant new ones."""
        lengths = self.model.lengths
        grown = [row for row in busy if slots[row] in self._saplings]
        paths = [
            self._saplings[slots[row]].along(texts[row][lengths[slots[row]] : -1])[0]
            for row in grown
        ]
        self.model.keep([slots[row] for row in grown], paths)
        lengths = self.model.lengths
        logits = self.model.forward(
            [slots[row] for row in busy],
            [texts[row][lengths[slots[row]] :] for row in busy],
            last_only=True,
        )  # (R, V)
        first = (self.sampling or plain).probs(logits)  # (R, V)
        for row, q in zip(busy, first, strict=True):
            self._saplings[slots[row]] = Sapling(q, self.sampling, rngs[row])
