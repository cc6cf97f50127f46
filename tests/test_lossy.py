"""Lossy rules: what they accept, and exactly how far what they write is from the target's text."""

import numpy as np
import pytest
import torch
from lossless import Engine, exact_text, largest_error, outcomes

import specmini.verify.lossy
from specmini.drafters.model import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.exact.lossy_price import lossy_distance, lossy_next, lossy_prices, lossy_text
from specmini.exact.overlap import overlap
from specmini.gpt import GPT, Config
from specmini.sampling import greedy, plain
from specmini.verify.lossy import (
    lossy_lenience,
    lossy_relaxed,
    lossy_thresholds,
    lossy_typical,
)

target = random_table(3, 1, np.random.default_rng(1))
draft = random_table(3, 1, np.random.default_rng(2))
lossy = {
    "lenience": lossy_lenience(0.5),
    "typical": lossy_typical(0.3, 0.6),
    "relaxed": lossy_relaxed(2, 0.4),
    "thresholds": lossy_thresholds(0.6, 0.8),
}
exact = {"lenience": lossy_lenience(1.0), "thresholds": lossy_thresholds()}
draftings = ["textbook", "greedy draft", "exact match"]
prompt = (0, 1)


def counted(rule, drafting, new_tokens=4, draft_length=2, tables=(target, draft)):
    return lossy_text(rule, *tables, prompt, new_tokens, draft_length, drafting)


@pytest.mark.parametrize("drafting", draftings)
@pytest.mark.parametrize("name", lossy)
def test_the_engine_writes_what_is_counted(monkeypatch, name, drafting):
    """Every branch of the real loop is walked; the count knows nothing of it."""
    monkeypatch.setattr(specmini.verify.lossy, "draw", lambda weights, rng: rng.choose(weights))
    engine, rule = Engine.load().walked(), lossy[name]
    rounds = []

    def run(walker):
        drafter = engine.model_drafter.ModelDrafter(TableModel(draft), plain, drafting)
        found = engine.generate.generate(
            TableModel(target), prompt, 4, walker, sampling=plain, drafter=drafter,
            draft_length=2, verify=rule.lossy_verify,
        )  # fmt: skip
        rounds.append((len(found.rounds), walker))
        return found.tokens

    written = outcomes(run)
    text = counted(rule, drafting)
    assert largest_error(written, dict(np.ndenumerate(text.probs))) < 1e-12
    mean_rounds = sum(count * walker.probability for count, walker in rounds)
    assert text.rounds == pytest.approx(mean_rounds, abs=1e-12)


@pytest.mark.parametrize("drafting", draftings)
@pytest.mark.parametrize("name", exact)
def test_with_the_exact_numbers_nothing_is_lost(name, drafting):
    text = counted(exact[name], drafting, draft_length=3)
    right = exact_text(target, plain, prompt, 4)
    assert largest_error(dict(np.ndenumerate(text.probs)), right) < 1e-12


@pytest.mark.parametrize("name", lossy)
def test_a_lossy_rule_loses_and_gains(name):
    rule = lossy[name]
    right = counted(lossy_lenience(1.0), "textbook", draft_length=0).probs
    text = counted(rule, "greedy draft")
    assert lossy_distance(text.probs, right) > 0.01
    assert text.tokens_per_round > counted(lossy_lenience(1.0), "greedy draft").tokens_per_round


def test_no_token_comes_with_more_than_p_over_the_lenience():
    rng = np.random.default_rng(5)
    for _ in range(50):
        p, q = rng.dirichlet(np.full(6, 0.5), size=2)
        lenience = rng.uniform(0.05, 1)
        found, rate = lossy_next(lossy_lenience(lenience), p, q, "textbook")
        assert (found <= p / lenience + 1e-12).all()
        assert rate == pytest.approx(np.minimum(q, p / lenience).sum(), abs=1e-12)
        assert found.sum() == pytest.approx(1, abs=1e-12)


def test_relaxed_to_the_top_one_is_greedy_decoding():
    text = counted(lossy_relaxed(1, 0.0), "greedy draft", new_tokens=5)
    right = exact_text(target, greedy, prompt, 5)
    assert largest_error(dict(np.ndenumerate(text.probs)), right) == 0


@pytest.mark.parametrize(
    ("rule", "p", "expected"),
    [
        # H = 0.8018 nats, so δ exp(-H) = 0.1346, above ε = 0.09; then ε = 0.2 is above that
        (lossy_typical(), [0.7, 0.2, 0.1], [1, 1, 1]),
        (lossy_typical(0.2), [0.7, 0.2, 0.1], [1, 1, 0]),
        (lossy_typical(0.5, 1.0), [0.5, 0.5, 0.0], [0, 0, 0]),  # equal is not above
        (lossy_relaxed(2, 0.6), [0.7, 0.2, 0.1], [1, 1, 0]),
        (lossy_relaxed(3, 0.5), [0.7, 0.2, 0.1], [1, 1, 0]),
        (lossy_relaxed(3, 0.4), [0.7, 0.2, 0.1], [1, 0, 0]),
        (lossy_thresholds(0.6, 0.5), [0.7, 0.2, 0.1], [1, 0.4, 0.2]),
        (lossy_thresholds(0.2, 1.0), [0.7, 0.2, 0.1], [1, 1, 0.1]),
        (lossy_lenience(0.5), [0.7, 0.2, 0.1], [1, 0.4, 0.2]),
    ],
)
def test_acceptance_by_hand(rule, p, expected):
    np.testing.assert_allclose(rule.accepted(np.array(p), None), expected)


def test_the_price_on_trained_models_is_the_overlap_where_nothing_is_lost():
    generator = torch.Generator().manual_seed(0)
    models = []
    for width in (8, 4):
        model = GPT(Config(7, 16, 1, width, 2), generator)
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.6, generator=generator)
        models.append(model.eval().requires_grad_(False))
    windows = torch.randint(7, (3, 16), generator=generator)
    [found] = overlap(*models, windows, [plain])
    pairs = [(lossy_lenience(1.0), name) for name in draftings]
    for price in lossy_prices(pairs, *models, windows, 3):
        assert price.acceptance_rate == pytest.approx(found.rates[price.drafting], abs=1e-6)
        assert price.from_sampling == pytest.approx(0, abs=1e-12)
    [relaxed] = lossy_prices([(lossy_relaxed(1, 0), "greedy draft")], *models, windows, 3)
    assert relaxed.from_greedy == 0 < relaxed.from_sampling
    [anything] = lossy_prices([(lossy_relaxed(7, 1), "greedy draft")], *models, windows, 3)
    assert anything.tokens_per_round == pytest.approx(4)


def test_bad_arguments_are_named():
    for make, message in (
        (lambda: lossy_lenience(0), r"lenience must be in \(0, 1\], got 0"),
        (lambda: lossy_typical(1.2), "epsilon must be a number in .*got 1.2"),
        (lambda: lossy_relaxed(0, 0.1), "top must be .*got 0"),
        (lambda: lossy_thresholds(0.5, 0), r"accumulated must be in \(0, 1\], got 0"),
        (lambda: lossy_distance([1.0], [0.5, 0.5]), r"other must have shape \(1,\)"),
        (lambda: counted(lossy["relaxed"], "argmax"), "rule must be"),
        (lambda: counted(lossy["relaxed"], "textbook", new_tokens=0), "new_tokens must be"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    rng = np.random.default_rng(0)
    drafted = ModelDrafter(TableModel(draft), plain).propose([0, 1], 2, rng)
    with pytest.raises(ValueError, match="target_probs must have shape"):
        lossy["typical"].lossy_verify(target[:1], drafted, rng)
