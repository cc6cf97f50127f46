"""Serve one queue plainly and speculatively, in turns, at one batch size.

What is measured is the *steady state*: only rounds in which every slot is busy count, and prompts
are read outside of them. The queue is taken over while it runs: the first texts are partly written,
each to another length, so that sequences of all ages are in the batch from the first round on, and
no two ways of decoding differ in how they begin or end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import numpy as np

from specmini.batch.rounds import BatchRound
from specmini.batch.serving import Request, Server
from specmini.checks import single, whole_number
from specmini.engine.threads import single_thread
from specmini.generate import Round
from specmini.measure import in_turn
from specmini.measure.cell import Cell, cell_of_rounds
from specmini.measure.repetition import repetition
from specmini.measure.tallies import tally

__all__ = ["Turns", "batch_cell", "running_queue", "steady_rounds", "take_turns"]

Turns = Sequence[Sequence[BatchRound]]
"""The rounds of one way of decoding, turn by turn."""


def running_queue(
    texts: Sequence[Sequence[int]],
    slots: int,
    prompt_tokens: int,
    new_tokens: int,
    rng: np.random.Generator,
) -> Iterator[Request]:
    """Endless requests, of which the first S are partly written.

    Text i begins at place i (N / S) of its N new tokens, as if it had been served for a while;
    what is written of it is what really follows its prompt.

    Args:
        texts: ids to take prompts from, over and over; each at least P + N tokens.
        slots: number of sequences S.
        prompt_tokens: length of a prompt, P.
        new_tokens: length of a text, N.
        rng: every request gets a child of its own.

    Raises:
        ValueError: no text, one that is too short, or a number below 1.
    """
    slots = single("slots", whole_number("slots", slots, minimum=1))
    prompt = single("prompt_tokens", whole_number("prompt_tokens", prompt_tokens, minimum=1))
    new = single("new_tokens", whole_number("new_tokens", new_tokens, minimum=1))
    shortest = min(map(len, texts), default=0)
    if shortest < prompt + new:
        raise ValueError(f"texts must have at least {prompt + new} tokens each, got {shortest}")

    def requests() -> Iterator[Request]:
        for number in count():
            written = number * new // slots if number < slots else 0
            given = texts[number % len(texts)][: prompt + written]
            yield Request(given, new - written, rng.spawn(1)[0])

    return requests()


def take_turns(
    servers: Mapping[int, Server], turns: int, rounds: Mapping[int, int]
) -> dict[int, list[list[BatchRound]]]:
    """Run servers in turns, on one core, after one turn that does not count.

    Args:
        servers: by draft length, 0 for plain decoding; each with models of its own.
        turns: how often each runs, at least 1; the order is that of ``measure.in_turn``.
        rounds: how many rounds a server runs in a turn, at least 1.

    Returns:
        The rounds of each server, turn by turn; fewer where its requests ended.

    Raises:
        ValueError: a number is below 1, or a server has none.
    """
    turns = single("turns", whole_number("turns", turns, minimum=1))
    if servers.keys() != rounds.keys() or min(rounds.values(), default=0) < 1:
        raise ValueError(
            f"rounds must be at least 1 for each of {list(servers)}, got {dict(rounds)}"
        )
    ways = list(servers)
    taken: dict[int, list[list[BatchRound]]] = {way: [] for way in ways}
    with single_thread():
        for turn in range(turns + 1):
            for way in in_turn(ways, turn):
                ran = [servers[way].round() for _ in range(rounds[way])]
                if turn:  # the first turn warms up
                    taken[way].append([round for round in ran if round is not None])
    return taken


def steady_rounds(turn: Sequence[BatchRound]) -> list[Round]:
    """The rounds of all sequences while every slot was busy."""
    return [row for round in turn if round.is_full for row in round.rows]


def batch_cell(
    plain: Turns, speculative: Turns, draft_length: int, texts: Sequence[Sequence[int]] = ()
) -> Cell:
    """What plain and speculative serving that took turns did, in the steady state.

    In a cell of a batch a turn stands where a prompt does otherwise: it is what both ways were
    measured in side by side, and the interval of the speedup takes it for the unit. Times are
    shares of sequences, so c and v are those of the batch: time of the draft's pass over B
    sequences, and of the target's over B (K + 1) tokens, in units of its pass over B.

    Args:
        plain: rounds of plain serving.
        speculative: rounds of speculative serving, in as many turns.
        draft_length: K.
        texts: tokens of speculative texts, to report their repetition; NaN without.

    Raises:
        ValueError: the numbers of turns differ, a turn has no round with all slots busy, or no
            round drafted K tokens.
    """
    if len(plain) != len(speculative):
        raise ValueError(
            f"plain and speculative must have as many turns, got {len(plain)} "
            f"and {len(speculative)}"
        )
    sides = [[steady_rounds(turn) for turn in side] for side in (plain, speculative)]
    for name, side in zip(("plain", "speculative"), sides, strict=True):
        if not all(side):
            place = [bool(rounds) for rounds in side].index(False)
            raise ValueError(f"{name} must have a round with all slots busy in turn {place}")
    rounds = [row for turn in sides[1] for row in turn]
    return cell_of_rounds(
        map(tally, sides[0]),
        map(tally, sides[1]),
        rounds,
        rounds,
        draft_length,
        float(np.mean([repetition(text) for text in texts])) if texts else float("nan"),
    )
