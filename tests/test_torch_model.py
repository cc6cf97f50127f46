"""The portable engine: the module's own logits, whatever the pieces, and a cache that forgets."""

import pytest
import torch

from specmini.engine.torch_model import TorchModel
from specmini.gpt import GPT, Config

config = Config(vocabulary=50, context=24, layers=2, width=32, heads=4)


@pytest.fixture
def gpt():
    made = GPT(config, torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        for weight in made.parameters():  # larger weights: attention must not be uniform
            weight.mul_(4.0)
    return made.requires_grad_(False)


@pytest.fixture
def tokens():
    return torch.randint(0, 50, (24,), generator=torch.Generator().manual_seed(2)).tolist()


def test_it_says_what_it_is(gpt):
    model = TorchModel(gpt)
    assert (model.vocabulary, model.context, model.length) == (50, 24, 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_logits_are_the_module_s(gpt, tokens, dtype):
    gpt = gpt.to(dtype)
    expected = gpt(torch.tensor([tokens]))[0].float().numpy()
    assert (TorchModel(gpt).forward(tokens) == expected).all()


def test_what_was_truncated_leaves_no_trace(gpt, tokens):
    model, fresh = TorchModel(gpt), TorchModel(gpt)
    model.forward(tokens[:12])
    model.truncate(5)
    assert model.length == 5
    fresh.forward(tokens[:5])
    assert (model.forward(tokens[20:]) == fresh.forward(tokens[20:])).all()


def test_two_engines_share_weights_and_no_past(gpt, tokens):
    first, second = TorchModel(gpt), TorchModel(gpt)
    first.forward(tokens)
    assert (first.length, second.length) == (24, 0)
