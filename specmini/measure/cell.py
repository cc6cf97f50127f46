"""One setting, measured: counts and clocks, beside what the theory predicts for it.

A cell keeps sums only. Everything else follows from them: the estimates of α, c and v, the
predictions made with these, and the factors that lead from a prediction to the measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from specmini import theory
from specmini.generate import Generation, Round
from specmini.measure.repetition import repetition
from specmini.measure.speedup_interval import pooled_speedup, speedup_interval
from specmini.measure.tallies import Acceptance, Tally, acceptance, tally, total

__all__ = ["Cell", "Prediction", "Residual", "Runs", "cell", "cell_of_rounds", "pooled"]

Runs = tuple[tuple[Generation, ...], ...]


@dataclass(frozen=True)
class Prediction:
    """Speedups the theory predicts from a cell's own α, c and v.

    Attributes:
        textbook: E / (1 + K c): one α for all positions, a check that costs a plain step
            (Leviathan et al. 2023, theorem 3.8).
        with_verify_cost: E / (v + K c), with the measured cost v of a check.
        by_position: the same, with an acceptance rate for each position; NaN if one is unknown.
    """

    textbook: float
    with_verify_cost: float
    by_position: float


@dataclass(frozen=True)
class Residual:
    """Factors that lead from the textbook's prediction to the measured speedup.

    They multiply to ``measured`` exactly; each is 1 where its simplification holds.

    Attributes:
        textbook: the prediction, E / (1 + K c).
        acceptance: tokens per round over what one α for all positions predicts. Below 1 where
            accepted tokens come in runs: easy contexts are then offered more drafts than hard
            ones, and α, a share of offers, is better than what most rounds meet.
        verification: (1 + K c) / (v + K c): a check of K + 1 positions costs more than a step.
        bookkeeping: what plain steps lose on softmax and the draw, over what rounds lose on them
            and on the verdict.
        first_and_short_rounds: each text's first round, in which the draft model reads the whole
            prompt, and rounds that draft fewer than K tokens, at the end of a text for example.
    """

    textbook: float
    acceptance: float
    verification: float
    bookkeeping: float
    first_and_short_rounds: float

    @property
    def measured(self) -> float:
        """The product of all."""
        return (
            self.textbook
            * self.acceptance
            * self.verification
            * self.bookkeeping
            * self.first_and_short_rounds
        )


@dataclass(frozen=True)
class Cell:
    """One setting, measured: a pair, a kind of text, a temperature, a draft length.

    Times are ratios to two units, which differ by the bookkeeping of a plain step: c and v to the
    target's *pass* over one token, as they are defined; the round cost to the whole plain *step*,
    as it is felt.

    Attributes:
        draft_length: K.
        plain: plain decoding, one tally a prompt.
        speculative: speculative decoding, one tally a prompt, in the same order.
        full: all rounds but a text's first that drafted K tokens and kept what was accepted: c, v
            and E are theirs. In the first a draft model reads the prompt; the target already has.
        acceptance: tokens offered and accepted by position, in all rounds.
        gained: rounds that gained 1, 2, ..., K + 1 tokens.
        repetition: mean share of 8-token runs of the speculative texts that stood in them before.
            Near 1 the text is a loop, which any drafter guesses.
    """

    draft_length: int
    plain: tuple[Tally, ...]
    speculative: tuple[Tally, ...]
    full: Tally
    acceptance: Acceptance
    gained: tuple[int, ...]
    repetition: float

    @property
    def cost_ratio(self) -> float:
        """c, time of a drafted token over time of the target's pass over one token."""
        return self.full.draft_seconds / self.full.drafted / self._pass_seconds

    @property
    def verify_cost(self) -> float:
        """v, time of the target's pass over K + 1 tokens over that of its pass over one."""
        return self.full.target_seconds / self.full.rounds / self._pass_seconds

    @property
    def round_cost(self) -> float:
        """r, time of a round of K drafts in plain steps, as the clock has it."""
        return self.full.round_seconds / total(self.plain).round_seconds

    @property
    def bookkeeping(self) -> float:
        """Share of a round's time that is neither draft nor target."""
        return self.full.bookkeeping_seconds / self.full.seconds

    @property
    def hit_rate(self) -> float:
        """h, share of rounds in which something was proposed; below 1 for drafters that look up.

        A text's last round may have room for the target's token only; it counts as a miss.
        """
        return self.acceptance.offered[0] / total(self.speculative).rounds

    @property
    def proposal_length(self) -> float:
        """Mean tokens of a proposal, over rounds that had one."""
        return total(self.speculative).drafted / self.acceptance.offered[0]

    @property
    def speedup(self) -> float:
        """Time of a plain token over time of a speculative one, all prompts pooled."""
        return pooled_speedup(self.plain, self.speculative)

    @property
    def predicted(self) -> Prediction:
        """What the theory says, given this cell's α, c and v."""
        rate, cost, length = self.acceptance.rate, self.cost_ratio, self.draft_length
        by_position = self.acceptance.tokens_per_round
        return Prediction(
            textbook=float(theory.speedup(rate, cost, length)),
            with_verify_cost=float(theory.speedup(rate, cost, length, self.verify_cost)),
            by_position=by_position / float(theory.round_cost(cost, length, self.verify_cost)),
        )

    @property
    def residual(self) -> Residual:
        """What leads from the textbook's prediction to the measurement, factor by factor."""
        rate, cost, length = self.acceptance.rate, self.cost_ratio, self.draft_length
        tokens = float(theory.tokens_per_round(rate, length))
        predicted_cost = float(theory.round_cost(cost, length, self.verify_cost))
        return Residual(
            textbook=float(theory.speedup(rate, cost, length)),
            acceptance=self.full.tokens_per_round / tokens,
            verification=float(theory.round_cost(cost, length)) / predicted_cost,
            bookkeeping=predicted_cost / self.round_cost,
            first_and_short_rounds=self.speedup * self.round_cost / self.full.tokens_per_round,
        )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the speedup, with prompts as the units (``speedup_interval``).

        Args:
            level: chance to cover, in (0, 1).

        Raises:
            ValueError: fewer than two prompts, or a level outside (0, 1).
        """
        return speedup_interval(self.plain, self.speculative, level)

    @property
    def _pass_seconds(self) -> float:
        """Time of the target's pass over one token."""
        plain = total(self.plain)
        return plain.target_seconds / plain.rounds


def cell(plain: Runs, speculative: Runs, draft_length: int) -> Cell:
    """Count and add up what two ways of decoding the same prompts did.

    Args:
        plain: generations by prompt and repetition.
        speculative: the same prompts, in the same order.
        draft_length: K of the speculative ones.

    Raises:
        ValueError: the numbers of prompts differ, or no round after a first drafted K tokens.
    """
    if len(plain) != len(speculative):
        raise ValueError(
            f"plain and speculative must have the same prompts, got {len(plain)} "
            f"and {len(speculative)}"
        )
    texts = [text for prompt in speculative for text in prompt]
    return cell_of_rounds(
        _by_prompt(plain),
        _by_prompt(speculative),
        [round for text in texts for round in text.rounds],
        [round for text in texts for round in text.rounds[1:]],
        draft_length,
        float(np.mean([repetition(text.tokens) for text in texts])),
    )


def cell_of_rounds(
    plain: Iterable[Tally],
    speculative: Iterable[Tally],
    rounds: Sequence[Round],
    later: Iterable[Round],
    draft_length: int,
    repetition: float,
) -> Cell:
    """A cell from rounds of any origin.

    Args:
        plain: as in ``Cell``, for each unit that was measured both ways.
        speculative: of the same units, in the same order.
        rounds: all speculative ones.
        later: those of them in which a draft model had read the prompt before.
        draft_length: K.
        repetition: as in ``Cell``.

    Raises:
        ValueError: no later round drafted K tokens, or as ``tallies.acceptance``.
    """
    full = [
        round
        for round in later
        if len(round.drafted) == draft_length and len(round.tokens) == round.n_accepted + 1
    ]
    if not full:
        raise ValueError(
            f"some round after a first must draft draft_length = {draft_length} tokens, got none"
        )
    gained = np.bincount([len(round.tokens) for round in rounds], minlength=draft_length + 2)
    return Cell(
        draft_length=draft_length,
        plain=tuple(plain),
        speculative=tuple(speculative),
        full=tally(full),
        acceptance=acceptance(rounds, draft_length),
        gained=tuple(gained[1:].tolist()),
        repetition=repetition,
    )


def pooled(cells: Sequence[Cell]) -> Cell:
    """Add up cells of one setting: the same draft length and prompts, measured again.

    Raises:
        ValueError: no cells, or draft lengths or numbers of prompts that differ.
    """
    shapes = {(one.draft_length, len(one.plain)) for one in cells}
    if len(shapes) != 1:
        raise ValueError(f"cells must have one draft length and number of prompts, got {shapes}")
    return Cell(
        draft_length=cells[0].draft_length,
        plain=tuple(map(total, zip(*(one.plain for one in cells), strict=True))),
        speculative=tuple(map(total, zip(*(one.speculative for one in cells), strict=True))),
        full=total(one.full for one in cells),
        acceptance=Acceptance(
            offered=_sums([one.acceptance.offered for one in cells]),
            accepted=_sums([one.acceptance.accepted for one in cells]),
        ),
        gained=_sums([one.gained for one in cells]),
        repetition=float(np.mean([one.repetition for one in cells])),
    )


def _by_prompt(runs: Runs) -> tuple[Tally, ...]:
    """One tally for all texts of a prompt."""
    return tuple(tally(round for text in prompt for round in text.rounds) for prompt in runs)


def _sums(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Column by column."""
    return tuple(map(sum, zip(*rows, strict=True)))
