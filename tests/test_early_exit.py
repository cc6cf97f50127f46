"""The target's first layers as a draft: the same weights, and what they compute."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from lossless import Breakage, copied

from specmini.drafters import ModelDrafter
from specmini.drafters import early_exit as exits
from specmini.drafters.early_exit import early_exit
from specmini.engine.fast_model import fast_model
from specmini.engine.numpy_model import NumpyModel
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.generate import generate
from specmini.gpt import GPT, Config, grow
from specmini.sampling import greedy

config = Config(vocabulary=40, context=32, layers=4, width=16, heads=2)


@pytest.fixture(autouse=True)
def one_thread():
    """Networks this small are slower on more."""
    with single_thread():
        yield


@pytest.fixture
def target():
    model = GPT(config, torch.Generator().manual_seed(1)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4.0)
    return model


def check_cut(module, target, layers):
    """The cut-off model against its layers run one by one."""
    tokens = torch.arange(10)[None]
    x = target.wte(tokens) + target.wpe.weight[:10]
    for layer in range(layers):
        x = target.h[layer](x, layer, None)
    right = F.linear(target.ln_f(x), target.wte.weight)
    torch.testing.assert_close(module.early_exit(target, layers)(tokens), right)


@pytest.mark.parametrize("layers", [1, 3])
def test_it_is_the_model_up_to_there_under_its_norm_and_head(target, layers):
    check_cut(exits, target, layers)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("list(model.h)[:kept]", "list(model.h)[-kept:]"),
        ("cut.ln_f = model.wte, model.wpe, model.ln_f", "_ = model.wte, model.wpe, model.ln_f"),
        ("list(model.h)[:kept]", "list(model.h)"),
    ],
    ids=["last layers", "no norm", "all layers"],
)
def test_a_broken_exit_is_caught(target, right, wrong):
    with torch.no_grad():
        target.ln_f.weight.copy_(torch.linspace(0.5, 2, 16))
    with pytest.raises((AssertionError, NotImplementedError, RuntimeError)):
        check_cut(copied(exits, [Breakage(exits, right, wrong)]), target, 2)


def test_weights_are_shared_and_complete(target):
    cut, whole = early_exit(target, 2), dict(target.named_parameters())
    names = [name for name, _ in cut.named_parameters()]
    assert names == [name for name in whole if not name.startswith(("h.2.", "h.3."))]
    assert all(weight is whole[name] for name, weight in cut.named_parameters())
    assert cut.config == Config(40, 32, 2, 16, 2)
    assert not any(weight.is_meta for weight in cut.state_dict().values())


def test_no_random_number_is_used(target):
    before = torch.get_rng_state()
    early_exit(target, 2)
    torch.testing.assert_close(torch.get_rng_state(), before)


def test_it_stays_in_the_mode_of_the_model(target):
    assert not early_exit(target, 1).training
    assert early_exit(target.train(), 1).training


def test_every_engine_takes_it(target):
    cut = early_exit(target, 2)
    right = TorchModel(cut).forward([1, 2, 3])
    for engine in (NumpyModel(cut), fast_model(cut)):
        torch.testing.assert_close(
            torch.tensor(engine.forward([1, 2, 3])), torch.tensor(right), rtol=1e-3, atol=1e-3
        )


def test_layers_that_add_nothing_leave_a_perfect_draft(target):
    """``grow`` adds layers on top that compute nothing yet."""
    deep, rng = TorchModel(grow(target, 6)), np.random.default_rng(0)
    drafter = ModelDrafter(TorchModel(early_exit(grow(target, 6), 4)), greedy)
    found = generate(deep, [1, 2], 20, rng, sampling=greedy, drafter=drafter, draft_length=4)
    assert len(found.rounds) == 4
    plainly = generate(deep, [1, 2], 20, rng, sampling=greedy)
    assert found.tokens == plainly.tokens


def test_greedy_decoding_gives_the_same_tokens(target):
    rng = np.random.default_rng(0)
    model = TorchModel(target.double())
    for layers in (1, 2, 3):
        drafter = ModelDrafter(TorchModel(early_exit(target, layers)), greedy)
        for prompt in ([0], [5, 6, 7]):
            plainly = generate(model, prompt, 24, rng, sampling=greedy)
            found = generate(
                model, prompt, 24, rng, sampling=greedy, drafter=drafter, draft_length=3
            )
            assert found.tokens == plainly.tokens


@pytest.mark.parametrize("layers", [0, 4, 5, 1.5])
def test_other_numbers_of_layers_are_refused(target, layers):
    with pytest.raises(ValueError, match=rf"layers must be .*\[1, .*got {layers}"):
        early_exit(target, layers)
