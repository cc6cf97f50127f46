"""Rehearsals: rounds are played as they will be, and acceptance mixes what they took."""

import types

import numpy as np
import pytest

from specmini import theory
from specmini.engine.table_model import TableModel, random_table
from specmini.measure.rehearsal import Rehearsal, rehearse
from specmini.sampling import plain


class Timed(TableModel):
    """A table model on a scripted clock that keeps a diary."""

    def __init__(self, name, first, further, shared):
        super().__init__(random_table(4, 1, np.random.default_rng(0)))
        self.name, self.first, self.further, self.shared = name, first, further, shared

    def forward(self, tokens):
        self.shared.now += self.first + self.further * (len(tokens) - 1)
        self.shared.diary.append((self.name, len(tokens)))
        return super().forward(tokens)


@pytest.fixture
def shared(monkeypatch):
    shared = types.SimpleNamespace(now=0.0, diary=[])
    clock = types.SimpleNamespace(perf_counter=lambda: shared.now)
    monkeypatch.setattr("specmini.measure.rehearsal.time", clock)
    return shared


def pair(shared):
    return Timed("target", 10.0, 1.0, shared), Timed("draft", 2.0, 0.5, shared)


def played(shared, **changes):
    given = {"past": 5, "repeats": 2, "rng": np.random.default_rng(1), "sampling": plain}
    return rehearse(*pair(shared), [1, 3], **given | changes)


def test_the_parts_are_those_of_the_clock(shared):
    found = played(shared)
    assert found.plain == pytest.approx(10)
    assert found.drafting == pytest.approx({1: 2.0, 3: 6.0})
    assert found.catching_up == pytest.approx({1: 2.5, 3: 6.5})
    assert found.checking == pytest.approx({1: 11.0, 3: 13.0})


def test_models_take_turns_as_in_a_round(shared):
    played(shared, repeats=1, rounds=1)
    rounds = "".join(f"{name[0]}{count}" for name, count in shared.diary[2:])
    for kind in ("t1", "d1t2", "d2t2", "d1d1d1t4", "d2d1d1t4"):
        assert kind * 2 in rounds, kind
    assert len(shared.diary) == 2 + 2 * 2 * (1 + 2 + 2 + 4 + 4)


def test_a_model_is_left_where_the_rounds_began(shared):
    target, draft = pair(shared)
    rehearse(target, draft, [2], past=5, repeats=1, rng=np.random.default_rng(1), sampling=plain)
    assert target.length == draft.length == 5


def test_the_forecast_mixes_rounds_by_full_acceptance():
    found = Rehearsal(10.0, {2: 4.0}, {2: 6.0}, {2: 12.0})
    assert found.round_cost(0.0, 2) == pytest.approx(1.6)
    assert found.round_cost(1.0, 2) == pytest.approx(1.8)
    expected = theory.tokens_per_round(0.5, 2) / 1.65
    assert found.speedup(0.5, 2) == pytest.approx(float(expected))


def test_without_catching_up_it_is_the_textbook_s_formula():
    found = Rehearsal(10.0, {4: 8.0}, {4: 8.0}, {4: 13.0})
    assert found.speedup(0.7, 4) == pytest.approx(float(theory.speedup(0.7, 0.2, 4, 1.3)))


def test_what_was_not_rehearsed_is_refused(shared):
    with pytest.raises(ValueError, match=r"draft_length must be one of \[1, 3\], got 2"):
        played(shared).speedup(0.5, 2)
    with pytest.raises(ValueError, match="acceptance_rate"):
        played(shared).speedup(1.5, 3)


@pytest.mark.parametrize("name", ["past", "repeats", "rounds"])
def test_wrong_numbers_are_refused(shared, name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        played(shared, **{name: 0})


def test_wrong_lengths_are_refused(shared):
    given = {"past": 5, "repeats": 1, "rng": np.random.default_rng(1), "sampling": plain}
    for lengths in ([], [0, 2]):
        with pytest.raises(ValueError, match="draft_lengths must be numbers of at least 1"):
            rehearse(*pair(shared), lengths, **given)
