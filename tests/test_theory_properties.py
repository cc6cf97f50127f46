"""Properties that hold for every argument, and agreement with simulated rounds.

Hypothesis is derandomized, so a run today and a run tomorrow try the same examples.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from specmini import conversions, theory

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

rounding = 1e-14
near_one = st.floats(-15.0, -0.01).map(lambda exponent: 1.0 - 10.0**exponent)
rates = st.one_of(st.floats(0.0, 1.0), near_one)
inner_rates = st.one_of(st.floats(0.01, 0.99), near_one.filter(lambda rate: 0.01 < rate < 1.0))
lengths = st.integers(0, 10_000)
drafts = st.integers(1, 10_000)
costs = st.one_of(st.floats(0.0, 3.0), st.floats(-6.0, 0.0).map(lambda exponent: 10.0**exponent))
verify_costs = st.floats(0.3, 20.0)
positions = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)


# --- tokens ---------------------------------------------------------------------------------


@repeatable
@given(rates, lengths)
def test_tokens_lie_between_their_bounds(rate: float, length: int) -> None:
    tokens = theory.tokens_per_round(rate, length)
    unlimited = 1.0 / (1.0 - rate) if rate < 1.0 else math.inf
    assert 1.0 <= tokens <= min(length + 1.0, unlimited) * (1.0 + 1e-15)


@repeatable
@given(rates, rates, lengths)
def test_tokens_rise_with_the_rate(one: float, other: float, length: int) -> None:
    low, high = theory.tokens_per_round(sorted([one, other]), length)
    assert low <= high * (1.0 + 1e-15)


@repeatable
@given(rates, lengths, lengths)
def test_tokens_rise_and_share_falls_with_the_length(rate: float, one: int, other: int) -> None:
    short, long = sorted([one, other])
    assert theory.tokens_per_round(rate, short) <= theory.tokens_per_round(rate, long) * (
        1.0 + 1e-15
    )
    if short >= 1:
        first, second = theory.accepted_share(rate, [short, long])
        assert second <= first * (1.0 + 1e-15) <= rate * (1.0 + 2e-15)


@repeatable
@given(rates, st.integers(0, 300))
def test_tokens_are_the_sum_of_powers(rate: float, length: int) -> None:
    total = math.fsum(rate**i for i in range(length + 1))
    assert theory.tokens_per_round(rate, length) == pytest.approx(total, rel=rounding)
    rest = math.fsum(rate**i for i in range(1, length + 1))
    assert theory.accepted_drafts(rate, length) == pytest.approx(rest, rel=rounding, abs=0.0)


@repeatable
@given(rates.filter(lambda rate: rate < 1.0 - 1e-12))
def test_unlimited_length_reaches_the_bound(rate: float) -> None:
    assert theory.tokens_per_round(rate, 2**53) == pytest.approx(1.0 / (1.0 - rate), rel=1e-15)
    assert theory.speedup(rate, 0.0, 2**53) == pytest.approx(theory.speedup_bound(rate), rel=1e-15)


@repeatable
@given(rates, st.integers(0, 400))
def test_distribution_has_mass_mean_and_variance(rate: float, length: int) -> None:
    chances = theory.tokens_distribution(rate, length)
    tokens = np.arange(1, length + 2)
    mean = float(chances @ tokens)
    assert chances.min() >= 0.0
    assert math.fsum(chances) == pytest.approx(1.0, rel=rounding)
    assert mean == pytest.approx(theory.tokens_per_round(rate, length), rel=rounding)
    variance = float(chances @ (tokens - mean) ** 2)
    # Squared distances from a rounded mean carry the square of that rounding.
    assert theory.tokens_variance(rate, length) == pytest.approx(
        variance, rel=1e-12, abs=(mean * 1e-15) ** 2
    )


# --- by position ----------------------------------------------------------------------------


@repeatable
@given(rates, st.integers(0, 200))
def test_constant_positions_are_the_textbook(rate: float, length: int) -> None:
    same = np.full(length, rate)
    assert theory.tokens_per_round_by_position(same) == pytest.approx(
        theory.tokens_per_round(rate, length), rel=1e-13
    )
    assert theory.tokens_variance_by_position(same) == pytest.approx(
        theory.tokens_variance(rate, length), rel=1e-11, abs=1e-26
    )
    np.testing.assert_allclose(
        theory.tokens_distribution_by_position(same),
        theory.tokens_distribution(rate, length),
        rtol=1e-13,
        atol=1e-300,
    )


@repeatable
@given(positions)
def test_positions_give_a_distribution_with_its_moments(conditional: list[float]) -> None:
    chances = theory.tokens_distribution_by_position(conditional)
    tokens = np.arange(1, len(conditional) + 2)
    assert math.fsum(chances) == pytest.approx(1.0, rel=rounding)
    mean = theory.tokens_per_round_by_position(conditional)
    assert chances @ tokens == pytest.approx(mean, rel=rounding)
    second = chances @ tokens**2.0
    variance = theory.tokens_variance_by_position(conditional)
    assert variance == pytest.approx(second - mean**2, abs=1e-12 * second)
    assert variance >= 0.0


@repeatable
@given(positions.filter(lambda conditional: min(conditional) > 1e-6))
def test_survival_and_conditional_rates_are_inverse(conditional: list[float]) -> None:
    alive = theory.survival(conditional)
    assert np.all(np.diff(alive) <= 0.0)
    back = theory.conditional_rates_from_survival(alive)
    np.testing.assert_allclose(back, conditional, rtol=1e-15)


@repeatable
@given(rates, st.floats(-4.0, 6.0).map(lambda exponent: 10.0**exponent), st.integers(1, 60))
def test_spread_between_contexts_makes_rates_rise_and_tokens_grow(
    mean: float, concentration: float, length: int
) -> None:
    conditional = theory.conditional_rates_beta(mean, concentration, length)
    assert conditional[0] == mean
    assert np.all(np.diff(conditional) >= -1e-16)
    assert conditional.max() <= 1.0
    # Jensen: E is convex in alpha, so a spread of contexts yields at least E of their mean.
    mixed = theory.tokens_per_round_by_position(conditional)
    assert mixed >= theory.tokens_per_round(mean, length) * (1.0 - rounding)


@repeatable
@given(rates, st.integers(1, 60))
def test_no_spread_is_the_textbook(mean: float, length: int) -> None:
    same = theory.conditional_rates_beta(mean, np.inf, length)
    assert np.array_equal(same, np.full(length, mean))
    nearly_same = theory.conditional_rates_beta(mean, 1e18, length)
    np.testing.assert_allclose(nearly_same, same, rtol=1e-15, atol=1e-16)


@repeatable
@given(st.floats(0.05, 0.95), st.integers(2, 40))
def test_tokens_fall_as_contexts_become_alike(mean: float, length: int) -> None:
    tokens = theory.tokens_per_round_by_position(
        theory.conditional_rates_beta(mean, np.logspace(-3, 4, 15), length)
    )
    assert np.all(np.diff(tokens) < 0.0)


# --- winning --------------------------------------------------------------------------------


@repeatable
@given(rates, costs, drafts, verify_costs)
def test_a_win_is_a_share_above_the_overhead(
    rate: float, cost: float, length: int, verify: float
) -> None:
    ratio = theory.speedup(rate, cost, length, verify)
    share = theory.accepted_share(rate, length)
    overhead = theory.overhead_per_draft(cost, length, verify)
    assume(abs(ratio - 1.0) > 1e-12)
    assert (ratio > 1.0) == (share > overhead)
    assert ratio == pytest.approx((1.0 + length * share) / (1.0 + length * overhead), rel=1e-11)


@repeatable
@given(costs, drafts, verify_costs)
def test_break_even_acceptance_breaks_even(cost: float, length: int, verify: float) -> None:
    rate = theory.break_even_acceptance(cost, length, verify)
    need = length * cost + verify
    if np.isnan(rate):
        assert need > length + 1.0
    elif rate == 0.0:
        assert need <= 1.0 + 1e-15
    else:
        # Rounding alpha to a double moves E by up to K (K + 1) / 2 rounding units.
        slack = 4e-16 * (1.0 + length * (length + 1.0) / 2.0 / need)
        assert theory.speedup(rate, cost, length, verify) == pytest.approx(
            1.0, rel=max(1e-14, slack)
        )


@repeatable
@given(rates, drafts, verify_costs)
def test_break_even_cost_breaks_even(rate: float, length: int, verify: float) -> None:
    cost = theory.break_even_cost(rate, length, verify)
    if cost >= 0.0:
        assert theory.speedup(rate, cost, length, verify) == pytest.approx(1.0, rel=rounding)
    else:
        assert theory.speedup(rate, 0.0, length, verify) < 1.0 + rounding


@repeatable
@given(inner_rates, drafts)
def test_break_even_acceptance_inverts_break_even_cost(rate: float, length: int) -> None:
    cost = theory.break_even_cost(rate, length)
    back = theory.break_even_acceptance(cost, length)
    assert back == pytest.approx(rate, rel=1e-13)


@repeatable
@given(rates, costs, verify_costs)
def test_best_length_beats_every_length_up_to_300(rate: float, cost: float, verify: float) -> None:
    length = np.arange(301)
    ratios = np.asarray(theory.speedup(rate, cost, length, np.where(length == 0, 1.0, verify)))
    best = theory.best_draft_length(rate, cost, verify)
    assert best >= 0.0
    if np.isinf(best):
        assert cost == 0.0 or rate == 1.0
        assert np.all(np.diff(ratios[1:]) >= -1e-15 * ratios[1:-1])
        return
    assert best == np.floor(best)
    own = theory.speedup(rate, cost, int(best), verify) if best else 1.0
    assert own >= ratios.max() * (1.0 - 1e-15)
    if best <= 300:
        # Nothing shorter is as good: ties go to the shorter draft.
        assert np.all(ratios[: int(best)] <= own)


@repeatable
@given(inner_rates, st.floats(1e-6, 0.9), st.floats(1.0, 5.0))
def test_real_peak_is_a_peak_beside_the_best_integer(
    rate: float, cost: float, verify: float
) -> None:
    peak = float(theory.best_draft_length_real(rate, cost, verify))

    def ratio(length: float) -> float:
        return -math.expm1((length + 1.0) * math.log(rate)) / (verify + length * cost)

    step = 1e-3 * (peak + 1.0)
    assert ratio(peak) >= max(ratio(peak - step), ratio(peak + step)) * (1.0 - 1e-15)
    best = theory.best_draft_length(rate, cost, verify)
    assert best in {0.0, max(1.0, math.floor(peak)), max(1.0, math.ceil(peak))}


@repeatable
@given(rates, st.floats(0.001, 2.0), verify_costs)
def test_longest_winning_draft_is_the_last_to_win(rate: float, cost: float, verify: float) -> None:
    last = theory.longest_winning_draft(rate, cost, verify)
    if np.isinf(last):
        assert rate == 1.0
        return
    assume(last < 2**52)
    longer = int(last) + np.arange(1, 50)
    assert np.all(np.asarray(theory.speedup(rate, cost, longer, verify)) <= 1.0 + 1e-14)
    if last:
        assert theory.speedup(rate, cost, int(last), verify) >= 1.0 - 1e-14
    else:
        every = theory.speedup(rate, cost, np.arange(1, 301), verify)
        assert np.all(np.asarray(every) <= 1.0 + 1e-14)


@repeatable
@given(rates, costs, drafts, st.floats(0.3, 3.0))
def test_bound_and_oracle_are_never_beaten(
    rate: float, cost: float, length: int, verify: float
) -> None:
    ratio = theory.speedup(rate, cost, length, verify)
    assert ratio <= theory.speedup_bound(rate, verify) * (1.0 + rounding)
    if cost <= verify:
        assert ratio <= theory.oracle_speedup(rate, cost, verify) * (1.0 + rounding)


@repeatable
@given(rates, st.floats(0.0, 1.0))
def test_oracle_is_at_least_the_best_fixed_length(rate: float, cost: float) -> None:
    best = theory.best_draft_length(rate, cost)
    assume(best <= 2**53)
    fixed = theory.speedup(rate, cost, int(best))
    assert theory.oracle_speedup(rate, cost) >= fixed * (1.0 - rounding)


def test_oracle_gains_about_60_percent_at_most_over_a_fixed_length() -> None:
    # Leviathan et al. 2023 state "up to about 60 %" for c = 0 and gammas of practical size;
    # with the drafting cost kept and the best fixed K, the gain stays below that.
    rate, cost = np.meshgrid(np.linspace(0.01, 0.99, 99), np.linspace(0.01, 0.5, 50))
    best = np.asarray(theory.best_draft_length(rate, cost))
    gain = theory.oracle_speedup(rate, cost) / theory.speedup(rate, cost, best)
    assert np.all(gain[rate > cost] >= 1.0)
    assert 1.3 < gain.max() < 1.6


@repeatable
@given(rates, st.floats(0.0, 1.0), lengths)
def test_arithmetic_never_shrinks(rate: float, ratio: float, length: int) -> None:
    growth = theory.arithmetic_growth(rate, ratio, length)
    assert growth >= 1.0 - 1e-15
    assert growth <= (length * ratio + length + 1.0) * (1.0 + 1e-15)


# --- inverses -------------------------------------------------------------------------------


@repeatable
@given(inner_rates, drafts)
def test_acceptance_rate_comes_back_from_tokens_and_from_share(rate: float, length: int) -> None:
    tokens = theory.tokens_per_round(rate, length)
    share = theory.accepted_share(rate, length)
    assert conversions.acceptance_rate_from_tokens(tokens, length) == pytest.approx(rate, rel=1e-13)
    assert conversions.acceptance_rate_from_share(share, length) == pytest.approx(rate, rel=1e-14)


@repeatable
@given(st.floats(0.0, 1.0), drafts)
def test_share_and_tokens_are_inverse(share: float, length: int) -> None:
    tokens = conversions.tokens_from_share(share, length)
    assert 1.0 <= tokens <= length + 1.0
    assert conversions.share_from_tokens(tokens, length) == pytest.approx(
        share, rel=1e-15, abs=1e-15
    )
    assert conversions.acceptance_rate_from_share(share, length) >= share * (1.0 - 1e-15)


# --- simulation -----------------------------------------------------------------------------
# Each comparison allows 5 standard errors: a correct formula fails it with probability
# 5.7e-7 (two-sided, normal), so all of them together under 1 in 20 000. Seeds are fixed.

simulated_rounds = 200_000
allowed_errors = 5.0


def simulate(conditional: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Tokens of many rounds, decided draft by draft; ``conditional`` ends in K positions."""
    coins = rng.random((simulated_rounds, conditional.shape[-1])) < conditional
    return 1 + np.logical_and.accumulate(coins, axis=1).sum(axis=1)


def check_moments(tokens: np.ndarray, mean: float, variance: float) -> None:
    standard_error = math.sqrt(variance / tokens.size)
    assert abs(tokens.mean() - mean) < allowed_errors * standard_error
    fourth = ((tokens - mean) ** 4).mean()
    spread_error = math.sqrt((fourth - variance**2) / tokens.size)
    assert abs(((tokens - mean) ** 2).mean() - variance) < allowed_errors * spread_error


@pytest.mark.parametrize(("rate", "length"), [(0.3, 2), (0.6, 4), (0.8, 4), (0.8, 12), (0.97, 20)])
def test_simulated_rounds_agree(rate: float, length: int) -> None:
    tokens = simulate(np.full(length, rate), np.random.default_rng([7, length]))
    mean = float(theory.tokens_per_round(rate, length))
    check_moments(tokens, mean, float(theory.tokens_variance(rate, length)))
    chances = theory.tokens_distribution(rate, length)
    counts = np.bincount(tokens, minlength=length + 2)[1:]
    errors = np.sqrt(simulated_rounds * chances * (1.0 - chances))
    assert np.all(np.abs(counts - simulated_rounds * chances) < allowed_errors * errors)


def test_simulated_positions_agree() -> None:
    conditional = np.array([0.74, 0.64, 0.65, 0.60, 0.53, 0.58])
    tokens = simulate(conditional, np.random.default_rng(11))
    mean = float(theory.tokens_per_round_by_position(conditional))
    check_moments(tokens, mean, float(theory.tokens_variance_by_position(conditional)))


def test_simulated_contexts_agree_with_the_beta_rates() -> None:
    rng = np.random.default_rng(13)
    mean, concentration, length = 0.7, 3.0, 6
    context = rng.beta(mean * concentration, (1 - mean) * concentration, simulated_rounds)
    tokens = simulate(np.repeat(context[:, None], length, axis=1), rng)
    conditional = theory.conditional_rates_beta(mean, concentration, length)
    check_moments(
        tokens,
        float(theory.tokens_per_round_by_position(conditional)),
        float(theory.tokens_variance_by_position(conditional)),
    )


def test_simulated_oracle_agrees() -> None:
    rng = np.random.default_rng(17)
    rate, cost, verify = 0.75, 0.15, 1.2
    accepted = rng.geometric(1.0 - rate, simulated_rounds) - 1
    tokens, time = accepted + 1.0, verify + cost * accepted
    ratio = tokens.mean() / time.mean()
    # Delta method for a ratio of means.
    residual = (tokens - ratio * time) / time.mean()
    standard_error = residual.std() / math.sqrt(simulated_rounds)
    expected = theory.oracle_speedup(rate, cost, verify)
    assert abs(ratio - expected) < allowed_errors * standard_error
