"""The NumPy engine: the module's logits to rounding, however the tokens arrive."""

import numpy as np
import pytest
import torch

from specmini.engine.numpy_model import NumpyModel
from specmini.gpt import GPT, Config

config = Config(vocabulary=50, context=24, layers=2, width=32, heads=4)


@pytest.fixture
def gpt():
    generator = torch.Generator().manual_seed(1)
    made = GPT(config, generator)
    with torch.no_grad():
        for weight in made.parameters():  # gains, biases and means that must not be forgotten
            weight.mul_(4.0).add_(0.1 * torch.randn(weight.shape, generator=generator) + 0.05)
    return made.eval().requires_grad_(False)


@pytest.fixture
def tokens():
    return torch.randint(0, 50, (24,), generator=torch.Generator().manual_seed(2)).tolist()


def reference(gpt, tokens):
    """Logits by the module in float64: (T, V)."""
    return gpt.double()(torch.tensor([tokens]))[0].numpy()


@pytest.mark.parametrize("pieces", [[24], [1] * 24, [7, 1, 5, 11], [1, 23]])
def test_logits_are_the_module_s_however_the_tokens_arrive(gpt, tokens, pieces):
    model = NumpyModel(gpt)
    parts = torch.tensor(tokens).split(pieces)
    logits = np.concatenate([model.forward(part.tolist()) for part in parts])  # (24, 50)
    assert model.length == 24
    expected = reference(gpt, tokens)
    # float32 rounds at 6e-8; a forgotten gain or bias would show at 1e-2
    assert np.abs(logits - expected).max() < 1e-5 * np.abs(expected).max()


def test_the_weights_are_copied(gpt, tokens):
    model = NumpyModel(gpt)
    before = model.forward(tokens)
    gpt.wte.weight.mul_(2.0)
    model.truncate(0)
    assert (model.forward(tokens) == before).all()


@pytest.mark.parametrize("keep", [0, 1, 9, 12])
def test_what_was_truncated_leaves_no_trace(gpt, tokens, keep):
    model, fresh = NumpyModel(gpt), NumpyModel(gpt)
    model.forward(tokens[:12])
    model.truncate(keep)
    if keep:
        fresh.forward(tokens[:keep])
    # the pieces came in other lengths, so the last bits may differ
    np.testing.assert_allclose(
        model.forward(tokens[19:]), fresh.forward(tokens[19:]), rtol=0, atol=1e-4
    )
    assert model.length == keep + 5


def test_logits_stay_as_they_were_given(gpt, tokens):
    """No step may write into what an earlier one returned."""
    model = NumpyModel(gpt)
    first = model.forward(tokens[:1])
    kept = first.copy()
    model.forward(tokens[1:2])
    assert (first == kept).all()


def test_no_warning_when_gelu_saturates(gpt, tokens, recwarn):
    gpt.h[0].mlp.c_fc.bias.fill_(-60.0)
    assert np.isfinite(NumpyModel(gpt).forward(tokens)).all()
    assert not recwarn
