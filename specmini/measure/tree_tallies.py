"""What trees say about acceptance: counted by depth and rank, to shape the best tree from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from specmini.checks import FloatArray, IntArray
from specmini.generate import Round

__all__ = ["TreeAcceptance", "tree_acceptance"]


@dataclass(frozen=True, eq=False)
class TreeAcceptance:
    """How often a child was accepted, by its depth and its rank among its siblings.

    A child is *offered* if its parent was accepted, whether or not a sibling before it is taken:
    so the rates of siblings add up to the chance that one of them is accepted.

    Attributes:
        offered: (D, R) children of rank r at depth d; those at depth 0 follow the text.
        accepted: (D, R) how many of them were accepted.
    """

    offered: IntArray
    accepted: IntArray

    @property
    def rates(self) -> FloatArray:
        """(D, R) accepted over offered; 0 where nothing was offered."""
        rates = np.zeros(self.offered.shape)  # (D, R)
        return np.divide(self.accepted, self.offered, out=rates, where=self.offered > 0)

    @property
    def falling_rates(self) -> FloatArray:
        """(D, R) the rates, each at most the one of the rank before.

        Noise makes rare ranks rise, and ``tree_shape.best_tree`` takes rates that fall.
        """
        return np.minimum.accumulate(self.rates, axis=1)


def tree_acceptance(rounds: Iterable[Round], levels: int, ranks: int) -> TreeAcceptance:
    """Count offered and accepted children in rounds of ``generate_tree``.

    Args:
        rounds: of any texts.
        levels: D, depths to count.
        ranks: R, siblings to count; later ones are left out.

    Raises:
        ValueError: a round drafted no tree.
    """
    offered, accepted = np.zeros((2, levels, ranks), dtype=np.int64)  # each (D, R)
    for round in rounds:
        if round.parents is None or round.path is None:
            raise ValueError(f"rounds must have drafted trees, got a chain of {len(round.drafted)}")
        parents = np.array(round.parents, dtype=np.int64)  # (N,)
        for level, parent in enumerate([-1, *round.path][:levels]):
            children = np.flatnonzero(parents == parent)[:ranks]
            offered[level, : len(children)] += 1
            accepted[level, : len(children)] += np.isin(children, round.path)
    return TreeAcceptance(offered, accepted)
