"""The closed forms against 80-digit references, at the edges, and with bad input."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from specmini import theory

tolerance = 1e-12
smallest = 5e-324
just_below_one = float(np.nextafter(1.0, 0.0))
rates = [0.0, smallest, 1e-310, 1e-300, 1e-100, 1e-16, 1e-8, 0.01, 0.3, 0.5, 0.8, 0.95, 0.999]
rates += [1 - 1e-4, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12, just_below_one, 1.0]
lengths = [0, 1, 2, 3, 4, 5, 8, 16, 33, 100, 1000, 10**4]
costs = [0.0, 1e-300, 1e-6, 0.01, 0.1, 0.128, 0.5, 0.9, 1.0, 1.5, 30.0]
verify_costs = [0.5, 0.93, 1.0, 1.12, 2.7, 40.0]


@pytest.fixture(autouse=True)
def eighty_digits() -> Iterator[None]:
    with mpmath.workdps(80):
        yield


def relative_error(result: float, reference: mpf, scale: mpf | None = None) -> float:
    """Error relative to the reference (or to ``scale``); below 1e-305 doubles thin out."""
    scale = abs(reference) if scale is None else scale
    error = abs(mpf(float(result)) - reference)
    if scale < 1e-305:
        return 0.0 if error < 1e-319 else math.inf
    return float(error / scale)


def accepted_reference(rate: float, length: int) -> mpf:
    a = mpf(rate)
    return mpf(length) if a == 1 else a * (1 - a**length) / (1 - a)


def variance_reference(rate: float, length: int) -> mpf:
    a, k = mpf(rate), length
    if a == 1 or k == 0:
        return mpf(0)
    return (a - (2 * k + 1) * a ** (k + 1) * (1 - a) - a ** (2 * k + 2)) / (1 - a) ** 2


# --- accuracy -------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", rates)
def test_tokens_and_moments_match_80_digits(rate: float) -> None:
    for length in lengths:
        accepted = accepted_reference(rate, length)
        tokens = 1 + accepted
        assert relative_error(theory.tokens_per_round(rate, length), tokens) < tolerance
        assert relative_error(theory.accepted_drafts(rate, length), accepted) < tolerance
        variance = theory.tokens_variance(rate, length)
        assert relative_error(variance, variance_reference(rate, length)) < tolerance
        if length:
            share = theory.accepted_share(rate, length)
            assert relative_error(share, accepted / length) < tolerance


@pytest.mark.parametrize("rate", rates)
def test_speedups_match_80_digits(rate: float) -> None:
    for length, cost, verify in itertools.product(lengths, costs[::3], verify_costs[::2]):
        tokens = 1 + accepted_reference(rate, length)
        cost_of_round = length * mpf(cost) + mpf(verify)
        ratio = tokens / cost_of_round
        assert relative_error(theory.speedup(rate, cost, length, verify), ratio) < tolerance
        growth = (length * mpf(cost) + length + 1) / tokens
        assert relative_error(theory.arithmetic_growth(rate, cost, length), growth) < tolerance
        assert relative_error(theory.round_cost(cost, length, verify), cost_of_round) < tolerance
    for cost, verify in itertools.product(costs, verify_costs):
        inverse = (1 - mpf(rate)) * mpf(verify) + mpf(rate) * mpf(cost)
        oracle = theory.oracle_speedup(rate, cost, verify)
        if inverse == 0:
            assert oracle == np.inf
        else:
            assert relative_error(oracle, 1 / inverse) < tolerance
        if rate < 1.0:
            bound = 1 / ((1 - mpf(rate)) * mpf(verify))
            assert relative_error(theory.speedup_bound(rate, verify), bound) < tolerance


@pytest.mark.parametrize("rate", [0.0, 1e-300, 0.3, 0.8, 0.999, 1 - 1e-12, just_below_one, 1.0])
@pytest.mark.parametrize("length", [0, 1, 5, 300, 10**4])
def test_distributions_match_80_digits(rate: float, length: int) -> None:
    positions = np.full(length, rate)
    plain = theory.tokens_distribution(rate, length)
    by_position = theory.tokens_distribution_by_position(positions)
    alive = theory.survival(positions)
    assert plain.shape == by_position.shape == (length + 1,)
    looked_at = {i for i in range(length) if i < 50 or i % 97 == 0 or i > length - 5}
    for i in looked_at:
        chance = mpf(rate) ** i * (1 - mpf(rate))
        assert relative_error(plain[i], chance) < tolerance
        assert relative_error(by_position[i], chance) < tolerance
        assert relative_error(alive[i], mpf(rate) ** (i + 1)) < tolerance
    full = mpf(rate) ** length
    assert relative_error(plain[-1], full) < tolerance
    assert relative_error(by_position[-1], full) < tolerance


@pytest.mark.parametrize("length", [1, 3, 8, 100, 10**4])
@pytest.mark.parametrize("lowest", [0.0, 0.9, 0.999, 1 - 1e-9])
def test_moments_by_position_match_80_digits(length: int, lowest: float) -> None:
    rng = np.random.default_rng([length, int(1e9 * lowest)])
    positions = np.minimum(lowest + (1 - lowest) * rng.random(length), 1.0)
    alive, products = mpf(1), []
    for rate in positions:
        alive *= mpf(float(rate))
        products.append(alive)
    mean = mpmath.fsum(products)
    second = mpmath.fsum((2 * i + 1) * chance for i, chance in enumerate(products))
    tokens = theory.tokens_per_round_by_position(positions)
    assert relative_error(tokens, 1 + mean) < tolerance
    variance = theory.tokens_variance_by_position(positions)
    assert relative_error(variance, second - mean**2) < tolerance


@pytest.mark.parametrize("mean", [0.0, 1e-300, 0.3, 0.8, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("concentration", [smallest, 1e-8, 0.5, 3.7, 1e9, 1e308, np.inf])
def test_beta_rates_match_80_digits(mean: float, concentration: float) -> None:
    result = theory.conditional_rates_beta(mean, concentration, 1000)
    for i in (0, 1, 2, 57, 999):
        if concentration == np.inf:
            reference = mpf(mean)
        else:
            k = mpf(concentration)
            reference = (mpf(mean) * k + i) / (k + i)
        assert relative_error(result[i], reference) < tolerance


def test_beta_survival_is_the_moment_of_the_beta_distribution() -> None:
    a, b = mpf(0.7) * 5, (1 - mpf(0.7)) * 5
    alive = theory.survival(theory.conditional_rates_beta(0.7, 5.0, 12))
    for i, chance in enumerate(alive, start=1):
        moment = mpmath.beta(a + i, b) / mpmath.beta(a, b)
        assert relative_error(chance, moment) < tolerance


@pytest.mark.parametrize("length", [*lengths[1:], 10**6, 10**9])
def test_break_even_acceptance_solves_its_equation(length: int) -> None:
    for cost, verify in itertools.product(costs, verify_costs):
        needed = length * mpf(cost) + (mpf(verify) - 1)
        result = theory.break_even_acceptance(cost, length, verify)
        if needed <= 0:
            # Where K c and 1 - v nearly cancel, the need is known to the rounding of its terms.
            assert result <= 2e-16 * max(1.0, length * cost)
        elif needed > length:
            assert np.isnan(result)
        elif verify >= 1 or needed > 1e-3:
            a = mpf(float(result))
            if a == 1:
                slope = mpf(length) * (length + 1) / 2
            else:
                falling = (length + 1) * a**length * (1 - a)
                slope = (1 - a ** (length + 1) - falling) / (1 - a) ** 2
            miss = (accepted_reference(float(result), length) - needed) / slope
            assert abs(miss) < tolerance * a, (cost, verify)


def test_break_even_cost_and_overhead_match_80_digits() -> None:
    for rate, length, verify in itertools.product(rates, [*lengths[1:], 10**9], verify_costs):
        accepted, extra = accepted_reference(rate, length), mpf(verify) - 1
        cost = theory.break_even_cost(rate, length, verify)
        # With v > 1 this is a difference; its error is relative to the larger term.
        scale = max(accepted, abs(extra)) / length
        assert relative_error(cost, (accepted - extra) / length, scale) < tolerance
    for cost, length, verify in itertools.product(costs, lengths[1:], verify_costs):
        extra = (mpf(verify) - 1) / length
        scale = max(mpf(cost), abs(extra))
        overhead = theory.overhead_per_draft(cost, length, verify)
        assert relative_error(overhead, mpf(cost) + extra, scale) < tolerance


@pytest.mark.parametrize("rate", [rate for rate in rates if 0.0 < rate < 1.0])
def test_real_best_length_matches_80_digits(rate: float) -> None:
    some_costs = [smallest, 1e-300, 1e-3, 0.128, 0.3, 0.99, 1.5]
    for cost, verify in itertools.product(some_costs, [0.5, 1.0, 1.12, 40.0]):
        if not 0 < cost < verify:
            continue
        decay = -mpmath.log(mpf(rate))
        level = decay * (mpf(verify) - mpf(cost)) / mpf(cost)
        y = mpmath.sqrt(2 * level) if level < 1 else mpmath.log(level) + 1
        step = mpf(1)
        while abs(step) > mpf(10) ** -45 * y:
            step = (mpmath.expm1(y) - y - level) / mpmath.expm1(y)
            y -= step
        assert abs(mpmath.expm1(y) - y - level) < mpf(10) ** -40 * level
        reference = y / decay - 1
        result = theory.best_draft_length_real(rate, cost, verify)
        assert relative_error(result, reference, max(abs(reference), mpf(1))) < tolerance


def test_real_best_length_is_the_lambert_form() -> None:
    for rate, cost, verify in [(0.8, 0.1, 1.0), (0.6, 0.02, 1.0), (0.9, 0.3, 1.4), (0.3, 0.2, 0.9)]:
        decay = -mpmath.log(mpf(rate))
        a = 1 + decay * (mpf(verify) - mpf(cost)) / mpf(cost)
        y = -a - mpmath.lambertw(-mpmath.exp(-a), -1).real
        result = theory.best_draft_length_real(rate, cost, verify)
        assert relative_error(result, y / decay - 1) < tolerance


# --- numbers to know ------------------------------------------------------------------------


def test_reference_numbers() -> None:
    assert theory.tokens_per_round(0.8, 4) == pytest.approx(3.3616, rel=1e-15)
    assert round(theory.speedup(0.8, 0.1, 4), 4) == 2.4011
    # Forgetting the token that the target adds gives the 1.687 of one public exercise.
    forgotten = theory.accepted_drafts(0.8, 4) / theory.round_cost(0.1, 4)
    assert round(forgotten, 3) == 1.687
    assert theory.best_draft_length(0.8, 0.1) == 6


def test_measured_break_even_shares() -> None:
    # Field report F45, M3 Ultra: r = 2.45, 3.48, 4.54 for K = 2, 3, 4 against shares
    # .80 .72 .65: win, loss, loss.
    length = np.array([2, 3, 4])
    overhead = theory.overhead_per_draft(0.0, length, np.array([2.45, 3.48, 4.54]))
    assert np.round(overhead, 3).tolist() == [0.725, 0.827, 0.885]
    assert (np.array([0.80, 0.72, 0.65]) > overhead).tolist() == [True, False, False]


# --- edges ----------------------------------------------------------------------------------


def test_exact_edges() -> None:
    length = np.array([0, 1, 2, 7, 10**9, 2**53])
    assert np.array_equal(theory.tokens_per_round(0.0, length), np.ones(6))
    assert np.array_equal(theory.tokens_per_round(1.0, length[:-1]), length[:-1] + 1)
    assert np.array_equal(theory.accepted_drafts(1.0, length), length)
    assert np.array_equal(theory.tokens_per_round(rates, 0), np.ones(len(rates)))
    assert np.array_equal(theory.accepted_drafts(rates, 0), np.zeros(len(rates)))
    assert np.array_equal(theory.accepted_drafts(rates, 1), rates)
    assert np.array_equal(theory.tokens_variance([[0.0], [1.0]], length), np.zeros((2, 6)))
    assert np.array_equal(theory.tokens_variance(rates, 0), np.zeros(len(rates)))
    assert theory.tokens_distribution(0.0, 2).tolist() == [1.0, 0.0, 0.0]
    assert theory.tokens_distribution(1.0, 2).tolist() == [0.0, 0.0, 1.0]
    assert theory.tokens_distribution(0.5, 0).tolist() == [1.0]
    assert theory.tokens_per_round_by_position([]) == 1.0
    assert theory.tokens_variance_by_position([]) == 0.0
    assert theory.conditional_rates_beta(0.5, 2.0, 0).shape == (0,)
    assert theory.conditional_rates_from_survival([0.5, 0.0]).tolist() == [0.5, 0.0]
    assert np.isnan(theory.conditional_rates_from_survival([0.0, 0.0])[1])
    assert theory.speedup_bound(1.0) == theory.oracle_speedup(1.0, 0.0) == np.inf
    assert theory.oracle_speedup(1.0, 0.25) == 4.0


def test_extreme_arguments_stay_sane() -> None:
    assert theory.accepted_drafts(smallest, 10**9) == smallest
    assert theory.tokens_per_round(just_below_one, 2**53) < 2**53
    assert theory.speedup(0.8, 1e308, 10) == 0.0
    assert theory.round_cost(1e308, 10) == np.inf
    assert theory.best_draft_length(0.8, 1e308) == 0
    assert theory.best_draft_length_real(0.8, 1e308) == -1
    assert theory.longest_winning_draft(0.8, 1e308) == 0
    # With c this small the peak sits where the last draft is accepted once in 1e308 rounds.
    assert 1000 < theory.best_draft_length(0.5, 1e-308) < 1100
    assert theory.best_draft_length(just_below_one, 0.5) > 1e7


@pytest.mark.filterwarnings("error")
def test_no_corner_gives_nan_or_a_warning() -> None:
    corners = np.array(rates)[:, None, None]
    cost = np.array([0.0, smallest, 1e-300, 0.1, just_below_one, 1.0, 1 + 2e-16, 1e300, 1.7e308])
    verify = np.array([smallest, 1e-300, just_below_one, 1.0, 1 + 2e-16, 1e16, 1.7e308])
    cost, verify = cost[:, None], verify[None, :]
    best = np.asarray(theory.best_draft_length(corners, cost, verify))
    longest = np.asarray(theory.longest_winning_draft(corners, cost, verify))
    assert np.all(theory.best_draft_length_real(corners, cost, verify) >= -1.0)
    assert np.array_equal(best, np.floor(best))
    assert np.array_equal(longest, np.floor(longest))
    assert np.array_equal(best > 0, longest > 0)
    assert np.all(longest >= best)
    assert np.all(theory.oracle_speedup(corners, cost, verify) >= 0.0)
    assert np.all(theory.speedup_bound(corners, verify) > 0.0)
    for length in (0, 1, 2, 100, 10**9, 2**53):
        assert np.all(theory.speedup(corners, cost, length, verify) >= 0.0)
        assert np.all(theory.arithmetic_growth(corners, cost, length) > 0.0)
        assert np.all(theory.tokens_variance(corners, length) >= 0.0)
        if length:
            assert np.all(theory.overhead_per_draft(cost, length, verify) >= -1.0)
            assert not np.isnan(theory.break_even_cost(corners, length, verify)).any()
            needed = np.asarray(theory.break_even_acceptance(cost, length, verify))
            assert np.all(np.isnan(needed) | ((needed >= 0.0) & (needed <= 1.0)))


@pytest.mark.parametrize(
    ("rate", "cost", "verify", "best", "real", "longest"),
    [
        (0.0, 0.0, 1.0, 0, -1, 0),
        (0.0, 0.5, 1.0, 0, -1, 0),
        (0.0, 0.25, 0.5, 1, -1, 1),  # a checking pass cheaper than a plain step wins by itself
        (0.0, 0.0, 0.5, 1, -1, np.inf),
        (0.5, 0.0, 1.0, np.inf, np.inf, np.inf),
        (0.5, 0.0, 2.0, 0, np.inf, 0),  # speedup tends to 1 from below
        (0.5, 0.0, 3.0, 0, np.inf, 0),
        (1.0, 0.0, 1.0, np.inf, np.inf, np.inf),
        (1.0, 0.5, 1.0, np.inf, np.inf, np.inf),
        (1.0, 0.5, 9.0, np.inf, np.inf, np.inf),
        (1.0, 1.0, 1.0, 0, -1, 0),
        (1.0, 1.0, 2.0, 0, np.inf, 0),
        (1.0, 1.5, 2.0, 0, np.inf, 0),
        (1.0, 1.0, 0.5, 1, -1, np.inf),
        (1.0, 1.25, 0.5, 1, -1, 1),
        (1.0, 0.5, 0.5, 1, -1, np.inf),  # every K gives 2: the shortest is taken
        (0.5, 0.5, 1.0, 0, None, 0),  # alpha = c: K = 1 breaks even
    ],
)
def test_optimum_edges(
    rate: float, cost: float, verify: float, best: float, real: float | None, longest: float
) -> None:
    assert theory.best_draft_length(rate, cost, verify) == best
    assert theory.longest_winning_draft(rate, cost, verify) == longest
    if real is not None:
        assert theory.best_draft_length_real(rate, cost, verify) == real


def test_break_even_edges() -> None:
    assert theory.break_even_acceptance(0.0, 4) == 0.0
    assert theory.break_even_acceptance(1.0, 4) == 1.0
    assert theory.break_even_acceptance(0.1, 1) == 0.1
    assert theory.break_even_acceptance(0.1, 4, 0.5) == 0.0
    assert np.isnan(theory.break_even_acceptance(1.1, 4))
    assert np.isnan(theory.break_even_acceptance(0.1, 4, 6.0))
    assert theory.break_even_cost(0.0, 4) == 0.0
    assert theory.break_even_cost(1.0, 4) == 1.0
    assert theory.break_even_cost(0.0, 4, 1.2) < 0.0


def test_best_and_longest_lengths_match_an_80_digit_search() -> None:
    rng = np.random.default_rng(20260)
    checked = 0
    for _ in range(150):
        rate = float(np.round(rng.uniform(0.05, 0.85), 2))
        cost = float(np.round(rng.uniform(0.05, 0.6), 2))
        verify = float(rng.choice([1.0, 1.0, 0.9, 1.1, 1.5, 2.0]))
        tokens = power = peak = mpf(1)
        best = longest = 0
        for length in range(1, 130):
            power *= mpf(rate)
            tokens += power
            ratio = tokens / (mpf(verify) + length * mpf(cost))
            if ratio > peak:
                peak, best = ratio, length
            if ratio > 1:
                longest = length
            if abs(ratio - 1) < 1e-14:
                break  # closer to break-even than doubles resolve
        else:
            checked += 1
            assert theory.best_draft_length(rate, cost, verify) == best
            assert theory.longest_winning_draft(rate, cost, verify) == longest
    assert checked > 130


# --- shapes and types -----------------------------------------------------------------------

every_function: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "tokens_per_round": (
        theory.tokens_per_round,
        {"acceptance_rate": 0.8, "draft_length": 4},
    ),
    "accepted_drafts": (theory.accepted_drafts, {"acceptance_rate": 0.8, "draft_length": 4}),
    "accepted_share": (theory.accepted_share, {"acceptance_rate": 0.8, "draft_length": 4}),
    "tokens_variance": (theory.tokens_variance, {"acceptance_rate": 0.8, "draft_length": 4}),
    "round_cost": (
        theory.round_cost,
        {"cost_ratio": 0.1, "draft_length": 4, "verify_cost": 1.1},
    ),
    "overhead_per_draft": (
        theory.overhead_per_draft,
        {"cost_ratio": 0.1, "draft_length": 4, "verify_cost": 1.1},
    ),
    "speedup": (
        theory.speedup,
        {"acceptance_rate": 0.8, "cost_ratio": 0.1, "draft_length": 4, "verify_cost": 1.1},
    ),
    "best_draft_length": (
        theory.best_draft_length,
        {"acceptance_rate": 0.8, "cost_ratio": 0.1, "verify_cost": 1.1},
    ),
    "best_draft_length_real": (
        theory.best_draft_length_real,
        {"acceptance_rate": 0.8, "cost_ratio": 0.1, "verify_cost": 1.1},
    ),
    "longest_winning_draft": (
        theory.longest_winning_draft,
        {"acceptance_rate": 0.8, "cost_ratio": 0.1, "verify_cost": 1.1},
    ),
    "break_even_acceptance": (
        theory.break_even_acceptance,
        {"cost_ratio": 0.1, "draft_length": 4, "verify_cost": 1.1},
    ),
    "break_even_cost": (
        theory.break_even_cost,
        {"acceptance_rate": 0.8, "draft_length": 4, "verify_cost": 1.1},
    ),
    "speedup_bound": (theory.speedup_bound, {"acceptance_rate": 0.8, "verify_cost": 1.1}),
    "oracle_speedup": (
        theory.oracle_speedup,
        {"acceptance_rate": 0.8, "cost_ratio": 0.1, "verify_cost": 1.1},
    ),
    "arithmetic_growth": (
        theory.arithmetic_growth,
        {"acceptance_rate": 0.8, "arithmetic_ratio": 0.1, "draft_length": 4},
    ),
}
with_positions: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "tokens_distribution": (
        theory.tokens_distribution,
        {"acceptance_rate": 0.8, "draft_length": 4},
    ),
    "conditional_rates_beta": (
        theory.conditional_rates_beta,
        {"mean": 0.8, "concentration": 4.0, "draft_length": 4},
    ),
    "survival": (theory.survival, {"conditional_rates": [0.8, 0.7]}),
    "conditional_rates_from_survival": (
        theory.conditional_rates_from_survival,
        {"survival": [0.8, 0.7]},
    ),
    "tokens_per_round_by_position": (
        theory.tokens_per_round_by_position,
        {"conditional_rates": [0.8, 0.7]},
    ),
    "tokens_variance_by_position": (
        theory.tokens_variance_by_position,
        {"conditional_rates": [0.8, 0.7]},
    ),
    "tokens_distribution_by_position": (
        theory.tokens_distribution_by_position,
        {"conditional_rates": [0.8, 0.7]},
    ),
}


def test_every_public_function_is_covered_here() -> None:
    assert sorted({*every_function, *with_positions}) == theory.__all__


@pytest.mark.parametrize("name", every_function)
def test_scalars_give_scalars_and_arrays_give_arrays(name: str) -> None:
    function, arguments = every_function[name]
    scalar = function(**arguments)
    assert type(scalar) is np.float64
    one, *others = arguments
    column = {one: np.full((3, 1), arguments[one])}
    rows = {other: np.full(4, arguments[other]) for other in others}
    table = function(**column, **rows)
    assert table.shape == (3, 4)
    assert table.dtype == np.float64
    assert np.array_equal(table, np.full((3, 4), scalar))
    nothing = function(**{key: np.full((0, 4), value) for key, value in arguments.items()})
    assert nothing.shape == (0, 4)
    boxed = function(**{key: np.array(value) for key, value in arguments.items()})
    assert type(boxed) is np.float64
    assert boxed == scalar


@pytest.mark.parametrize("name", every_function)
def test_arguments_are_not_changed(name: str) -> None:
    function, arguments = every_function[name]
    arrays = {key: np.full(3, value) for key, value in arguments.items()}
    for array in arrays.values():
        array.flags.writeable = False
    function(**arrays)


def test_number_types_give_the_same_result() -> None:
    expected = theory.speedup(0.5, 0.25, 4)
    assert theory.speedup(np.float32(0.5), np.float16(0.25), np.uint8(4)) == expected
    assert theory.speedup(0.5, 0.25, 4.0) == expected  # a whole float is a whole number
    assert theory.speedup([0.5], (0.25,), [4]).tolist() == [expected]
    assert theory.speedup(1, 0, 4) == 5.0
    assert theory.round_cost(2, np.int8(100), np.int8(100)) == 300.0  # no int8 wrap-around


def test_position_axes() -> None:
    assert theory.tokens_distribution(np.full((3, 2), 0.5), 4).shape == (3, 2, 5)
    assert theory.conditional_rates_beta(np.full((3, 1), 0.5), np.ones(2), 4).shape == (3, 2, 4)
    block = np.full((3, 2, 4), 0.5)
    assert theory.tokens_per_round_by_position(block).shape == (3, 2)
    assert theory.tokens_variance_by_position(block).shape == (3, 2)
    assert theory.tokens_distribution_by_position(block).shape == (3, 2, 5)
    assert type(theory.tokens_per_round_by_position([0.5])) is np.float64
    assert type(theory.tokens_variance_by_position([0.5])) is np.float64


# --- bad input ------------------------------------------------------------------------------

probability = "a number in [0, 1]"
wrong_numbers: dict[str, list[tuple[object, str, str]]] = {
    "probability": [
        (1.5, "1.5", probability),
        (-0.25, "-0.25", probability),
        (math.nan, "nan", probability),
        (math.inf, "inf", probability),
    ],
    "cost": [
        (-0.25, "-0.25", "[0, inf)"),
        (math.nan, "nan", "[0, inf)"),
        (math.inf, "inf", "[0, inf)"),
    ],
    "verify": [
        (0.0, "0.0", "(0, inf)"),
        (-1.0, "-1.0", "(0, inf)"),
        (math.nan, "nan", "(0, inf)"),
        (math.inf, "inf", "(0, inf)"),
    ],
    "concentration": [
        (0.0, "0.0", "(0, inf]"),
        (-1.0, "-1.0", "(0, inf]"),
        (math.nan, "nan", "(0, inf]"),
    ],
    "length": [
        (-1, "-1", "whole number in ["),
        (2.5, "2.5", "whole number in ["),
        (math.nan, "nan", "whole number in ["),
        (math.inf, "inf", "whole number in ["),
        (2**53 + 2, "9007199254740994", "2**53]"),
        (2**70, "1180591620717411303424", "2**53]"),
    ],
}
wrong_types: list[tuple[object, str]] = [
    (True, "True"),
    ([0.5, True], "True"),
    (np.array([False]), "False"),
    ("0.5", "'0.5'"),
    (0.5 + 0j, "(0.5+0j)"),
    (None, "None"),
    ([[0.5], [0.5, 0.5]], "[[0.5], [0.5, 0.5]]"),
    (np.array([0.5, None]), "None"),
]
kinds = {
    "acceptance_rate": "probability",
    "mean": "probability",
    "conditional_rates": "probability",
    "survival": "probability",
    "cost_ratio": "cost",
    "arithmetic_ratio": "cost",
    "verify_cost": "verify",
    "concentration": "concentration",
    "draft_length": "length",
}


def bad_calls() -> Iterator[Any]:
    for name, (function, arguments) in {**every_function, **with_positions}.items():
        for argument in arguments:
            kind = kinds[argument]
            positions = argument in ("conditional_rates", "survival")
            cases = [
                (([0.5, value] if positions else value), shown, allowed)
                for value, shown, allowed in wrong_numbers[kind]
            ]
            allowed = wrong_numbers[kind][0][2]
            cases += [(value, shown, allowed) for value, shown in wrong_types]
            for value, shown, allowed in cases:
                identity = f"{name}-{argument}-{value!r}".replace("\n", "")
                changed = {**arguments, argument: value}
                yield pytest.param(function, changed, argument, shown, allowed, id=identity)


@pytest.mark.parametrize(
    ("function", "arguments", "argument", "shown", "allowed"), list(bad_calls())
)
def test_bad_input_names_argument_value_and_range(
    function: Callable[..., Any],
    arguments: dict[str, Any],
    argument: str,
    shown: str,
    allowed: str,
) -> None:
    with pytest.raises(ValueError, match=argument) as caught:
        function(**arguments)
    message = str(caught.value)
    assert message.startswith(argument)
    assert shown in message
    assert allowed in message


@pytest.mark.parametrize("name", every_function)
def test_shapes_that_do_not_broadcast_are_named(name: str) -> None:
    function, arguments = every_function[name]
    one, other, *_ = arguments
    shaped = {**arguments, one: np.full(3, arguments[one]), other: np.full(4, arguments[other])}
    with pytest.raises(ValueError, match="broadcast") as caught:
        function(**shaped)
    assert f"{one} (3,)" in str(caught.value)
    assert f"{other} (4,)" in str(caught.value)


def test_an_offender_in_an_array_is_located() -> None:
    with pytest.raises(ValueError, match=r"got 1\.5 at index \(1, 0\)"):
        theory.tokens_per_round([[0.1, 0.2], [1.5, 0.4]], 4)
    with pytest.raises(ValueError, match=r"got 2\.5 at index 1"):
        theory.tokens_per_round(0.5, [1, 2.5])


@pytest.mark.parametrize(
    "function",
    [
        theory.accepted_share,
        theory.break_even_cost,
        lambda rate, length: theory.overhead_per_draft(0.1, length),
        lambda rate, length: theory.break_even_acceptance(0.1, length),
    ],
)
def test_no_share_and_no_break_even_without_drafts(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"draft_length must be a whole number in \[1, .*got 0"):
        function(0.5, 0)


def test_position_functions_need_positions_and_one_length() -> None:
    for function in (theory.survival, theory.tokens_per_round_by_position):
        with pytest.raises(ValueError, match=r"conditional_rates .*\[0, 1\].*scalar 0.5"):
            function(0.5)
    with pytest.raises(ValueError, match=r"draft_length must be a single number.*\(2,\)"):
        theory.tokens_distribution(0.5, [1, 2])
    with pytest.raises(ValueError, match=r"survival must not rise.*0.5 after 0.4 at position 3"):
        theory.conditional_rates_from_survival([0.6, 0.4, 0.5])


def test_ties_go_to_the_shorter_draft_also_where_checking_is_cheap() -> None:
    # Binary fractions, so that both sides are exact: S(1) = 1.25 / 1.25, and S(1) = S(2) = 2.
    assert theory.best_draft_length(0.25, 0.5, 0.75) == 0
    assert theory.longest_winning_draft(0.25, 0.5, 0.75) == 0
    assert theory.speedup(0.5, 0.125, [1, 2], 0.625).tolist() == [2.0, 2.0]
    assert theory.best_draft_length(0.5, 0.125, 0.625) == 1


# --- imports --------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["theory", "conversions", "record.papers"])
def test_import_stays_light(module: str) -> None:
    code = f"import sys, specmini.{module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "numpy" in loaded or module == "record.papers"
    assert not loaded & {"torch", "matplotlib", "scipy", "pandas", "anywidget", "IPython"}
