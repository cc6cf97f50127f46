"""A batch out of models for one sequence, which run one after the other.

It saves nothing. It is what the others are compared with, and it batches any model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specmini.batch.model import check_pass, check_slot_length, check_slots
from specmini.engine.cached_model import CachedModel, FeatureModel
from specmini.engine.tree_model import TreeModel

__all__ = ["ShownTreeModel", "SideBySide", "SideBySideEngines", "SideBySideTrees"]


class SideBySide:
    """A ``BatchModel``.

    Args:
        models: one a slot, with one vocabulary and context; what they have seen is kept.

    Raises:
        ValueError: no model, or models of different shapes.
    """

    def __init__(self, models: Sequence[CachedModel]) -> None:
        shapes = {(model.vocabulary, model.context) for model in models}
        if len(shapes) != 1:
            raise ValueError(
                f"models must share one vocabulary and context, got {sorted(shapes)} "
                f"of {len(models)} models"
            )
        self._models = tuple(models)

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._models[0].vocabulary

    @property
    def context(self) -> int:
        """Most tokens a slot can have seen."""
        return self._models[0].context

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens each slot has seen."""
        return tuple(model.length for model in self._models)

    def forward(
        self, slots: Sequence[int], tokens: Sequence[Sequence[int]], *, last_only: bool = False
    ) -> NDArray[Any]:
        """See more tokens: packed logits. Raises ``ValueError`` as ``BatchModel.forward``."""
        check_pass(self, slots, tokens)
        rows = []
        for slot, new in zip(slots, tokens, strict=True):
            logits = self._models[slot].forward(new)  # (T, V)
            rows.append(logits[-1:] if last_only else logits)
        return np.concatenate(rows) if len(rows) > 1 else rows[0]  # (N, V) or (R, V)

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a slot."""
        check_slot_length(self, slot, length)
        self._models[slot].truncate(length)


class SideBySideTrees(SideBySide):
    """A ``TreeBatch``.

    Args:
        models: as in ``SideBySide``.

    Raises:
        ValueError: as ``SideBySide``.
    """

    def __init__(self, models: Sequence[TreeModel]) -> None:
        super().__init__(models)
        self._trees = tuple(models)

    def forward_tree(
        self,
        slots: Sequence[int],
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]],
    ) -> NDArray[Any]:
        """See more nodes: packed (N, V). Raises ``ValueError`` as ``TreeBatch.forward_tree``."""
        check_slots(self, slots, tokens)
        rows = [
            self._trees[slot].forward_tree(new, above)
            for slot, new, above in zip(slots, tokens, parents, strict=True)
        ]
        return np.concatenate(rows)  # (N, V)

    def keep(self, slots: Sequence[int], paths: Sequence[Sequence[int]]) -> None:
        """Add a path of each slot's tree to its text, and forget the trees."""
        for slot, path in zip(slots, paths, strict=True):
            self._trees[slot].keep(path)


class ShownTreeModel(TreeModel, FeatureModel, Protocol):
    """A model for one sequence that sees trees and shows what its head reads."""


class SideBySideEngines(SideBySideTrees):
    """A ``BatchEngine``.

    Args:
        models: as in ``SideBySide``.

    Raises:
        ValueError: as ``SideBySide``.
    """

    def __init__(self, models: Sequence[ShownTreeModel]) -> None:
        super().__init__(models)
        self._shown = tuple(models)

    def features(self, slots: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[Any]:
        """What the head read after some tokens, (N, D)."""
        pairs = zip(slots.tolist(), places.tolist(), strict=True)
        return np.array([self._shown[slot].features[place] for slot, place in pairs])
