"""Speculative decoding loses nothing: the text has the target's own distribution.

Two proofs by experiment. The first walks every branch of the real loop on table models and adds
up chances: two- to four-token texts, jointly, to 1e-12. The second draws 100 000 three-token
texts a case from seeded generators and compares them by chi-square. All cases together raise a
false alarm with chance ``false_alarm_rate``, shared out equally.
"""

import math

import numpy as np
import pytest
from lossless import (
    Engine,
    FunctionDrafter,
    awkward_tables,
    chi_square_chance,
    drawn_verdicts_chance,
    exact_text,
    largest_error,
    outcomes,
)

from specmini import generate as loop
from specmini import theory
from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.sampling import Sampling, plain
from specmini.verify import Draft, verify

rules = ["textbook", "greedy draft", "exact match"]
samplings = {
    "T = 1": Sampling(),
    "T = 0.3": Sampling(0.3),
    "T = 1.7": Sampling(1.7),
    "T = 0.5, top-k 2": Sampling(0.5, top_k=2),
    "T = 2, top-p 0.8": Sampling(2.0, top_p=0.8),
    "T = 1.7, top-k 2, top-p 0.9": Sampling(1.7, top_k=2, top_p=0.9),
    "greedy": Sampling(0.0),
}


def pair(vocabulary, order, seed=1):
    """Tables of a target and a draft that have little to do with each other."""
    rng = np.random.default_rng(seed)
    return random_table(vocabulary, order, rng), random_table(vocabulary, order, rng)


def written(engine, tables, sampling, new_tokens, draft_length, rule="textbook", **options):
    """The chance of every text that the engine writes after token 0."""
    target, draft = tables

    def run(walker):
        # built anew for each branch, so that nothing is carried over
        drafter = engine.model_drafter.ModelDrafter(TableModel(draft), sampling, rule)
        return engine.generate.generate(
            TableModel(target), (0,), new_tokens, walker,
            sampling=sampling, drafter=drafter, draft_length=draft_length, **options,
        ).tokens  # fmt: skip

    return outcomes(run)


@pytest.fixture(scope="module")
def engine():
    return Engine.load().walked()


# --- every branch -----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", rules)
@pytest.mark.parametrize("sampling", samplings)
@pytest.mark.parametrize("draft_length", [1, 4])  # 4 is more than is left from the start
def test_two_tokens_jointly(engine, rule, sampling, draft_length):
    tables, sampling = pair(3, 1), samplings[sampling]
    found = written(engine, tables, sampling, 2, draft_length, rule)
    assert largest_error(found, exact_text(tables[0], sampling, (0,), 2)) < 1e-12


@pytest.mark.parametrize("rule", rules)
@pytest.mark.parametrize(
    ("sampling", "draft_length"),
    [("T = 0.3", 1), ("T = 1.7", 2), ("T = 1.7, top-k 2, top-p 0.9", 3)],
)
def test_three_tokens_jointly(engine, rule, sampling, draft_length):
    tables, sampling = pair(3, 2, seed=2), samplings[sampling]
    found = written(engine, tables, sampling, 3, draft_length, rule)
    assert largest_error(found, exact_text(tables[0], sampling, (0,), 3)) < 1e-12


@pytest.mark.parametrize("draft_length", [2, 3])
def test_four_tokens_jointly(engine, draft_length):
    tables = pair(2, 2, seed=3)
    found = written(engine, tables, plain, 4, draft_length)
    assert largest_error(found, exact_text(tables[0], plain, (0,), 4)) < 1e-12


@pytest.mark.parametrize("rule", rules)
def test_a_text_that_may_stop_early(engine, rule):
    tables = pair(3, 1, seed=4)
    found = written(engine, tables, plain, 3, 2, rule, stop_tokens=(1,))
    right = exact_text(tables[0], plain, (0,), 3, stop_tokens=(1,))
    assert {len(text) for text in right} == {1, 2, 3}
    assert largest_error(found, right) < 1e-12


def test_tables_with_zeros_and_certainties(engine):
    for tables in awkward_tables():
        found = written(engine, tables, plain, 2, 2)
        assert largest_error(found, exact_text(tables[0], plain, (0,), 2)) < 1e-12


def test_the_draft_may_sample_in_its_own_way(engine):
    """Any q will do, as long as it is the one the tokens were drawn from."""
    target, draft = pair(3, 1, seed=5)

    def run(walker):
        drafter = engine.model_drafter.ModelDrafter(TableModel(draft), Sampling(0.4, top_k=2))
        return engine.generate.generate(
            TableModel(target), (0,), 2, walker,
            sampling=Sampling(1.3), drafter=drafter, draft_length=2,
        ).tokens  # fmt: skip

    right = exact_text(target, Sampling(1.3), (0,), 2)
    assert largest_error(outcomes(run), right) < 1e-12


class ChoosyDrafter:
    """Draws a token, and keeps it back if it is not the one it likes."""

    def __init__(self, table, liked):
        self.q, self.liked = table, liked

    def propose(self, text, draft_length, rng):
        token = rng.choose(self.q[text[-1]])
        if token != self.liked:
            return Draft(np.array([], dtype=np.int64))
        return Draft(np.array([token]), self.q[text[-1]][None])

    def observe(self, verdict):
        pass


def test_a_drafter_that_keeps_back_what_it_does_not_like_is_not_lossless(engine):
    """The warning in ``Drafter.propose``, shown: q is no longer what the tokens come from."""
    target, draft = pair(3, 1)

    def run(walker):
        return engine.generate.generate(
            TableModel(target), (0,), 2, walker,
            sampling=plain, drafter=ChoosyDrafter(draft, 0), draft_length=1,
        ).tokens  # fmt: skip

    assert largest_error(outcomes(run), exact_text(target, plain, (0,), 2)) > 0.01


# --- drawn ------------------------------------------------------------------------------------

false_alarm_rate = 1e-6
verdict_cases = {
    "textbook": "T = 1.7",
    "greedy draft": "T = 2, top-p 0.8",
    "exact match": "T = 0.3",
}
rate_per_case = false_alarm_rate / (len(verdict_cases) + 1)
draws = 100_000


@pytest.mark.parametrize("rule", rules)
def test_drawn_verdicts_have_the_targets_distribution(rule):
    tables, sampling = pair(3, 2, seed=2), samplings[verdict_cases[rule]]
    assert drawn_verdicts_chance(verify, tables, sampling, rule, draws) > rate_per_case


def drawn_texts(target_table, draft_table, texts):
    """How often each token followed each in generated texts, three at a time, (V, V, V)."""
    target, draft = (TableModel(table, 512) for table in (target_table, draft_table))
    drafter, rng = ModelDrafter(draft, plain), np.random.default_rng(1)
    counts = np.zeros((target.vocabulary,) * 3)
    for _ in range(texts):
        tokens = loop.generate(
            target, (0,), 502, rng, sampling=plain, drafter=drafter, draft_length=3
        ).tokens
        np.add.at(counts, (tokens[:-2], tokens[1:-1], tokens[2:]), 1)
    return counts


def test_drawn_texts_have_the_targets_distribution():
    target, draft = pair(3, 1, seed=6)
    counts = drawn_texts(target, 0.7 * target + 0.3 * draft, texts=200)
    assert counts.sum() == draws
    following = np.broadcast_to(target, (3, 3, 3)).reshape(9, 3)  # after each two tokens
    assert chi_square_chance(counts.reshape(9, 3), following) > rate_per_case
    # the comparison has power: a twentieth of another table would have been found out
    other = 0.95 * following + 0.05 * np.roll(following, 1, axis=-1)
    assert chi_square_chance(counts.reshape(9, 3), other) < rate_per_case


def test_the_chi_square_tail_is_right():
    """Tabulated for 4 degrees of freedom: 5 % above 9.488, 0.1 % above 18.467."""
    chances = np.full((1, 5), 0.2)
    for statistic, tail in ((9.488, 0.05), (18.467, 0.001)):
        shift = math.sqrt(statistic * 2000 / 2)  # two of five cells of 2000 are off by it
        counts = np.array([[2000 + shift, 2000 - shift, 2000, 2000, 2000]])
        assert chi_square_chance(counts, chances) == pytest.approx(tail, rel=2e-3)


# --- greedy -----------------------------------------------------------------------------------


def forgetful(text, length):
    """Proposes fewer than asked, and often nothing."""
    return [text[-1]] * (len(text) % (length + 1))


def drafters(target, seed):
    """Every kind, for a table of order 2 over 6 tokens."""
    rng = np.random.default_rng(seed)
    noisy = 0.5 * target + 0.5 * random_table(6, 2, rng)
    draft = random_table(6, 1, rng)
    greedy = samplings["greedy"]
    return {
        "perfect": ModelDrafter(TableModel(target), greedy),
        "hopeless": ModelDrafter(TableModel(np.roll(target, 1, axis=-1)), greedy),
        "similar": ModelDrafter(TableModel(noisy), greedy),
        "table": ModelDrafter(TableModel(draft), greedy),
        "sampled": ModelDrafter(TableModel(draft), plain),
        "greedy draft": ModelDrafter(TableModel(noisy), plain, "greedy draft"),
        "exact match": ModelDrafter(TableModel(noisy), plain, "exact match"),
        "short context": ModelDrafter(TableModel(noisy, context=20), greedy),
        "constant": FunctionDrafter(lambda text, length: [3] * length),
        "copies the text": FunctionDrafter(lambda text, length: list(text[:length])),
        "mute": FunctionDrafter(lambda text, length: []),
        "forgetful": FunctionDrafter(forgetful),
    }


@pytest.mark.parametrize("kind", drafters(random_table(6, 2, np.random.default_rng(0)), 0))
def test_greedy_decoding_gives_the_same_tokens(kind):
    """36 prompts over K = 1 to 12; the drafter is used again, so no state may leak."""
    rng = np.random.default_rng(8)
    for seed in range(3):
        table = random_table(6, 2, np.random.default_rng(seed), concentration=0.5)
        target, drafter = TableModel(table), drafters(table, seed)[kind]
        for draft_length in range(1, 13):
            prompt = rng.integers(0, 6, size=rng.integers(1, 9)).tolist()
            plainly = loop.generate(target, prompt, 40, rng, sampling=samplings["greedy"])
            speculative = loop.generate(
                target, prompt, 40, rng,
                sampling=samplings["greedy"], drafter=drafter, draft_length=draft_length,
            )  # fmt: skip
            assert speculative.tokens == plainly.tokens
            assert len(plainly.rounds) == 40 >= len(speculative.rounds)
            if kind == "perfect":
                assert len(speculative.rounds) == math.ceil(40 / (draft_length + 1))
            if kind in ("hopeless", "mute"):
                assert len(speculative.rounds) == 40


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # networks this small are slower on more
    yield torch
    torch.set_num_threads(threads)


def network(torch, layers, seed):
    """Large weights and positions, so that a text is not one token over and over."""
    from specmini.engine.torch_model import TorchModel
    from specmini.gpt import GPT, Config

    config = Config(vocabulary=40, context=64, layers=layers, width=16, heads=2)
    model = GPT(config, torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4.0)
        model.wpe.weight.mul_(4.0)
    return TorchModel(model)


@pytest.mark.parametrize("draft_length", [1, 4, 12])
@pytest.mark.parametrize("seed", [1, 2], ids=["the target's weights", "other weights"])
def test_greedy_decoding_with_networks_gives_the_same_tokens(torch, draft_length, seed):
    target, greedy = network(torch, 2, seed=1), samplings["greedy"]
    drafter = ModelDrafter(network(torch, 2, seed=seed), greedy)
    rng = np.random.default_rng(draft_length)
    for prompt_length in range(1, 5):
        prompt = rng.integers(0, 40, prompt_length).tolist()
        plainly = loop.generate(target, prompt, 26, rng, sampling=greedy)
        speculative = loop.generate(
            target, prompt, 26, rng, sampling=greedy, drafter=drafter, draft_length=draft_length
        )
        assert speculative.tokens == plainly.tokens
        assert len(set(plainly.tokens)) > 5
        if seed == 1:
            assert len(speculative.rounds) == math.ceil(26 / (draft_length + 1))


# --- the length of a round --------------------------------------------------------------------


def mean_gain(engine, tables, draft_length, start=0):
    """Exact mean number of tokens that a round gains after a token."""
    target, draft = tables

    def run(walker):
        drafter = engine.model_drafter.ModelDrafter(TableModel(draft), plain)
        return len(
            engine.generate.generate(
                TableModel(target), (start,), draft_length + 1, walker,
                sampling=plain, drafter=drafter, draft_length=draft_length,
            ).rounds[0].tokens
        )  # fmt: skip

    return sum(gain * chance for gain, chance in outcomes(run).items())


@pytest.mark.parametrize("draft_length", [1, 2, 3])
def test_a_round_is_as_long_as_the_formula_says_if_acceptance_is_independent(engine, draft_length):
    tables = np.array([0.7, 0.3]), np.array([0.2, 0.8])
    rate = np.minimum(*tables).sum()
    assert mean_gain(engine, tables, draft_length) == pytest.approx(
        theory.tokens_per_round(rate, draft_length), abs=1e-12
    )


def test_a_round_is_longer_than_the_formula_says_if_acceptance_comes_in_runs(engine):
    """In state 0 the draft agrees, in state 1 it does not; both states last."""
    target = np.array([[0.9, 0.1], [0.1, 0.9]])  # either state half of the time
    draft = np.array([[0.9, 0.1], [0.9, 0.1]])
    rate = np.minimum(target, draft).sum(1).mean()
    gain = np.mean([mean_gain(engine, (target, draft), 3, start) for start in range(2)])
    assert gain > 1.05 * theory.tokens_per_round(rate, 3)
