"""The acceptance rate without a clock or a coin: β at every context of given texts.

Target and draft read the same text, both see the true tokens before each position (*teacher
forcing*), and their two distributions are compared there. The chance that a drafted token is
accepted at that context follows exactly, for each of the three rules of ``ModelDrafter``:

============  =================  ========================================
rule          β                  in words
============  =================  ========================================
textbook      Σ min(p, q)        1 − TV, the overlap of the distributions
greedy draft  p(argmax q)        what the target gives the likeliest draft
exact match   Σ p q              that two independent draws agree
============  =================  ========================================

Source of the first: Leviathan et al. 2023, arXiv:2211.17192, theorem 3.5 and definition 3.2. At
temperature 0 the three are one: 1 where both models choose the same token, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specmini import theory
from specmini.checks import FloatArray
from specmini.exact.rules import RULES, accepted
from specmini.gpt import GPT
from specmini.sampling import Sampling
from specmini.theory.acceptance import one_length

__all__ = [
    "Overlap",
    "autocorrelation",
    "named_acceptance",
    "overlap",
    "text_spread",
    "tokens_in_order",
]


@dataclass(frozen=True)
class Overlap:
    """Chance of acceptance at every context of N texts, under three rules.

    Attributes:
        textbook: (N, T); [n, t] is β for the token after tokens 0 to t of text n.
        greedy_draft: (N, T).
        exact_match: (N, T).
    """

    textbook: FloatArray
    greedy_draft: FloatArray
    exact_match: FloatArray

    @property
    def rates(self) -> dict[str, float]:
        """α of each rule, the mean of its β, under the rule's name."""
        return {
            "textbook": float(self.textbook.mean()),
            "greedy draft": float(self.greedy_draft.mean()),
            "exact match": float(self.exact_match.mean()),
        }

    def beyond(self, prompt: int) -> Overlap:
        """The same without the first contexts of each text, which serve as its prompt.

        Args:
            prompt: contexts to leave out, in [0, T).

        Raises:
            ValueError: none would be left, or fewer than 0 are left out.
        """
        if not 0 <= prompt < self.textbook.shape[1]:
            raise ValueError(f"prompt must be in [0, {self.textbook.shape[1]}), got {prompt}")
        rules = (self.textbook, self.greedy_draft, self.exact_match)
        return Overlap(*(rates[:, prompt:] for rates in rules))


@torch.inference_mode()
def overlap(
    target: GPT,
    draft: GPT,
    windows: Tensor,
    samplings: Sequence[Sampling],
    batch: int = 8,
) -> tuple[Overlap, ...]:
    """Compare two models at every context of some texts.

    The texts may be anybody's. For α of a target's own continuations, give these; on real text
    it can differ.

    Args:
        target: gives p.
        draft: gives q.
        windows: (N, T) ids.
        samplings: each is applied to the logits of both; the models run once for all.
        batch: texts to run at once.

    Returns:
        One ``Overlap`` for each sampling, its arrays (N, T).
    """
    rates = np.empty((len(samplings), len(RULES), *windows.shape))  # (S, 3, N, T)
    for start in range(0, len(windows), batch):
        rows = windows[start : start + batch]  # (B, T)
        target_logits, draft_logits = target(rows).numpy(), draft(rows).numpy()  # (B, T, V)
        for place, sampling in enumerate(samplings):
            p, q = sampling.probs(target_logits), sampling.probs(draft_logits)  # (B, T, V)
            here = slice(start, start + len(rows))
            for number, rule in enumerate(RULES):
                rates[place, number, here] = accepted(rule, p, q).sum(-1)
    return tuple(Overlap(*by_rule) for by_rule in rates)


@torch.inference_mode()
def named_acceptance(
    target: GPT, draft: GPT, windows: Tensor, sampling: Sampling, ranks: int, batch: int = 8
) -> FloatArray:
    """What the target gives the draft's likeliest tokens, by their rank: p at the r-th of q.

    In a tree these are the chances that the siblings of a place are accepted, if they are named
    and the place was reached.

    Args:
        target: gives p.
        draft: gives q.
        windows: (N, T) ids.
        sampling: applied to the logits of the target; it does not change the order of q.
        ranks: R, tokens to name, in [1, V].
        batch: texts to run at once.

    Returns:
        (R,) means over all contexts.

    Raises:
        ValueError: R out of range.
    """
    if not 1 <= ranks <= draft.config.vocabulary:
        raise ValueError(f"ranks must be in [1, {draft.config.vocabulary}], got {ranks}")
    sums = np.zeros(ranks)  # (R,)
    for start in range(0, len(windows), batch):
        rows = windows[start : start + batch]  # (B, T)
        named = draft(rows).topk(ranks).indices.numpy()  # (B, T, R)
        p = sampling.probs(target(rows).numpy())  # (B, T, V)
        sums += np.take_along_axis(p, named, axis=-1).sum((0, 1))
    return sums / windows.numel()


def autocorrelation(rates: FloatArray, lags: Sequence[int]) -> FloatArray:
    """Correlation of β with β some tokens later in the same text.

    Args:
        rates: (N, T) β along N texts.
        lags: distances in tokens, each in [1, T).

    Returns:
        (L,) one for each lag, in [-1, 1]; NaN if β never varies. Positive where easy contexts
        come in runs, or whole texts are easy.

    Raises:
        ValueError: a lag outside [1, T).
    """
    length = rates.shape[1]
    for lag in lags:
        if not 1 <= lag < length:
            raise ValueError(f"lags must be in [1, {length}), got {lag}")
    with np.errstate(invalid="ignore"):
        return np.array(
            [np.corrcoef(rates[:, :-lag].ravel(), rates[:, lag:].ravel())[0, 1] for lag in lags]
        )


def text_spread(rates: FloatArray) -> tuple[float, float]:
    """How much texts differ: standard deviation of their mean β, and what chance alone gives.

    Args:
        rates: (N, T) β along N texts, N and T at least 2.

    Returns:
        The deviation between the N means, and the one to expect if all N T contexts were
        independent and alike: their deviation over √T.

    Raises:
        ValueError: fewer than two texts or contexts.
    """
    if rates.ndim != 2 or min(rates.shape) < 2:
        raise ValueError(f"rates must have shape (N, T) with both at least 2, got {rates.shape}")
    between = rates.mean(1).std(ddof=1)
    return float(between), float(rates.std(ddof=1) / np.sqrt(rates.shape[1]))


def tokens_in_order(rates: FloatArray, draft_length: int) -> float:
    """E of rounds that walk through texts whose β come in this order.

    A round at position t accepts its i-th draft with chance β at t + i - 1, and the next round
    starts behind what it gained. So rounds meet runs of easy contexts as they stand, and more
    rounds start in hard stretches, which they cross in small steps. One α for all contexts,
    ``theory.tokens_per_round``, shuffles them; the mean over all windows of the text counts each
    as if a round were as likely to start there.

    The walk follows the text that was given, whatever was accepted. For drafts that are
    alternatives to that text it is an approximation.

    Args:
        rates: (N, T) β along N texts.
        draft_length: K, in [1, T].

    Returns:
        Mean tokens of the rounds that start with K contexts left.

    Raises:
        ValueError: a rate outside [0, 1], or K outside [1, T].
    """
    length = one_length(draft_length)
    if not 1 <= length <= rates.shape[1]:
        raise ValueError(f"draft_length must be in [1, {rates.shape[1]}], got {length}")
    windows = np.lib.stride_tricks.sliding_window_view(rates, length, axis=1)  # (N, T - K + 1, K)
    gained = theory.tokens_distribution_by_position(windows)  # (N, T - K + 1, K + 1)
    starts = np.zeros((len(rates), windows.shape[1] + length + 1))  # (N, T + 2)
    starts[:, 0] = 1.0  # chance that a round starts here
    for place in range(windows.shape[1]):
        chance = starts[:, place, None] * gained[:, place]  # (N, K + 1)
        starts[:, place + 1 : place + length + 2] += chance
    begun = starts[:, : windows.shape[1]]  # (N, T - K + 1)
    tokens = gained @ np.arange(1, length + 2)  # (N, T - K + 1)
    return float((begun * tokens).sum() / begun.sum())
