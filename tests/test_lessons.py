"""Lessons: the losses are the distances they are said to be, and heads are judged by rounds."""

import pytest
import torch

from specmini.exact.overlap import overlap
from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.sampling import plain
from specmini.training.lessons import loss_of, tokens_per_round

V, D = 5, 8


def randomized(module, seed):
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        torch.nn.init.normal_(weight, std=0.5, generator=generator)
    return module


target = randomized(GPT(Config(V, 32, 1, D, 2)), 1).requires_grad_(False)
draft = randomized(GPT(Config(V, 32, 1, 4, 2)), 2).requires_grad_(False)
shape = FeatureHeadConfig(draft.config, D)
rows = torch.randint(V, (3, 13), generator=torch.Generator().manual_seed(4))


def betas(p, logits):
    return torch.minimum(p, logits.softmax(-1)).sum(-1)


def test_the_overlap_s_loss_is_what_is_not_accepted():
    [found] = overlap(target, draft, rows[:, :-1], [plain])
    loss = loss_of(draft, rows, target, "overlap")
    assert loss.item() == pytest.approx(1 - found.rates["textbook"], abs=1e-6)


def test_a_head_s_loss_weighs_its_guesses_and_leaves_out_what_has_no_feature():
    heads = randomized(MedusaHeads(MedusaConfig(V, D, 2)), 3)
    tokens = rows[:, :-1]
    features = target.features(tokens)
    p = target.logits(features).softmax(-1)
    first, second = heads.unroll(tokens, features, 2)
    lost = [1 - betas(p, first)[:, 1:].mean(), 1 - betas(p, second)[:, 2:].mean()]
    expected = (lost[0] + 0.5 * lost[1]) / 1.5
    found = loss_of(heads, rows, target, "overlap", passes=2, reach=0.5)
    torch.testing.assert_close(found, expected)


def test_a_head_that_is_the_draft_yields_the_draft_s_tokens():
    windows = rows[:, :-1]
    [found] = overlap(target, draft, windows, [plain])
    head = FeatureHead(shape, draft)
    first, second = found.textbook[:, 1:-1], found.textbook[:, 2:]
    expected = (1 + first + first * second).mean()
    assert tokens_per_round(head, target, windows, 2) == pytest.approx(expected, abs=1e-5)


def test_what_needs_a_teacher_says_so():
    with pytest.raises(ValueError, match="objective must be 'likelihood' without a teacher"):
        loss_of(draft, rows, None, "overlap")
    with pytest.raises(ValueError, match="teacher must be the model whose features a head reads"):
        loss_of(FeatureHead(shape), rows, None, "likelihood")
