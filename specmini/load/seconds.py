"""The time of every pass that a server may need, computed once from a deployment.

A simulation asks for some ten thousand passes. They differ in batch, tokens and context, and
between two contexts a pass is all but linear, so a grid of contexts is enough.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from specmini import checks
from specmini.checks import FloatArray
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import Draft, DraftCost, draft_seconds

__all__ = ["Seconds"]

CONTEXTS = 17  # grid points from the shortest to the longest


class Seconds:
    """Seconds of rounds and of prompts.

    Args:
        target: the target on its machine.
        draft: a ``DraftCost``, or the cost ratio itself in [0, inf); with the latter reading a
            prompt costs the draft nothing.
        longest_draft: largest K, at least 0.
        batch: largest batch, at least 1.
        context: most positions a request may have in the cache, at least 1.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self, target: Deployment, draft: Draft, longest_draft: int, batch: int, context: int
    ) -> None:
        most = checks.single("longest_draft", checks.whole_number("longest_draft", longest_draft))
        rows = np.arange(1, checks.single("batch", checks.whole_number("batch", batch, 1)) + 1)
        far = checks.single("context", checks.whole_number("context", context, minimum=1))
        self._grid = np.unique(np.linspace(0, far, CONTEXTS).astype(np.int64))  # (G,)
        lengths = np.arange(most + 1)  # (K + 1,)
        check = target.pass_time(
            rows[:, None, None], lengths + 1, self._grid[:, None]
        ).time  # (B, G, K + 1)
        step = np.zeros(check.shape[:2])  # (B, G)
        if most:
            step = np.broadcast_to(
                draft_seconds(target, draft, rows[:, None], self._grid), step.shape
            )
        self._check, self._step = check, step
        self._target = target
        self._draft = draft.deployment if most and isinstance(draft, DraftCost) else None
        self.prompts = lru_cache(maxsize=None)(self._prompts)

    def passes(self, batch: int, context: float) -> tuple[float, FloatArray]:
        """Seconds to draft a token, and (K + 1,) to check 0, 1, ..., K of them, for all together.

        Args:
            batch: sequences, in [1, B].
            context: positions in the cache, on average; within the grid.
        """
        place = int(self._grid.searchsorted(context, side="right")) - 1
        place = min(max(place, 0), len(self._grid) - 2)
        near, far = self._grid[place], self._grid[place + 1]
        share = (context - near) / (far - near)
        both = slice(place, place + 2)
        weights = np.array((1 - share, share))
        check: FloatArray = weights @ self._check[batch - 1, both]
        return float(weights @ self._step[batch - 1, both]), check

    def _prompts(self, batch: int, tokens: int) -> float:
        """Seconds to read so many prompts of so many tokens, by target and draft."""
        time = float(self._target.pass_time(batch, tokens, 0).time)
        if self._draft is not None:
            time += float(self._draft.pass_time(batch, tokens, 0).time)
        return time
