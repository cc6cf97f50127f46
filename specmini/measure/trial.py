"""A pair on trial on this machine: α, c, v and E, the speedup by the clock beside two predictions.

``measure`` has the clocks and ``latency`` the forecast from passes timed alone; here they are put
together for one target, one draft model and several draft lengths, with a verdict that allows for
the choice among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specmini.drafters.model import ModelDrafter
from specmini.engine.cached_model import CachedModel
from specmini.measure import Progress, compare
from specmini.measure.cell import Cell
from specmini.measure.latency import forecast, pass_times
from specmini.measure.tallies import total
from specmini.sampling import Sampling

__all__ = ["Trial", "Verdict", "try_pair"]

Verdict = Literal["win", "lose", "too close to call"]


@dataclass(frozen=True)
class Trial:
    """What was measured of a pair.

    Attributes:
        cells: one a draft length, in the order they were given.
        forecasts: for each of them, the speedup foretold from the cell's α and from passes that
            were timed alone.
        level: chance that all intervals together cover.
    """

    cells: tuple[Cell, ...]
    forecasts: tuple[float, ...]
    level: float

    @property
    def best(self) -> Cell:
        """The cell with the highest measured speedup."""
        return max(self.cells, key=lambda cell: cell.speedup)

    @property
    def best_forecast(self) -> int:
        """The draft length with the highest forecast."""
        place = int(np.argmax(self.forecasts))
        return self.cells[place].draft_length

    @property
    def plain_seconds(self) -> float:
        """Time of a plain token, in seconds."""
        return total(self.cells[0].plain).seconds_per_token

    @property
    def verdict(self) -> Verdict:
        """Whether some draft length wins for sure, all lose for sure, or neither."""
        intervals = [self.interval(cell) for cell in self.cells]
        if max(low for low, _ in intervals) > 1:
            return "win"
        return "lose" if max(high for _, high in intervals) < 1 else "too close to call"

    def interval(self, cell: Cell) -> tuple[float, float]:
        """Interval of a cell's speedup; all of them cover at once with chance ``level``.

        Each leaves out its share of 1 - level (Bonferroni), so the best may be picked after.
        """
        return cell.interval(1 - (1 - self.level) / len(self.cells))


def try_pair(
    target: CachedModel,
    draft: CachedModel,
    prompts: Sequence[Sequence[int]],
    *,
    draft_lengths: Sequence[int],
    sampling: Sampling,
    new_tokens: int,
    rng: np.random.Generator,
    passes: int = 30,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Trial:
    """Measure a pair: texts by turns, plain and speculative, then its passes alone.

    Args:
        target: the model whose text is wanted.
        draft: the smaller one.
        prompts: at least two, for an interval.
        draft_lengths: the K to measure, each at least 1, all different.
        sampling: of both.
        new_tokens: length of each text.
        rng: source of randomness.
        passes: of each size that are timed alone.
        level: chance that all intervals together cover, in (0, 1).
        progress: told after each turn how many are done, and of how many.

    Raises:
        ValueError: fewer than two prompts, vocabularies that differ, texts longer than the
            context; or as ``compare`` and ``pass_times``.
    """
    if len(prompts) < 2:
        raise ValueError(f"prompts must hold at least 2, for an interval, got {len(prompts)}")
    if target.vocabulary != draft.vocabulary:
        raise ValueError(
            f"target and draft must have one vocabulary, got {target.vocabulary} and "
            f"{draft.vocabulary} ids"
        )
    longest = max(map(len, prompts)) + new_tokens
    if longest > min(target.context, draft.context):
        raise ValueError(
            f"prompt and new tokens must fit the context of {min(target.context, draft.context)}, "
            f"got {longest}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    run = compare(
        target,
        ModelDrafter(draft, sampling),
        prompts,
        draft_lengths=draft_lengths,
        sampling=sampling,
        new_tokens=new_tokens,
        rng=rng,
        progress=progress,
    )
    cells = run.cells
    past = round(float(np.mean([len(prompt) for prompt in prompts]))) + new_tokens // 2
    sizes = [1, *(length + 1 for length in draft_lengths)]
    past = min(past, target.context - max(sizes), draft.context - 1)
    alone = [
        pass_times(model, tokens, past=past, repeats=passes, rng=rng, sampling=sampling)
        for model, tokens in ((target, sizes), (draft, [1]))
    ]
    return Trial(
        cells,
        tuple(forecast(one.acceptance.rate, one.draft_length, *alone) for one in cells),
        level,
    )
