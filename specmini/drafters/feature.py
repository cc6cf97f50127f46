"""Draft with a head that reads the target's features: EAGLE (Li et al. 2024, arXiv:2401.15077)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.drafters.base import agreement
from specmini.engine.cached_model import FeatureModel
from specmini.heads.feature_head import FeatureHead
from specmini.heads.in_numpy import FeatureEngine, feature_engine
from specmini.sampling import Sampling, draw
from specmini.verify import Draft, Verdict, empty_draft

__all__ = ["FeatureDrafter", "SelfFeedingDrafter", "check_has_seen"]


class SelfFeedingDrafter:
    """What goes on from the target's last hidden state, then from its own.

    It drafts by the textbook rule: tokens are drawn from q, and ``verify`` sees q.

    Args:
        engine: computes the guesses.
        target: whose features it reads; the one that ``generate`` runs.
        sampling: applied to the guesses' logits; that of the target, to be accepted most.
    """

    def __init__(self, engine: FeatureEngine, target: FeatureModel, sampling: Sampling) -> None:
        self.target, self.sampling = target, sampling
        self._engine = engine
        self._read: list[int] = []

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess at most K tokens; fewer where the head's context ends.

        Raises:
            ValueError: the target has not seen the text up to its last token.
        """
        check_has_seen(self.target, text)
        steps = min(draft_length, self._engine.context - len(text) + 1)
        if steps < 1:
            return empty_draft
        # the last token is always read again: its logits were not kept
        agreed = min(agreement(self._read, text), len(text) - 1)
        self._engine.truncate(agreed)
        before = self.target.features[max(agreed - 1, 0) : len(text) - 1]  # (T, D) or (T - 1, D)
        if agreed == 0:
            before = np.vstack((np.zeros((1, before.shape[1]), np.float32), before))  # (T, D)
        logits = self._engine.read(text[agreed:], before)  # (V,)
        self._read = list(text)

        tokens: list[int] = []
        rows = []
        for left in reversed(range(steps)):
            q = self.sampling.probs(logits)  # (V,)
            token = draw(q, rng)
            tokens.append(token)
            rows.append(q)
            if left:
                logits = self._engine.guess(token)  # (V,)
        self._engine.truncate(len(text))
        return Draft(np.array(tokens, dtype=np.int64), np.array(rows))

    def observe(self, verdict: Verdict) -> None:
        """A head learns nothing from verdicts."""


class FeatureDrafter(SelfFeedingDrafter):
    """A feature head that drafts.

    Args:
        head: trained on this target.
        target: whose features it reads; the one that ``generate`` runs.
        sampling: applied to the head's logits; that of the target, to be accepted most.
    """

    def __init__(self, head: FeatureHead, target: FeatureModel, sampling: Sampling) -> None:
        super().__init__(feature_engine(head), target, sampling)


def check_has_seen(target: FeatureModel, text: Sequence[int]) -> None:
    """Check that a target's last feature is that of the text's last token but one.

    Raises:
        ValueError: it has seen more or less.
    """
    if target.length != len(text) - 1:
        raise ValueError(
            f"target must have seen all {len(text)} tokens of the text but the last, got "
            f"{target.length}; a head belongs to the target that generates"
        )
