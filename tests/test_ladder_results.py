"""Measured rungs: what is stored comes back, and each is held against its own theory."""

import math

import numpy as np
import pytest

from specmini.batch.drafter import SideBySideDrafter
from specmini.drafters import LookupDrafter
from specmini.ladder.results import Ladder, LadderRow, load_ladder, store_ladder
from specmini.ladder.rungs import broad_shape
from specmini.measure.cell import Cell
from specmini.measure.tallies import Acceptance, Tally
from specmini.theory.topology import depths
from specmini.verify import Verdict


def cell(draft_length=2, seconds=20.0):
    """Plain: 10 passes of 1 s and 0.25 s about them. Speculative: 10 rounds of which 8 draft."""
    plain = Tally(10, 10, 0, 0, 0.0, 10.0, 12.5)
    spec = Tally(10, 20, 16, 10, 4.0, 15.0, seconds)
    counts = Acceptance((8, 6), (6, 4))
    return Cell(draft_length, (plain, plain), (spec, spec), spec, counts, (4, 2, 4), 0.25)


def row(rung="draft model", batch=1, length=2, seconds=20.0, **more):
    return LadderRow(rung, batch, "code", 1.0, length, cell(seconds=seconds), 2.1, **more)


ladder = Ladder(
    {"date": "2026-01-02"},
    (row(), row(length=4, seconds=16.0), row("lookup"), row("tree", length=5, is_tree=True),
     row(batch=16)),
)  # fmt: skip


def test_what_is_stored_comes_back(tmp_path):
    path = tmp_path / "ladder.json"
    store_ladder(path, ladder)
    assert load_ladder(path) == ladder
    assert [one.name for one in tmp_path.iterdir()] == ["ladder.json"]
    path.write_text("[]")
    with pytest.raises(ValueError, match="must hold an object with about and rows"):
        load_ladder(path)


def test_costs_are_of_all_rounds_in_target_passes():
    one = row()
    assert one.drafting_cost == pytest.approx(0.4)  # 4 s in 10 rounds, a pass takes 1 s
    assert one.cost_ratio == pytest.approx(0.25)  # 4 s for 16 tokens
    assert one.verify_cost == pytest.approx(1.5)
    assert one.tokens_per_round == pytest.approx(2.0)
    assert one.hit_rate == pytest.approx(8 / 20)  # offered in the sum, rounds in both tallies
    assert one.acceptance_rate == pytest.approx(10 / 14)
    np.testing.assert_allclose(one.acceptance_by_position, [6 / 8, 4 / 6])
    assert one.speedup == pytest.approx(1.25 / 1.0)
    assert one.predicted == pytest.approx(2.1 / 1.9)
    assert one.interval[0] <= one.speedup <= one.interval[1]


def test_a_tree_has_no_acceptance_rate():
    assert math.isnan(row(is_tree=True).acceptance_rate)


def test_the_best_of_each_rung_is_the_fastest():
    best = ladder.best("code", 1.0)
    assert {name: one.draft_length for name, one in best.items()} == {
        "draft model": 4, "lookup": 2, "tree": 5,
    }  # fmt: skip
    assert len(ladder.select("code", 1.0, batch=16)) == 1
    assert ladder.rungs == ("draft model", "lookup", "tree")
    with pytest.raises(ValueError, match="kind, temperature, batch must be among"):
        ladder.select("prose", 1.0)


def test_a_broad_shape_has_all_children():
    shape = broad_shape((3, 2, 1))
    assert shape == (-1, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8)
    assert np.bincount(depths(shape)).tolist() == [3, 6, 6]
    with pytest.raises(ValueError, match="widths must be numbers of at least 1"):
        broad_shape((2, 0))


class Listening(LookupDrafter):
    def __init__(self):
        super().__init__()
        self.heard = []

    def observe(self, verdict):
        self.heard.append(verdict.n_accepted)


def test_drafters_side_by_side_propose_what_each_would_alone():
    drafters = [Listening(), Listening()]
    batch, rng = SideBySideDrafter(drafters), np.random.default_rng(0)
    texts = [[1, 2, 3, 1], [7, 8, 7]]
    batch.admit([0, 1], texts)
    drafts = batch.propose([1, 0], texts[::-1], [2, 3], [rng, rng])
    assert [draft.tokens.tolist() for draft in drafts] == [[8, 7], [2, 3, 1]]
    batch.observe([1, 0], [Verdict(2, 5), Verdict(1, 5)])
    assert [one.heard for one in drafters] == [[1], [2]]


def test_a_drafter_that_was_not_asked_hears_nothing():
    drafters = [Listening(), Listening()]
    batch, rng = SideBySideDrafter(drafters), np.random.default_rng(0)
    drafts = batch.propose([0, 1], [[1, 2, 1], [3, 4, 3]], [0, 1], [rng, rng])
    assert [len(draft) for draft in drafts] == [0, 1]
    batch.observe([0, 1], [Verdict(0, 1), Verdict(1, 1)])
    assert [one.heard for one in drafters] == [[], [1]]
