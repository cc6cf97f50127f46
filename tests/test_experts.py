"""Experts: the closed form against a simulation and published numbers, and what a pass reads."""

from dataclasses import replace

import numpy as np
import pytest

from specmini import catalog
from specmini.roofline import pass_time, verify_cost
from specmini.roofline.experts import Experts, experts_touched

h200 = catalog.machine("h200")
mixtral = catalog.model("mixtral-8x7b")
sparse = [model for model in catalog.models().values() if model.experts]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # worked out apart from this package, tokens 1, 2, 4, 8, 16
        ("mixtral-8x7b", [2.0, 3.5, 5.5, 7.2, 7.9]),
        ("qwen3-30b-a3b", [8.0, 15.5, 29.1, 51.6, 82.4]),
        ("deepseek-v3", [8.0, 15.8, 30.5, 57.4, 102.0]),
        ("gpt-oss-120b", [4.0, 7.9, 15.3, 28.7, 51.0]),
    ],
)
def test_experts_touched_by_a_few_tokens(key, expected):
    touched = experts_touched(catalog.model(key).experts, [1, 2, 4, 8, 16])
    np.testing.assert_allclose(touched, expected, atol=0.051)


def test_the_closed_form_is_the_mean_of_a_simulation():
    rng = np.random.default_rng(20261201)
    experts, tokens, rounds = Experts(24, 3, 1), 6, 20_000
    choices = np.argsort(rng.random((rounds, tokens, 24)), axis=-1)[..., :3]  # (rounds, tokens, 3)
    counts = np.array([np.unique(chosen).size for chosen in choices])
    error = counts.std() / np.sqrt(rounds)
    # at 5 standard errors a false alarm has a chance of 6e-7, and the seed is fixed
    assert abs(counts.mean() - experts_touched(experts, tokens)) < 5 * error


def test_one_token_touches_its_own_and_many_touch_all():
    for model in sparse:
        one, many = experts_touched(model.experts, [1, 10**6])
        assert one == pytest.approx(model.experts.per_token, rel=1e-12)
        assert many == pytest.approx(model.experts.count, rel=1e-12)
    assert experts_touched(Experts(4, 4, 8), 1) == 4
    assert isinstance(experts_touched(mixtral.experts, 3), float)


def test_a_pass_reads_the_experts_it_touches_and_computes_those_it_visits():
    one, five = (pass_time(h200, mixtral, 1, n, 100) for n in (1, 5))
    # shared by all: 12,879,925,248 active less the input table and two experts in 32 layers
    shared = 12_879_925_248 - 131_072_000 - 64 * 176_160_768
    assert one.weight_bytes == pytest.approx(2 * (shared + 64 * 176_160_768), rel=1e-12)
    touched = 8 * (1 - 0.75**5)  # 6.10
    assert five.experts_touched == pytest.approx(touched, rel=1e-12)
    assert five.weight_bytes == pytest.approx(2 * (shared + 32 * touched * 176_160_768), rel=1e-12)
    assert five.linear_flops == 5 * one.linear_flops == 5 * 2 * mixtral.matmul_parameters
    # memory holds all of them, used or not
    assert five.memory_needed == 2 * 46_702_792_704 + 105 * 131_072


@pytest.mark.parametrize("model", sparse, ids=lambda m: m.name)
def test_checking_is_dear_then_cheap_then_dear_again(model):
    batch = np.array([1, 4, 16, 64, 256, 1024, 4096, 16384, 65536])
    costs = verify_cost(h200, model, batch, 3, 0)
    # four tokens touch up to 3.8 times the experts of one (at batch 1 the weights that all tokens
    # share hide some of that), at a large batch all are touched anyway, and at a larger one
    # arithmetic makes it 4
    highest, lowest = int(np.argmax(costs[:4])), int(np.argmin(costs))
    assert highest <= 1 < lowest < batch.size - 1
    assert costs[0] > 2.3
    assert costs[lowest] < 1.002
    assert costs[-1] == pytest.approx(4, rel=1e-2)
    assert np.all(np.diff(costs[highest : lowest + 1]) < 0)
    assert np.all(np.diff(costs[lowest:]) > -1e-3)


def test_the_number_of_experts_can_be_told():
    model = catalog.model("qwen3-30b-a3b")
    load = (1, 4, 0)
    told = pass_time(h200, model, *load, experts_touched=20)  # 2.5 times the 8 of one token
    assert told.experts_touched == 20
    assert told.weight_bytes < pass_time(h200, model, *load).weight_bytes
    several = pass_time(h200, model, [1, 1, 1], 4, 0, experts_touched=[8, 20, 128])
    assert list(several.experts_touched) == [8, 20, 128]
    assert several.time[1] == told.time


def test_a_function_of_the_tokens_is_asked_for_both_passes():
    model = catalog.model("qwen3-30b-a3b")

    def correlated(tokens):
        return np.minimum(8 * tokens**0.66, 128)  # 4 tokens: 20, which is 2.5 x 8

    dear = verify_cost(h200, model, 1, 3, 0)
    cheaper = verify_cost(h200, model, 1, 3, 0, experts_touched=correlated)
    assert 1 < cheaper < dear
    # (shared + 48 layers x touched experts) over the same with 8: reading is all at batch 1
    shared = model.matmul_parameters - 48 * 8 * model.expert_parameters
    expected = (shared + 48 * 8 * 4**0.66 * model.expert_parameters) / model.matmul_parameters
    assert cheaper == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("wrong", [7.9, 128.1, float("nan"), "8", True])
def test_impossible_numbers_of_experts_are_refused(wrong):
    model = catalog.model("qwen3-30b-a3b")
    with pytest.raises(ValueError, match=r"^experts_touched must be "):
        pass_time(h200, model, 1, 1, 0, experts_touched=wrong)
    if not isinstance(wrong, str):
        with pytest.raises(ValueError, match=r"^experts_touched must be "):
            pass_time(h200, model, 1, 1, 0, experts_touched=lambda tokens: wrong)


def test_experts_are_refused_where_there_are_none_and_shapes_must_fit():
    with pytest.raises(ValueError, match=r"experts_touched must be None for Llama-3.1-8B"):
        pass_time(h200, catalog.model("llama-3.1-8b"), 1, 1, 0, experts_touched=8)
    with pytest.raises(ValueError, match=r"experts_touched must broadcast .* got shape \(3,\)"):
        pass_time(h200, mixtral, [1, 2], 1, 0, experts_touched=lambda tokens: [2, 3, 4])
    with pytest.raises(ValueError, match=r"experts_touched must broadcast .* got shape \(2,\)"):
        pass_time(h200, mixtral, 1, 1, 0, experts_touched=[2, 3])


@pytest.mark.parametrize("size", ["count", "per_token", "width", "shared_width", "dense_layers"])
@pytest.mark.parametrize("wrong", [-1, 2.5, float("nan"), True, "8", None])
def test_experts_refuse_nonsense(size, wrong):
    with pytest.raises(ValueError, match=rf"^{size} must be a whole number in"):
        replace(mixtral.experts, **{size: wrong})


def test_experts_refuse_more_visits_than_experts_and_switches_that_are_not_bool():
    with pytest.raises(ValueError, match=r"per_token must be .* \(= 8\)\], got 9"):
        Experts(8, 9, 64)
    for switch in ("router_bias", "shared_gate"):
        with pytest.raises(ValueError, match=f"{switch} must be True or False, got 1"):
            replace(mixtral.experts, **{switch: 1})


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "4"])
def test_tokens_that_are_no_count_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^tokens must be a whole number in \[1"):
        experts_touched(mixtral.experts, wrong)
