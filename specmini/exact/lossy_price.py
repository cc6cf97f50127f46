"""What a lossy rule costs and buys, exactly: distance from the target's text, tokens a round.

The distance is the total variation, half the sum of the absolute differences: the share of texts
that would have to be exchanged. For models that are tables it is summed over every text of n tokens
(``lossy_text``); for trained ones, over every next token at the contexts of given texts
(``lossy_prices``). Both count all ways a draft can fall, so nothing is drawn and nothing estimated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from specmini.checks import FloatArray, single, whole_number
from specmini.drafters.model import AcceptanceRule
from specmini.engine.table_model import TableModel
from specmini.exact.overlap import tokens_in_order
from specmini.exact.rules import drafted
from specmini.gpt import GPT
from specmini.sampling import Sampling, plain
from specmini.verify.lossy import LossyRule

__all__ = ["LossyPrice", "LossyText", "lossy_distance", "lossy_next", "lossy_prices", "lossy_text"]

Text = tuple[int, ...]


def lossy_distance(one: ArrayLike, other: ArrayLike) -> float:
    """Total variation of two distributions over the same outcomes, in [0, 1].

    Args:
        one: any shape, sums to 1.
        other: the same shape.

    Raises:
        ValueError: the shapes differ.
    """
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if first.shape != second.shape:
        raise ValueError(f"other must have shape {first.shape} as one, got {second.shape}")
    return float(np.abs(first - second).sum() / 2)


def lossy_next(
    rule: LossyRule, p: FloatArray, q: FloatArray, drafting: AcceptanceRule
) -> tuple[FloatArray, float]:
    """The next token that comes out where one is drafted, and the chance that the draft stays.

    Args:
        rule: judges the draft.
        p: (V,) of the target.
        q: (V,) of the draft.
        drafting: what is drafted and whether q is shown, as in ``ModelDrafter``.

    Returns:
        (V,) the chance of each token to be next, and the acceptance rate at this context.

    Raises:
        ValueError: an unknown way of drafting.
    """
    guesses, shown = drafted(drafting, q), _shown(rule, q, drafting)
    chances = rule.accepted(p, shown)  # (V,)
    kept: FloatArray = guesses * chances  # (V,)
    lost = guesses - kept  # (V,) chance of each token to be drafted and rejected
    if rule.adds_likeliest or shown is not None:  # one residual for all that may be rejected
        weights = rule.added(p, shown, int(lost.argmax()))  # (V,)
        return kept + lost.sum() * weights / weights.sum(), float(kept.sum())
    # after a rejection of y, p without y: all y at once
    left = 1 - p  # (V,)
    share = np.divide(lost, left, out=np.zeros_like(p), where=(lost > 0) & (left > 0))  # (V,)
    return kept + p * (share.sum() - share), float(kept.sum())


@dataclass(frozen=True)
class LossyText:
    """The text of tables under a rule.

    Attributes:
        probs: (V, ..., V) the chance of each text of n tokens.
        rounds: mean number of rounds it takes.
    """

    probs: FloatArray
    rounds: float

    @property
    def tokens_per_round(self) -> float:
        """Tokens of a text over its mean rounds."""
        return self.probs.ndim / self.rounds


def lossy_text(
    rule: LossyRule,
    target: ArrayLike,
    draft: ArrayLike,
    prompt: Sequence[int],
    new_tokens: int,
    draft_length: int,
    drafting: AcceptanceRule = "textbook",
    sampling: Sampling = plain,
) -> LossyText:
    """The chance of every text that ``generate`` writes with a rule, by counting all its rounds.

    Args:
        rule: judges the drafts.
        target: a table, as ``TableModel`` takes it.
        draft: another of the same vocabulary.
        prompt: at least one token.
        new_tokens: n, at least 1; the work grows as V^n.
        draft_length: K; 0 gives the target's own text, or its greedy one if the rule adds the
            likeliest.
        drafting: as in ``ModelDrafter``.
        sampling: applied to both models' logits.

    Raises:
        ValueError: an argument that is out of range, or an unknown way of drafting.
    """
    written: int = single("new_tokens", whole_number("new_tokens", new_tokens, minimum=1))
    most: int = single("draft_length", whole_number("draft_length", draft_length))
    models = TableModel(target), TableModel(draft)
    vocabulary, end = models[0].vocabulary, len(prompt) + written
    probs = np.zeros((vocabulary,) * written)
    rounds = 0.0

    def row(model: TableModel, text: Text) -> FloatArray:
        model.truncate(0)
        return sampling.probs(model.forward(text)[-1])  # (V,)

    def ends(text: Text, left: int, chance: float) -> Iterator[tuple[Text, float]]:
        """Where a round can come to from here, with ``left`` tokens still to be drafted."""
        p = row(models[0], text)  # (V,)
        if not left:
            yield from _grown(text, rule.added(p), chance)
            return
        q = row(models[1], text)  # (V,)
        guesses, shown = drafted(drafting, q), _shown(rule, q, drafting)
        kept = guesses * rule.accepted(p, shown)  # (V,)
        for token in np.flatnonzero(guesses).tolist():
            if kept[token] > 0:
                yield from ends((*text, token), left - 1, chance * kept[token])
            if (lost := guesses[token] - kept[token]) > 0:
                yield from _grown(text, rule.added(p, shown, token), chance * lost)

    starts: dict[int, dict[Text, float]] = {len(prompt): {tuple(prompt): 1.0}}
    for length in range(len(prompt), end):  # a round adds at least a token
        for text, chance in starts.get(length, {}).items():
            rounds += chance
            for longer, share in ends(text, min(most, end - length - 1), chance):
                place = starts.setdefault(len(longer), defaultdict(float))
                place[longer] += share
    for text, chance in starts[end].items():
        probs[text[len(prompt) :]] = chance
    return LossyText(probs, rounds)


@dataclass(frozen=True)
class LossyPrice:
    """A rule on trained models.

    Attributes:
        name: of the rule.
        drafting: what was drafted, as in ``ModelDrafter``.
        acceptance_rate: mean chance that a draft stays.
        tokens_per_round: E on the texts, as ``tokens_in_order`` counts it.
        from_sampling: mean total variation of the next token from the target's distribution.
        from_greedy: mean chance that the next token is not the target's likeliest.
    """

    name: str
    drafting: AcceptanceRule
    acceptance_rate: float
    tokens_per_round: float
    from_sampling: float
    from_greedy: float


@torch.inference_mode()
def lossy_prices(
    rules: Sequence[tuple[LossyRule, AcceptanceRule]],
    target: GPT,
    draft: GPT,
    windows: Tensor,
    draft_length: int,
    sampling: Sampling = plain,
) -> tuple[LossyPrice, ...]:
    """What rules cost and buy at every context of some texts, which both models read as they stand.

    The distance is that of a token which was drafted. The one that comes after a whole draft is
    the target's own, so that a text is a little nearer to the target's than this says.

    Args:
        rules: each with the way of drafting that it is used with.
        target: gives p.
        draft: gives q.
        windows: (N, T) ids.
        draft_length: K, in [1, T].
        sampling: applied to the logits of both.

    Raises:
        ValueError: K outside [1, T], or an unknown way of drafting.
    """
    p = sampling.probs(target(windows).numpy())  # (N, T, V)
    q = sampling.probs(draft(windows).numpy())  # (N, T, V)
    likeliest = p.argmax(-1)  # (N, T)
    prices = []
    for rule, drafting in rules:
        rates, away, astray = (np.empty(windows.shape) for _ in range(3))  # each (N, T)
        for place in np.ndindex(*windows.shape):
            found, rates[place] = lossy_next(rule, p[place], q[place], drafting)  # (V,)
            away[place] = lossy_distance(found, p[place])
            astray[place] = 1 - found[likeliest[place]]
        gained = tokens_in_order(rates, draft_length)
        means = float(rates.mean()), gained, float(away.mean()), float(astray.mean())
        prices.append(LossyPrice(rule.name, drafting, *means))
    return tuple(prices)


def _shown(rule: LossyRule, q: FloatArray, drafting: AcceptanceRule) -> FloatArray | None:
    """What the rule is told of q."""
    return q if rule.sees_draft and drafting == "textbook" else None


def _grown(text: Text, weights: FloatArray, chance: float) -> Iterator[tuple[Text, float]]:
    """A text and one more token, for each that may come."""
    total = float(weights.sum())
    for token in np.flatnonzero(weights).tolist():
        yield (*text, token), chance * float(weights[token]) / total
