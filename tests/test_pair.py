"""The pair: loaded together, checked together, and a missing part is named."""

import pytest
import torch

from specmini import pair
from specmini.checkpoints import save_model
from specmini.gpt import GPT, Config

shipped = "134e567475ebb82a2541376f8da041127983833e2d9b3f98f2632a96356d6ca9"


def store(folder, name, layers, tokenizer=shipped):
    model = GPT(Config(1024, 16, layers, 16, 2), torch.Generator().manual_seed(layers))
    save_model(folder / f"{name}.safetensors", model, {"tokenizer_sha256": tokenizer}, "int8")


def test_what_was_stored_is_loaded(tmp_path):
    store(tmp_path, "target", 2)
    store(tmp_path, "draft", 1)
    loaded = pair.load_pair(tmp_path)
    assert (loaded.target.config.layers, loaded.draft.config.layers) == (2, 1)
    assert loaded.tokenizer.vocabulary == 1024
    assert loaded.records["draft"]["storage"] == "int8"
    for made in (loaded.target_model, loaded.draft_model):
        first, second = made(), made()
        assert first.forward([1, 2, 3]).shape == (3, 1024)
        assert (first.length, second.length) == (3, 0)


def test_a_missing_file_is_named(tmp_path):
    store(tmp_path, "target", 2)
    with pytest.raises(ValueError, match=r"must hold draft\.safetensors"):
        pair.load_pair(tmp_path)


def test_another_tokenizer_is_refused(tmp_path):
    store(tmp_path, "target", 2)
    store(tmp_path, "draft", 1, tokenizer="abc")
    with pytest.raises(ValueError, match=r"draft\.safetensors must be trained .* got abc"):
        pair.load_pair(tmp_path)
