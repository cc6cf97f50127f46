"""Stop rules, the running estimate of acceptance, and the K that is chosen from it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lossless import FunctionDrafter

from specmini import theory
from specmini.drafters import ModelDrafter
from specmini.drafters.confidence import certain, confident, likely_whole
from specmini.drafters.gate import Gate, RunningAcceptance, most_worthwhile
from specmini.engine.table_model import TableModel
from specmini.generate import generate
from specmini.sampling import Sampling, greedy, plain
from specmini.verify import Verdict

repeatable = settings(derandomize=True, deadline=None, max_examples=300)


def rng():
    return np.random.default_rng(0)


# --- stop inside a draft ----------------------------------------------------------------------

# token i is followed by i + 1 for certain up to 3, then a coin is thrown
chain = np.zeros((6, 6))
chain[np.arange(6), [1, 2, 3, 4, 5, 0]] = 1.0
chain[3] = [0.3, 0, 0, 0, 0.7, 0]


@pytest.mark.parametrize(
    "rule", [confident(0.8), likely_whole(0.8), certain(0.5)], ids=["max", "product", "entropy"]
)
@pytest.mark.parametrize("sampling", [greedy, plain, Sampling(0.1)])
def test_a_draft_ends_with_the_token_the_model_was_unsure_of(rule, sampling):
    """Also where a temperature makes every choice look certain."""
    drafter = ModelDrafter(TableModel(chain), sampling, keep_going=rule)
    assert drafter.propose([0], 6, rng()).tokens.tolist()[:3] == [1, 2, 3]
    assert len(drafter.propose([0], 6, rng())) == 4
    assert len(drafter.propose([0], 2, rng())) == 2
    assert len(drafter.propose([3], 6, rng())) == 1
    assert drafter.propose([0], 6, rng()).probs.shape == (4, 6)


def test_rules_see_one_distribution_a_token_and_never_the_token():
    shown = []

    def rule(rows):
        shown.append([row.tolist() for row in rows])
        return True

    ModelDrafter(TableModel(chain), Sampling(0.1), keep_going=rule).propose([2], 3, rng())
    assert [len(rows) for rows in shown] == [1, 2, 3]
    np.testing.assert_allclose(shown[1], chain[[2, 3]])


def test_rules_by_the_numbers():
    sure, unsure = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    assert confident(0.9)([unsure, sure])
    assert not confident(0.91)([unsure, sure])
    assert likely_whole(0.45)([unsure, sure])
    assert not likely_whole(0.46)([unsure, sure])
    assert certain(np.log(2) + 1e-9)([sure, unsure])
    assert not certain(np.log(2) - 1e-9)([sure, unsure])
    assert certain(0.0)([np.array([1.0, 0.0])])


@pytest.mark.parametrize("rule", [confident, likely_whole, certain])
def test_thresholds_out_of_range_are_refused(rule):
    with pytest.raises(ValueError, match=r"m..imum must be a .*got -0\.1"):
        rule(-0.1)


# --- the estimate -----------------------------------------------------------------------------


@repeatable
@given(
    st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1)), max_size=30),
    st.floats(0, 1), st.floats(0.1, 5), st.floats(0, 1),
)  # fmt: skip
def test_rates_are_weighted_shares(history, prior, weight, memory):
    """Against sums over the whole history, each round weighted by its age."""
    rounds = [(drafted, int(share * drafted)) for drafted, share in history]
    estimate = RunningAcceptance(prior, weight, memory)
    for drafted, accepted in rounds:
        estimate.observe(drafted, accepted)
    rate = prior
    for position, found in enumerate(estimate.rates(7)):
        offered = accepted = 0.0
        for age, (drafted, kept) in enumerate(reversed(rounds)):
            if position < drafted and position <= kept:
                offered += memory**age
                accepted += memory**age * (position < kept)
        rate = (accepted + weight * rate) / (offered + weight)
        assert found == pytest.approx(rate, abs=1e-9)


def test_evidence_fades_to_what_was_believed_first():
    estimate = RunningAcceptance(0.7, memory=0.9)
    for _ in range(50):
        estimate.observe(3, 0)
    assert estimate.rates(1)[0] < 0.15
    for _ in range(200):
        estimate.observe(0, 0)
    assert estimate.rates(3) == pytest.approx([0.7] * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": 1.1}, r"prior must be a number in \[0, 1\], got 1\.1"),
        ({"weight": 0.0}, r"weight must be a finite number in \(0, inf\), got 0\.0"),
        ({"memory": -0.5}, r"memory must be a number in \[0, 1\], got -0\.5"),
    ],
)
def test_estimates_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        RunningAcceptance(**options)


# --- the choice of K --------------------------------------------------------------------------


@repeatable
@given(st.floats(0, 1), st.floats(0.001, 1), st.floats(0.5, 3), st.integers(1, 30))
def test_the_choice_is_the_theorys(rate, cost, verify, longest):
    chosen = most_worthwhile([rate] * longest, cost, lambda length: verify)
    speedups = [1.0, *theory.speedup(rate, cost, np.arange(1, longest + 1), verify)]
    assert speedups[chosen] == pytest.approx(max(speedups), rel=1e-12)
    best = theory.best_draft_length(rate, cost, verify)
    if best <= longest and chosen != best:  # two that agree to rounding
        assert speedups[chosen] == pytest.approx(speedups[int(best)], rel=1e-12)


@repeatable
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1), st.floats(0, 0.5))
def test_rates_and_costs_may_differ_by_position(rates, cost, slope):
    chosen = most_worthwhile(rates, cost, lambda length: 1 + slope * length)
    speedups = [1.0] + [
        theory.tokens_per_round_by_position(rates[:length])
        / theory.round_cost(cost, length, 1 + slope * length)
        for length in range(1, len(rates) + 1)
    ]
    assert speedups[chosen] == pytest.approx(max(speedups), rel=1e-12)


def test_load_shuts_the_gate_and_opens_it_again():
    asked = FunctionDrafter(lambda text, length: [0] * length)
    load = [1.0]
    opened = Gate(asked, 0.05, lambda length: load[0])
    lengths = []
    for verify in (1.0, 5.0, 1.0):
        load[0] = verify
        lengths.append(len(opened.propose([0], 8, rng())))
        opened.observe(Verdict(0, 0))
    assert lengths[1] == 0 < lengths[2]
    # who was not asked learns nothing
    assert len(asked.verdicts) == 2


def test_a_gate_saves_a_hopeless_drafter_its_rounds():
    """A draft that is always wrong is asked less and less; the text is the same."""
    cycle = TableModel(np.roll(np.eye(8), 1, axis=1))
    wrong = FunctionDrafter(lambda text, length: [text[-1]] * length)
    opened = Gate(wrong, 0.2, 1.1)
    found = generate(cycle, [0], 200, rng(), sampling=plain, drafter=opened, draft_length=4)
    assert found.tokens == tuple((1 + i) % 8 for i in range(200))
    assert sum(len(round.drafted) > 0 for round in found.rounds) < 50


def test_costs_out_of_range_are_refused():
    nothing = FunctionDrafter(lambda text, length: [])
    with pytest.raises(ValueError, match=r"cost_ratio must be .*got -1"):
        Gate(nothing, -1)
    with pytest.raises(ValueError, match=r"verify_cost must be .*got 0"):
        Gate(nothing, 0.1, 0)
