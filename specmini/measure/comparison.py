"""Where the wings meet: time plain and speculative decoding side by side.

``compare`` takes any target and drafter with the small interface of ``CachedModel`` and
``Drafter``. Each draft length gives a ``Cell``, which holds what was measured beside what the
theory predicts for it.

The clock is honest only if both sides run in the same minute: other work on a machine, its heat
and its memory traffic move a step by more than what is to be measured. So the ways of decoding
take turns prompt by prompt, their order changes, and only ratios are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from specmini.drafters.base import Drafter
from specmini.engine.cached_model import CachedModel
from specmini.engine.threads import single_thread
from specmini.generate import Generation, generate
from specmini.measure.cell import Cell, Runs, cell
from specmini.sampling import Sampling
from specmini.verify import Verify, verify

__all__ = ["Comparison", "Progress", "Write", "compare", "in_turn", "take_turns"]

Way = TypeVar("Way")
Write = Callable[[Sequence[int], int, np.random.Generator], Generation]
Progress = Callable[[int, int], None]  # turns that are done, and of how many


@dataclass(frozen=True)
class Comparison:
    """Texts and clocks of plain and speculative decoding that took turns.

    Attributes:
        plain: generations by prompt and repetition.
        speculative: the same for each draft length.
    """

    plain: Runs
    speculative: Mapping[int, Runs]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """A cell for each draft length, in the order they were given."""
        return tuple(self.cell(length) for length in self.speculative)

    def cell(self, draft_length: int) -> Cell:
        """The cell of one draft length.

        Raises:
            ValueError: it was not measured, or no round after a text's first drafted that much.
        """
        if draft_length not in self.speculative:
            measured = list(self.speculative)
            raise ValueError(f"draft_length must be one of {measured}, got {draft_length}")
        return cell(self.plain, self.speculative[draft_length], draft_length)


def in_turn(ways: Sequence[Way], turn: int) -> list[Way]:
    """The order in which ways of decoding run in a turn.

    Over as many turns as there are ways, each of them is once at every place. The next as many
    go through the same orders backwards, so that none always follows the same other one.

    Args:
        ways: all of them.
        turn: 0, 1, 2, ...
    """
    lap, start = divmod(turn, len(ways))
    turned = [*ways[start:], *ways[:start]]
    return turned[::-1] if lap % 2 else turned


def compare(
    target: CachedModel,
    drafter: Drafter,
    prompts: Sequence[Sequence[int]],
    *,
    draft_lengths: Sequence[int],
    sampling: Sampling,
    new_tokens: int,
    rng: np.random.Generator,
    repeats: int = 1,
    verify: Verify = verify,
    progress: Progress | None = None,
) -> Comparison:
    """Time plain and speculative decoding, taking turns prompt by prompt, on one core.

    For each prompt the plain way and every draft length run once, then the next prompt follows;
    the order is that of ``in_turn``, so that no way is always first. At a temperature the texts
    differ from run to run, which is why it is the time of a token that counts. One short run of
    each way goes first and is not counted.

    Args:
        target: the model whose text is wanted; it must be the fastest engine you have, or the
            speedup is fake.
        drafter: guesses its tokens; with the same sampling, if it has one.
        prompts: at least one token each.
        draft_lengths: the K to measure, each at least 1, all different.
        sampling: what the logits stand for.
        new_tokens: length of each text.
        rng: source of randomness; the texts, not the clocks, follow from it.
        repeats: how often to go through the prompts.
        verify: the rule that accepts tokens.
        progress: told after each prompt, between the clocks.

    Raises:
        ValueError: no prompts, no or wrong draft lengths, no repeats; or as ``generate``.
    """
    lengths = list(draft_lengths)
    if not lengths or min(lengths) < 1 or len(set(lengths)) != len(lengths):
        raise ValueError(f"draft_lengths must be different numbers of at least 1, got {lengths}")

    def way(length: int) -> Write:
        def write(prompt: Sequence[int], limit: int, rng: np.random.Generator) -> Generation:
            return generate(
                target,
                prompt,
                limit,
                rng,
                sampling=sampling,
                drafter=drafter if length else None,
                draft_length=length,
                verify=verify,
            )

        return write

    ways = {length: way(length) for length in (0, *lengths)}
    runs = take_turns(
        ways, prompts, new_tokens=new_tokens, rng=rng, repeats=repeats, progress=progress
    )
    return Comparison(plain=runs.pop(0), speculative=runs)


def take_turns(
    ways: Mapping[int, Write],
    prompts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    rng: np.random.Generator,
    repeats: int = 1,
    progress: Progress | None = None,
) -> dict[int, Runs]:
    """Run any ways of decoding in turns, as ``compare`` does; trees, for example.

    ``cell.cell`` makes a cell of the runs of two ways. If one of them drafts trees, its clocks and
    its tokens per round are as good as any; its predictions are about chains, and mean nothing.

    Args:
        ways: what continues a prompt by so many tokens at most, by the most tokens it drafts a
            round: 0 for plain decoding.
        prompts: at least one token each.
        new_tokens: length of each text.
        rng: source of randomness.
        repeats: how often to go through the prompts.
        progress: told after each prompt, between the clocks.

    Returns:
        By way, generations by prompt and repetition.

    Raises:
        ValueError: no prompts or no repeats; or as the ways do.
    """
    if not prompts:
        raise ValueError("prompts must hold at least one, got none")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    texts: dict[int, list[list[Generation]]] = {way: [[] for _ in prompts] for way in ways}
    warm_up, measured = rng.spawn(2)
    with single_thread():
        for way, write in ways.items():
            write(prompts[0], min(new_tokens, 2 * (way + 1)), warm_up)
        for turn in range(repeats * len(prompts)):
            place = turn % len(prompts)
            for way in in_turn(list(ways), turn):
                # a short text between, or the drafter remembers the prompt from the way before
                ways[way](prompts[place][:1], 2, warm_up)
                texts[way][place].append(ways[way](prompts[place], new_tokens, measured))
            if progress is not None:
                progress(turn + 1, repeats * len(prompts))
    return {way: tuple(tuple(prompt) for prompt in texts[way]) for way in ways}
