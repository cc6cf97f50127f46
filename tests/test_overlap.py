"""β at every context: against direct sums, and its order against rounds walked one by one."""

import itertools

import numpy as np
import pytest
import torch

from specmini import theory
from specmini.exact.overlap import (
    autocorrelation,
    named_acceptance,
    overlap,
    text_spread,
    tokens_in_order,
)
from specmini.gpt import GPT, Config
from specmini.sampling import Sampling


@pytest.fixture(scope="module")
def models():
    generator = torch.Generator().manual_seed(0)
    pair = [GPT(Config(11, 16, 1, 8, 2), generator).eval() for _ in range(2)]
    with torch.no_grad():
        for model in pair:
            model.wte.weight *= 40  # random small weights would leave p and q nearly uniform
    return pair


@pytest.fixture(scope="module")
def windows():
    return torch.randint(11, (5, 9), generator=torch.Generator().manual_seed(1))


def test_rules_are_the_sums_they_are_named_for(models, windows):
    sampling = Sampling(0.7, top_k=6)
    (found,) = overlap(*models, windows, [sampling], batch=2)
    with torch.inference_mode():
        p, q = (sampling.probs(model(windows).numpy()) for model in models)
    for n, t in itertools.product(range(5), range(9)):
        here, there = p[n, t], q[n, t]
        assert found.textbook[n, t] == pytest.approx(sum(map(min, here, there)), abs=1e-6)
        assert found.greedy_draft[n, t] == pytest.approx(here[there.argmax()], abs=1e-6)
        assert found.exact_match[n, t] == pytest.approx(here @ there, abs=1e-6)
    assert found.rates["exact match"] == pytest.approx(found.exact_match.mean())


def test_at_temperature_0_the_three_rules_are_one(models, windows):
    cold, warm = overlap(*models, windows, [Sampling(0), Sampling(1)])
    np.testing.assert_array_equal(cold.textbook, cold.greedy_draft)
    np.testing.assert_array_equal(cold.textbook, cold.exact_match)
    assert set(np.unique(cold.textbook)) == {0.0, 1.0}
    assert (warm.exact_match < warm.textbook).all()


def test_the_contexts_of_a_prompt_are_left_out_under_each_rule(models, windows):
    (found,) = overlap(*models, windows, [Sampling(1)])
    rest = found.beyond(4)
    for name in ("textbook", "greedy_draft", "exact_match"):
        np.testing.assert_array_equal(getattr(rest, name), getattr(found, name)[:, 4:])
    assert rest.rates["textbook"] == pytest.approx(found.textbook[:, 4:].mean())
    for outside in (-1, 9):
        with pytest.raises(ValueError, match=r"prompt must be in \[0, 9\)"):
            found.beyond(outside)


def test_a_model_agrees_with_itself(models, windows):
    (found,) = overlap(models[0], models[0], windows, [Sampling(0.5)])
    np.testing.assert_allclose(found.textbook, 1)


def test_named_tokens_are_taken_in_the_order_of_the_draft(models, windows):
    target, draft = models
    rates = named_acceptance(target, draft, windows, Sampling(), 3, batch=2)
    [rules] = overlap(target, draft, windows, [Sampling()])
    assert rates[0] == pytest.approx(rules.greedy_draft.mean(), abs=1e-6)
    with torch.inference_mode():
        p = target(windows).double().softmax(-1)  # (N, T, V)
        order = draft(windows).argsort(-1, descending=True)  # (N, T, V)
    second = p.gather(-1, order[..., 1:2]).mean()
    assert rates[1] == pytest.approx(float(second), abs=1e-6)
    with pytest.raises(ValueError, match="ranks must be in"):
        named_acceptance(target, draft, windows, Sampling(), 0)


def walked(rates, draft_length):
    """Mean tokens of full rounds, by trying every way the coins can fall."""
    begun = gained = 0.0
    stack = [(0, 1.0)]
    while stack:
        start, chance = stack.pop()
        if start + draft_length > len(rates):
            continue
        begun += chance
        for accepted in range(draft_length + 1):
            kept = np.prod(rates[start : start + accepted])
            lost = 1 - rates[start + accepted] if accepted < draft_length else 1
            gained += chance * kept * lost * (accepted + 1)
            stack.append((start + accepted + 1, chance * kept * lost))
    return begun, gained


def test_walk_meets_every_way_the_coins_can_fall():
    rates = np.random.default_rng(0).random((2, 10))
    begun, gained = np.sum([walked(row, 3) for row in rates], axis=0)
    assert tokens_in_order(rates, 3) == pytest.approx(gained / begun)


@pytest.mark.parametrize("rate", [0.0, 0.6, 1.0])
def test_order_does_not_matter_where_contexts_are_alike(rate):
    rates = np.full((3, 50), rate)
    assert tokens_in_order(rates, 4) == pytest.approx(theory.tokens_per_round(rate, 4))


def test_long_runs_are_crossed_in_long_and_short_steps():
    """20 sure contexts are 4 rounds of 5 tokens, 20 hopeless ones are 20 rounds of one."""
    runs = np.zeros((1, 4000))
    runs[0, (np.arange(4000) // 20) % 2 == 0] = 1.0
    assert tokens_in_order(runs, 4) == pytest.approx(40 / 24, rel=0.01)
    assert theory.tokens_per_round(runs.mean(), 4) == pytest.approx(1.9375)
    shuffled = np.random.default_rng(0).permutation(runs[0])[None]
    assert tokens_in_order(shuffled, 4) == pytest.approx(1.9375, abs=0.1)


@pytest.mark.parametrize("length", [0, 11])
def test_walk_refuses_lengths_that_do_not_fit(length):
    with pytest.raises(ValueError, match=rf"draft_length must be in \[1, 10\], got {length}"):
        tokens_in_order(np.zeros((2, 10)), length)


def test_alternating_contexts_have_correlation_minus_one():
    rates = np.tile([0.2, 0.8], (3, 20))
    np.testing.assert_allclose(autocorrelation(rates, [1, 2, 3]), [-1, 1, -1])


def test_independent_contexts_have_none():
    """A correlation of 20 000 pairs is within 5 σ = 0.035 of 0 but for one seed in a million."""
    rates = np.random.default_rng(0).random((20, 1000))
    assert abs(autocorrelation(rates, [1, 5])).max() < 0.035


def test_constant_contexts_have_no_correlation():
    assert np.isnan(autocorrelation(np.full((2, 5), 0.5), [1])).all()


@pytest.mark.parametrize("lag", [0, 5])
def test_lag_must_lie_inside_a_text(lag):
    with pytest.raises(ValueError, match=rf"lags must be in \[1, 5\), got {lag}"):
        autocorrelation(np.zeros((2, 5)), [lag])


def test_text_spread_is_compared_with_chance():
    """Means of 400 texts: their deviation is within 4 σ (14 %) of σ/√T but for 1 seed in 15 000."""
    alike = np.random.default_rng(0).random((400, 100))
    between, chance = text_spread(alike)
    assert chance == pytest.approx(np.sqrt(1 / 12) / 10, rel=0.02)
    assert between == pytest.approx(chance, rel=0.15)
    unlike = alike * np.repeat([0.5, 1.0], 200)[:, None]
    between, chance = text_spread(unlike)
    assert between > 3 * chance


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (5,)])
def test_spread_needs_two_texts_of_two_contexts(shape):
    with pytest.raises(ValueError, match=r"rates must have shape \(N, T\) with both at least 2"):
        text_spread(np.zeros(shape))
