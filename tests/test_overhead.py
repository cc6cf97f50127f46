"""Overhead and tensor parallelism: worked out by hand, and in what they leave alone."""

from dataclasses import replace

import numpy as np
import pytest

from specmini import catalog
from specmini.roofline import LARGEST_PARTS, pass_time, verify_cost
from specmini.roofline.overhead import Overhead, all_reduce_time

h100 = replace(catalog.machine("h100"), interconnect=450e9)
llama_8b = catalog.model("llama-3.1-8b")
llama_70b = catalog.model("llama-3.1-70b")


def test_no_overhead_is_the_default():
    step = pass_time(h100, llama_8b, 4, 5, 100)
    assert step.overhead_time == step.communication_time == 0
    assert step.time == step.weights_time + step.attention_time


def test_overhead_worked_out():
    overhead = Overhead(1e-3, 1e-5, 1e-6, 1e-7)
    step = pass_time(h100, llama_8b, 8, 5, 100, overhead=overhead)
    # 1 ms + 32 layers x 10 us + 8 sequences x (1 us + 5 tokens x 0.1 us) = 1 + 0.32 + 0.012 ms
    assert step.overhead_time == pytest.approx(1.332e-3, rel=1e-12)
    without = pass_time(h100, llama_8b, 8, 5, 100)
    assert step.time == pytest.approx(without.time + 1.332e-3, rel=1e-12)
    assert step.weights_time == without.weights_time


def test_a_fixed_cost_pulls_the_verify_cost_towards_one_and_a_cost_a_token_does_not():
    load = (64, 4, 1024)
    free = verify_cost(h100, llama_8b, *load)
    fixed = [
        verify_cost(h100, llama_8b, *load, overhead=Overhead(seconds_per_pass=seconds))
        for seconds in (1e-3, 1e-2, 1.0)
    ]
    assert free > fixed[0] > fixed[1] > fixed[2] > 1
    token = verify_cost(h100, llama_8b, *load, overhead=Overhead(seconds_per_token=1.0))
    assert token == pytest.approx(5, rel=1e-2)


def test_a_ring_of_devices_worked_out():
    # 4 devices, 1 MB: 6 steps of a quarter at 450 GB/s (0.5556 us) and 2 us of latency each
    seconds = all_reduce_time(np.array(1e6), 4, 450e9, 2e-6)
    assert seconds == pytest.approx(6 * (2e-6 + 0.25e6 / 450e9), rel=1e-12)
    assert all_reduce_time(np.array(1e6), 1, 450e9, 2e-6) == 0


def test_two_devices_share_everything_and_talk_twice_a_layer():
    one = pass_time(h100, llama_70b, 16, 5, 2000)
    two = pass_time(h100, llama_70b, 16, 5, 2000, devices=2)
    for part in ("weight_bytes", "kv_bytes", "linear_flops", "attention_flops", "memory_needed"):
        assert getattr(two, part) == pytest.approx(getattr(one, part) / 2, rel=1e-12), part
    # 2 x 80 layers, 80 tokens x 8192 x 2 B = 1.31 MB; 2 steps of half of it at 450 GB/s: 2.91 us
    assert two.communication_time == pytest.approx(160 * 1_310_720 / 450e9, rel=1e-12)
    assert two.time == pytest.approx(one.time / 2 + two.communication_time, rel=1e-12)
    assert not one.fits
    assert two.fits


def test_latency_is_paid_a_step_of_the_ring():
    slow = Overhead(transfer_latency=5e-6)
    quick, late = (
        pass_time(h100, llama_70b, 1, 1, 0, devices=8, overhead=overhead).communication_time
        for overhead in (Overhead(), slow)
    )
    assert late - quick == pytest.approx(160 * 14 * 5e-6, rel=1e-9)


def test_more_devices_than_kv_heads_hold_copies_of_the_cache():
    small = catalog.model("qwen2.5-3b")  # 16 heads, 2 KV heads
    kv_bytes = [pass_time(h100, small, 8, 1, 4096, devices=d).kv_bytes for d in (1, 2, 4, 8)]
    np.testing.assert_allclose(kv_bytes, kv_bytes[0] / np.array([1, 2, 2, 2]))


def test_the_parts_add_up_and_the_largest_is_named():
    overhead = Overhead(1e-3, 1e-5, 1e-6, 1e-7, 1e-6)
    batch, context = np.array([[1], [64], [2048]]), np.array([0, 1000, 100_000])
    step = pass_time(h100, llama_70b, batch, 5, context, devices=4, overhead=overhead)
    parts = step.weights_time + step.attention_time + step.communication_time + step.overhead_time
    np.testing.assert_allclose(step.time, parts, rtol=1e-14)
    assert set(step.largest_part.flat) <= set(LARGEST_PARTS)
    assert step.largest_part[0, 0] == "weight reads"
    assert step.largest_part[2, 0] == "weight arithmetic"
    assert step.largest_part[2, 2] == "cache traffic"
    slow = pass_time(h100, llama_8b, 1, 1, 0, overhead=Overhead(seconds_per_pass=1.0))
    assert slow.largest_part == "overhead"
    far = pass_time(h100, llama_70b, 1, 1, 0, devices=8, overhead=Overhead(transfer_latency=1e-4))
    assert far.largest_part == "communication"


def test_narrow_arithmetic_moves_the_ridge_and_needs_a_documented_peak():
    wide, narrow = (
        pass_time(replace(h100, peak_flops_8bit=1979e12), llama_8b, 1024, 1, 0, arithmetic_bits=b)
        for b in (16, 8)
    )
    assert wide.weights_time / narrow.weights_time == pytest.approx(1979 / 989.4)
    assert wide.attention_time == narrow.attention_time
    with pytest.raises(ValueError, match=r"none is documented for 4-bit arithmetic on NVIDIA H100"):
        pass_time(h100, llama_8b, 1, 1, 0, arithmetic_bits=4)
    for wrong in (True, 3, 16.5, "8", None):
        with pytest.raises(ValueError, match=r"^bits must be one of \[16, 8, 4\], got"):
            pass_time(h100, llama_8b, 1, 1, 0, arithmetic_bits=wrong)


def test_a_machine_without_a_peak_says_so():
    with pytest.raises(ValueError, match=r"none is documented for 16-bit arithmetic on NVIDIA"):
        verify_cost(replace(h100, peak_flops=None), llama_8b, 1, 4, 0)


@pytest.mark.parametrize("wrong", [-1e-6, float("nan"), float("inf"), True, "1", None])
@pytest.mark.parametrize("name", list(Overhead.__dataclass_fields__))
def test_an_overhead_refuses_nonsense(name, wrong):
    with pytest.raises(ValueError, match=rf"^{name} must be a finite number in \[0, inf\)"):
        Overhead(**{name: wrong})


def test_devices_that_cannot_share_are_refused():
    with pytest.raises(ValueError, match=r"devices must divide the model's 64 heads, got 3"):
        pass_time(h100, llama_70b, 1, 1, 0, devices=3)
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match=r"^devices must be a whole number in \[1, 2\*\*53\]"):
            pass_time(h100, llama_70b, 1, 1, 0, devices=wrong)
    alone = replace(h100, interconnect=None)
    with pytest.raises(ValueError, match=r"devices must be 1 on .* not documented .* got 2"):
        pass_time(alone, llama_70b, 1, 1, 0, devices=2)
    with pytest.raises(ValueError, match=r"^overhead must be an Overhead, got 0"):
        pass_time(h100, llama_70b, 1, 1, 0, overhead=0)
