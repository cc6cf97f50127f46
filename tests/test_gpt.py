"""The tiny GPT: the cache changes nothing, no position sees the future, growing changes nothing."""

import pytest
import torch

from specmini import gpt
from specmini.gpt import GPT, Cache, Config

config = Config(vocabulary=50, context=24, layers=2, width=32, heads=4)
# float64 leaves no excuse: two ways to compute the same agree to 1e-12
close = {"rtol": 0.0, "atol": 1e-12}


@pytest.fixture
def model():
    made = GPT(config, torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        for weight in made.parameters():  # larger weights: attention must not be uniform
            weight.mul_(4.0)
    return made.eval().requires_grad_(False)


@pytest.fixture
def tokens():
    return torch.randint(0, 50, (3, 24), generator=torch.Generator().manual_seed(2))


def cache(batch: int = 3) -> Cache:
    return Cache(config, batch, torch.float64)


@pytest.mark.parametrize("pieces", [[1] * 24, [24], [7, 1, 5, 11], [1, 23]])
def test_the_cache_changes_nothing(model, tokens, pieces):
    stored = cache()
    seen = [model(piece, stored) for piece in tokens.split(pieces, dim=1)]
    torch.testing.assert_close(torch.cat(seen, dim=1), model(tokens), **close)
    assert stored.length == 24
    assert stored.room == 0


@pytest.mark.parametrize("keep", [0, 1, 9, 12])
def test_truncating_is_as_if_the_rest_had_never_been(model, tokens, keep):
    stored = cache()
    model(tokens[:, :12], stored)
    stored.truncate(keep)
    other = tokens.flip(1)[:, :5]
    fresh = cache()
    if keep:
        model(tokens[:, :keep], fresh)
    torch.testing.assert_close(model(other, stored), model(other, fresh), **close)
    assert stored.length == fresh.length == keep + 5


def test_a_cache_serves_one_sequence_and_the_model_many(model, tokens):
    first, second = cache(1), cache(1)
    for t in range(6):  # interleaved
        a = model(tokens[:1, t : t + 1], first)
        b = model(tokens[1:2, t : t + 1], second)
    torch.testing.assert_close(a, model(tokens[:1, :6])[:, -1:], **close)
    torch.testing.assert_close(b, model(tokens[1:2, :6])[:, -1:], **close)


def test_no_position_sees_the_future(model, tokens):
    changed = tokens.clone()
    changed[:, 10] = (changed[:, 10] + 1) % 50
    before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :10], after[:, :10])
    assert (before[:, 10:] != after[:, 10:]).any(-1).all(), "each later position must see it"


def test_rows_of_a_batch_are_independent(model, tokens):
    for row in range(3):
        alone = model(tokens[row : row + 1])
        torch.testing.assert_close(alone, model(tokens)[row : row + 1], **close)


def test_the_generator_decides_the_weights():
    def weights(seed):
        return GPT(config, torch.Generator().manual_seed(seed)).state_dict()

    once, again, other = weights(3), weights(3), weights(4)
    assert all(torch.equal(once[name], again[name]) for name in once)
    assert not torch.equal(once["wte.weight"], other["wte.weight"])


def test_parameters_are_counted(model):
    assert config.parameters == sum(weight.numel() for weight in model.parameters())


def test_growing_changes_nothing_yet_and_can_be_trained(model, tokens):
    grown = gpt.grow(model, 5, torch.Generator().manual_seed(5)).double()
    torch.testing.assert_close(grown(tokens), model(tokens), **close)
    assert grown.config.layers == 5
    grown(tokens).logsumexp(-1).sum().backward()
    assert grown.h[4].attn.c_proj.weight.grad.abs().max() > 0
    assert grown.h[4].mlp.c_proj.weight.grad.abs().max() > 0


@pytest.mark.parametrize("layers", [1, 2])
def test_growing_to_no_more_layers(model, layers):
    with pytest.raises(ValueError, match=f"layers must be more than 2, got {layers}"):
        gpt.grow(model, layers)


@pytest.mark.parametrize(("past", "new", "room"), [(0, 25, 24), (20, 5, 4), (0, 0, 24), (24, 1, 0)])
def test_the_context_is_full(model, past, new, room):
    stored = cache(1)
    if past:
        model(torch.zeros(1, past, dtype=torch.long), stored)
    with pytest.raises(ValueError, match=rf"length in \[1, {room}\], got {new}"):
        model(torch.zeros(1, new, dtype=torch.long), stored)
    assert stored.length == past, "a refused call must leave the cache as it was"


@pytest.mark.parametrize("length", [-1, 6])
def test_truncating_to_what_is_not_there(model, tokens, length):
    stored = cache()
    model(tokens[:, :5], stored)
    with pytest.raises(ValueError, match=rf"length must be in \[0, 5\], got {length}"):
        stored.truncate(length)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("layers", 0, "at least 1, got 0"), ("heads", 5, "divide width 32, got 5")],
)
def test_impossible_shapes(name, value, message):
    with pytest.raises(ValueError, match=f"{name} must {'be ' if value == 0 else ''}{message}"):
        Config(**{**vars(config), name: value})


def test_names_for_hugging_face_and_back(model):
    weights = model.state_dict()
    theirs = gpt.to_hugging_face(weights)
    assert theirs["transformer.h.0.mlp.c_fc.weight"].shape == (32, 128)  # theirs is (in, out)
    assert torch.equal(theirs["lm_head.weight"], theirs["transformer.wte.weight"])
    theirs["transformer.h.0.attn.bias"] = torch.ones(1, 1, 24, 24)  # a mask that old files store
    ours = gpt.from_hugging_face(theirs)
    assert ours.keys() == weights.keys()
    assert all(torch.equal(ours[name], weights[name]) for name in weights)


def test_hugging_face_computes_the_same(model, tokens):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=50, n_positions=24, n_embd=32, n_layer=2, n_head=4, attn_pdrop=0.0
        )
    ).double()
    theirs.load_state_dict(gpt.to_hugging_face(model.state_dict()), strict=False)
    with torch.no_grad():
        torch.testing.assert_close(theirs.eval()(tokens).logits, model(tokens), **close)
