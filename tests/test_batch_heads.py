"""Heads that draft for a batch: every text is the single sequence's, whoever its neighbors are."""

import itertools

import numpy as np
import pytest
import torch
from test_batch_serving import without_times

from specmini.batch.fast import BatchChoice, FastBatch, batch_candidates
from specmini.batch.head_drafter import BatchFeatureDrafter, BatchMedusaDrafter, BatchMtpDrafter
from specmini.batch.heads import feature_batch, mtp_batch
from specmini.batch.serving import Request, Server, requests_for
from specmini.batch.side_by_side import SideBySideEngines
from specmini.drafters.feature import FeatureDrafter
from specmini.drafters.medusa import MedusaDrafter
from specmini.drafters.mtp import MtpDrafter
from specmini.engine.numpy_model import NumpyModel
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.generate import generate
from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.in_numpy import MedusaEngine
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.heads.mtp_module import MtpModule
from specmini.measure.tallies import tally
from specmini.sampling import Sampling, greedy, plain

V, D, CONTEXT = 60, 32, 32
shape = Config(V, CONTEXT, 2, D, 4)


@pytest.fixture(autouse=True)
def one_thread():
    with single_thread():
        yield


def randomized(module, scale, seed):
    """Matrices this far from zero make logits that lie apart."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.dim() == 2:
                weight.add_(scale * torch.randn(weight.shape, generator=generator))
    return module.eval().requires_grad_(False)


target = randomized(GPT(shape, torch.Generator().manual_seed(3)), 0.3, 1)
head = randomized(FeatureHead(FeatureHeadConfig(Config(V, CONTEXT, 2, 16, 2), D)), 0.3, 2)
medusa = randomized(MedusaHeads(MedusaConfig(V, D, 3), target.wte.weight.detach()), 0.02, 3)
module = randomized(MtpModule.on_top_of(target), 0.02, 4)
alone = {
    "feature": lambda model, sampling: FeatureDrafter(head, model, sampling),
    "medusa": lambda model, sampling: MedusaDrafter(medusa, model, sampling),
    "mtp": lambda model, sampling: MtpDrafter(module, model, sampling),
}
batched = {
    "feature": lambda model, sampling, choice: BatchFeatureDrafter(head, model, sampling, choice),
    "medusa": lambda model, sampling, choice: BatchMedusaDrafter(medusa, model, sampling),
    "mtp": lambda model, sampling, choice: BatchMtpDrafter(module, model, sampling, choice),
}
ways = itertools.cycle(batch_candidates(target))


def one_way():
    return BatchChoice({1: next(ways)}, {})


@pytest.mark.parametrize("name", batched)
def test_greedy_texts_do_not_depend_on_the_batch(name):
    """Batches of 1 to 64, drafts of other lengths, every way to compute a pass: the same texts."""
    rng = np.random.default_rng(5)
    prompts = [rng.integers(V, size=rng.integers(1, 8)).tolist() for _ in range(70)]
    model = TorchModel(target)
    right = [generate(model, prompt, 12, rng, sampling=greedy).tokens for prompt in prompts]
    assert len(set(right)) > 60
    accepted = 0
    for slots, length in ((1, 3), (3, 2), (16, 4), (64, 5)):
        choice = one_way()
        batch = FastBatch(target, slots, choice)
        drafter = batched[name](batch, greedy, choice)
        found = Server(
            batch, requests_for(prompts, 12, rng), sampling=greedy,
            drafter=drafter, draft_length=length,
        ).run()  # fmt: skip
        assert [text.tokens for text in found.texts] == right
        accepted += tally(row for round in found.rounds for row in round.rows).accepted
    assert accepted > 10


def requests(count, seed=1):
    rng = np.random.default_rng(seed)
    return [
        Request(
            rng.integers(V, size=rng.integers(1, 9)).tolist(),
            int(rng.integers(1, 30)),
            np.random.default_rng([seed, number]),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("name", batched)
@pytest.mark.parametrize("sampling", [plain, Sampling(0.7, top_k=5)], ids=["T1", "T.7 top-k"])
@pytest.mark.parametrize(
    ("slots", "draft_length", "admission"),
    [(1, 2, "continuous"), (3, 4, "static"), (16, 3, "continuous")],
)
def test_a_text_is_that_of_the_single_sequence(slots, draft_length, sampling, name, admission):
    """Token for token and round for round, from the same random numbers.

    Sums in other orders differ by 1e-6, so one draw in a million may fall on the other side of an
    edge; of the ten thousand draws with these seeds none does.
    """
    choice = one_way()
    batch = FastBatch(target, slots, choice)
    found = Server(
        batch, requests(16), sampling=sampling, stop_tokens=[3], admission=admission,
        drafter=batched[name](batch, sampling, choice), draft_length=draft_length,
    ).run()  # fmt: skip
    model = NumpyModel(target)
    drafter = alone[name](model, sampling)
    for text, request in zip(found.texts, requests(16), strict=True):
        single = generate(
            model, request.prompt, request.new_tokens, request.rng,
            sampling=sampling, stop_tokens=[3], draft_length=draft_length, drafter=drafter,
        )  # fmt: skip
        assert without_times(text) == without_times(single)


@pytest.mark.parametrize("way", batch_candidates(target))
@pytest.mark.parametrize("of", ["head", "module"])
def test_the_engine_computes_the_head(of, way):
    """Two texts of other lengths: read, guessed twice and taken back, again and again."""
    choice, texts = BatchChoice({1: way}, {}), np.random.default_rng(0).integers(V, size=(2, 12))
    net, engine = {
        "head": (head, lambda: feature_batch(head, 3, choice)),
        "module": (module, lambda: mtp_batch(module, 3, choice)),
    }[of]
    engine = engine()
    tokens = torch.from_numpy(texts)
    features = target.features(tokens)  # (2, T, D)
    unrolled = [rows.numpy() for rows in net.unroll(tokens, features, 3)]  # each (2, T, V)
    before = np.pad(features.numpy()[:, :-1], ((0, 0), (1, 0), (0, 0)))  # (2, T, D)
    slots, read = [2, 0], [0, 0]
    for ends in ((3, 1), (4, 4), (8, 9)):
        logits = engine.read(
            slots,
            [texts[row, read[row] : end].tolist() for row, end in enumerate(ends)],
            np.concatenate([before[row, read[row] : end] for row, end in enumerate(ends)]),
        )
        for ahead in range(3):
            if ahead:
                logits = engine.guess(slots, [texts[r, e - 1 + ahead] for r, e in enumerate(ends)])
            right = [unrolled[ahead][row, end - 1 + ahead] for row, end in enumerate(ends)]
            np.testing.assert_allclose(logits, right, atol=2e-4 * np.abs(right).max())
        for slot, end in zip(slots, ends, strict=True):
            engine.truncate(slot, end)
        read = ends
    assert engine.lengths == (9, 0, 8)


def test_medusa_heads_answer_many_at_once():
    engine = MedusaEngine(medusa)
    features = np.random.default_rng(0).standard_normal((5, D)).astype(np.float32)
    rows = engine.guesses(features, 2)
    assert rows.shape == (2, 5, V)
    for feature, row in zip(features, rows.swapaxes(0, 1), strict=True):
        np.testing.assert_allclose(engine.guesses(feature, 2), row, atol=1e-5)


def test_a_batch_of_single_engines_serves_heads_too():
    prompts = [[1], [2, 5, 1]]
    model = NumpyModel(target)
    right = [
        generate(model, prompt, 9, np.random.default_rng(0), sampling=greedy).tokens
        for prompt in prompts
    ]
    for make in batched.values():
        batch = SideBySideEngines([NumpyModel(target), TorchModel(target)])
        found = Server(
            batch, requests_for(prompts, 9, np.random.default_rng(0)), sampling=greedy,
            drafter=make(batch, greedy, one_way()), draft_length=2,
        ).run()  # fmt: skip
        assert [text.tokens for text in found.texts] == right


def test_drafts_end_with_the_context_and_with_the_heads():
    batch, rng = FastBatch(target, 2, one_way()), np.random.default_rng(0)
    texts = [[0] * (CONTEXT - 1), [1]]
    batch.forward([0], [texts[0][:-1]])
    for name, lengths in {"feature": [2, 4], "mtp": [2, 4], "medusa": [3, 0]}.items():
        drafter = batched[name](batch, plain, one_way())
        drafter.admit([0, 1], texts)
        drafts = drafter.propose([0, 1], texts, [5, 4], [rng, rng])
        assert list(map(len, drafts)) == lengths
        assert [len(one) for one in drafter.propose([0, 1], texts, [0, 0], [rng, rng])] == [0, 0]


def test_bad_arguments_are_named():
    batch, rng = FastBatch(target, 2, one_way()), np.random.default_rng(0)
    for make in batched.values():
        drafter = make(batch, plain, one_way())
        with pytest.raises(ValueError, match="all 3 tokens of the text in slot 1 but the last, go"):
            drafter.propose([1], [[0, 1, 2]], [2], [rng])
    engine = feature_batch(head, 2, one_way())
    with pytest.raises(ValueError, match=r"tokens must follow one that was read in their slots"):
        engine.guess([1], [1])
    with pytest.raises(ValueError, match=r"features must have shape \(2, 32\), got \(1, 32\)"):
        engine.read([1], [[1, 2]], np.zeros((1, D), np.float32))
    with pytest.raises(ValueError, match="tokens must be in"):
        engine.read([1], [[V]], np.zeros((1, D), np.float32))
    with pytest.raises(ValueError, match="tokens must be in"):
        mtp_batch(module, 1, one_way()).read([0], [[V]], np.zeros((1, D), np.float32))
    with pytest.raises(ValueError, match="target must lend its embedding first"):
        mtp_batch(MtpModule(module.config), 2)
    with pytest.raises(ValueError, match=r"joined must have shape \(1, 32\), got \(2, 32\)"):
        batch.forward([0], [[1]], joined=np.zeros((2, D), np.float32))
