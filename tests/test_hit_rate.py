"""Rounds with and without a draft: the closed forms against simulated rounds and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini import theory
from specmini.theory import hit_rate

repeatable = settings(derandomize=True, deadline=None, max_examples=300)
chances = st.floats(0.0, 1.0)
lengths = st.integers(1, 40)
costs = st.floats(0.0, 2.0)
verify_costs = st.floats(0.3, 5.0)
settings_of_a_round = (chances, chances, costs, lengths, verify_costs)


@repeatable
@given(chances, chances, lengths)
def test_a_miss_is_a_draft_rejected_at_once_as_far_as_tokens_go(hit, rate, length):
    by_position = theory.tokens_per_round_by_position([hit * rate, *[rate] * (length - 1)])
    found = hit_rate.tokens_per_round(hit, rate, length)
    assert found == pytest.approx(by_position, rel=1e-12)
    mixture = hit * theory.tokens_per_round(rate, length) + (1 - hit)
    assert found == pytest.approx(mixture, rel=1e-12)


@repeatable
@given(*settings_of_a_round)
def test_with_a_draft_in_every_round_it_is_the_textbook(hit, rate, cost, length, verify):
    assert hit_rate.speedup(1.0, rate, cost, length, verify) == pytest.approx(
        theory.speedup(rate, cost, length, verify), rel=1e-12
    )
    assert hit_rate.speedup(0.0, rate, cost, length, verify) == 1.0


@repeatable
@given(*settings_of_a_round)
def test_free_search_wins_whatever_the_hit_rate_or_never(hit, rate, cost, length, verify):
    whole = theory.speedup(rate, cost, length, verify)
    found = hit_rate.speedup(hit, rate, cost, length, verify)
    # between plain decoding and that of a draft in every round
    assert min(1.0, whole) * (1 - 1e-12) <= found <= max(1.0, whole) * (1 + 1e-12)


@repeatable
@given(*settings_of_a_round[1:], st.floats(0.0, 0.5))
def test_break_even(rate, cost, length, verify, search):
    needed = hit_rate.break_even_hit_rate(rate, cost, length, verify, search)
    at_most = hit_rate.speedup(1.0, rate, cost, length, verify, search)
    if np.isnan(needed):
        assert at_most < 1 + 1e-12
        return
    assert 0 <= needed <= 1
    assert at_most >= 1 - 1e-12
    assert hit_rate.speedup(needed, rate, cost, length, verify, search) == pytest.approx(1)


def test_break_even_at_the_edges():
    even = hit_rate.break_even_hit_rate
    assert even(0.5, 0.0, 1, 1.5) == 0  # neither gain nor cost
    assert np.isnan(even(0.5, 0.0, 1, 1.5, 0.1))
    assert even(0.5, 0.0, 1, 1.0, 0.5) == 1
    assert np.isnan(even(0.5, 0.0, 1, 1.0, 0.6))
    np.testing.assert_array_equal(even([0.5, 0.8], 0.0, 1, 1.0, 0.2), [0.4, 0.25])


def simulated(shares, rate, rounds, seed):
    """Tokens and lengths of rounds, draft by draft."""
    rng = np.random.default_rng(seed)
    proposed = rng.choice(len(shares), size=rounds, p=shares)
    accepted = rng.random((rounds, len(shares) - 1)) < rate
    run = np.cumprod(accepted, axis=1).sum(1)
    return 1 + np.minimum(run, proposed), proposed


def test_simulated_rounds():
    """100 000 rounds; a mean off by 5 standard errors has chance 6e-7."""
    for seed, (hit, rate, length) in enumerate([(0.3, 0.8, 4), (0.9, 0.4, 2), (0.5, 0.95, 10)]):
        shares = np.zeros(length + 1)
        shares[[0, length]] = 1 - hit, hit
        tokens, _ = simulated(shares, rate, 100_000, seed)
        error = tokens.std() / np.sqrt(100_000)
        assert abs(tokens.mean() - hit_rate.tokens_per_round(hit, rate, length)) < 5 * error


def test_simulated_rounds_of_different_lengths():
    shares, rate, cost, search = np.array([0.4, 0.1, 0.2, 0.0, 0.3]), 0.7, 0.05, 0.02
    verify = np.array([1.1, 1.2, 1.3, 1.4])
    tokens, proposed = simulated(shares, rate, 100_000, 5)
    error = tokens.std() / np.sqrt(100_000)
    found = hit_rate.tokens_per_round_by_length(shares, rate)
    assert abs(tokens.mean() - found) < 5 * error
    spent = search + np.where(proposed, proposed * cost + np.append(1.0, verify)[proposed], 1.0)
    right = hit_rate.round_cost_by_length(shares, cost, verify, search)
    assert abs(spent.mean() - right) < 5 * spent.std() / np.sqrt(100_000)
    # a mean length in its place would promise too much
    hits = shares[1:].sum()
    mean = (shares * np.arange(5)).sum() / hits
    assert mean == pytest.approx(17 / 6)
    assert found < hit_rate.tokens_per_round(hits, rate, 3)


@repeatable
@given(chances, chances, costs, lengths, verify_costs, st.floats(0.0, 0.5))
def test_lengths_that_are_all_the_same(hit, rate, cost, length, verify, search):
    shares = np.zeros(length + 1)
    shares[0], shares[length] = 1 - hit, hit
    assert hit_rate.tokens_per_round_by_length(shares, rate) == pytest.approx(
        hit_rate.tokens_per_round(hit, rate, length), rel=1e-12
    )
    assert hit_rate.round_cost_by_length(shares, cost, verify, search) == pytest.approx(
        hit_rate.round_cost(hit, cost, length, verify, search), rel=1e-12
    )


# --- one alpha for everything -----------------------------------------------------------------


@repeatable
@given(chances, chances, lengths)
def test_the_pooled_rate_is_a_share_of_offers(hit, rate, length):
    """Counted over every outcome of a round, with its chance."""
    gained = theory.tokens_distribution(rate, length)  # 1, ..., K + 1 tokens
    accepted = (gained * np.arange(length + 1)).sum()
    offered = (gained * np.minimum(np.arange(1, length + 2), length)).sum()
    right = hit * accepted / (hit * offered + 1 - hit)
    pooled = hit_rate.pooled_acceptance_rate(hit, rate, length)
    assert pooled == pytest.approx(right, rel=1e-9, abs=1e-12)
    assert 0 <= pooled <= rate * (1 + 1e-12)


@repeatable
@given(chances, chances, lengths)
def test_the_pooled_rate_overstates_tokens(hit, rate, length):
    """At K = 1 it is exact: there are no runs."""
    pooled = hit_rate.pooled_acceptance_rate(hit, rate, length)
    promised = theory.tokens_per_round(np.minimum(pooled, 1.0), length)
    right = hit_rate.tokens_per_round(hit, rate, length)
    assert promised >= right * (1 - 1e-12)
    if length == 1:
        assert promised == pytest.approx(right, rel=1e-12)
    if 1 < length < 6 and 0.05 < hit < 0.95 and 0.05 < rate < 0.95:  # more is lost in rounding
        assert promised > right


def test_what_pooling_gets_wrong():
    """One round in ten has a draft, nine tokens of ten hold, and checking costs a half more."""
    hit, rate, cost, verify, length = 0.1, 0.9, 0.0, 1.5, 4
    assert hit_rate.speedup(hit, rate, cost, length, verify) == pytest.approx(1.247, abs=1e-3)
    # a win is taken for a loss, since every miss is charged a check
    pooled = hit_rate.pooled_acceptance_rate(hit, rate, length)
    assert theory.speedup(pooled, cost, length, verify) == pytest.approx(0.886, abs=1e-3)
    assert theory.best_draft_length(pooled, 0.05, verify) < theory.best_draft_length(
        rate, 0.05, verify
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hit_rate.tokens_per_round(1.2, 0.5, 2), r"hit_rate must be .*got 1\.2"),
        (lambda: hit_rate.tokens_per_round(0.5, 0.5, 0), r"draft_length must be .*got 0"),
        (lambda: hit_rate.speedup(0.5, 0.5, 0.1, 2, 0.0), r"verify_cost must be .*got 0\.0"),
        (lambda: hit_rate.round_cost(0.5, 0.1, 2, 1.0, -1), r"search_cost must be .*got -1"),
        (lambda: hit_rate.tokens_per_round([0.1, 0.2], [0.1] * 3, 2), "shapes must broadcast"),
        (
            lambda: hit_rate.tokens_per_round_by_length([0.5, 0.4], 0.5),
            r"length_shares must sum to 1 along the last axis, got 0\.9",
        ),
        (
            lambda: hit_rate.tokens_per_round_by_length(0.5, 0.5),
            r"length_shares must have an axis of lengths",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_arguments_broadcast():
    hits, rates = np.array([[0.1], [0.9]]), np.array([0.2, 0.5, 0.8])
    table = hit_rate.speedup(hits, rates, 0.01, 3, 1.2, 0.01)
    assert table.shape == (2, 3)
    assert table[1, 2] == hit_rate.speedup(0.9, 0.8, 0.01, 3, 1.2, 0.01)
    shares = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(
        hit_rate.tokens_per_round_by_length(shares, [0.5, 0.5]), [1.0, 1.625]
    )
    assert hit_rate.round_cost_by_length(shares, 0.1, [1.1, 1.2]).tolist() == pytest.approx(
        [1.0, 1.3]
    )
