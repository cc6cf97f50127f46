"""The heads: loaded together for one target, and refused for another."""

import numpy as np
import pytest
import torch

from specmini.checkpoints import digest, save_model
from specmini.drafters.feature import FeatureDrafter
from specmini.drafters.medusa import MedusaDrafter
from specmini.drafters.mtp import MtpDrafter
from specmini.generate import generate
from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.heads.mtp_module import MtpModule
from specmini.heads.trained import load_heads
from specmini.pair import Pair, load_pair
from specmini.sampling import plain


@pytest.fixture(scope="module")
def pair():
    shape = Config(1024, 32, 2, 16, 2)
    target = GPT(shape, torch.Generator().manual_seed(0)).eval().requires_grad_(False)
    return Pair(target, target, load_pair().tokenizer, {})


def store(folder, pair, name, head, tokenizer=None, target=None):
    stage = {"teacher_sha256": target or digest(pair.target.state_dict())}
    record = {"tokenizer_sha256": tokenizer or pair.tokenizer.sha256, "stages": [stage]}
    save_model(folder / f"{name}.safetensors", head, record, "int8")


@pytest.fixture
def stored(tmp_path, pair):
    small = Config(1024, 32, 1, 8, 2)
    store(tmp_path, pair, "feature_head", FeatureHead(FeatureHeadConfig(small, 16)))
    store(tmp_path, pair, "medusa_heads", MedusaHeads(MedusaConfig(1024, 16, 3)))
    store(tmp_path, pair, "mtp_module", MtpModule.on_top_of(pair.target))
    return tmp_path


def test_what_was_stored_drafts(stored, pair):
    heads = load_heads(pair, stored)
    assert list(heads.records) == ["feature", "medusa", "mtp"]
    model = pair.target_model()
    for drafter in (
        FeatureDrafter(heads.feature, model, plain),
        MedusaDrafter(heads.medusa, model, plain),
        MtpDrafter(heads.mtp, model, plain),
    ):
        rng = np.random.default_rng(0)
        given = {"sampling": plain, "drafter": drafter, "draft_length": 2}
        text = generate(model, [1, 2, 3], 6, rng, **given)
        assert any(len(round.drafted) == 2 for round in text.rounds)


def test_a_missing_file_is_named(stored, pair):
    (stored / "mtp_module.safetensors").unlink()
    with pytest.raises(ValueError, match=r"must hold mtp_module\.safetensors"):
        load_heads(pair, stored)


@pytest.mark.parametrize("what", ["tokenizer", "target"])
def test_a_head_of_another_target_is_refused(stored, pair, what):
    store(stored, pair, "mtp_module", MtpModule.on_top_of(pair.target), **{what: "abc"})
    with pytest.raises(ValueError, match=rf"mtp_module.* with the {what} .* got abc"):
        load_heads(pair, stored)


def test_another_kind_of_head_is_refused(stored, pair):
    store(stored, pair, "feature_head", MtpModule.on_top_of(pair.target))
    with pytest.raises(ValueError, match="must hold FeatureHead, got MtpModule"):
        load_heads(pair, stored)


def test_a_file_from_before_targets_were_remembered_is_refused(stored, pair):
    record = {"tokenizer_sha256": pair.tokenizer.sha256}
    save_model(stored / "mtp_module.safetensors", MtpModule.on_top_of(pair.target), record)
    with pytest.raises(ValueError, match=r"with the target .* got None"):
        load_heads(pair, stored)
