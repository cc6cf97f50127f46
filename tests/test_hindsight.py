"""Replayed rounds are distributed as real ones, and nothing beats hindsight."""

import itertools

import numpy as np
import pytest
import torch

from specmini import catalog
from specmini.drafters.gate import Gate, RunningAcceptance
from specmini.engine.table_model import random_table
from specmini.exact.lossy_price import lossy_text
from specmini.gpt import GPT, Config
from specmini.ladder.gate_study import (
    KINDS,
    GateOutcome,
    TextKind,
    costs_under_load,
    gate_outcome,
    write_texts,
)
from specmini.ladder.hindsight import (
    Costs,
    Play,
    Replayed,
    best_in_hindsight,
    chances_to_stay,
    play,
)
from specmini.pair import Pair, load_pair
from specmini.roofline.deployment import Deployment
from specmini.sampling import Sampling, plain
from specmini.verify.lossy import lossy_lenience

free = Costs(0.1, lambda length: 1.0)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("draft_length", [1, 2, 3])
def test_rounds_of_replayed_luck_are_those_of_the_engine(draft_length):
    """All texts of four tokens and all coins, against a count of all rounds (``lossy_text``)."""
    target, draft = (random_table(3, 1, np.random.default_rng(seed)) for seed in (1, 2))
    rounds = 0.0
    for text in itertools.product(range(3), repeat=4):
        p, q = (table[(1, *text[:-1]), text] for table in (target, draft))  # each (4,)
        chances = np.minimum(1, q / p)
        for coins in itertools.product([False, True], repeat=4):
            weight = p.prod() * np.where(coins, chances, 1 - chances).prod()
            found = play(Replayed(), np.array([coins]), draft_length, free, rng())
            rounds += weight * found.rounds
    real = lossy_text(lossy_lenience(1.0), target, draft, (0, 1), 4, draft_length)
    assert rounds == pytest.approx(real.rounds, abs=1e-12)


def test_chances_are_min_p_q_over_p_at_the_text_s_tokens():
    generator = torch.Generator().manual_seed(0)
    models = [GPT(Config(7, 12, 1, 8, 2), generator).eval() for _ in range(2)]
    for weight in itertools.chain(*(model.parameters() for model in models)):
        torch.nn.init.normal_(weight, std=0.5, generator=generator)
    texts = torch.randint(7, (2, 9), generator=generator)
    found = chances_to_stay(*models, texts, 3, Sampling(1.5))
    assert found.shape == (2, 6)
    for n, t in np.ndindex(2, 6):
        with torch.inference_mode():
            p, q = (
                Sampling(1.5).probs(model(texts[n : n + 1, : 3 + t])[0, -1].numpy())
                for model in models
            )
        token = texts[n, 3 + t]
        assert found[n, t] == pytest.approx(min(p[token], q[token]) / p[token], rel=1e-5)
    with pytest.raises(ValueError, match="prompt_length must be below 9, got 9"):
        chances_to_stay(*models, texts, 9, plain)


def test_a_text_by_hand():
    """Drafts stay at tokens 0, 1, 3; K = 2: rounds gain 3, 2 and 1."""
    luck = np.array([[True, True, False, True, False, False]])
    costs = Costs(0.25, lambda length: 1 + length / 8)
    found = play(Replayed(), luck, 2, costs, rng())
    # two drafts, two drafts, and no room for any
    assert found == Play(6, 3, 2, 4, 3, pytest.approx(2 * 1.75 + 1))
    assert found.tokens_per_round == 2
    assert found.speedup == pytest.approx(6 / 4.5)
    best = best_in_hindsight(luck, 2, costs)
    assert best == Play(6, 3, 2, 3, 3, pytest.approx(1.75 + 1.375 + 1))


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.2])
def test_hindsight_is_the_cheapest_of_all_ways(slope):
    """Every sequence of draft lengths is tried."""
    costs = Costs(0.2, lambda length: 1 + slope * length)
    for luck in np.random.default_rng(3).random((20, 1, 6)) < 0.6:

        def cheapest(place, coins=luck[0]):
            if place == 6:
                return 0.0
            ways = []
            for drafted in range(min(3, 6 - place - 1) + 1):
                kept = 0
                while kept < drafted and coins[place + kept]:
                    kept += 1
                ways.append(costs.of_round(drafted) + cheapest(place + kept + 1))
            return min(ways)

        assert best_in_hindsight(luck, 3, costs).cost == pytest.approx(cheapest(0))


def test_a_gate_is_replayed_with_its_memory():
    luck = np.zeros((4, 60), dtype=bool)
    gate = Gate(Replayed(), 0.1, 1.0, RunningAcceptance(memory=1.0))
    found = play(gate, luck, 4, free, rng())
    assert found.rounds == found.tokens == 240
    assert 0 < found.speculative_rounds < 60, "it shuts, and stays shut in the next text"
    assert found.accepted == 0


def test_outcomes_are_ordered_where_they_must_be():
    luck = np.random.default_rng(1).random((8, 80)) < 0.7
    found = gate_outcome(luck, Costs(0.1, lambda length: 1 + 0.05 * length), (1, 2, 4, 8), rng())
    others = [*found.fixed.values(), found.gate]
    assert found.oracle.speedup > max(one.speedup for one in others)
    assert found.fixed[found.best_fixed].speedup == max(f.speedup for f in found.fixed.values())
    assert found.gate_over_fixed(0) == found.gate.speedup
    assert found.price_of_not_knowing == pytest.approx(
        found.fixed[found.best_fixed].speedup / found.gate.speedup - 1
    )
    hopeless = gate_outcome(np.zeros((4, 80), dtype=bool), free, (4,), rng())
    assert (hopeless.best_fixed, hopeless.oracle.speedup) == (0, 1)
    assert 1 > hopeless.gate.speedup > hopeless.fixed[4].speedup


def test_load_comes_from_the_roofline():
    target = Deployment(catalog.machine("h100"), catalog.model("llama-3.1-8b"))
    idle, busy = (costs_under_load(target, 0.1, batch, 512) for batch in (1, 256))
    assert idle.cost_ratio == busy.cost_ratio == pytest.approx(0.1)
    assert idle.verify_cost(4) < 1.05 < 2 < busy.verify_cost(4)
    assert busy.of_round(4) == pytest.approx(0.4 + busy.verify_cost(4))
    assert busy.of_round(0) == 1


def test_texts_of_each_kind_are_written():
    generator = torch.Generator().manual_seed(0)
    shape = Config(1024, 64, 1, 16, 2)
    target, draft = (GPT(shape, generator).eval().requires_grad_(False) for _ in range(2))
    pair = Pair(target, draft, load_pair().tokenizer, {})
    for kind in KINDS:
        found = write_texts(pair, kind, 3, 5, rng())
        assert found.luck.shape == found.chances.shape == (3, 5)
        assert 0 < found.acceptance_rate < 1
    same = write_texts(Pair(target, target, pair.tokenizer, {}), KINDS[0], 3, 5, rng())
    assert same.acceptance_rate == pytest.approx(1, abs=1e-5)
    assert [kind.name for kind in KINDS[1:]] == [
        "prose", "prose, temperature 1.5", "after random bytes",
    ]  # fmt: skip


def test_bad_arguments_are_named():
    luck = np.ones((1, 4), dtype=bool)
    outcome = gate_outcome(luck, free, (2,), rng())
    assert isinstance(outcome, GateOutcome)
    for call, message in (
        (lambda: Costs(-1, lambda length: 1.0), "cost_ratio must be .*got -1"),
        (lambda: play(Replayed(), luck, 0, free, rng()), "draft_length must be .*got 0"),
        (lambda: best_in_hindsight(luck[0], 1, free), r"luck must be booleans of shape \(N, T\)"),
        (lambda: gate_outcome(luck, free, (), rng()), "draft_lengths must hold at least one"),
        (lambda: outcome.gate_over_fixed(3), r"draft_length must be 0 or one of \[2\], got 3"),
        (lambda: TextKind("poems"), "prompt must be .*poems"),
        (lambda: TextKind("code", 0), "temperature must be above 0, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
