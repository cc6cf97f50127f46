"""What the engine asks of a model that sees a tree of tokens in one pass.

A token of a tree stands as deep in the text as its path is long, whatever its place in the cache,
and sees the text and its own path only: this is tree attention (Miao et al. 2023, "SpecInfer",
arXiv:2305.09781; Cai et al. 2024, "Medusa", arXiv:2401.10774). When a path is accepted, its keys
and values are moved together behind the text, and the others go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from specmini.checks import IntArray
from specmini.engine.cached_model import CachedModel
from specmini.theory.topology import ancestors, check_parents, depths

__all__ = ["Branches", "Placed", "TreeModel"]


class TreeModel(CachedModel, Protocol):
    """A ``CachedModel`` that can also hold a tree of guesses behind its text.

    ``length`` counts the text alone. ``forward`` and ``truncate`` are about the text, and forget
    the tree.
    """

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> NDArray[Any]:
        """See N more nodes of a tree.

        A tree may come in several calls; its nodes are numbered through, from 0.

        Args:
            tokens: N ids, N at least 1.
            parents: for each the number of the node before it, which is smaller than its own; -1
                for one that follows the text.

        Returns:
            (N, V) logits; row i is about the token after the path to tokens[i].

        Raises:
            ValueError: no token, another number of parents, a parent that does not come before,
                or more nodes than the context has room for, whatever their depth.
        """

    def keep(self, path: Sequence[int]) -> None:
        """Add a path of the tree to the text, and forget the tree.

        Args:
            path: numbers of nodes, from one that follows the text, each the parent of the next;
                empty to forget the whole tree.

        Raises:
            ValueError: this is no such path.
        """


class Placed(NamedTuple):
    """New nodes of a tree and what they may see.

    Attributes:
        depths: (N,) nodes before each on its path; its position is the text's length and this.
        sees: (N, M + N) whether each sees each of the M nodes before these and each of these.
            All see the whole text.
    """

    depths: IntArray
    sees: NDArray[np.bool_]


class Branches:
    """The tree behind a text, as a cache holds it: node after node, in the order they came."""

    def __init__(self) -> None:
        self._parents: list[int] = []

    def __len__(self) -> int:
        """Number of nodes M."""
        return len(self._parents)

    def add(self, tokens: Sequence[int], parents: Sequence[int]) -> Placed:
        """Take in N more nodes.

        Raises:
            ValueError: another number of parents than of tokens, or one that does not come before.
        """
        if len(parents) != len(tokens):
            raise ValueError(
                f"parents must be as many as the {len(tokens)} tokens, got {len(parents)}"
            )
        check_parents(parents, earlier=len(self))
        self._parents += (int(parent) for parent in parents)
        new = slice(len(self) - len(tokens), None)
        return Placed(depths(self._parents)[new], ancestors(self._parents)[new])

    def path_to(self, node: int) -> list[int]:
        """Numbers of the nodes from the text to a node, itself included."""
        path: list[int] = []
        while node >= 0:
            path.append(node)
            node = self._parents[node]
        return path[::-1]

    def take(self, path: Sequence[int]) -> list[int]:
        """The nodes of a path, after a check that it is one; all nodes are forgotten.

        Raises:
            ValueError: the first node does not follow the text, or another not the one before it.
        """
        nodes = [int(node) for node in path]
        for before, node in zip([-1, *nodes], nodes, strict=False):
            if not 0 <= node < len(self) or self._parents[node] != before:
                raise ValueError(
                    f"path must go from parent to child in a tree of {len(self)} nodes, got {nodes}"
                )
        self._parents.clear()
        return nodes
