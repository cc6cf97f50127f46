"""Turns: who runs when, what counts, and what comes out of rounds with known times."""

from itertools import islice

import numpy as np
import pytest

from specmini.batch.drafter import BatchModelDrafter
from specmini.batch.latency import AllSlots
from specmini.batch.rounds import BatchRound
from specmini.batch.serving import Request, Server, requests_for
from specmini.batch.side_by_side import SideBySide
from specmini.batch.turns import batch_cell, running_queue, steady_rounds, take_turns
from specmini.engine.table_model import TableModel, random_table
from specmini.generate import Round
from specmini.sampling import plain

tables = [random_table(5, 1, np.random.default_rng(seed), 0.5) for seed in range(2)]


def models(table, slots, context=64):
    return SideBySide([TableModel(table, context) for _ in range(slots)])


def test_a_running_queue_begins_at_all_ages_and_goes_on_with_whole_texts():
    texts = [list(range(i, i + 20)) for i in (100, 200, 300)]
    first = list(islice(running_queue(texts, 4, 5, 12, np.random.default_rng(0)), 7))
    assert [len(one.prompt) for one in first] == [5, 8, 11, 14, 5, 5, 5]
    assert [one.new_tokens for one in first] == [12, 9, 6, 3, 12, 12, 12]
    assert [one.prompt[0] for one in first] == [100, 200, 300, 100, 200, 300, 100]
    assert len({one.rng.random() for one in first}) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1] * 16], 1, 5, 12), "texts must have at least 17 tokens each, got 16"),
        (([], 1, 5, 12), "got 0"),
        (([[1] * 20], 0, 5, 12), "slots must be a whole number"),
        (([[1] * 20], 1, 0, 12), "prompt_tokens must be a whole number"),
        (([[1] * 20], 1, 5, 0), "new_tokens must be a whole number"),
    ],
)
def test_a_queue_that_cannot_be_is_refused_at_once(arguments, message):
    with pytest.raises(ValueError, match=message):
        running_queue(*arguments, np.random.default_rng(0))


class Spied:
    """A server that says when it runs."""

    def __init__(self, name, log, rounds=99):
        self.name, self.log, self.left = name, log, rounds

    def round(self):
        self.log.append(self.name)
        self.left -= 1
        return None if self.left < 0 else f"round of {self.name}"


def test_servers_take_turns_and_the_first_turn_does_not_count():
    log = []
    servers = {0: Spied("plain", log), 2: Spied("two", log)}
    taken = take_turns(servers, 3, {0: 2, 2: 1})
    turn, back = ["plain", "plain", "two"], ["two", "plain", "plain"]
    assert log == turn + back + back + turn
    assert taken == {0: [["round of plain"] * 2] * 3, 2: [["round of two"]] * 3}


def test_a_server_without_work_gives_fewer_rounds():
    taken = take_turns({0: Spied("plain", [], rounds=3)}, 1, {0: 2})
    assert taken == {0: [["round of plain"]]}


@pytest.mark.parametrize("rounds", [{0: 0}, {}, {1: 1}, {0: 1, 1: 1}])
def test_every_server_needs_a_number_of_rounds(rounds):
    with pytest.raises(ValueError, match=r"rounds must be at least 1 for each of \[0\]"):
        take_turns({0: Spied("plain", [])}, 1, rounds)


def batch_round(tokens, draft, target, rest, slots=2):
    """A round of rows that drafted two tokens (or none) and gained so many."""
    length = 0 if draft == 0 else 2
    rows = tuple(
        Round((0,) * length, n - 1, (0,) * n, draft, target, draft + target + rest) for n in tokens
    )
    count = len(tokens)
    return BatchRound(
        slots, tuple(range(count)), rows, draft * count, target * count,
        (draft + target + rest) * count, 0.0,
    )  # fmt: skip


def test_a_cell_of_a_batch_has_the_batch_s_costs():
    """Two sequences: plain pass 10 s, draft pass 1 s, check 14 s; all by hand."""
    plain_turns = [[batch_round([1, 1], 0, 5, 1)] * 3, [batch_round([1, 1], 0, 5, 1)] * 3]
    turn = [batch_round([3, 1], 1, 7, 2), batch_round([2, 2], 1, 7, 2)]
    alone = batch_round([3], 9, 99, 9)  # one slot idle: does not count
    found = batch_cell(plain_turns, [turn, [*turn, alone]], 2, [(1, 2, 3)])
    assert found.cost_ratio == pytest.approx((2 / 2) / 10)
    assert found.verify_cost == pytest.approx(14 / 10)
    assert found.round_cost == pytest.approx(20 / 12)
    assert found.full.tokens_per_round == 2
    # plain: a token in 6 s; speculative: 8 tokens a turn in 40 s
    assert found.speedup == pytest.approx(6 / 5)
    assert found.bookkeeping == pytest.approx(2 / 10)
    assert found.acceptance.offered == (8, 6)
    assert found.acceptance.accepted == (6, 2)
    assert found.gained == (2, 4, 2)
    assert found.repetition == 0
    assert found.interval() == pytest.approx((1.2, 1.2))


def test_a_turn_without_full_rounds_or_a_missing_turn_is_refused():
    full, idle = [batch_round([1, 1], 0, 5, 1)], [batch_round([1], 0, 5, 1)]
    spec = [batch_round([1, 3], 1, 7, 2)]
    assert len(steady_rounds([*full, *idle])) == 2
    with pytest.raises(ValueError, match="plain must have a round with all slots busy in turn 1"):
        batch_cell([full, idle], [spec, spec], 2)
    with pytest.raises(ValueError, match="as many turns, got 1 and 2"):
        batch_cell([full], [spec, spec], 2)


def test_real_servers_give_cells_with_the_pair_s_acceptance():
    """α = Σ min(p, q) over contexts; 400 rounds of 4 sequences, 5 standard errors."""
    table = np.tile([0.5, 0.3, 0.2], (3, 1))
    guess = np.tile([0.2, 0.3, 0.5], (3, 1))
    prompts = ([0] for _ in range(10**6))
    servers = {
        length: Server(
            models(table, 4), requests_for(prompts, 30, np.random.default_rng(length)),
            sampling=plain, draft_length=length,
            drafter=BatchModelDrafter(models(guess, 4), plain) if length else None,
        )
        for length in (0, 3)
    }  # fmt: skip
    taken = take_turns(servers, 4, {0: 5, 3: 100})
    found = batch_cell(taken[0], taken[3], 3)
    assert found.acceptance.rate == pytest.approx(0.7, abs=5 * (0.21 / 3000) ** 0.5)
    assert np.isnan(found.repetition)
    assert all(round.is_full for turn in taken[3] for round in turn)


# --- a batch as one model ---------------------------------------------------------------------


def test_all_slots_see_the_same():
    batch = models(tables[0], 3)
    batch.forward([1], [[2, 2]])
    alike = AllSlots(batch, np.random.default_rng(0), plain)
    assert alike.length == 0
    logits = alike.forward([1, 2])
    assert logits.shape == (6, 5)
    np.testing.assert_array_equal(logits[:2], logits[2:4])
    assert batch.lengths == (2, 2, 2)
    assert (alike.vocabulary, alike.context) == (5, 64)
    alike.truncate(1)
    assert batch.lengths == (1, 1, 1)


def test_a_pass_draws_once_a_slot():
    class Counted:
        drawn = 0

        def random(self):
            self.drawn += 1
            return 0.5

    rng = Counted()
    AllSlots(models(tables[0], 3), rng, plain).forward([1, 2])
    assert rng.drawn == 3
    AllSlots(models(tables[0], 3), rng).forward([1, 2])
    assert rng.drawn == 3


def test_requests_of_a_queue_are_served():
    queue = running_queue([[0] * 20], 2, 5, 6, np.random.default_rng(0))
    server = Server(models(tables[0], 2), queue, sampling=plain)
    for _ in range(6):
        assert server.round().is_full
    assert [len(server.finished[n].tokens) for n in sorted(server.finished)] == [6, 3]
    assert isinstance(next(queue), Request)
