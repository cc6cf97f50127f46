"""The heads in NumPy, for decoding: the same functions with cheap calls.

A position of a feature head is *read* with a feature of the target, and *guessed* with the head's
own state as long as the target has not seen the token before. What was guessed is taken back at the
end of a round, and what was accepted is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specmini.engine.numpy_model import NumpyStep, _array, _centered, _times
from specmini.engine.step_model import Array, new_cache
from specmini.gpt import Config
from specmini.heads.feature_head import FeatureHead
from specmini.heads.medusa_heads import MedusaHeads
from specmini.verify.chain import check_tokens

__all__ = [
    "FeatureEngine",
    "FeatureStep",
    "HeadJoin",
    "Join",
    "JoinedStep",
    "MedusaEngine",
    "feature_engine",
]


class Join(Protocol):
    """What a head adds to embedded tokens; rows of mean 0."""

    def from_target(self, features: Array) -> Array:
        """What features of the target add to the tokens behind them: (T, D) to (T, d)."""

    def from_self(self, own: Array) -> Array:
        """What the head's own last states add to the next tokens: (T, d) to (T, d)."""


class FeatureStep(Join, Protocol):
    """The forward pass of a head that reads features; ``tokens`` and ``cache`` as in ``Step``."""

    def after_last(
        self, tokens: Sequence[int], joined: Array, cache: Array, past: int
    ) -> tuple[Array, Array]:
        """Logits after the last of T tokens, and the state behind them.

        Args:
            tokens: T ids.
            joined: (T, d) what features or states add to them.
            cache: of the head.
            past: number of positions stored before.

        Returns:
            (V,), and (1, d) what the vocabulary matrix read.
        """


class FeatureEngine:
    """A head that reads features, with a memory of one sequence.

    Args:
        step: the head's forward pass.
        config: shape of the blocks in it.
        feature_width: size of the target's features D.
    """

    def __init__(self, step: FeatureStep, config: Config, feature_width: int) -> None:
        self._step = step
        self._config, self._feature_width = config, feature_width
        self._cache = new_cache(config)
        self._own = np.zeros((1, config.width), np.float32)  # (1, d)
        self._length = 0

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._config.context

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
        expected = (len(tokens), self._feature_width)
        if features.shape != expected:
            raise ValueError(f"features must have shape {expected}, got {features.shape}")
        return self._run(tokens, self._step.from_target(features))

    def guess(self, token: int) -> Array:
        """See one more token, which follows one that the target has not seen: (V,) logits.

        Raises:
            ValueError: nothing was read yet, the token is unknown, or the context is full.
        """
        if self._length == 0:
            raise ValueError("token must follow one that was read, and nothing was")
        return self._run([token], self._step.from_self(self._own))

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
        check_tokens(np.asarray(tokens), self._config.vocabulary)
        logits, self._own = self._step.after_last(tokens, joined, self._cache, self._length)
        self._length += len(tokens)
        return logits


class JoinedStep(NumpyStep):
    """A GPT whose embedded tokens are joined by something: what the ``FeatureStep`` here share."""

    def after_last(
        self, tokens: Sequence[int], joined: Array, cache: Array, past: int
    ) -> tuple[Array, Array]:
        """As ``FeatureStep``.

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


class HeadJoin:
    """The ``Join`` of a feature head, whose weights are copied."""

    def __init__(self, head: FeatureHead) -> None:
        self._from_target = _array(_centered(head.from_target.weight.T))  # (D, d)
        self._from_self = _array(_centered(head.from_self.weight.T))  # (d, d)

    def from_target(self, features: Array) -> Array:
        """(T, D) to (T, d)."""
        joined: Array = np.dot(features, self._from_target)  # (T, d)
        return joined

    def from_self(self, own: Array) -> Array:
        """(T, d) to (T, d)."""
        joined: Array = np.dot(own, self._from_self)  # (T, d)
        return joined


class _HeadStep(HeadJoin, JoinedStep):
    """The ``FeatureStep`` of a feature head."""

    def __init__(self, head: FeatureHead) -> None:
        JoinedStep.__init__(self, head.draft)
        HeadJoin.__init__(self, head)


def feature_engine(head: FeatureHead) -> FeatureEngine:
    """An engine for a feature head, whose weights are copied."""
    return FeatureEngine(_HeadStep(head), head.config.draft, head.config.feature_width)


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
            feature: (D,) of the last token that the target has seen, or (R, D) of R sequences.
            count: heads to ask, in [1, K].

        Returns:
            (count, V) or (count, R, V); row k is about the token k + 2 places after the one of the
            feature.

        Raises:
            ValueError: ``count`` is out of range, or the feature has another shape.
        """
        if not 1 <= count <= self.config.heads:
            raise ValueError(f"count must be in [1, {self.config.heads}], got {count}")
        if feature.ndim not in (1, 2) or feature.shape[-1] != self.config.feature_width:
            raise ValueError(
                f"feature must have shape ({self.config.feature_width},) or "
                f"(R, {self.config.feature_width}), got {feature.shape}"
            )
        shape = (count, *feature.shape[:-1], self.config.vocabulary)
        rows = np.empty(shape, np.float32)  # (count, V) or (count, R, V)
        for row, (inner, bias), outer in zip(rows, self._inner, self._outer, strict=False):
            hidden = np.dot(feature, inner)  # (D,) or (R, D)
            hidden += bias
            hidden /= 1 + np.exp(-hidden)  # SiLU
            hidden += feature
            np.dot(hidden, outer, out=row)
        return rows
