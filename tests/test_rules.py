"""What each rule drafts and accepts, against the engine and against the formulas."""

import re

import numpy as np
import pytest

from specmini.drafters.model import ModelDrafter
from specmini.engine.table_model import TableModel
from specmini.exact.rules import RULES, accepted, drafted
from specmini.sampling import plain
from specmini.verify import verify

P, Q = np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.45, 0.1, 0.25, 0.2])


def test_rates_are_the_three_formulas():
    rates = [accepted(rule, P, Q).sum() for rule in RULES]
    assert rates == pytest.approx([0.65, 0.6, 0.325], abs=1e-15)


@pytest.mark.parametrize("rule", RULES)
def test_accepted_and_recovered_sum_to_the_target(rule):
    p, q = np.random.default_rng(1).dirichlet([0.3] * 50, (2, 3, 4))  # (3, 4, V) each
    guesses, kept = drafted(rule, q), accepted(rule, p, q)
    assert guesses.sum(-1) == pytest.approx(np.ones((3, 4)))
    assert (kept >= 0).all()
    assert (kept <= np.minimum(p, guesses)).all()
    # As much is recovered as is rejected, so the round's token is the target's.
    assert (p - kept).sum(-1) == pytest.approx((guesses - kept).sum(-1))


@pytest.mark.parametrize("rule", RULES)
def test_the_engine_drafts_and_accepts_by_these_chances(rule):
    rounds, rng = 6000, np.random.default_rng(3)
    with np.errstate(divide="ignore"):
        drafter = ModelDrafter(TableModel(np.tile(Q, (4, 1))), plain, rule)
    guessed, kept = np.zeros(4), np.zeros(4)
    for _ in range(rounds):
        draft = drafter.propose([0], 1, rng)
        token = draft.tokens[0]
        guessed[token] += 1
        kept[token] += verify(np.tile(P, (2, 1)), draft, rng).n_accepted
    # 24 comparisons at 4.5 standard errors: a false alarm has a chance below 2e-4.
    for counted, chance in ((guessed, drafted(rule, Q)), (kept, accepted(rule, P, Q))):
        room = 4.5 * np.sqrt(chance * (1 - chance) / rounds) + 1e-12
        assert (abs(counted / rounds - chance) <= room).all()


def test_of_equal_favorites_the_first_is_drafted():
    assert drafted("greedy draft", [0.25, 0.375, 0.375]).tolist() == [0, 1, 0]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="rule must be one of 'textbook', 'greedy draft', 'exact"):
        drafted("typical", Q)
    with pytest.raises(ValueError, match=re.escape("shape (4,) as draft_probs, got (3,)")):
        accepted("textbook", P[:3], Q)
