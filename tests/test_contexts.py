"""Contexts as plain data: condensed without losing what matters, chosen, and stored."""

import itertools

import numpy as np
import pytest
import torch

from specmini import pair
from specmini.exact.rules import RULES, accepted
from specmini.recording import choosing, contexts, excerpts
from specmini.recording.choosing import choose
from specmini.recording.condensing import condense
from specmini.recording.contexts import (
    Context,
    by_token,
    distributions,
    made_up,
    stored,
)
from specmini.sampling import Sampling, plain

TEMPERATURES = (0.0, 0.1, 0.5, 1.0, 1.5, 2.0)
BLUR = 0.015  # in each rate; 2 digits of a logit and 80 shared pairs cost this much at most


def context(tokens, logits):
    return Context(key="k", name="n", before="", tokens=list(tokens), logits=logits)


def some_logits(vocabulary=1024, seed=0):
    rng = np.random.default_rng(seed)
    shared = 3 * rng.standard_normal(vocabulary)
    return shared, 0.8 * shared + 1.5 * rng.standard_normal(vocabulary)


def rates(p, q):
    return np.array([accepted(rule, p, q).sum() for rule in RULES])


def assert_close(small, target_logits, draft_logits):
    for heat, warmth in itertools.product(TEMPERATURES, TEMPERATURES):
        target, draft = Sampling(heat), Sampling(warmth)
        full = rates(target.probs(target_logits), draft.probs(draft_logits))
        few = rates(*distributions(small, target, draft))
        assert abs(few - full).max() < BLUR, (heat, warmth, few, full)


@pytest.mark.parametrize("seed", range(3))
def test_few_pairs_have_the_rates_of_the_whole_vocabulary(seed):
    logits = some_logits(seed=seed)
    ids, text = condense(*logits)
    small = context(map(str, ids), text)
    assert len(contexts.pairs(small)[0]) == 7 + 80
    assert contexts.pairs(small)[1].sum() == 1024
    assert_close(small, *logits)


def test_named_tokens_are_the_likeliest_and_both_favorites():
    target, draft = some_logits()
    draft[17] = draft.max() + 0.01  # a favorite of nobody else, in a flat distribution
    draft *= 0.05
    ids, _ = condense(target, draft)
    assert {int(target.argmax()), 17} <= set(ids.tolist())
    higher = np.maximum(plain.probs(target), plain.probs(draft))[ids]
    assert (np.diff(higher) <= 0).all()


def test_shared_pairs_keep_their_probability_at_temperature_1():
    logits = some_logits(60)
    ids, text = condense(*logits, named=5, cells=4)
    small = context(map(str, ids), text)
    for side, chances in zip(logits, distributions(small, plain, plain), strict=True):
        rows = by_token(small, chances)
        assert rows.shape == (6,)
        assert rows[:5] == pytest.approx(plain.probs(side)[ids], rel=0.02)
        assert rows.sum() == pytest.approx(1)


def test_a_small_vocabulary_is_kept_whole():
    ids, text = condense([0.0, 1.0, -1.0], [0.5, 0.0, 0.0], named=3)
    assert sorted(ids.tolist()) == [0, 1, 2]
    assert by_token(context("abc", text), np.arange(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"named": 1}, r"named must be in \[2, 9\], got 1"),
        ({"named": 10}, r"named must be in \[2, 9\], got 10"),
        ({"cells": 0}, "cells must be at least 1, got 0"),
    ],
)
def test_impossible_sizes_are_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        condense(np.arange(9.0), np.arange(9.0), **given)


@pytest.mark.parametrize("text", ["", "1", "1 2 3 4", "1 x", "1 nan", "1 2 0", "1 2 1.5", "1 2;"])
def test_malformed_logits_are_refused(text):
    with pytest.raises(ValueError, match="logits must be pairs of finite numbers"):
        contexts.pairs(context("a", text))


def test_each_wish_finds_its_context():
    rng = np.random.default_rng(5)
    p, q = rng.dirichlet([0.05] * 40, (2, 4, 60))  # (N, T, V) each
    whole = [True] * 40
    same = p.argmax(-1) == q.argmax(-1)
    overlap = np.minimum(p, q).sum(-1)
    late = np.arange(60) >= choosing.shortest_text
    found = {key: choose(key, p, q, whole) for key, _, _ in choosing.WANTED}
    assert all(token >= choosing.shortest_text for _, token in found.values())
    assert abs(overlap[found["typical"]] - overlap.mean()) < 0.05
    assert not same[found["differ"]]
    assert same[found["agree"]]
    lead = np.take_along_axis(p, q.argmax(-1)[..., None], -1)[..., 0] - overlap
    assert lead[found["surer"]] == lead[same & late].max()
    with pytest.raises(ValueError, match="key must be one of typical, differ, agree, surer, got"):
        choose("x", p, q, whole)
    with pytest.raises(ValueError, match="must hold a context that fits 'agree', got none"):
        choose("agree", p, q, [False] * 40)


def test_made_up_contexts_are_distributions():
    wrong, by_hand = made_up()
    p, q = distributions(by_hand, plain, plain)
    assert rates(p, q) == pytest.approx([0.8, 0.6, 0.39], abs=1e-6)
    assert rates(*distributions(wrong, plain, plain)) == pytest.approx(
        [0.13, 0.03, 0.0479], abs=1e-6
    )


# --- the package's own ---------------------------------------------------------------------------


def test_the_stored_contexts_are_of_the_committed_checkpoints():
    """Who replaces a checkpoint stores them again: python -m specmini.recording.choosing FILE."""
    assert contexts.stored_checkpoints() == pair.checkpoint_hashes()


def test_the_stored_contexts_are_what_the_pair_expects_there():
    models = pair.load_pair()
    for small, (kind, text, token) in zip(stored(), contexts.stored_places(), strict=True):
        ids = models.tokenizer.encode(excerpts.frozen(kind)[text].text)[: token + 1]
        with torch.inference_mode():
            sides = [
                model(torch.tensor([ids]))[0, -1].numpy() for model in (models.target, models.draft)
            ]
        assert_close(small, *sides)


def test_the_stored_contexts_show_what_their_names_say():
    found = {one["key"]: distributions(one, plain, plain) for one in stored()}
    assert list(found) == [key for key, _, _ in choosing.WANTED]
    same = {key: p.argmax() == q.argmax() for key, (p, q) in found.items()}
    assert (same["differ"], same["agree"], same["surer"]) == (False, True, True)
    textbook, greedy, exact = zip(*(rates(p, q) for p, q in found.values()), strict=True)
    assert exact < textbook
    assert greedy[list(found).index("surer")] > textbook[list(found).index("surer")]
    assert rates(*found["agree"])[0] > rates(*found["typical"])[0]
