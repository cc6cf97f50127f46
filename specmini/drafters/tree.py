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

How a tree grows is told apart from what looks at its nodes: a ``Grower`` asks for q after nodes,
level by level, and whoever has the draft model answers. So one model may answer many growers in one
pass (``batch.tree_drafter``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specmini.checks import single, whole_number
from specmini.drafters.base import agreement
from specmini.drafters.sapling import Growth, Sapling
from specmini.engine.tree_model import TreeModel
from specmini.sampling import Sampling, plain
from specmini.theory.topology import check_parents, depths
from specmini.verify.tree import DraftTree, empty_tree

__all__ = [
    "ConfidentGrower",
    "ConfidentTreeDrafter",
    "Grower",
    "StaticGrower",
    "StaticTreeDrafter",
    "TreeDrafter",
]


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


class Grower(Protocol):
    """A way in which trees grow."""

    def grow(self, sapling: Sapling, nodes: int, levels: int, room: int) -> Growth:
        """Grow a tree.

        Args:
            sapling: without nodes.
            nodes: most nodes of the tree, at least 1.
            levels: most tokens on a path, at least 1.
            room: most nodes of which the draft model could run all but one, at least 1.
        """


class StaticGrower:
    """A tree whose shape is fixed, as in Medusa and Sequoia (arXiv:2401.10774, arXiv:2402.12374).

    Args:
        shape: as in ``StaticTreeDrafter``.

    Raises:
        ValueError: a parent does not come before its child, or there is no node.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        if not len(shape):
            raise ValueError("shape must have at least one node, got none")
        check_parents(shape)
        self.shape = tuple(int(parent) for parent in shape)
        self._depths = depths(self.shape)  # (N,)

    def grow(self, sapling: Sapling, nodes: int, levels: int, room: int) -> Growth:
        """The first nodes of the shape that are not too deep; fewer where q has no more tokens."""
        count = min(nodes, room, len(self.shape))
        by_level: list[list[int]] = [
            np.flatnonzero(self._depths[:count] == level).tolist()
            for level in range(min(levels, int(self._depths[:count].max()) + 1))
        ]
        grown = {-1: -1}
        for level, places in enumerate(by_level):
            with_children = {self.shape[place] for place in places} & grown.keys() - {-1}
            front = [grown[place] for place in sorted(with_children)] if level else []
            yield from sapling.run(front)
            for place in places:
                if self.shape[place] in grown:
                    child = sapling.bear(grown[self.shape[place]])
                    grown |= {} if child is None else {place: child}
        return sapling.tree()


class ConfidentGrower:
    """A tree that grows where the joint draft probability is highest.

    Named siblings: in each level the ``width`` likeliest nodes get as many children each; at the
    end the N likeliest of all nodes are kept (Li et al. 2024, "EAGLE-2", arXiv:2406.16858). Drawn
    siblings must not be sorted out after they were drawn. So each level gets ``width`` draws at
    most, and it is decided before each where it is most useful: where the chance to pass the node
    and to miss its children so far is highest, were the target the draft (the criterion of Xiong
    et al. 2024, "DySpec", arXiv:2410.11744, there for one node a pass).

    Args:
        width: nodes that get children in a level, at least 1.
        levels: most levels, at least 1.

    Raises:
        ValueError: a number is below 1 or no whole number.
    """

    def __init__(self, width: int, levels: int) -> None:
        self.width: int = single("width", whole_number("width", width, minimum=1))
        self.levels: int = single("levels", whole_number("levels", levels, minimum=1))

    def grow(self, sapling: Sapling, nodes: int, levels: int, room: int) -> Growth:
        """At most N nodes."""

        def likelihood(node: int) -> tuple[float, int]:
            return sapling.joint[node], -node  # of equals the first

        born = self._bear(sapling, [-1], nodes)
        for _ in range(1, min(levels, self.levels)):
            front = sorted(born, key=likelihood, reverse=True)[: self.width]
            front = front[: room - len(sapling.run_as)]
            yield from sapling.run(front)
            born = self._bear(sapling, front, nodes)
        if sapling.is_drawn:
            return sapling.tree()
        every = range(len(sapling.tokens))
        return sapling.tree(sorted(every, key=likelihood, reverse=True)[:nodes])

    def _bear(self, sapling: Sapling, front: Sequence[int], nodes: int) -> list[int]:
        """Give children to the nodes of a level; those born."""
        if not sapling.is_drawn:
            born = [sapling.bear(node) for node in front for _ in range(self.width)]
        else:
            draws = min(self.width, nodes - len(sapling.tokens)) if front else 0
            # it is known where a child goes before it is known which token it is
            born = [sapling.bear(max(front, key=sapling.reach)) for _ in range(draws)]
        return [child for child in born if child is not None]


class _ModelTreeDrafter:
    """A draft model, what it has seen, and how trees grow on it."""

    def __init__(self, model: TreeModel, sampling: Sampling | None, grower: Grower) -> None:
        self.model, self.sampling, self.grower = model, sampling, grower
        self._seen: list[int] = []
        self._last: Sapling | None = None
        model.truncate(0)

    def propose_tree(
        self, text: Sequence[int], nodes: int, levels: int, rng: np.random.Generator
    ) -> DraftTree:
        """At most N nodes; none where the draft model's context ends.

        Raises:
            ValueError: somebody else ran the draft model.
        """
        room = self.model.context - len(text) + 1
        if min(nodes, room) < 1:
            return empty_tree
        growth = self.grower.grow(self._plant(text, rng), nodes, levels, room)
        try:
            tokens, parents = next(growth)
            while True:
                logits = self.model.forward_tree(tokens, parents)  # (len(tokens), V)
                tokens, parents = growth.send((self.sampling or plain).probs(logits))
        except StopIteration as grown:
            tree: DraftTree = grown.value
            return tree

    def _plant(self, text: Sequence[int], rng: np.random.Generator) -> Sapling:
        """A tree without nodes, after the model has read the text."""
        if self.model.length != len(self._seen):
            raise ValueError(
                f"model must have seen the {len(self._seen)} tokens this drafter gave it, got "
                f"{self.model.length}; each drafter needs a model of its own"
            )
        self._keep_what_was_right(text)
        agreed = agreement(self._seen, text[:-1])
        self.model.truncate(agreed)
        logits = self.model.forward(list(text[agreed:]))[-1]  # (V,)
        self._last = Sapling((self.sampling or plain).probs(logits), self.sampling, rng)
        self._seen = list(text)
        return self._last

    def _keep_what_was_right(self, text: Sequence[int]) -> None:
        """Keep the path of the last tree that the text took, as far as it was run."""
        if self._last is not None and agreement(self._seen, text) == len(self._seen):
            cells, tokens = self._last.along(text[len(self._seen) : -1])
            self.model.keep(cells)
            self._seen += tokens


class StaticTreeDrafter(_ModelTreeDrafter):
    """``StaticGrower`` on a draft model.

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
        super().__init__(model, sampling, StaticGrower(shape))


class ConfidentTreeDrafter(_ModelTreeDrafter):
    """``ConfidentGrower`` on a draft model.

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
        super().__init__(model, sampling, ConfidentGrower(width, levels))
