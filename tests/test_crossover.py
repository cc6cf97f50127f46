"""Crossover: closed forms and solver against a plain scan of every batch."""

import math
from dataclasses import replace

import numpy as np
import pytest

from specmini import catalog, theory
from specmini.roofline.batch_speedup import speedup_by_batch
from specmini.roofline.crossover import (
    crossover_batch,
    largest_batch,
    never_losing_context,
    short_context_crossover,
)
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import LOOKUP, draft_head, draft_model
from specmini.roofline.experts import Experts
from specmini.roofline.overhead import Overhead

h100 = replace(catalog.machine("h100"), interconnect=450e9)
llama_8b = catalog.model("llama-3.1-8b")
dense = Deployment(h100, llama_8b)
draft_1b = draft_model(Deployment(h100, catalog.model("llama-3.2-1b")))
sparse_model = replace(llama_8b, experts=Experts(64, 4, 1792))
sparse = Deployment(h100, sparse_model)
busy = Overhead(1e-3, 2e-5, 1e-6, 1e-7, 2e-6)


def scanned(target, draft, rate, length, context, up_to):
    """Ranges of losing batches, found by looking at each batch."""
    batches = np.arange(1, up_to + 1)
    losing = speedup_by_batch(target, draft, rate, length, batches, context) < 1 - 1e-12
    ranges, inside = [], False
    for batch, lost in zip(batches.tolist(), losing.tolist(), strict=True):
        if lost and not inside:
            ranges.append([batch, batch])
        elif lost:
            ranges[-1][1] = batch
        inside = lost
    return ranges


@pytest.mark.parametrize("rate", [0.1, 0.4, 0.7, 0.95])
@pytest.mark.parametrize("length", [1, 4, 8])
@pytest.mark.parametrize("context", [0, 300, 2000, 100_000])
@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (dense, LOOKUP),
        (dense, 0.1),
        (dense, draft_1b),
        (dense, draft_head(dense)),
        (replace(dense, overhead=busy), draft_head(replace(dense, overhead=busy))),
        (replace(dense, devices=4, overhead=busy), 0.05),
        (replace(dense, bytes_per_weight=0.5), 0.05),
        (sparse, LOOKUP),
        (sparse, draft_head(sparse, intermediate=4096)),
        (replace(sparse, overhead=busy), 0.05),
    ],
    ids=[
        *("lookup", "number", "model", "head", "overhead", "devices", "quantized"),
        *("experts", "experts and head", "experts and overhead"),
    ],
)
def test_the_ranges_are_those_of_a_scan(target, draft, rate, length, context):
    found = crossover_batch(target, draft, rate, length, context)
    up_to = 5000  # every ridge is below 2,500, with experts
    expected = scanned(target, draft, rate, length, context, up_to)
    assert [[first, min(last, up_to)] for first, last in found.losing if first <= up_to] == expected
    if found.batch <= up_to:
        assert expected[-1] == [found.batch, up_to]
    elif expected and expected[-1][1] == up_to:
        # a range that still goes on ends later, and speculation wins there
        assert found.batch == math.inf
        last = found.losing[-1][1]
        assert up_to < last < math.inf
    for first, last in found.losing:
        beyond = [first - 1, last + 1]
        for batch in beyond:
            if 1 <= batch < math.inf:
                gain = speedup_by_batch(target, draft, rate, length, int(batch), context)
                assert gain >= 1 - 1e-9


def test_the_short_context_form_worked_out():
    # E of .7 and 4 is 2.77310, so 295.34 x (2.77310 - 4 c) / 5
    np.testing.assert_allclose(
        short_context_crossover(dense.ridge_tokens, 0.7, [0.0, 0.05], 4),
        [163.80, 151.99],
        rtol=1e-4,
    )
    # never wins: E - K c = 1.9 - .9; never loses: every draft accepted and free
    assert short_context_crossover(295.0, 0.9, 0.9, 1) == 0
    assert short_context_crossover(295.0, 0.9, 0.95, 1) == 0
    assert short_context_crossover(295.0, 1.0, 0.0, 4) == math.inf


def test_the_short_context_form_is_where_a_textbook_machine_loses():
    # v = max(1, B (K + 1) / R) / max(1, B / R), nothing else
    ridge = 300.0
    batches = np.arange(1, 1000)
    for rate in (0.2, 0.5, 0.8, 0.99):
        for cost in (0.0, 0.05, 0.15):
            for length in (1, 3, 6):
                verify = np.maximum(1, batches * (length + 1) / ridge)
                verify = verify / np.maximum(1, batches / ridge)
                wins = batches[theory.speedup(rate, cost, length, verify) >= 1]
                form = short_context_crossover(ridge, rate, cost, length)
                assert (wins[-1] if wins.size else 0) == math.floor(form)
                assert wins.size == math.floor(form)  # it wins at all smaller ones


@pytest.mark.parametrize("draft", [LOOKUP, 0.05])
@pytest.mark.parametrize("length", [1, 2, 4, 8])
def test_the_solver_comes_to_the_short_context_form(draft, length):
    cost = 0.05 if draft == 0.05 else 0.0
    form = short_context_crossover(dense.ridge_tokens, 0.75, cost, length)
    found = crossover_batch(dense, draft, 0.75, length, 0).batch
    # a cache of K + 1 positions is all that differs: .6 % at K = 8
    assert found == pytest.approx(form, rel=0.01, abs=1)


@pytest.mark.parametrize("context", [0, 100, 450])
@pytest.mark.parametrize("draft", [draft_1b, draft_head(dense)])
def test_the_form_of_the_middle_stretch_with_context_and_draft(context, draft):
    # E (w + a1 B) - K (w' + d B) - (g (K + 1) + a5) B = 0, each from the passes at batch 1
    rate, length = 0.7, 4
    tokens = theory.tokens_per_round(rate, length)
    one, five = (dense.pass_time(1, n, context) for n in (1, 5))
    small = draft.deployment.pass_time(1, 1, context)
    arithmetic = five.linear_flops / h100.peak_flops
    root = (tokens * one.weights_time - length * small.weights_time) / (
        arithmetic
        + five.attention_time
        + length * small.attention_time
        - tokens * one.attention_time
    )
    assert dense.ridge_tokens / 5 < root < dense.ridge_tokens
    assert crossover_batch(dense, draft, rate, length, context).batch == math.floor(root) + 1


@pytest.mark.parametrize("rate", [0.3, 0.7, 0.9])
@pytest.mark.parametrize("length", [1, 4, 8])
def test_the_context_of_no_loss_is_the_closed_form(rate, length):
    # g / k: 2 x 7.505e9 / 989.4e12 s a token over 131,072 / 3.35e12 s a position: 387.7
    weights, position = 2 * 7_504_924_672 / 989.4e12, 131_072 / 3.35e12
    tokens = theory.tokens_per_round(rate, length)
    form = (length + 1 - tokens) / (tokens - 1) * (1 + weights / position)
    assert never_losing_context(dense, LOOKUP, rate, length) == math.ceil(form)


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (dense, LOOKUP),
        (dense, 0.2),
        (dense, draft_1b),
        (replace(dense, devices=4, overhead=busy), 0.05),
        (sparse, draft_head(sparse)),
        (Deployment(h100, replace(llama_8b, windowed_layers=16, window=128)), 0.02),
    ],
    ids=["lookup", "number", "model", "devices", "experts", "windows"],
)
@pytest.mark.parametrize("length", [2, 6])
def test_the_context_of_no_loss_parts_two_kinds_of_context(target, draft, length):
    context = never_losing_context(target, draft, 0.8, length)
    assert 0 < context < math.inf
    shorter = crossover_batch(target, draft, 0.8, length, int(context) - 1)
    longer = crossover_batch(target, draft, 0.8, length, int(context))
    assert shorter.batch < math.inf
    assert longer.batch == math.inf
    for more in (2, 10, 1000):
        assert crossover_batch(target, draft, 0.8, length, int(context) * more).batch == math.inf


def test_a_draft_whose_cache_costs_more_than_it_earns_never_gets_there():
    # the draft caches as much as the target: K = 4 reads it four times to win 1.77 steps
    twin = draft_model(Deployment(h100, replace(llama_8b, hidden=256, intermediate=256)))
    assert never_losing_context(dense, twin, 0.7, 4) == math.inf
    assert never_losing_context(dense, LOOKUP, 0.0, 4) == math.inf


def test_a_sure_free_draft_never_loses_and_a_hopeless_one_always():
    sure = crossover_batch(dense, LOOKUP, 1.0, 4, 0)
    assert (sure.batch, sure.losing, sure.fits) == (math.inf, (), False)
    assert never_losing_context(dense, LOOKUP, 1.0, 4) == 0
    hopeless = crossover_batch(dense, 0.5, 0.1, 4, 0)
    assert hopeless.losing == ((1, math.inf),)
    assert hopeless.batch == 1
    assert hopeless.fits


def test_experts_make_speculation_lose_win_and_lose():
    losing = crossover_batch(sparse, 0.05, 0.7, 4, 0).losing
    assert len(losing) == 2
    (first, last), (again, end) = losing
    assert first == 1 < last < again < end == math.inf


def test_memory_ends_where_one_more_sequence_does_not_fit():
    for draft in (LOOKUP, draft_1b, draft_head(dense)):
        most = largest_batch(dense, draft, 2000)
        held = [
            dense.memory_needed(batch, 2000) + draft.memory_needed(batch, 2000)
            for batch in (most, most + 1)
        ]
        assert held[0] <= h100.memory < held[1]
    # by hand: (80e9 - 16,060,522,496) / (2000 x 131,072) = 243.9
    assert largest_batch(dense, LOOKUP, 2000) == 243
    # with the 1B: 2 x 1.236e9 of weights and 2 x 16 layers x 512 x 2 B = 32,768 B a position more
    assert largest_batch(dense, draft_1b, 2000) == math.floor(
        (80e9 - 16_060_522_496 - 2 * 1_235_814_400) / (2000 * (131_072 + 32_768))
    )
    too_large = Deployment(h100, catalog.model("llama-3.1-70b"))
    assert largest_batch(too_large, LOOKUP, 1) == 0
    elsewhere = draft_model(Deployment(catalog.machine("l4"), catalog.model("llama-3.2-1b")))
    assert largest_batch(dense, elsewhere, 2000) == 243
    assert list(largest_batch(dense, 0.1, [2000, 4000])) == [243, 121]


def test_a_crossover_says_whether_memory_lets_one_get_there():
    assert crossover_batch(dense, LOOKUP, 0.7, 4, 100).fits
    # at 480 positions it is far out; with two bytes a weight of a 24 GB card it is past memory
    small = Deployment(catalog.machine("rtx-4090"), llama_8b)
    far = crossover_batch(small, LOOKUP, 0.7, 4, 400)
    assert far.largest_batch == math.floor((24e9 - 16_060_522_496) / (405 * 131_072)) == 149
    assert far.fits == (far.batch <= 149)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("acceptance_rate", 1.5),
        ("acceptance_rate", [0.5, 0.6]),
        ("draft_length", 0),
        ("draft_length", 2.5),
        ("context", -1),
        ("draft", -0.1),
        ("draft", "eagle"),
    ],
)
def test_nonsense_is_refused_by_name(name, wrong):
    arguments = {"draft": 0.1, "acceptance_rate": 0.7, "draft_length": 4, "context": 0, name: wrong}
    with pytest.raises(ValueError, match=rf"^{name} must be "):
        crossover_batch(dense, **arguments)
    if name != "context":
        arguments.pop("context")
        with pytest.raises(ValueError, match=rf"^{name} must be "):
            never_losing_context(dense, **arguments)


def test_a_ridge_that_cannot_be_scanned_is_refused():
    steep = Deployment(replace(h100, bandwidth=1e6), llama_8b)
    with pytest.raises(ValueError, match="must have their ridge below 4194304 tokens"):
        crossover_batch(steep, LOOKUP, 0.7, 4, 0)
