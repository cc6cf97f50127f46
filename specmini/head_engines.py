"""The heads in NumPy, for decoding: the same functions with cheap calls.

A position of a feature head is *read* with a feature of the target, and *guessed* with the head's
own state as long as the target has not seen the token before. What was guessed is taken back at the
end of a round, and what was accepted is read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.feature_head import FeatureHead
from specmini.medusa_heads import MedusaHeads
from specmini.numpy_model import NumpyStep, _array, _centered, _times
from specmini.step_model import Array, new_cache
from specmini.verify import check_tokens

__all__ = ["FeatureEngine", "MedusaEngine"]


class FeatureEngine:
    """A feature head with a memory of one sequence.

    Args:
        head: the weights, which are copied.
    """

    def __init__(self, head: FeatureHead) -> None:
        self.config = head.config
        self._step = _FeatureStep(head)
        self._cache = new_cache(head.config.draft)
        self._own = np.zeros((1, head.config.draft.width), np.float32)  # (1, d)
        self._length = 0

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self.config.draft.context

    def read(self, tokens: Sequence[int], features: Array) -> Array:
        """See T more tokens, whose predecessors the target has seen.

        Args:
            tokens: T ids, T at least 1.
            features: (T, D); row t is the target's feature after the token before tokens[t], zeros
                where there is none.

        Returns:
            (V,) logits after the last token.

        Raises:
            ValueError: no token, one outside the vocabulary, features of another shape, or more
                than the context has room for.
        """
        expected = (len(tokens), self.config.feature_width)
        if features.shape != expected:
            raise ValueError(f"features must have shape {expected}, got {features.shape}")
        return self._run(tokens, np.dot(features, self._step.from_target))

    def guess(self, token: int) -> Array:
        """See one more token, which follows one that the target has not seen: (V,) logits.

        Raises:
            ValueError: nothing was read yet, the token is unknown, or the context is full.
        """
        if self._length == 0:
            raise ValueError("token must follow one that was read, and nothing was")
        return self._run([token], np.dot(self._own, self._step.from_self))

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens; then ``read`` comes before ``guess``."""
        if not 0 <= length <= self._length:
            raise ValueError(f"length must be in [0, {self._length}], got {length}")
        self._length = length

    def _run(self, tokens: Sequence[int], joined: Array) -> Array:
        """Tokens with what joins their embeddings, (T, d), to (V,) logits after the last."""
        room = self.context - self._length
        if not 1 <= len(tokens) <= room:
            raise ValueError(f"tokens must have length in [1, {room}], got {len(tokens)}")
        check_tokens(np.asarray(tokens), self.config.vocabulary)
        logits, self._own = self._step.after_last(tokens, joined, self._cache, self._length)
        self._length += len(tokens)
        return logits


class _FeatureStep(NumpyStep):
    """The forward pass of a feature head."""

    def __init__(self, head: FeatureHead) -> None:
        super().__init__(head.draft)
        self.from_target = _array(_centered(head.from_target.weight.T))  # (D, d)
        self.from_self = _array(_centered(head.from_self.weight.T))  # (d, d)

    def after_last(
        self, tokens: Sequence[int], joined: Array, cache: Array, past: int
    ) -> tuple[Array, Array]:
        """(V,) logits after the last of T tokens, and (1, d) what the vocabulary matrix read.

        In the last block only the last token asks; the others leave their keys and values.
        """
        end = past + len(tokens)
        x = self._embedded(tokens, slice(past, end))  # (T, d)
        x += joined
        new = len(tokens)
        hidden = self._future[:new, :new] if new > 1 else None  # (T, T)
        *lower, last = zip(self._blocks, cache[:, :, :, :end], strict=True)
        for matrices, stored in lower:
            qkv = _times(self._normed(x), matrices.qkv)  # (T, 3d)
            x += self._attend(qkv, stored, past, hidden, matrices.mixed)
            x += self._hidden(x, matrices)
        matrices, stored = last
        qkv = _times(self._normed(x), matrices.qkv)  # (T, 3d)
        heads, size = stored.shape[1], stored.shape[3]
        parts = qkv[:-1].reshape(-1, 3, heads, size).transpose(1, 2, 0, 3)  # (3, H, T - 1, d/H)
        stored[:, :, past:-1] = parts[1:]
        x = x[-1:]  # (1, d)
        x += self._attend(qkv[-1:], stored, end - 1, None, matrices.mixed)
        x += self._hidden(x, matrices)
        logits, own = self._read_out(x)
        return logits[0], own


class MedusaEngine:
    """Medusa heads, which remember nothing.

    Args:
        heads: the weights, which are copied.
    """

    def __init__(self, heads: MedusaHeads) -> None:
        self.config = heads.config
        weights = {
            name: _array(weight.T if weight.dim() == 2 else weight)
            for name, weight in heads.named_parameters()
        }
        self._inner = [
            (weights[f"hidden.{i}.weight"], weights[f"hidden.{i}.bias"])  # (D, D) and (D,)
            for i in range(heads.config.heads)
        ]
        self._outer = [weights[f"heads.{i}.weight"] for i in range(heads.config.heads)]  # (D, V)

    def guesses(self, feature: Array, count: int) -> Array:
        """Logits of the first ``count`` heads.

        Args:
            feature: (D,) of the last token that the target has seen.
            count: heads to ask, in [1, K].

        Returns:
            (count, V); row k is about the token k + 2 places after the one of the feature.

        Raises:
            ValueError: ``count`` is out of range, or the feature has another shape.
        """
        if not 1 <= count <= self.config.heads:
            raise ValueError(f"count must be in [1, {self.config.heads}], got {count}")
        if feature.shape != (self.config.feature_width,):
            raise ValueError(
                f"feature must have shape {(self.config.feature_width,)}, got {feature.shape}"
            )
        rows = np.empty((count, self.config.vocabulary), np.float32)  # (count, V)
        for row, (inner, bias), outer in zip(rows, self._inner, self._outer, strict=False):
            hidden = np.dot(feature, inner)  # (D,)
            hidden += bias
            hidden /= 1 + np.exp(-hidden)  # SiLU
            hidden += feature
            np.dot(hidden, outer, out=row)
        return rows
