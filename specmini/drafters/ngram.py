"""Draft from counts: how often each token followed the last n - 1 tokens in some corpus.

The oldest language model there is (Shannon 1948), and the cheapest that has a distribution q. Long
n-grams know more and are rarely met, so each order backs off to the next shorter one. Here it is
interpolated with it, by absolute discounting (Ney, Essen and Kneser 1994; compared with others by
Chen and Goodman 1998): every count gives up a discount d, and what all of them gave up goes to the
shorter context.

    P(x | h) = max(N(h, x) - d, 0) / N(h)  +  d · D(h) / N(h) · P(x | h without its first token)

N(h, x) counts x after h, N(h) everything after h, D(h) the different tokens after h. Without any
context the uniform distribution takes the place of the shorter one. So each row sums to 1 and no
token has chance 0: it can be tempered and sampled as any q.

The tables are not updated by the running text, though that would lose nothing either: q may be
anything that was fixed before the draw. But what a text says about itself is what ``lookup`` and
``suffix`` are for; apart, one can see which of the two helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini.checks import FloatArray, IntArray, single, whole_number
from specmini.sampling import Sampling, draw
from specmini.verify.chain import Draft, Verdict, check_tokens

__all__ = ["NgramDrafter", "NgramTables"]

remembered_rows: Final = 2048  # 16 MB for 1024 tokens


class _Order(NamedTuple):
    """What follows contexts of one length, M of them, side by side as N continuations."""

    contexts: IntArray  # (M,) rising; each context read as a number in base V
    starts: IntArray  # (M + 1,) where a context's continuations start
    tokens: IntArray  # (N,)
    shares: FloatArray  # (N,) (count - d) / N(h)
    left: FloatArray  # (M,) d D(h) / N(h), what the shorter context gets


class NgramTables:
    """Counts of n-grams in a sequence of tokens, as conditional distributions.

    A million tokens are counted in a second or two, from any source: an encoded corpus
    (``streams``), a few files, texts that the target wrote.

    Args:
        tokens: (T,) ids in [0, V); may be empty.
        vocabulary: number of token ids V.
        order: n, tokens of the longest n-gram, so n - 1 of context.
        discount: d in (0, 1).

    Raises:
        ValueError: a token outside the vocabulary, an order below 1 or so large that V^n exceeds
            2^63, or a discount outside (0, 1).
    """

    def __init__(
        self, tokens: ArrayLike, vocabulary: int, order: int = 3, discount: float = 0.75
    ) -> None:
        self.vocabulary = single("vocabulary", whole_number("vocabulary", vocabulary, minimum=1))
        self.order = single("order", whole_number("order", order, minimum=1))
        if self.vocabulary**self.order > 2**63:
            raise ValueError(
                f"order must keep vocabulary ** order within 2 ** 63, got {order} "
                f"for a vocabulary of {vocabulary}"
            )
        if not 0 < discount < 1:
            raise ValueError(f"discount must be in (0, 1), got {discount}")
        ids = np.asarray(tokens)  # (T,)
        check_tokens(ids, self.vocabulary)
        ids = ids.astype(np.int64)  # (T,)
        self._unigram = np.full(self.vocabulary, 1 / self.vocabulary)  # (V,)
        self._orders: list[_Order] = []  # from contexts of one token on
        keys = np.zeros(len(ids) + 1, dtype=np.int64)  # (T + 1,) the empty context at every place
        for size in range(1, min(self.order, len(ids)) + 1):
            # the n-gram of one token less at each place, and the token after it
            keys = keys[:-1] * self.vocabulary + ids[size - 1 :]  # (T - size + 1,)
            counted = _counted(keys, self.vocabulary, discount)
            if size == 1:
                _mix(self._unigram, counted, 0)
            else:
                self._orders.append(counted)

    def probs(self, context: Sequence[int]) -> FloatArray:
        """The distribution of the next token.

        Args:
            context: what came before, ids in [0, V) (not checked); only the last n - 1 count, and
                fewer, or none, will do.

        Returns:
            (V,), all positive, with sum 1.
        """
        row = self._unigram.copy()  # (V,)
        key, base = 0, 1
        # to the longest context that was ever met: each ends with the one before
        for size, order in enumerate(self._orders[: len(context)], start=1):
            key += int(context[-size]) * base
            base *= self.vocabulary
            place = int(order.contexts.searchsorted(key))
            if place == len(order.contexts) or order.contexts[place] != key:
                break
            _mix(row, order, place)
        return row


def _mix(row: FloatArray, order: _Order, place: int) -> None:
    """Turn the distribution after the shorter context into that after a context, in place."""
    followers = slice(int(order.starts[place]), int(order.starts[place + 1]))
    row *= order.left[place]  # (V,)
    row[order.tokens[followers]] += order.shares[followers]


def _counted(keys: NDArray[np.int64], vocabulary: int, discount: float) -> _Order:
    """The table of one order from its n-grams, each read as a number in base V: (T,)."""
    ngrams, counts = np.unique(keys, return_counts=True)  # each (N,)
    contexts, starts, different = np.unique(
        ngrams // vocabulary, return_index=True, return_counts=True
    )  # each (M,)
    totals = np.add.reduceat(counts, starts)  # (M,)
    return _Order(
        contexts=contexts,
        starts=np.append(starts, len(ngrams)),
        tokens=ngrams % vocabulary,
        shares=(counts - discount) / np.repeat(totals, different),
        left=discount * different / totals,
    )


class NgramDrafter:
    """Draws tokens one after the other from n-gram tables.

    It has no state: the last n - 1 tokens say everything. Rows are kept for a while, so that a
    context that comes again costs a draw and nothing else.

    Args:
        tables: where q comes from.
        sampling: applied to q; that of the target, for the textbook rule to accept most.
    """

    def __init__(self, tables: NgramTables, sampling: Sampling) -> None:
        self.tables, self.sampling = tables, sampling
        self._row = lru_cache(remembered_rows)(self._sampled)

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess K tokens."""
        reach = self.tables.order - 1
        recent = [int(token) for token in text[-reach:]] if reach else []
        tokens: list[int] = []
        rows: list[FloatArray] = []
        for _ in range(draft_length):
            q = self._row(tuple(recent[-reach:] if reach else ()))  # (V,)
            token = draw(q, rng)
            tokens.append(token)
            recent.append(token)
            rows.append(q)
        return Draft(np.array(tokens, dtype=np.int64), np.array(rows) if rows else None)

    def observe(self, verdict: Verdict) -> None:
        """The counts stay what they are."""

    def _sampled(self, context: tuple[int, ...]) -> FloatArray:
        """What is drawn from after a context, (V,)."""
        # single precision, twice as fast, is as exact here as it is for a network's logits
        return self.sampling.probs(np.log(self.tables.probs(context), dtype=np.float32))
