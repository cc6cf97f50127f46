"""Heads that draft from the target's features, for many sequences: the passes of all at a time.

A feature head, or an MTP module, is a GPT whose embedded tokens are joined by something. So its
passes are those of any draft in a batch, by the fastest steps of this machine, and what its own
vocabulary matrix reads is the state it goes on from.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from specmini.batch.attention import Integers
from specmini.batch.fast import BatchChoice, FastBatch
from specmini.batch.steps import StepBatch
from specmini.engine.numpy_model import _array, _centered
from specmini.engine.step_model import Array
from specmini.heads.feature_head import FeatureHead
from specmini.heads.in_numpy import HeadJoin, Join
from specmini.heads.mtp_in_numpy import MtpJoin, as_gpt
from specmini.heads.mtp_module import MtpModule

__all__ = ["BatchFeatureEngine", "feature_batch", "mtp_batch"]


class BatchFeatureEngine:
    """``FeatureEngine`` for many sequences: a head that reads features, with a memory of each.

    Args:
        model: the GPT in the head, with a slot for each sequence.
        join: what features add to its tokens.
        feature_width: size of the target's features D.
        renamed: (V, d) what a token is embedded as, less what the GPT embeds it as, rows of mean
            0; None if that is the same.

    Attributes:
        feature_width: as given.
    """

    def __init__(
        self, model: StepBatch, join: Join, feature_width: int, renamed: Array | None = None
    ) -> None:
        self.feature_width = feature_width
        self._model, self._join, self._renamed = model, join, renamed

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._model.vocabulary

    @property
    def context(self) -> int:
        """Most tokens a slot can have seen."""
        return self._model.context

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens each slot has seen."""
        return self._model.lengths

    def read(self, slots: Sequence[int], tokens: Sequence[Sequence[int]], features: Array) -> Array:
        """See more tokens, whose predecessors the target has seen.

        Args:
            slots: R different ones.
            tokens: for each of them at least one id, N in sum.
            features: (N, D), packed as the tokens: the target's after the token before each, zeros
                where there is none.

        Returns:
            (R, V) logits after each slot's last token.

        Raises:
            ValueError: features of another shape, or as ``BatchModel.forward``.
        """
        expected = (sum(map(len, tokens)), self.feature_width)
        if features.shape != expected:
            raise ValueError(f"features must have shape {expected}, got {features.shape}")
        return self._run(slots, tokens, self._join.from_target(features))

    def guess(self, slots: Sequence[int], tokens: Sequence[int]) -> Array:
        """See one more token in each of R slots, which follows one that the target has not seen.

        Returns:
            (R, V) logits.

        Raises:
            ValueError: nothing was read in a slot yet, or as ``BatchModel.forward``.
        """
        last = np.array([self.lengths[slot] for slot in slots]) - 1  # (R,)
        if last.min() < 0:
            raise ValueError(
                f"tokens must follow one that was read in their slots, got {list(slots)} "
                f"with lengths {(last + 1).tolist()}"
            )
        own = self._model.features(np.array(slots), last)  # (R, d)
        return self._run(slots, [[token] for token in tokens], self._join.from_self(own))

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a slot; then ``read`` before ``guess``."""
        self._model.truncate(slot, length)

    def _run(self, slots: Sequence[int], tokens: Sequence[Sequence[int]], joined: Array) -> Array:
        """Tokens with what joins their embeddings, (N, d), to (R, V) logits after the last."""
        if self._renamed is not None:
            packed: Integers = np.array(list(chain.from_iterable(tokens)), np.int64)  # (N,)
            joined += self._renamed.take(packed, axis=0, mode="clip")  # a bad id is refused below
        return self._model.forward(slots, tokens, last_only=True, joined=joined)


def feature_batch(
    head: FeatureHead, slots: int, choice: BatchChoice | None = None
) -> BatchFeatureEngine:
    """An engine for a feature head, in float32 on the CPU.

    Args:
        head: the weights, which are copied or shared: do not train it on.
        slots: number of sequences, at least 1.
        choice: steps to run; measured if not given.

    Raises:
        ValueError: as ``FastBatch``.
    """
    model = FastBatch(head.draft, slots, choice)
    return BatchFeatureEngine(model, HeadJoin(head), head.config.feature_width)


def mtp_batch(
    module: MtpModule, slots: int, choice: BatchChoice | None = None
) -> BatchFeatureEngine:
    """An engine for an MTP module, in float32 on the CPU.

    Args:
        module: the weights, as in ``feature_batch``.
        slots: number of sequences, at least 1.
        choice: steps to run; measured if not given.

    Raises:
        ValueError: no target has lent the module its embedding, or as ``FastBatch``.
    """
    module.check_lent()
    join, width = MtpJoin(module), module.config.width
    # the GPT has one matrix for both ends, the module a table of its own in front
    renamed = join.named - _array(_centered(module.embedding))  # (V, D)
    return BatchFeatureEngine(FastBatch(as_gpt(module), slots, choice), join, width, renamed)
