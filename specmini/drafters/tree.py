"""Draft trees with a small model: a fixed shape, or one that grows where the draft is confident.

The draft model sees a whole level in one pass, so a tree costs as many passes as it has levels,
whatever its width. How siblings are chosen decides what may be done with the tree
(``specmini.verify.tree`` says why):

* ``sampling`` given: siblings are drawn from q without replacement, and p is compared with q. A
  shape fixed beforehand is exact, and so is one that grows where drawn paths are likely, as long
  as it is decided where to draw before it is drawn. Nothing may be taken out again.
* ``sampling`` None: siblings are the likeliest tokens, in order, and named with certainty. Then
  everything is a function of the text, and pruning is exact too. At temperature 0 this is the
  only way: a q that is 1 at one token has no second one to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specmini.checks import FloatArray, single, whole_number
from specmini.drafters.base import agreement
from specmini.engine.tree_model import TreeModel
from specmini.sampling import Sampling, draw, plain
from specmini.theory.topology import check_parents, depths
from specmini.verify.tree import DraftTree, empty_tree

__all__ = ["ConfidentTreeDrafter", "StaticTreeDrafter", "TreeDrafter"]


class TreeDrafter(Protocol):
    """A source of guesses that branch."""

    def propose_tree(
        self, text: Sequence[int], nodes: int, levels: int, rng: np.random.Generator
    ) -> DraftTree:
        """Guess the tokens that follow.

        Args:
            text: all tokens so far, at least one.
            nodes: most nodes of the tree, N, at least 1.
            levels: most tokens on a path, at least 1.
            rng: source of randomness.

        Returns:
            A tree of at most so many, or an empty one.
        """


class _Sapling:
    """A tree while it grows, and the draft model that looks at it."""

    def __init__(
        self, model: TreeModel, sampling: Sampling | None, rng: np.random.Generator
    ) -> None:
        self._model, self._sampling, self._rng = model, sampling, rng
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.joint = {-1: 1.0}  # draft probability of the path to each node
        self._q: dict[int, FloatArray] = {}  # (V,) after each node that was run, -1 is the text
        self._left: dict[int, FloatArray] = {}  # (V,) the same, 0 at children
        self.run_as = {-1: -1}  # the number of each node that was run in the model's tree

    def read(self, unseen: Sequence[int]) -> None:
        """Run the rest of the text."""
        self._add_rows([-1], self._model.forward(unseen)[-1:])

    def run(self, nodes: Sequence[int]) -> None:
        """Run some nodes in one pass, so that they can have children."""
        if nodes:
            tokens = [self.tokens[node] for node in nodes]
            parents = [self.run_as[self.parents[node]] for node in nodes]
            logits = self._model.forward_tree(tokens, parents)  # (len(nodes), V)
            start = len(self.run_as) - 1
            self.run_as |= {node: start + place for place, node in enumerate(nodes)}
            self._add_rows(nodes, logits)

    def reach(self, parent: int) -> float:
        """Chance, were the target the draft, to pass a node and none of its children so far."""
        return self.joint[parent] * float(self._left[parent].sum())

    def bear(self, parent: int) -> int | None:
        """Give a node its next child; None if q has no other token."""
        left = self._left[parent]  # (V,)
        if not np.count_nonzero(left):
            return None
        token = int(left.argmax()) if self._sampling is None else draw(left, self._rng)
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
        if self._sampling is None:
            return DraftTree(tokens, parents)
        probs = np.zeros((len(tokens) + 1, self._model.vocabulary))  # (N + 1, V)
        for node, q in self._q.items():
            probs[places[node] + 1] = q
        return DraftTree(tokens, parents, probs)

    def _add_rows(self, nodes: Sequence[int], logits: FloatArray) -> None:
        rows = (self._sampling or plain).probs(logits)  # (len(nodes), V)
        for node, q in zip(nodes, rows, strict=True):
            self._q[node], self._left[node] = q, q.copy()


class _ModelTreeDrafter:
    """What the two drafters share: a draft model, and what it has seen."""

    def __init__(self, model: TreeModel, sampling: Sampling | None) -> None:
        self.model, self.sampling = model, sampling
        self._seen: list[int] = []
        self._last: _Sapling | None = None
        model.truncate(0)

    def _room(self, text: Sequence[int]) -> int:
        """Most nodes of which the draft model could run all but one."""
        return self.model.context - len(text) + 1

    def _plant(self, text: Sequence[int], rng: np.random.Generator) -> _Sapling:
        """A tree without nodes, after the model has read the text."""
        if self.model.length != len(self._seen):
            raise ValueError(
                f"model must have seen the {len(self._seen)} tokens this drafter gave it, got "
                f"{self.model.length}; each drafter needs a model of its own"
            )
        self._keep_what_was_right(text)
        agreed = agreement(self._seen, text[:-1])
        self.model.truncate(agreed)
        sapling = self._last = _Sapling(self.model, self.sampling, rng)
        sapling.read(list(text[agreed:]))
        self._seen = list(text)
        return sapling

    def _keep_what_was_right(self, text: Sequence[int]) -> None:
        """Keep the path of the last tree that the text took, as far as it was run."""
        if self._last is not None and agreement(self._seen, text) == len(self._seen):
            cells, tokens = self._last.along(text[len(self._seen) : -1])
            self.model.keep(cells)
            self._seen += tokens


class StaticTreeDrafter(_ModelTreeDrafter):
    """A tree whose shape is fixed, as in Medusa and Sequoia (arXiv:2401.10774, arXiv:2402.12374).

    Args:
        model: the draft model; it is this drafter's alone, and what it has seen is forgotten.
        sampling: that of the target, to draw siblings; None to name the likeliest tokens.
        shape: the parent of each node, -1 for first guesses, each before its children. The n-th
            child of a node is its n-th draw, or its n-th likeliest token. When fewer nodes are
            asked for the first ones are drafted, so put the most useful first
            (``tree_shape.best_tree`` does).

    Raises:
        ValueError: a parent does not come before its child, or there is no node.
    """

    def __init__(self, model: TreeModel, sampling: Sampling | None, shape: Sequence[int]) -> None:
        super().__init__(model, sampling)
        if not len(shape):
            raise ValueError("shape must have at least one node, got none")
        check_parents(shape)
        self.shape = tuple(int(parent) for parent in shape)
        self._depths = depths(self.shape)  # (N,)

    def propose_tree(
        self, text: Sequence[int], nodes: int, levels: int, rng: np.random.Generator
    ) -> DraftTree:
        """The first nodes of the shape that are not too deep; fewer where q has no more tokens.

        Raises:
            ValueError: somebody else ran the draft model.
        """
        count = min(nodes, self._room(text), len(self.shape))
        if count < 1:
            return empty_tree
        by_level: list[list[int]] = [
            np.flatnonzero(self._depths[:count] == level).tolist()
            for level in range(min(levels, int(self._depths[:count].max()) + 1))
        ]
        sapling, grown = self._plant(text, rng), {-1: -1}
        for level, places in enumerate(by_level):
            with_children = {self.shape[place] for place in places} & grown.keys() - {-1}
            sapling.run([grown[place] for place in sorted(with_children)] if level else [])
            for place in places:
                if self.shape[place] in grown:
                    child = sapling.bear(grown[self.shape[place]])
                    grown |= {} if child is None else {place: child}
        return sapling.tree()


class ConfidentTreeDrafter(_ModelTreeDrafter):
    """A tree that grows where the joint draft probability is highest.

    Named siblings (``sampling`` None): in each level the ``width`` likeliest nodes get as many
    children each; at the end the N likeliest of all nodes are kept (Li et al. 2024, "EAGLE-2",
    arXiv:2406.16858). Drawn siblings must not be sorted out after they were drawn. So each level
    gets ``width`` draws at most, and it is decided before each where it is most useful: where the
    chance to pass the node and to miss its children so far is highest, were the target the draft
    (the criterion of Xiong et al. 2024, "DySpec", arXiv:2410.11744, there for one node a pass).

    Args:
        model: the draft model; it is this drafter's alone, and what it has seen is forgotten.
        sampling: that of the target, to draw siblings; None to name the likeliest tokens.
        width: nodes that get children in a level, at least 1.
        levels: most levels, at least 1.

    Raises:
        ValueError: a number is below 1 or no whole number.
    """

    def __init__(
        self, model: TreeModel, sampling: Sampling | None, width: int, levels: int
    ) -> None:
        super().__init__(model, sampling)
        self.width: int = single("width", whole_number("width", width, minimum=1))
        self.levels: int = single("levels", whole_number("levels", levels, minimum=1))

    def propose_tree(
        self, text: Sequence[int], nodes: int, levels: int, rng: np.random.Generator
    ) -> DraftTree:
        """At most N nodes.

        Raises:
            ValueError: somebody else ran the draft model.
        """
        room = self._room(text)
        if room < 1:
            return empty_tree
        sapling = self._plant(text, rng)

        def likelihood(node: int) -> tuple[float, int]:
            return sapling.joint[node], -node  # of equals the first

        born = self._grow(sapling, [-1], nodes)
        for _ in range(1, min(levels, self.levels)):
            front = sorted(born, key=likelihood, reverse=True)[: self.width]
            front = front[: room - len(sapling.run_as)]
            sapling.run(front)
            born = self._grow(sapling, front, nodes)
        if self.sampling is not None:
            return sapling.tree()
        every = range(len(sapling.tokens))
        return sapling.tree(sorted(every, key=likelihood, reverse=True)[:nodes])

    def _grow(self, sapling: _Sapling, front: Sequence[int], nodes: int) -> list[int]:
        """Give children to the nodes of a level; those born."""
        if self.sampling is None:
            born = [sapling.bear(node) for node in front for _ in range(self.width)]
        else:
            draws = min(self.width, nodes - len(sapling.tokens)) if front else 0
            # it is known where a child goes before it is known which token it is
            born = [sapling.bear(max(front, key=sapling.reach)) for _ in range(draws)]
        return [child for child in born if child is not None]
