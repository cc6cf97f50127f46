"""Calibration: constants that made the times come back, and the error is what it says."""

import numpy as np
import pytest
import torch

from specmini.batch import calibration
from specmini.batch.calibration import (
    TimedPass,
    calibrate,
    calibrated,
    physical_memory,
    shape_of,
)
from specmini.gpt import GPT, Config
from specmini.roofline import pass_time
from specmini.roofline.crossover import crossover_batch
from specmini.roofline.draft_cost import draft_model
from specmini.roofline.machine import Machine
from specmini.roofline.overhead import Overhead

configs = {"large": Config(1024, 256, 6, 256, 4), "small": Config(1024, 256, 1, 128, 4)}
shapes = {name: shape_of(config, name) for name, config in configs.items()}
loads = [
    (name, batch, new, past)
    for name in shapes
    for batch in (1, 4, 16, 64)
    for new in (1, 2, 5, 9)
    for past in (32, 200)
]


def times(noise=0.0, seed=0):
    """What a computer of 25 GFLOP/s and 10 GB/s (caches 5 GB/s) would take, times noise."""
    import datetime

    machine = Machine("known", 25e9, 10e9, 1e10, "here", datetime.date(2026, 1, 1))
    rng = np.random.default_rng(seed)
    passes = []
    for name, batch, new, past in loads:
        overhead = Overhead(2e-4, 1e-4, 2e-5 * shapes[name].layers, 3e-6)
        exact = pass_time(machine, shapes[name], batch, new, past, 4, 8, overhead=overhead).time
        passes.append(TimedPass(name, batch, new, past, exact * np.exp(noise * rng.normal())))
    return passes


def fit(passes, seed=0):
    return calibrated(passes, shapes, np.random.default_rng(seed), name="mine", memory=8e9)


def test_the_shape_of_a_gpt_has_its_parameters():
    for name, config in configs.items():
        assert shapes[name].parameters == config.parameters
        assert shapes[name].kv_values_per_token == 2 * config.layers * config.width
    made = GPT(configs["small"])
    assert shapes["small"].parameters == sum(weight.numel() for weight in made.parameters())


def test_constants_that_made_the_times_come_back():
    found = fit(times())
    assert found.error < 0.01
    assert found.held_out_error < 0.02
    assert found.machine.peak_flops == pytest.approx(25e9, rel=0.1)
    assert found.cache_bandwidth == pytest.approx(5e9, rel=0.2)
    # beyond the passes it saw, the times are right too
    deployed = found.deployment(shapes["large"])
    overhead = Overhead(2e-4, 1e-4, 2e-5 * 6, 3e-6)
    known = pass_time(
        Machine("known", 25e9, 10e9, 1e10, "here", found.machine.checked_on),
        shapes["large"], [2, 8, 32], 3, 100, 4, 8, overhead=overhead,
    ).time  # fmt: skip
    np.testing.assert_allclose(deployed.pass_time([2, 8, 32], 3, 100).time, known, rtol=0.05)


def test_the_error_is_that_of_the_passes_and_the_left_out_one_is_no_smaller():
    passes = times(noise=0.1)
    found = fit(passes)
    errors = [
        abs(np.log(found.deployment(shapes[one.model])
                   .pass_time(one.batch, one.new_tokens, one.context).time / one.seconds))
        for one in passes
    ]  # fmt: skip
    assert found.error == pytest.approx(np.mean(errors), rel=1e-9)
    # the mean of |noise| is .08; seven constants cannot follow 64 numbers
    assert 0.06 < found.error < 0.1
    assert found.error < found.held_out_error < 0.15


def test_a_calibration_goes_where_a_machine_goes():
    found = fit(times())
    target, draft = (found.deployment(shapes[name]) for name in ("large", "small"))
    crossing = crossover_batch(target, draft_model(draft), 0.65, 4, 100)
    assert 1 < crossing.batch < 100
    assert found.machine.memory == 8e9


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        (times()[:15], "passes must be at least 16, got 15"),
        ([*times(), TimedPass("huge", 1, 1, 1, 1.0)], r"models in \['large', 'small'\].*huge"),
        ([*times(), TimedPass("large", 1, 1, 1, 0.0)], "passes must take positive times"),
    ],
)
def test_passes_that_tell_nothing_are_refused(passes, message):
    with pytest.raises(ValueError, match=message):
        fit(passes)


def test_models_are_timed_at_every_load(monkeypatch):
    """The whole way, on small models; the times themselves are this machine's."""
    seen = []
    monkeypatch.setattr(
        calibration, "calibrated", lambda passes, *_, **named: seen.append((passes, named))
    )
    generator = torch.Generator().manual_seed(0)
    models = {
        name: GPT(Config(30, 32, layers, 16, 2), generator).eval().requires_grad_(False)
        for name, layers in (("a", 1), ("b", 2))
    }
    calibrate(
        models, np.random.default_rng(0), name="mine", memory=1e9,
        batches=(1, 2), tokens=(1, 3), contexts=(5, 9), repeats=2,
    )  # fmt: skip
    ((passes, named),) = seen
    assert [(one.model, one.batch, one.context, one.new_tokens) for one in passes] == [
        (name, batch, past, new)
        for name in "ab"
        for batch in (1, 2)
        for past in (5, 9)
        for new in (1, 3)
    ]
    assert min(one.seconds for one in passes) > 0
    assert named == {"name": "mine", "memory": 1e9}


def test_memory_is_asked_for_where_the_system_does_not_say(monkeypatch):
    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(calibration.os, "sysconf", unknown, raising=False)
    with pytest.raises(ValueError, match="memory must be given"):
        physical_memory()
