"""Draft for many sequences with a head on the target's features, all sequences at a time.

The heads read what the batch's target shows of its last pass, slot by slot, gathered in one array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.batch.attention import Integers
from specmini.batch.draws import draw_each
from specmini.batch.fast import BatchChoice
from specmini.batch.heads import BatchFeatureEngine, feature_batch, mtp_batch
from specmini.batch.model import FeatureBatch
from specmini.batch.room import guessable, readable
from specmini.engine.step_model import Array
from specmini.heads.feature_head import FeatureHead
from specmini.heads.in_numpy import MedusaEngine
from specmini.heads.medusa_heads import MedusaHeads
from specmini.heads.mtp_module import MtpModule
from specmini.sampling import Sampling
from specmini.verify import Draft, Verdict, empty_draft

__all__ = [
    "BatchFeatureDrafter",
    "BatchMedusaDrafter",
    "BatchMtpDrafter",
    "BatchSelfFeedingDrafter",
]


class BatchSelfFeedingDrafter:
    """``SelfFeedingDrafter`` for many sequences: the same tokens for each, from the same numbers.

    Args:
        engine: computes the guesses, with a slot for each of the target's.
        target: whose features it reads; the one that the ``Server`` runs.
        sampling: applied to the guesses' logits; that of the target, to be accepted most.
    """

    def __init__(
        self, engine: BatchFeatureEngine, target: FeatureBatch, sampling: Sampling
    ) -> None:
        self.target, self.sampling = target, sampling
        self._engine = engine

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Forget what the slots have seen, and read the prompts but for their last token."""
        for slot in slots:
            self._engine.truncate(slot, 0)
        check_have_seen(self.target, slots, prompts)
        reading, tokens = readable(self._engine.context, slots, prompts)
        if reading:
            self._read(reading, tokens)

    def propose(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        draft_lengths: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[Draft]:
        """Guess at most so many tokens for each; fewer where the head's context ends.

        Raises:
            ValueError: the target has not seen a text up to its last token.
        """
        check_have_seen(self.target, slots, texts)
        steps = guessable(self._engine.context, texts, draft_lengths)
        longest = max(steps, default=0)
        tokens = np.zeros((len(slots), longest), np.int64)  # (R, K)
        probs = np.zeros((len(slots), longest, self._engine.vocabulary))  # (R, K, V)
        for step in range(longest):
            rows = [row for row, wanted in enumerate(steps) if wanted > step]
            busy = [slots[row] for row in rows]
            if step:
                logits = self._engine.guess(busy, tokens[rows, step - 1].tolist())  # (R', V)
            else:
                logits = self._read(busy, [texts[row] for row in rows])  # (R', V)
            q = self.sampling.probs(logits)  # (R', V)
            tokens[rows, step] = draw_each(q, [rngs[row] for row in rows])
            probs[rows, step] = q
        for slot, text, wanted in zip(slots, texts, steps, strict=True):
            if wanted:
                self._engine.truncate(slot, len(text))
        return [
            Draft(tokens[row, :wanted], probs[row, :wanted]) if wanted else empty_draft
            for row, wanted in enumerate(steps)
        ]

    def observe(self, slots: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """A head learns nothing from verdicts."""

    def _read(self, slots: Sequence[int], texts: Sequence[Sequence[int]]) -> Array:
        """Read what is new in some texts: (R, V) logits after their last tokens."""
        seen = [self._engine.lengths[slot] for slot in slots]
        unseen = [text[length:] for text, length in zip(texts, seen, strict=True)]
        counts = np.array(list(map(len, unseen)))  # (R,)
        starts = counts.cumsum() - counts  # (R,)
        rows = np.repeat(np.arange(len(slots)), counts)  # (N,)
        places: Integers = np.arange(len(rows)) + (np.array(seen) - starts)[rows] - 1  # (N,)
        features = np.zeros((len(rows), self._engine.feature_width), np.float32)  # (N, D)
        shown = np.flatnonzero(places >= 0)  # nothing stands before a text's first token
        if len(shown):
            features[shown] = self.target.features(np.array(slots)[rows[shown]], places[shown])
        return self._engine.read(slots, unseen, features)


class BatchFeatureDrafter(BatchSelfFeedingDrafter):
    """A feature head that drafts for many sequences.

    Args:
        head: trained on this target.
        target: whose features it reads; the one that the ``Server`` runs.
        sampling: applied to the head's logits; that of the target, to be accepted most.
        choice: steps to run; measured if not given.
    """

    def __init__(
        self,
        head: FeatureHead,
        target: FeatureBatch,
        sampling: Sampling,
        choice: BatchChoice | None = None,
    ) -> None:
        super().__init__(feature_batch(head, len(target.lengths), choice), target, sampling)


class BatchMtpDrafter(BatchSelfFeedingDrafter):
    """An MTP module that drafts for many sequences.

    Args:
        module: trained on this target, which has lent it its embedding.
        target: whose features it reads; the one that the ``Server`` runs.
        sampling: applied to the module's logits; that of the target, to be accepted most.
        choice: steps to run; measured if not given.

    Raises:
        ValueError: no target has lent the module its embedding.
    """

    def __init__(
        self,
        module: MtpModule,
        target: FeatureBatch,
        sampling: Sampling,
        choice: BatchChoice | None = None,
    ) -> None:
        super().__init__(mtp_batch(module, len(target.lengths), choice), target, sampling)


class BatchMedusaDrafter:
    """``MedusaDrafter`` for many sequences: the same tokens for each, from the same numbers.

    Args:
        heads: trained on this target.
        target: whose features they read; the one that the ``Server`` runs.
        sampling: applied to the heads' logits; that of the target, to be accepted most.
    """

    def __init__(self, heads: MedusaHeads, target: FeatureBatch, sampling: Sampling) -> None:
        self.target, self.sampling = target, sampling
        self._engine = MedusaEngine(heads)

    def admit(self, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Heads remember nothing."""

    def propose(
        self,
        slots: Sequence[int],
        texts: Sequence[Sequence[int]],
        draft_lengths: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> list[Draft]:
        """Guess as many tokens as there are heads at most; none after a text of one token.

        Raises:
            ValueError: the target has not seen a text up to its last token.
        """
        check_have_seen(self.target, slots, texts)
        steps = [
            min(wanted, self._engine.config.heads) if len(text) > 1 else 0
            for text, wanted in zip(texts, draft_lengths, strict=True)
        ]
        drafts = [empty_draft] * len(slots)
        rows = [row for row, wanted in enumerate(steps) if wanted > 0]
        if not rows:
            return drafts
        last = np.array([len(texts[row]) - 2 for row in rows])  # (R',)
        features = self.target.features(np.array([slots[row] for row in rows]), last)  # (R', D)
        logits = self._engine.guesses(features, max(steps))  # (K, R', V)
        q = self.sampling.probs(logits)  # (K, R', V)
        drawn = np.zeros(q.shape[:2], np.int64)  # (K, R')
        for step in range(len(q)):
            going = [place for place, row in enumerate(rows) if steps[row] > step]
            drawn[step, going] = draw_each(q[step, going], [rngs[rows[one]] for one in going])
        for place, row in enumerate(rows):
            drafts[row] = Draft(drawn[: steps[row], place], q[: steps[row], place])
        return drafts

    def observe(self, slots: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """Heads learn nothing from verdicts."""


def check_have_seen(
    target: FeatureBatch, slots: Sequence[int], texts: Sequence[Sequence[int]]
) -> None:
    """Check that a target's last feature in each slot is that of its text's last token but one.

    Raises:
        ValueError: it has seen more or less.
    """
    lengths = target.lengths
    for slot, text in zip(slots, texts, strict=True):
        if lengths[slot] != len(text) - 1:
            raise ValueError(
                f"target must have seen all {len(text)} tokens of the text in slot {slot} but the "
                f"last, got {lengths[slot]}; a head belongs to the target that serves"
            )
