"""Draft cost and speedup by batch: published head sizes, numbers by hand, and plain loops."""

import datetime
from dataclasses import replace

import numpy as np
import pytest

from specmini import catalog, theory
from specmini.roofline import pass_time, verify_cost
from specmini.roofline.batch_speedup import best_draft_by_batch, speedup_by_batch
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import LOOKUP, DraftCost, cost_ratio, draft_head, draft_model
from specmini.roofline.experts import Experts
from specmini.roofline.overhead import Overhead
from specmini.roofline.shape import Model

h100 = catalog.machine("h100")
llama_8b, llama_1b = catalog.model("llama-3.1-8b"), catalog.model("llama-3.2-1b")
target = Deployment(h100, llama_8b)
draft = draft_model(Deployment(h100, llama_1b))


def llama_2(layers, hidden, intermediate, heads, kv_heads):
    """A shape of the Llama 2 family: the targets for which EAGLE's head sizes are published."""
    today = datetime.date(2026, 12, 1)
    sizes = (layers, hidden, intermediate, heads, kv_heads, 128, 32_000)
    return Model("Llama-2", *sizes, False, "Llama 2 paper", today)


@pytest.mark.parametrize(
    ("shape", "billions"),
    [
        ((32, 4096, 11008, 32, 32), 0.24),
        ((40, 5120, 13824, 40, 40), 0.37),
        ((80, 8192, 28672, 64, 8), 0.99),
    ],
    ids=["7B", "13B", "70B"],
)
def test_a_head_has_the_size_that_eagle_publishes(shape, billions):
    # arXiv 2401.15077: .24, .37 and .99 billion beside targets of 7, 13 and 70
    head = draft_head(Deployment(h100, llama_2(*shape)))
    assert round(head.own_parameters / 1e9, 2) == billions


def test_a_head_is_one_layer_and_an_output_head():
    head = draft_head(target)
    # layer 218,112,000 (tests/test_catalog.py), fusion 2 x 4096^2, final norm
    assert head.own_parameters == 218_112_000 + 33_554_432 + 4_096
    model = head.deployment.model
    assert model.matmul_parameters == head.own_parameters + 128_256 * 4_096
    assert model.kv_values_per_token * 32 == llama_8b.kv_values_per_token
    small = draft_head(target, vocabulary=32_000, fused_states=0)
    assert small.own_parameters == 218_112_000 + 4_096 + 32_000 * 4_096
    assert small.deployment.model.matmul_parameters == small.own_parameters


def test_a_head_of_a_sparse_target_is_sparse_unless_told():
    sparse = Deployment(h100, replace(llama_8b, experts=Experts(64, 4, 1792, dense_layers=3)))
    head = draft_head(sparse)
    assert head.deployment.model.expert_layers == 1
    assert head.deployment.model.experts.count == 64
    dense = draft_head(
        replace(sparse, experts_touched=lambda tokens: 4 + 0 * tokens), intermediate=512
    )
    assert dense.deployment.model.experts is None
    assert dense.deployment.model.intermediate == 512


def test_the_mtp_module_has_the_size_that_deepseek_publishes():
    # README_WEIGHTS.md: 11.5 billion of its own and 2.4 active with embedding and head (.9 each);
    # both come out if the matrix that fuses two states, 2 x 7168^2, is left out of the count
    module = draft_head(Deployment(h100, catalog.model("deepseek-v3")))
    fusion = 2 * 7168**2
    assert round((module.own_parameters - fusion) / 1e9, 1) == 11.5
    active = module.deployment.model.active_parameters - fusion + 129_280 * 7168
    assert round(active / 1e9, 1) == 2.4


def test_cost_ratios_worked_out():
    # 1B: 1,235,814,400 parameters, tied, so all are read; 8B: 7,504,924,672. Cache of the 1B:
    # 2 x 16 layers x 8 x 64 = 16,384 numbers, of the 8B 65,536; 1025 positions, 2 bytes each
    small = 1_235_814_400 + 1025 * 16_384
    large = 7_504_924_672 + 1025 * 65_536
    assert cost_ratio(target, draft, 1, 1024) == pytest.approx(small / large, rel=1e-12)
    assert cost_ratio(target, LOOKUP, 1, 1024) == 0
    assert cost_ratio(target, 0.3, 1, 1024) == pytest.approx(0.3, rel=1e-12)
    # far past the ridge the caches decide: a quarter
    assert cost_ratio(target, draft, 100_000, 10**6) == pytest.approx(0.25, rel=1e-2)


def test_a_fixed_overhead_hits_the_draft_harder():
    busy = Overhead(seconds_per_layer=2e-5)
    slow = draft_model(Deployment(h100, llama_1b, overhead=busy))
    ratio = cost_ratio(replace(target, overhead=busy), slow, 1, 0)
    # 16 x 20 us on 0.74 ms, 32 x 20 us on 4.48 ms
    assert ratio == pytest.approx((0.7378 + 0.32) / (4.4806 + 0.64), rel=1e-3)
    assert ratio > cost_ratio(target, draft, 1, 0)


def test_memory_of_a_drafter():
    assert LOOKUP.memory_needed(8, 100) == 0
    assert draft.memory_needed(8, 100) == 2 * 1_235_814_400 + 8 * 100 * 2 * 16_384
    head = draft_head(target)
    assert head.memory_needed(8, 100) == pytest.approx(
        2 * head.own_parameters + 8 * 100 * 2 * 2_048, rel=1e-12
    )
    np.testing.assert_array_equal(LOOKUP.memory_needed([1, 2], 5), [0, 0])


def test_a_deployment_answers_as_the_functions_do():
    busy = Overhead(1e-3, 1e-5, 1e-6, 1e-7, 1e-6)
    machine = replace(h100, interconnect=450e9, peak_flops_8bit=1979e12)
    keywords = {"arithmetic_bits": 8, "devices": 4, "overhead": busy}
    run = Deployment(machine, llama_8b, bytes_per_weight=1, bytes_per_cache_value=1, **keywords)
    load = ([1, 64, 2048], 5, 1000)
    mine, theirs = run.pass_time(*load), pass_time(machine, llama_8b, *load, 1, 1, **keywords)
    for name in mine.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    np.testing.assert_array_equal(
        run.verify_cost(*load), verify_cost(machine, llama_8b, *load, 1, 1, **keywords)
    )
    assert run.ridge_tokens == pytest.approx(1979e12 / (2 * 3.35e12))
    assert (
        run.memory_needed(3, 10)
        == pass_time(machine, llama_8b, 3, 1, 9, 1, 1, **keywords).memory_needed
    )


def test_speedup_is_the_formula_with_both_costs():
    batch, context = np.array([[1], [64], [512]]), np.array([0, 2000])
    lengths = np.array([0, 1, 4, 8])[:, None, None]
    gains = speedup_by_batch(target, draft, 0.7, lengths, batch, context)
    assert gains.shape == (4, 3, 2)
    np.testing.assert_array_equal(gains[0], 1)
    for k, length in enumerate((0, 1, 4, 8)):
        for b, number in enumerate((1, 64, 512)):
            for p, positions in enumerate((0, 2000)):
                step, check = (
                    pass_time(h100, llama_8b, number, n, positions).time for n in (1, length + 1)
                )
                small = pass_time(h100, llama_1b, number, 1, positions).time
                expected = theory.tokens_per_round(0.7, length) * step / (length * small + check)
                if length:
                    assert gains[k, b, p] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("drafter", [draft, LOOKUP, 0.08], ids=["model", "lookup", "number"])
def test_the_best_draft_is_the_best_of_a_loop(drafter):
    batches, contexts = [1, 8, 64, 200, 600], [0, 4000]
    best = best_draft_by_batch(target, drafter, 0.8, np.array(batches)[:, None], contexts, 10)
    assert best.draft_length.shape == best.speedup.shape == (5, 2)
    for b, batch in enumerate(batches):
        for p, context in enumerate(contexts):
            gains = [speedup_by_batch(target, drafter, 0.8, k, batch, context) for k in range(11)]
            assert best.draft_length[b, p] == int(np.argmax(gains))
            assert best.speedup[b, p] == max(gains)
    # the larger the batch the shorter the draft, and at long context that ends
    assert np.all(np.diff(best.draft_length[:, 0]) <= 0)
    assert best.draft_length[-1, 0] == 0
    assert best.draft_length[-1, 1] > 0


def test_the_best_draft_of_scalars_is_a_scalar_and_costs_may_be_an_array():
    best = best_draft_by_batch(target, 0.1, 0.8, 1, 0)
    assert best.draft_length == theory.best_draft_length(0.8, 0.1)
    several = best_draft_by_batch(target, [0.02, 0.1, 0.9], 0.8, 1, 0)
    assert several.draft_length[1] == best.draft_length
    assert several.draft_length[2] == 0
    assert several.speedup[2] == 1


@pytest.mark.parametrize(
    "wrong", [{"bytes_per_weight": 0}, {"devices": 3}, {"overhead": None}, {"arithmetic_bits": 4}]
)
def test_a_deployment_that_cannot_be_is_refused(wrong):
    name = "bits" if "arithmetic_bits" in wrong else next(iter(wrong))
    with pytest.raises(ValueError, match=rf"^{name} must"):
        Deployment(h100, llama_8b, **wrong)


def test_nonsense_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^draft must be a finite number in \[0, inf\), got -1"):
        cost_ratio(target, -1, 1, 0)
    with pytest.raises(ValueError, match=r"^batch must be a whole number"):
        cost_ratio(target, LOOKUP, 0, 0)
    with pytest.raises(ValueError, match=r"^context must be a whole number"):
        DraftCost("mine").memory_needed(1, 0)
    with pytest.raises(ValueError, match=r"^longest must be a whole number in"):
        best_draft_by_batch(target, LOOKUP, 0.7, 1, 0, longest=0)
