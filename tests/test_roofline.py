"""Roofline: numbers worked out by hand, limits, monotonicity, and refusals."""

import datetime
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini import catalog
from specmini.roofline import Machine, pass_time, ridge_tokens, verify_cost

h100 = catalog.machine("h100")
llama_8b = catalog.model("llama-3.1-8b")
machines = [machine for machine in catalog.machines().values() if machine.peak_flops]
# gated, grouped-query and dense; tests/test_experts.py and below for the others
models = [m for m in catalog.models().values() if m.gated_mlp and not (m.latent or m.experts)]
reproducible = settings(deadline=None, derandomize=True, max_examples=200)


def test_one_token_of_llama_8b_on_an_h100():
    step = pass_time(h100, llama_8b, batch=1, new_tokens=1, context=1024)
    # weights: 7,504,924,672 x 2 B = 15.01 GB; / 3.35 TB/s = 4.4806 ms
    assert step.weight_bytes == 15_009_849_344
    assert step.weights_time == pytest.approx(4.4806e-3, rel=1e-4)
    # cache: (1024 read + 1 written) x 65,536 numbers x 2 B = 134.3 MB; / 3.35 TB/s = 40.10 us
    assert step.kv_bytes == 1025 * 131_072
    assert step.attention_time == pytest.approx(40.10e-6, rel=1e-3)
    # arithmetic: 2 x 7.505e9 = 15.0 GFLOP in the layers (15.2 us at peak),
    # 4 x 32 layers x 32 heads x 128 x 1025 positions = 0.54 GFLOP in attention
    assert step.linear_flops == 2 * 7_504_924_672
    assert step.attention_flops == 4 * 32 * 32 * 128 * 1025
    assert step.time == step.weights_time + step.attention_time
    assert step.time == pytest.approx(4.5207e-3, rel=1e-4)
    assert step.bound == "memory"
    # memory: 8,030,261,248 x 2 B + 1025 x 131,072 B = 16.19 GB of 80
    assert step.memory_needed == 16_060_522_496 + 1025 * 131_072
    assert step.fits


def test_four_guesses_add_61_microseconds_of_arithmetic_and_no_weights():
    one = pass_time(h100, llama_8b, 1, 1, 1024)
    five = pass_time(h100, llama_8b, 1, 5, 1024)
    assert five.weight_bytes == one.weight_bytes
    # 4 x 2 x 7.505e9 = 60.04 GFLOP; / 989.4 TFLOP/s = 60.68 us, in the shadow of 4.48 ms
    added = (five.linear_flops - one.linear_flops) / h100.peak_flops
    assert added == pytest.approx(60.68e-6, rel=1e-3)
    assert five.weights_time == one.weights_time
    # what is not hidden: four more positions written, 4 x 131,072 B / 3.35 TB/s = 0.157 us
    assert five.time - one.time == pytest.approx(0.1565e-6, rel=1e-3)


def test_verify_cost_by_batch_worked_out():
    # batch 64, K = 4, context 1024: verification is 320 tokens
    # layers 2 x 7.505e9 x 320 / 989.4e12 = 4.8546 ms, attention 64 x 1029 x 131,072 B = 2.5767 ms
    # plain: layers 4.4806 ms (64 tokens still hide), attention 64 x 1025 x 131,072 B = 2.5666 ms
    expected = (4.8546 + 2.5767) / (4.4806 + 2.5666)
    assert verify_cost(h100, llama_8b, 64, 4, 1024) == pytest.approx(expected, rel=1e-4)
    # batch 256: 1280 tokens, 19.4184 + 10.3068 ms against 4.4806 + 10.2666 ms
    expected = (19.4184 + 10.3068) / (4.4806 + 10.2666)
    assert verify_cost(h100, llama_8b, 256, 4, 1024) == pytest.approx(expected, rel=1e-4)


def test_the_ridge_is_where_the_two_times_meet():
    # 989.4e12 x 2 / (2 x 3.35e12) = 295.3 tokens
    assert ridge_tokens(h100) == pytest.approx(295.34, abs=0.01)
    # B200: 2250 / 7.7 = 292.2; half the bytes, half the ridge
    assert ridge_tokens(catalog.machine("b200")) == pytest.approx(292.2, abs=0.05)
    np.testing.assert_allclose(ridge_tokens(h100, [2, 1, 0.5]), ridge_tokens(h100) / [1, 2, 4])
    below, above = pass_time(h100, llama_8b, [295, 296], 1, 0).bound
    assert (below, above) == ("memory", "compute")


@pytest.mark.parametrize("machine", machines, ids=lambda m: m.name)
@pytest.mark.parametrize("model", models, ids=lambda m: m.name)
def test_the_ridge_separates_memory_from_compute_everywhere(machine, model):
    ridge = int(ridge_tokens(machine))
    passes = pass_time(machine, model, [ridge, ridge + 1], 1, 0)
    assert list(passes.bound) == ["memory", "compute"]
    read = model.weight_bytes(2) / machine.bandwidth
    assert passes.weights_time[0] == pytest.approx(read)
    assert passes.weights_time[1] > read


def test_attention_counts_the_causal_triangle_of_the_new_tokens():
    # positions attended: 3 new tokens after 10 see 11 + 12 + 13 = 36
    step = pass_time(h100, llama_8b, 2, 3, 10)
    assert step.attention_flops == 2 * 36 * 4 * 32 * 32 * 128
    assert step.kv_bytes == 2 * 13 * 131_072


def test_a_prompt_from_an_empty_cache_is_compute_bound():
    prompt = pass_time(h100, llama_8b, 1, 8192, 0)
    assert prompt.bound == "compute"
    # attention: 8192 x 8193 / 2 positions x 524,288 FLOP = 17.6 TFLOP, far over its 1 GB of cache
    assert prompt.attention_time == pytest.approx(17.594e12 / 989.4e12, rel=1e-3)


def test_plain_decoding_does_one_operation_a_byte_and_sequence():
    # 2 FLOP a weight and sequence, 2 bytes a weight
    step = pass_time(h100, llama_8b, [1, 8], 1, 0)
    np.testing.assert_array_equal(step.linear_flops / step.weight_bytes, [1, 8])


def test_smaller_weights_read_faster_but_compute_no_faster():
    bytes_per_weight = [2, 1, 0.5]
    small = pass_time(h100, llama_8b, 1, 1, 1024, bytes_per_weight)
    np.testing.assert_allclose(small.weights_time, 4.48055e-3 / np.array([1, 2, 4]), rtol=1e-5)
    large = pass_time(h100, llama_8b, 1024, 1, 1024, bytes_per_weight)
    assert np.ptp(large.weights_time) == 0
    # so verification stops being free sooner: at batch 32 five tokens each are 160
    costs = verify_cost(h100, llama_8b, 32, 4, 128, bytes_per_weight)
    assert costs[0] < 1.01 < costs[1] < costs[2]


def test_a_smaller_cache_shrinks_only_attention():
    full, half = (pass_time(h100, llama_8b, 8, 1, 4096, 2, size) for size in (2, 1))
    assert half.attention_time == full.attention_time / 2
    assert half.weights_time == full.weights_time


def test_fits_follows_memory_and_time_exists_either_way():
    # 70B in 16 bits is 141.1 GB: too much for 80 GB, in 4 bits 35.3 GB fit
    llama_70b = catalog.model("llama-3.1-70b")
    step = pass_time(h100, llama_70b, 1, 1, 1024, [2, 0.5])
    np.testing.assert_array_equal(step.fits, [False, True])
    assert step.memory_needed[0] == pytest.approx(141.1e9 + 0.336e9, rel=1e-3)
    assert np.all(step.time > 0)
    # 8B at 1024 + 1 positions: (80e9 - 16.06e9) / (1025 x 131,072) = 475.9 sequences
    np.testing.assert_array_equal(
        pass_time(h100, llama_8b, [475, 476], 1, 1024).fits, [True, False]
    )


@pytest.mark.parametrize("machine", machines, ids=lambda m: m.name)
@pytest.mark.parametrize("model", models, ids=lambda m: m.name)
def test_verify_cost_is_one_for_small_drafts_at_batch_one(machine, model):
    costs = verify_cost(machine, model, 1, [0, 1, 2, 4, 8], 512)
    assert costs[0] == 1.0
    # the new keys and values are all that is left: under 0.1 % of a step, even for 0.5B
    assert np.all(costs[1:] > 1)
    assert np.all(costs < 1.001)


@pytest.mark.parametrize("machine", machines, ids=lambda m: m.name)
@pytest.mark.parametrize("model", models, ids=lambda m: m.name)
def test_verify_cost_is_draft_length_plus_one_when_compute_bound(machine, model):
    drafts = np.arange(9)
    np.testing.assert_allclose(
        verify_cost(machine, model, 4096, drafts, 0), drafts + 1.0, rtol=1e-3
    )


def test_long_context_keeps_verification_cheap_at_a_batch_that_short_context_does_not():
    short, long = verify_cost(h100, llama_8b, 256, 4, [128, 100_000])
    assert short > 3.5
    # the cache of the context is read once for all five tokens
    assert long < 1.02


def test_verify_cost_falls_with_context_at_large_batch():
    costs = verify_cost(h100, llama_8b, 256, 4, [0, 100, 1000, 10_000, 100_000])
    assert np.all(np.diff(costs) < 0)


@pytest.mark.parametrize("quantity", ["time", "weights_time", "attention_time", "memory_needed"])
def test_nothing_shrinks_when_the_load_grows(quantity):
    batch = np.array([1, 2, 16, 64, 256, 1024])[:, None, None]
    new_tokens = np.array([1, 2, 5, 17])[:, None]
    context = np.array([0, 1, 128, 4096, 100_000])
    grid = getattr(pass_time(h100, llama_8b, batch, new_tokens, context), quantity)
    assert grid.shape == (6, 4, 5)
    for axis in range(3):
        assert np.all(np.diff(grid, axis=axis) >= 0)


def test_a_faster_machine_is_never_slower():
    load = ([1, 64, 1024], 5, 1024)
    h200 = catalog.machine("h200")
    assert np.all(pass_time(h200, llama_8b, *load).time <= pass_time(h100, llama_8b, *load).time)


@given(
    machine=st.sampled_from(machines),
    model=st.sampled_from(models),
    batch=st.integers(1, 4096),
    draft_length=st.integers(0, 16),
    context=st.integers(0, 1_000_000),
    bytes_per_weight=st.sampled_from([2, 1, 0.5]),
)
@reproducible
def test_verify_cost_lies_between_one_and_draft_length_plus_one(
    machine, model, batch, draft_length, context, bytes_per_weight
):
    cost = verify_cost(machine, model, batch, draft_length, context, bytes_per_weight)
    assert 1 <= cost <= (draft_length + 1) * (1 + 1e-12)


@given(
    peak=st.floats(1e9, 1e18),
    bandwidth=st.floats(1e6, 1e15),
    model=st.sampled_from(models),
    batch=st.integers(1, 10**6),
    draft_length=st.integers(0, 1000),
    context=st.integers(0, 10**7),
)
@reproducible
def test_verify_cost_keeps_its_general_bound_on_any_machine(
    peak, bandwidth, model, batch, draft_length, context
):
    machine = Machine("any", peak, bandwidth, 1e12, "made up", datetime.date(2026, 1, 1))
    cost = verify_cost(machine, model, batch, draft_length, context)
    triangle = 1 + draft_length / (2 * (context + 1))
    assert 1 <= cost <= (draft_length + 1) * triangle * (1 + 1e-12)


def test_verify_cost_passes_draft_length_plus_one_where_arithmetic_limits_attention():
    # 1 GFLOP/s against 1e18 bytes/s: all arithmetic. 999 drafts from an empty cache attend to
    # 1000 x 1001 / 2 positions, so 1000 x 15.010e9 + 500,500 x 524,288 FLOP against
    # 15.010e9 + 524,288: a ratio of 1017.4
    machine = Machine("dense", 1e9, 1e18, 1e12, "made up", datetime.date(2026, 1, 1))
    assert verify_cost(machine, llama_8b, 1, 999, 0) == pytest.approx(1017.4, abs=0.1)


def test_arrays_equal_a_loop_over_scalars():
    batch, drafts, context = [1, 7, 300], [0, 1, 6], [0, 900, 50_000]
    together = verify_cost(
        h100, llama_8b, np.array(batch)[:, None, None], np.array(drafts)[:, None], context
    )
    for i, b in enumerate(batch):
        for j, k in enumerate(drafts):
            for n, c in enumerate(context):
                assert together[i, j, n] == verify_cost(h100, llama_8b, b, k, c)
    passes = pass_time(h100, llama_8b, batch, [1, 2, 3], context)
    for i, b in enumerate(batch):
        alone = pass_time(h100, llama_8b, b, i + 1, context[i])
        for name in alone.__dataclass_fields__:
            assert getattr(passes, name)[i] == getattr(alone, name)


def test_scalars_come_back_as_scalars_and_print():
    step = pass_time(h100, llama_8b, 1, 1, 0)
    assert f"{step.time:.4f} {step.bound} {bool(step.fits)}" == "0.0045 memory True"
    assert isinstance(verify_cost(h100, llama_8b, 1, 4, 0), float)


def test_every_field_has_the_common_shape():
    step = pass_time(h100, llama_8b, [[1], [2]], [1, 2, 3], 10)
    for name in step.__dataclass_fields__:
        assert getattr(step, name).shape == (2, 3), name


def test_ignored_activations_stay_within_the_documented_bound():
    for model in models:
        query, key_or_value = model.heads * model.head_dim, model.kv_heads * model.head_dim
        wide, inner = model.hidden, model.intermediate
        # every kernel of a layer reads its input and writes its output: norm, qkv, rotation and
        # query/key norm, attention, output projection, residual, norm, MLP up, gate, down, residual
        per_layer = (
            2 * wide
            + (wide + query + 2 * key_or_value)
            + 4 * (query + key_or_value)
            + 2 * query
            + (query + wide)
            + 3 * wide
            + 2 * wide
            + (wide + 2 * inner)
            + 3 * inner
            + (inner + wide)
            + 3 * wide
        )
        # logits once in 16 and once in 32 bits
        bytes_per_token = 2 * (model.layers * per_layer + 5 * wide) + 6 * model.vocabulary
        share = bytes_per_token / model.weight_bytes(2)
        assert share < 0.004, model.name
        if model is llama_8b:
            assert share == pytest.approx(0.0008, abs=0.00005)
            assert share * ridge_tokens(h100) == pytest.approx(0.23, abs=0.02)


def test_latent_attention_caches_little_and_computes_much():
    model, batch, context = catalog.model("deepseek-v3"), 16, 32_768
    plain, check = (pass_time(h100, model, batch, n, context) for n in (1, 2))
    # 16 x 32,769 positions x 61 layers x 576 numbers x 2 bytes = 36.84 GB
    assert plain.kv_bytes == batch * (context + 1) * 61 * 576 * 2
    # each position: 2 x 128 x 1088 operations a layer for 1,152 bytes, 241.8 a byte; the H100's
    # ridge is at 295.3, so one token reads and two tokens compute
    assert (plain.attention_bound, check.attention_bound) == ("memory", "compute")
    assert plain.attention_time == pytest.approx(36.843e9 / 3.35e12, rel=1e-4)
    operations = batch * (2 * context + 3) * 61 * 2 * 128 * 1088
    assert check.attention_flops == operations
    assert check.attention_time == pytest.approx(operations / 989.4e12, rel=1e-12)


def test_a_window_ends_what_is_read_and_attended():
    model = replace(llama_8b, windowed_layers=8, window=100)
    # 8 of 32 layers see the last 100 positions, the new token included
    for context in (0, 50, 98, 99, 100, 5000):
        for new in (1, 3, 120):
            step = pass_time(h100, model, 2, new, context)
            seen, attended = {}, {}
            for window in (100, 10**9):
                pairs = [
                    (i, j)
                    for i in range(context, context + new)
                    for j in range(max(0, i - window + 1), i + 1)
                ]
                attended[window] = len(pairs)
                seen[window] = len({j for _, j in pairs})
            assert step.kv_bytes == 2 * 2 * 2048 * (24 * seen[10**9] + 8 * seen[100])
            assert step.attention_flops == 2 * 4 * 4096 * (24 * attended[10**9] + 8 * attended[100])


def test_devices_leave_routers_and_down_projections_whole():
    model = catalog.model("deepseek-v3")
    machine = catalog.machine("h200")
    one, eight = (pass_time(machine, model, 1, 1, 1000, devices=d) for d in (1, 8))
    whole = model.replicated_parameters
    assert eight.linear_flops == 2 * (whole + (model.matmul_parameters - whole) / 8)
    assert eight.weight_bytes == pytest.approx((one.weight_bytes - 2 * whole) / 8 + 2 * whole)
    # all devices hold the one compressed cache; heads are divided
    assert eight.kv_bytes == one.kv_bytes
    assert eight.attention_flops == one.attention_flops / 8


def test_the_documented_gap_to_a_measured_pair():
    target, draft = catalog.model("qwen3-32b"), catalog.model("qwen3-1.7b")
    slow, fast = (pass_time(h100, m, 1, 1, 500).time for m in (target, draft))
    # reported 23.65 and 2.27 ms: a lower bound must lie below, and the small model further below
    assert slow == pytest.approx(19.1e-3, abs=0.05e-3)
    assert fast == pytest.approx(1.04e-3, abs=0.005e-3)
    assert fast / slow == pytest.approx(0.055, abs=0.0005)


wrong_counts = [-1, 1.5, float("nan"), float("inf"), True, "4", None, [1, -2]]


@pytest.mark.parametrize("wrong", [0, *wrong_counts])
@pytest.mark.parametrize("name", ["batch", "new_tokens"])
def test_pass_time_refuses_a_count_below_one_or_no_count(name, wrong):
    arguments = {"batch": 1, "new_tokens": 1, "context": 0, name: wrong}
    with pytest.raises(ValueError, match=rf"^{name} must be a whole number in \[1, 2\*\*53\]"):
        pass_time(h100, llama_8b, **arguments)


@pytest.mark.parametrize("wrong", wrong_counts)
@pytest.mark.parametrize("name", ["draft_length", "context"])
def test_verify_cost_refuses_a_negative_or_no_count(name, wrong):
    arguments = {"batch": 1, "draft_length": 4, "context": 0, name: wrong}
    with pytest.raises(ValueError, match=rf"^{name} must be a whole number in \[0, 2\*\*53\]"):
        verify_cost(h100, llama_8b, **arguments)


@pytest.mark.parametrize("wrong", [0, -2, float("nan"), float("inf"), True, "2"])
def test_a_width_that_is_not_positive_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^bytes_per_weight must be a finite number in"):
        verify_cost(h100, llama_8b, 1, 4, 0, bytes_per_weight=wrong)
    with pytest.raises(ValueError, match=r"^bytes_per_cache_value must be a finite number in"):
        pass_time(h100, llama_8b, 1, 4, 0, bytes_per_cache_value=wrong)
    with pytest.raises(ValueError, match=r"^bytes_per_weight must be a finite number in"):
        ridge_tokens(h100, wrong)
    with pytest.raises(ValueError, match=r"^bytes_per_weight must be a finite number in"):
        llama_8b.weight_bytes(wrong)


def test_a_message_shows_value_and_place():
    with pytest.raises(ValueError, match=r"batch must be .*, got 0 at index 1"):
        pass_time(h100, llama_8b, [4, 0], 1, 0)


def test_shapes_that_do_not_broadcast_are_refused_by_their_callers_names():
    with pytest.raises(ValueError, match=r"draft_length \(3,\), batch \(2,\)"):
        verify_cost(h100, llama_8b, [1, 2], [1, 2, 3], 0)
    with pytest.raises(ValueError, match=r"new_tokens \(3,\), batch \(2,\)"):
        pass_time(h100, llama_8b, [1, 2], [1, 2, 3], 0)


def test_a_name_instead_of_a_machine_or_model_is_refused():
    with pytest.raises(ValueError, match=r"machine must be a Machine .* got 'h100'"):
        verify_cost("h100", llama_8b, 1, 4, 0)
    with pytest.raises(ValueError, match=r"model must be a Model .* got 'llama-3.1-8b'"):
        pass_time(h100, "llama-3.1-8b", 1, 1, 0)
    with pytest.raises(ValueError, match=r"machine must be a Machine .* got 'h100'"):
        ridge_tokens("h100")


def test_importing_is_light():
    script = (
        "import sys, numpy, time; start = time.perf_counter(); import specmini.roofline; "
        "spent = time.perf_counter() - start; "
        "heavy = {'torch', 'matplotlib', 'anywidget', 'scipy'} & set(sys.modules); "
        "assert not heavy, heavy; assert spent < 0.5, spent"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
