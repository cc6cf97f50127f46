"""Heads as drafters: engines compute the modules, and what is generated is the target's text."""

import itertools

import numpy as np
import pytest
import torch
from lossless import largest_error, outcomes

import specmini.drafters.feature
import specmini.drafters.medusa
import specmini.verify.chain
from specmini.drafters.feature import FeatureDrafter
from specmini.drafters.medusa import MedusaDrafter
from specmini.drafters.mtp import MtpDrafter
from specmini.engine.cached_model import FeatureModel
from specmini.engine.kernels import available_kernels
from specmini.engine.numpy_model import NumpyModel
from specmini.engine.step_model import StepModel
from specmini.engine.torch_model import TorchModel
from specmini.engine.torch_step import torch_step
from specmini.generate import generate
from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.in_numpy import MedusaEngine, feature_engine
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.heads.mtp_in_numpy import mtp_engine
from specmini.heads.mtp_module import MtpModule
from specmini.sampling import Sampling, greedy, plain
from specmini.verify import Verdict

V, D, CONTEXT = 3, 8, 24


def randomized(module, scale=0.5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        torch.nn.init.normal_(weight, std=scale, generator=generator)
    return module.eval().requires_grad_(False)


target = randomized(GPT(Config(V, CONTEXT, 2, D, 2)), seed=1)
heads = {
    layers: randomized(FeatureHead(FeatureHeadConfig(Config(V, CONTEXT, layers, 4, 2), D)), seed=2)
    for layers in (1, 2)
}
medusa = randomized(MedusaHeads(MedusaConfig(V, D, 3)), seed=3)
module = randomized(MtpModule.on_top_of(target), seed=4)
self_feeding = {
    **{f"head of {layers} layers": (head, feature_engine(head)) for layers, head in heads.items()},
    "MTP module": (module, mtp_engine(module)),
}


def torch_engine(model):
    step = torch_step(model, available_kernels(model)["torch"])
    return StepModel(model.config, step, step)


@pytest.mark.parametrize("engine", [TorchModel, NumpyModel, torch_engine])
def test_features_are_what_the_head_reads(engine):
    model: FeatureModel = engine(target)
    text = [2, 0, 1, 1, 0, 2, 1]
    with torch.inference_mode():
        expected = target.features(torch.tensor([text]))[0].numpy()
    model.forward(text[:3])
    model.forward(text[3:4])
    model.forward(text[4:6])
    np.testing.assert_allclose(model.features, expected[:6], atol=2e-5)
    model.truncate(4)
    assert model.features.shape == (4, D)
    logits = model.forward(text[4:])
    np.testing.assert_allclose(model.features, expected, atol=2e-5)
    np.testing.assert_allclose(model.features[4:] @ target.wte.weight.numpy().T, logits, atol=2e-5)


@pytest.mark.parametrize("name", self_feeding)
def test_the_engine_computes_the_head(name):
    (head, engine), text = self_feeding[name], [2, 0, 1, 1, 0, 2, 1, 0]
    engine.truncate(0)
    tokens = torch.tensor([text])
    features = target.features(tokens)  # (1, T, D)
    unrolled = [rows[0].numpy() for rows in head.unroll(tokens, features, 3)]
    before = np.vstack((np.zeros((1, D), np.float32), features[0].numpy()[:-1]))
    read = 0
    for end in (3, 4, 6):  # a round reads what is new, guesses twice and takes that back
        logits = engine.read(text[read:end], before[read:end])
        np.testing.assert_allclose(logits, unrolled[0][end - 1], atol=1e-5)
        for ahead in (1, 2):
            logits = engine.guess(text[end - 1 + ahead])
            np.testing.assert_allclose(logits, unrolled[ahead][end - 1 + ahead], atol=1e-5)
        engine.truncate(end)
        read = end


def test_the_engine_computes_the_medusa_heads():
    features = target.features(torch.tensor([[2, 0, 1, 1, 0]]))  # (1, T, D)
    unrolled = medusa.unroll(torch.zeros(1, 5, dtype=torch.int64), features, 3)
    engine = MedusaEngine(medusa)
    for ahead, rows in enumerate(unrolled):
        for place in range(ahead + 1, 5):
            row = engine.guesses(features[0, place - 1 - ahead].numpy(), 3)[ahead]
            np.testing.assert_allclose(row, rows[0, place].numpy(), atol=1e-5)
    assert engine.guesses(features[0, 0].numpy(), 2).shape == (2, V)


def drafters(model, sampling):
    return {
        "feature": FeatureDrafter(heads[1], model, sampling),
        "medusa": MedusaDrafter(medusa, model, sampling),
        "mtp": MtpDrafter(module, model, sampling),
    }


@pytest.mark.parametrize("name", ["feature", "medusa", "mtp"])
@pytest.mark.parametrize(
    ("sampling", "prompt"),
    [(plain, (0, 2, 1)), (Sampling(0.6, top_p=0.9), (1,))],
    ids=["T1", "T.6 top-p"],
)
def test_text_is_distributed_as_the_target_s(monkeypatch, name, sampling, prompt):
    def draw(weights, rng):
        return rng.choose(weights)

    modules = specmini.verify.chain, specmini.drafters.feature, specmini.drafters.medusa
    for module in modules:
        monkeypatch.setattr(module, "draw", draw)
    model = NumpyModel(target)
    drafter = drafters(model, sampling)[name]

    def decode(length):
        return lambda rng: generate(
            model, prompt, 3, rng, sampling=sampling,
            **({"drafter": drafter, "draft_length": length} if length else {}),
        ).tokens  # fmt: skip

    right = outcomes(decode(0))
    assert sum(right.values()) == pytest.approx(1)
    for length in (1, 2):
        assert largest_error(outcomes(decode(length)), right) < 1e-6


@pytest.mark.parametrize("name", ["feature", "medusa", "mtp"])
def test_greedy_text_is_the_target_s(name):
    model = NumpyModel(target)
    for prompt, length in itertools.product([(0,), (1, 2), (2, 2, 1, 0)], [1, 2, 3, 5]):
        rng = np.random.default_rng(0)
        expected = generate(model, prompt, 16, rng, sampling=greedy).tokens
        drafter = drafters(model, greedy)[name]
        given = {"drafter": drafter, "draft_length": length, "sampling": greedy}
        for _ in range(2):  # a drafter may be used again
            assert generate(model, prompt, 16, rng, **given).tokens == expected


def test_a_drafter_copes_with_any_text():
    model, rng = NumpyModel(target), np.random.default_rng(0)
    used = FeatureDrafter(heads[1], model, plain)
    for text in ([1, 2, 0, 1], [1, 2, 0, 1, 1, 2], [1, 0], [2], [2, 1, 0]):
        model.truncate(0)
        if text[:-1]:
            model.forward(text[:-1])
        fresh = FeatureDrafter(heads[1], model, plain)
        seed = int(rng.integers(99))
        first, second = (
            drafter.propose(text, 3, np.random.default_rng(seed)) for drafter in (used, fresh)
        )
        np.testing.assert_array_equal(first.tokens, second.tokens)
        np.testing.assert_allclose(first.probs, second.probs, atol=1e-6)
        used.observe(Verdict(0, 1))


def test_drafts_end_with_the_context_and_with_the_heads():
    model, rng = NumpyModel(target), np.random.default_rng(0)
    model.forward([0] * (CONTEXT - 2))
    text = [0] * (CONTEXT - 1)
    assert len(FeatureDrafter(heads[1], model, plain).propose(text, 5, rng)) == 2
    assert len(MedusaDrafter(medusa, model, plain).propose(text, 5, rng)) == 3
    model.truncate(0)
    assert len(MedusaDrafter(medusa, model, plain).propose([1], 5, rng)) == 0


def test_bad_arguments_are_named():
    model, rng = NumpyModel(target), np.random.default_rng(0)
    for drafter in drafters(model, plain).values():
        with pytest.raises(ValueError, match="target must have seen all 3 tokens of the text but"):
            drafter.propose([0, 1, 2], 2, rng)
    with pytest.raises(ValueError, match="target must lend its embedding first"):
        mtp_engine(MtpModule(module.config))
    engine = feature_engine(heads[1])
    with pytest.raises(ValueError, match="token must follow one that was read"):
        engine.guess(1)
    with pytest.raises(ValueError, match=r"features must have shape \(2, 8\), got \(1, 8\)"):
        engine.read([1, 2], np.zeros((1, D), np.float32))
    with pytest.raises(ValueError, match="tokens must be in"):
        engine.read([V], np.zeros((1, D), np.float32))
    with pytest.raises(ValueError, match=r"count must be in \[1, 3\], got 4"):
        MedusaEngine(medusa).guesses(np.zeros(D, np.float32), 4)
    with pytest.raises(ValueError, match=r"feature must have shape \(8,\) or \(R, 8\), got \(3,\)"):
        MedusaEngine(medusa).guesses(np.zeros(3, np.float32), 1)
