"""A tree of guesses while it grows: which nodes were looked at, and what may become of them."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from specmini.checks import FloatArray
from specmini.sampling import Sampling, draw
from specmini.verify.tree import DraftTree

__all__ = ["Growth", "Sapling"]

Growth = Generator[tuple[list[int], list[int]], FloatArray, DraftTree]
"""Asks for q after nodes: their tokens, and the number of the node before each in the model's tree.

It is sent the rows, one a node, and returns a tree.
"""


class Sapling:
    """A tree while it grows.

    Args:
        first: (V,) the draft model's q after the text, under ``sampling``, or plain if none.
        sampling: to draw siblings; None to name the likeliest tokens.
        rng: source of randomness.
    """

    def __init__(
        self, first: FloatArray, sampling: Sampling | None, rng: np.random.Generator
    ) -> None:
        self.is_drawn = sampling is not None
        self._rng = rng
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.joint = {-1: 1.0}  # draft probability of the path to each node
        self._q: dict[int, FloatArray] = {}  # (V,) after each node that was run, -1 is the text
        self._left: dict[int, FloatArray] = {}  # (V,) the same, 0 at children
        self.run_as = {-1: -1}  # the number of each node that was run in the model's tree
        self._add_rows([-1], [first])

    def run(self, nodes: Sequence[int]) -> Generator[tuple[list[int], list[int]], FloatArray, None]:
        """Run some nodes in one pass, so that they can have children."""
        if nodes:
            tokens = [self.tokens[node] for node in nodes]
            parents = [self.run_as[self.parents[node]] for node in nodes]
            rows = yield tokens, parents  # (len(nodes), V)
            start = len(self.run_as) - 1
            self.run_as |= {node: start + place for place, node in enumerate(nodes)}
            self._add_rows(nodes, rows)

    def reach(self, parent: int) -> float:
        """Chance, were the target the draft, to pass a node and none of its children so far."""
        return self.joint[parent] * float(self._left[parent].sum())

    def bear(self, parent: int) -> int | None:
        """Give a node its next child; None if q has no other token."""
        left = self._left[parent]  # (V,)
        if not np.count_nonzero(left):
            return None
        token = draw(left, self._rng) if self.is_drawn else int(left.argmax())
        left[token] = 0.0
        self.tokens.append(token)
        self.parents.append(parent)
        child = len(self.tokens) - 1
        self.joint[child] = self.joint[parent] * float(self._q[parent][token])
        return child

    def along(self, tokens: Sequence[int]) -> tuple[list[int], list[int]]:
        """The run nodes that these tokens lead through: their numbers in the model, their tokens.

        They end where the tokens leave the tree.
        """
        known = {(self.parents[n], self.tokens[n]): n for n in self.run_as if n >= 0}
        node, path = -1, list[int]()
        for token in tokens:
            if (node, token) not in known:
                break
            node = known[node, token]
            path.append(node)
        return [self.run_as[node] for node in path], [self.tokens[node] for node in path]

    def tree(self, kept: Sequence[int] | None = None) -> DraftTree:
        """The tree, or some of its nodes with all that stand before them, in their order."""
        nodes = range(len(self.tokens)) if kept is None else sorted(kept)
        places = {-1: -1} | {node: place for place, node in enumerate(nodes)}
        tokens = np.array([self.tokens[node] for node in nodes], dtype=np.int64)  # (N,)
        parents = np.array([places[self.parents[node]] for node in nodes], dtype=np.int64)  # (N,)
        if not self.is_drawn:
            return DraftTree(tokens, parents)
        probs = np.zeros((len(tokens) + 1, len(self._q[-1])))  # (N + 1, V)
        for node, q in self._q.items():
            probs[places[node] + 1] = q
        return DraftTree(tokens, parents, probs)

    def _add_rows(self, nodes: Sequence[int], rows: FloatArray | Sequence[FloatArray]) -> None:
        for node, q in zip(nodes, rows, strict=True):
            self._q[node], self._left[node] = q, q.copy()
