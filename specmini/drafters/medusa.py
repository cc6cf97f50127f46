"""Draft all tokens at once from one feature: Medusa (Cai et al. 2024, arXiv:2401.10774)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.drafters.feature import check_has_seen
from specmini.engine.cached_model import FeatureModel
from specmini.heads.in_numpy import MedusaEngine
from specmini.heads.medusa_heads import MedusaHeads
from specmini.sampling import Sampling, draw
from specmini.verify import Draft, Verdict, empty_draft

__all__ = ["MedusaDrafter"]


class MedusaDrafter:
    """Heads that each guess one place, blind to each other.

    The guesses of a round form a chain here, drawn independently from their q and verified by the
    textbook rule. The paper verifies a tree of them, and accepts by a rule that is not lossless.

    Args:
        heads: trained on this target.
        target: whose features they read; the one that ``generate`` runs.
        sampling: applied to the heads' logits; that of the target, to be accepted most.
    """

    def __init__(self, heads: MedusaHeads, target: FeatureModel, sampling: Sampling) -> None:
        self.target, self.sampling = target, sampling
        self._engine = MedusaEngine(heads)

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess at most as many tokens as there are heads; none before the target has seen any.

        Raises:
            ValueError: the target has not seen the text up to its last token.
        """
        check_has_seen(self.target, text)
        steps = min(draft_length, self._engine.config.heads)
        if len(text) == 1 or steps < 1:
            return empty_draft
        rows = self.sampling.probs(self._engine.guesses(self.target.features[-1], steps))  # (K, V)
        tokens = [draw(row, rng) for row in rows]
        return Draft(np.array(tokens, dtype=np.int64), rows)

    def observe(self, verdict: Verdict) -> None:
        """Heads learn nothing from verdicts."""
