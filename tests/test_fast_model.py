"""The fast engine: every candidate gives the module's logits, and the choice is there to see."""

import copy
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from half_exact import half_exact_gpt

from specmini.engine import fast_model, numpy_model
from specmini.engine.fast_model import Choice, FastModel, candidates
from specmini.engine.torch_model import TorchModel
from specmini.gpt import Config

config = Config(vocabulary=50, context=24, layers=2, width=32, heads=4)
generator = torch.Generator().manual_seed(1)


gpt = half_exact_gpt(config, generator)
tokens = torch.randint(0, 50, (24,), generator=generator).tolist()
expected = copy.deepcopy(gpt).double()(torch.tensor([tokens]))[0].numpy()  # (24, 50)
names = list(candidates(gpt))


@pytest.mark.parametrize("verification", names)
@pytest.mark.parametrize("decoding", names)
def test_any_two_candidates_share_a_cache_and_give_the_module_s_logits(decoding, verification):
    model = FastModel(gpt, Choice(decoding, verification, {}))
    parts = torch.tensor(tokens).split([3, 1, 1, 2, 1, 9, 1, 6])
    logits = np.concatenate([model.forward(part.tolist()) for part in parts])  # (24, 50)
    # float32 rounds at 6e-8; a forgotten gain or bias would show at 1e-2
    assert np.abs(logits - expected).max() < 1e-5 * np.abs(expected).max()
    assert (model.vocabulary, model.context, model.length) == (50, 24, 24)


@pytest.mark.parametrize("name", names)
@pytest.mark.parametrize("keep", [0, 1, 9, 12])
def test_what_was_truncated_leaves_no_trace(name, keep):
    choice = Choice(name, name, {})
    model, fresh = FastModel(gpt, choice), FastModel(gpt, choice)
    model.forward(tokens[:12])
    model.truncate(keep)
    if keep:
        fresh.forward(tokens[:keep])
    np.testing.assert_allclose(
        model.forward(tokens[19:]), fresh.forward(tokens[19:]), rtol=0, atol=1e-4
    )
    assert model.length == keep + 5


@pytest.mark.parametrize("name", names)
def test_logits_stay_as_they_were_given(name):
    model = FastModel(gpt, Choice(name, name, {}))
    first = model.forward(tokens[:1])
    kept = first.copy()
    model.forward(tokens[1:2])
    assert (first == kept).all()


def test_the_choice_is_the_fastest_of_what_was_measured():
    choice = FastModel(gpt).choice
    assert choice.seconds.keys() == set(names)
    for place, chosen in enumerate((choice.decoding, choice.verification)):
        assert choice.seconds[chosen][place] == min(
            times[place] for times in choice.seconds.values()
        )
        assert choice.seconds[chosen][place] > 0


def test_a_shape_is_measured_once():
    assert FastModel(gpt).choice is FastModel(half_exact_gpt(config, generator)).choice


def test_weights_that_changed_are_seen_by_the_next_engine():
    changing = half_exact_gpt(config, generator)
    choice = Choice("NumPy", "torch", {})
    before = FastModel(changing, choice).forward(tokens)
    changing.wte.weight.mul_(2.0)
    after = FastModel(changing, choice).forward(tokens)
    assert np.abs(after - before).max() > 0.1


def test_weights_that_were_replaced_are_seen_by_the_next_engine():
    changing, other = half_exact_gpt(config, generator), half_exact_gpt(config, generator)
    choice = Choice("NumPy", "torch", {})
    FastModel(changing, choice)
    changing.load_state_dict(other.state_dict(), assign=True)
    after = FastModel(changing, choice).forward(tokens)
    np.testing.assert_array_equal(after, FastModel(other, choice).forward(tokens))


def test_weights_made_in_inference_mode_run_too():
    with torch.inference_mode():
        made = half_exact_gpt(config, generator)
        inside = FastModel(made, Choice("NumPy", "torch", {})).forward(tokens)
    outside = FastModel(made, Choice("torch", "NumPy", {})).forward(tokens)
    np.testing.assert_allclose(inside, outside, rtol=0, atol=1e-4)


def test_engines_of_one_gpt_may_run_in_two_threads(monkeypatch):
    """They share the step: before each product of one, the other runs a whole step."""
    choice = Choice("NumPy", "NumPy", {})
    first, second = FastModel(gpt, choice), FastModel(gpt, choice)
    alone = first.forward(tokens[:1])
    first.truncate(0)
    times = numpy_model._times

    def meanwhile():
        second.truncate(0)
        second.forward(tokens[1:2])

    def interrupted(x, matrix):
        if threading.current_thread() is threading.main_thread():
            thread.submit(meanwhile).result()
        return times(x, matrix)

    monkeypatch.setattr(numpy_model, "_times", interrupted)
    with ThreadPoolExecutor(1) as thread:
        np.testing.assert_array_equal(first.forward(tokens[:1]), alone)


def test_the_engine_does_not_keep_the_module_alive():
    kept = half_exact_gpt(config, generator)
    FastModel(kept, Choice("NumPy", "torch", {}))
    reference = weakref.ref(kept)
    del kept
    gc.collect()
    assert reference() is None


def test_an_unknown_step_is_refused():
    with pytest.raises(ValueError, match=r"choice must name steps out of \[.*NumPy.*\], got 'gpu'"):
        FastModel(gpt, Choice("NumPy", "gpu", {}))


@pytest.mark.parametrize(
    ("new", "past", "message"),
    [
        (0, 0, "new must be at least 1, got 0"),
        (1, 24, r"context of 24, got 24 \+ 1"),
        (4, -1, "past must be at least 0, got -1"),
    ],
)
def test_timing_needs_room(new, past, message):
    step = candidates(gpt)["NumPy"]()
    with pytest.raises(ValueError, match=message):
        fast_model.step_seconds(step, config, new, past)


def test_other_types_get_the_portable_engine():
    assert isinstance(fast_model.fast_model(half_exact_gpt(config, generator).double()), TorchModel)
    assert isinstance(fast_model.fast_model(gpt), FastModel)


def test_without_torchscript_the_same_module_runs(monkeypatch):
    def removed(module):
        raise RuntimeError

    monkeypatch.setattr(torch.jit, "script", removed)
    plain = half_exact_gpt(config, generator)
    model = FastModel(plain, Choice("torch", "torch", {}))
    np.testing.assert_allclose(
        model.forward(tokens), plain(torch.tensor([tokens]))[0], rtol=0, atol=1e-4
    )
