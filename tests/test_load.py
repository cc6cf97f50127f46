"""The simulated server against queueing theory and the batch formulas it must come down to."""

from dataclasses import replace

import numpy as np
import pytest

from specmini import catalog
from specmini.load.policy import PLAIN, Fixed, LoadAware
from specmini.load.seconds import Seconds
from specmini.load.server import serve
from specmini.load.sweep import sweep
from specmini.load.workload import Workload, poisson
from specmini.roofline.batch_speedup import best_draft_by_batch, speedup_by_batch
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import LOOKUP, draft_head, draft_model, draft_seconds

H100 = catalog.machine("h100")
TARGET = Deployment(H100, catalog.model("llama-3.1-8b"))
HEAD = draft_head(TARGET)


def rng(seed=1):
    return np.random.default_rng(seed)


def at_once(requests, prompt_tokens, output_tokens, alpha=0.7):
    """Requests that all come at time 0."""
    return Workload(np.zeros(requests), prompt_tokens, output_tokens, alpha)


# --- passes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [0, 1, 100, 377, 512])
def test_passes_are_those_of_the_deployment(context):
    table = Seconds(TARGET, HEAD, 5, 64, 512)
    for batch in (1, 7, 64):
        step, checks = table.passes(batch, context)
        lengths = np.arange(6)
        exact = TARGET.pass_time(batch, lengths + 1, context).time
        assert checks == pytest.approx(exact, rel=1e-3)
        assert step == pytest.approx(draft_seconds(TARGET, HEAD, batch, context), rel=1e-3)
    both = TARGET.pass_time(3, 100, 0).time + HEAD.deployment.pass_time(3, 100, 0).time
    assert table.prompts(3, 100) == pytest.approx(both)


# --- against closed forms ---------------------------------------------------------------------


def assert_mean_wait(found, service, told):
    """The mean of a run's waits, to five of its standard errors, taken from 20 stretches of it.

    A false alarm has chance 1e-4; the errors are small enough for it to mean something.
    """
    stretches = np.array_split(found.latency - service, 20)
    means = np.array([stretch.mean() for stretch in stretches])
    error = means.std(ddof=1) / 20**0.5
    assert error < 0.07 * told
    assert means.mean() == pytest.approx(told, abs=5 * error)


def test_one_slot_is_the_queue_of_pollaczek_and_khinchine_without_variance():
    """M/D/1 at half load: mean wait S rho / (2 (1 - rho))."""
    service = serve(TARGET, HEAD, at_once(1, 64, 3), PLAIN, rng()).latency[0]
    workload = poisson(
        0.5 / service, 10_000, rng(), prompt_tokens=64, output_tokens=3, acceptance_rate=0
    )
    found = serve(TARGET, HEAD, workload, PLAIN, rng(), most_requests=1)
    assert_mean_wait(found, service, service * 0.5 / (2 * 0.5))


def test_one_slot_with_drafts_is_the_same_queue_with_variance():
    """M/G/1: mean wait lambda E[S^2] / (2 (1 - rho)), the moments from requests served alone."""
    apart = Workload(np.arange(2000.0), 64, 12, 0.6)
    service = serve(TARGET, HEAD, apart, Fixed(3), rng(2)).latency
    assert service.std() > 0.1 * service.mean()
    rate = 0.5 / service.mean()
    workload = poisson(rate, 8_000, rng(3), prompt_tokens=64, output_tokens=12, acceptance_rate=0.6)
    found = serve(TARGET, HEAD, workload, Fixed(3), rng(4), most_requests=1)
    told = rate * (service**2).mean() / (2 * 0.5)
    assert_mean_wait(found, service.mean(), told)


@pytest.mark.parametrize(("length", "alpha"), [(1, 0.5), (3, 0.7), (6, 0.9)])
def test_one_request_is_as_fast_as_the_formula_says(length, alpha):
    """Twenty texts of 600 tokens; 4 % is four standard errors, and what the last round wastes."""
    workload = Workload(1000.0 * np.arange(20), 128, 600, alpha)
    plain = serve(TARGET, HEAD, workload, PLAIN, rng()).time_per_output_token
    found = serve(TARGET, HEAD, workload, Fixed(length), rng()).time_per_output_token
    told = speedup_by_batch(TARGET, HEAD, alpha, length, 1, 428)
    assert plain.mean() / found.mean() == pytest.approx(told, rel=0.04)


def test_a_full_server_writes_as_much_as_the_batch_formula_says():
    batch, alpha, length, context = 64, 0.7, 4, 200
    found = serve(
        TARGET, HEAD, at_once(640, 100, 200, alpha), Fixed(length), rng(), most_requests=batch
    )
    full = found.rounds.batch == batch
    written = found.rounds.tokens[full].sum() / found.rounds.seconds[full].sum()
    step = TARGET.pass_time(batch, 1, context).time
    gain = speedup_by_batch(TARGET, HEAD, alpha, length, batch, context)
    # of a request's last round half is dropped, on average: some two tokens of two hundred
    assert written == pytest.approx(gain * batch / step, rel=0.02)
    assert written < gain * batch / step


def test_little():
    """Mean number in the system = arrivals a second × mean time there, at any load."""
    for rate in (5, 150):
        workload = poisson(
            rate, 400, rng(), prompt_tokens=256, output_tokens=64, acceptance_rate=0.7
        )
        found = serve(TARGET, HEAD, workload, Fixed(2), rng())
        span = found.finish.max() - workload.arrivals[0]
        assert found.in_system == pytest.approx(len(workload) / span * found.latency.mean())


# --- bookkeeping ------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [PLAIN, Fixed(3), LoadAware(5)])
def test_every_request_gets_its_tokens(policy):
    workload = Workload(
        np.array([0.0, 0.0, 0.001, 2.0]), np.array([5, 3000, 7, 9000]), np.array([1, 30, 7, 2]),
        np.array([0.0, 1.0, 0.5, 0.9]),
    )  # fmt: skip
    found = serve(TARGET, HEAD, workload, policy, rng(), most_requests=2)
    assert found.rounds.tokens.sum() == (workload.output_tokens - 1).sum()
    assert (found.first_token > workload.arrivals).all()
    assert (found.finish >= found.first_token).all()
    assert found.finish[0] == found.first_token[0]  # a single token
    busy = found.rounds.seconds.sum() + found.prompt_seconds
    assert busy <= found.finish.max() + 1e-9
    assert found.time_per_output_token.shape == (3,)


def test_certain_drafts_fill_every_round():
    found = serve(TARGET, HEAD, at_once(3, 10, 31, 1.0), Fixed(4), rng())
    assert found.rounds.tokens.tolist() == [15] * 6
    never = serve(TARGET, HEAD, at_once(3, 10, 31, 0.0), Fixed(4), rng())
    assert set(never.rounds.tokens.tolist()) == {3}


def test_prompts_share_a_pass_up_to_the_budget():
    workload = at_once(5, 100, 2)
    found = serve(TARGET, LOOKUP, workload, PLAIN, rng(), prompt_budget=250)
    ends = np.unique(found.first_token)
    pair, single = (float(TARGET.pass_time(n, 100, 0).time) for n in (2, 1))
    assert ends == pytest.approx([pair, 2 * pair, 2 * pair + single])


def test_a_drafter_takes_slots():
    small = replace(TARGET, machine=replace(H100, memory=20e9))
    draft = draft_model(Deployment(small.machine, catalog.model("llama-3.2-1b")))
    workload = at_once(2, 2000, 48)
    without = serve(small, draft, workload, PLAIN, rng()).slots
    beside = serve(small, draft, workload, Fixed(4), rng()).slots
    assert 0 < beside < without < 256


def test_the_load_aware_length_is_the_best_for_the_batch():
    table = Seconds(TARGET, HEAD, 8, 256, 512)
    for batch in (1, 60, 120, 200):
        step, checks = table.passes(batch, 256)
        chosen = LoadAware(8).draft_length(0.7, step / checks[0], (checks / checks[0]).tolist())
        best = best_draft_by_batch(TARGET, HEAD, 0.7, batch, 256, longest=8)
        assert chosen == best.draft_length


def test_acceptance_is_learned():
    """A draft that is never right is given up, whatever was believed at first."""
    found = serve(TARGET, HEAD, at_once(4, 10, 200, 0.0), LoadAware(4), rng(), prior=0.9)
    lengths = found.rounds.draft_length
    assert lengths[0] > 0
    assert (lengths[-100:] == 0).all()


def test_spread_keeps_the_mean():
    found = poisson(
        1, 20_000, rng(), prompt_tokens=1, output_tokens=1, acceptance_rate=0.7, spread=0.15
    ).acceptance_rate
    assert found.mean() == pytest.approx(0.7, abs=5 * 0.15 / 20_000**0.5)
    assert found.std() == pytest.approx(0.15, rel=0.05)


# --- the published shape ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def loads():
    return sweep(
        TARGET, HEAD, [2, 60, 115, 140], {"K = 4": Fixed(4), "by load": LoadAware()},
        prompt_tokens=256, output_tokens=128, acceptance_rate=0.7, seconds=6,
    )  # fmt: skip


def test_faster_at_low_load_and_slower_at_high_load(loads):
    gain = loads.gain("K = 4")
    assert gain[0] > 1.5
    assert gain[-1] < 0.95
    assert loads.throughputs("K = 4")[-1] < loads.throughputs("plain")[-1]


def test_the_load_aware_length_stays_near_the_better_of_both(loads):
    best = np.maximum(loads.gain("K = 4"), 1)
    assert (loads.gain("by load") > 0.95 * best).all()


def test_the_same_seed_gives_the_same_sweep(loads):
    again = sweep(
        TARGET, HEAD, [2], {"K = 4": Fixed(4)},
        prompt_tokens=256, output_tokens=128, acceptance_rate=0.7, seconds=6,
    )  # fmt: skip
    first = loads.services["K = 4"][0]
    assert np.array_equal(again.services["K = 4"][0].finish, first.finish)


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrivals": [1.0, 0.5]}, "arrivals must be"),
        ({"arrivals": []}, "arrivals must be"),
        ({"prompt_tokens": 0}, "prompt_tokens must be"),
        ({"output_tokens": [1, 2, 3]}, r"output_tokens must have shape \(2,\)"),
        ({"acceptance_rate": 1.2}, "acceptance_rate must be"),
    ],
)
def test_workloads_are_checked(change, message):
    sound = {
        "arrivals": [0.0, 1.0],
        "prompt_tokens": 4,
        "output_tokens": 4,
        "acceptance_rate": 0.5,
    }
    with pytest.raises(ValueError, match=message):
        Workload(**{**sound, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0}, "rate must be"),
        ({"requests": 0}, "requests must be"),
        ({"spread": 0.6}, r"spread must be in \[0, 0.458\) for a mean of 0.7"),
    ],
)
def test_arrivals_are_checked(change, message):
    options = {"rate": 1, "requests": 3, "spread": 0, **change}
    with pytest.raises(ValueError, match=message):
        poisson(rng=rng(), prompt_tokens=1, output_tokens=1, acceptance_rate=0.7, **options)


def test_what_does_not_fit_is_said():
    workload = at_once(1, 10**6, 1)
    with pytest.raises(ValueError, match=r"1000001 positions for which .* leaves no room"):
        serve(TARGET, HEAD, workload, PLAIN, rng())


def test_policies_and_sweeps_are_checked(loads):
    with pytest.raises(ValueError, match="longest must be"):
        Fixed(-1)
    with pytest.raises(ValueError, match="longest must be"):
        LoadAware(0)
    with pytest.raises(ValueError, match="policy must be one of 'plain', 'K = 4', 'by load'"):
        loads.gain("tree")
    with pytest.raises(ValueError, match="measure must be one of"):
        loads.gain("K = 4", "joy")
    with pytest.raises(ValueError, match="rates must be"):
        sweep(TARGET, HEAD, [2, 1], {}, prompt_tokens=1, output_tokens=1, acceptance_rate=0)
