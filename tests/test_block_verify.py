"""Block verification: the same text to 1e-12, and accepted tokens at the bound nobody can pass."""

import itertools

import numpy as np
import pytest
from lossless import Breakage, Engine, awkward_tables, exact_text, largest_error, outcomes
from test_lossless import pair, rules, samplings

from specmini import theory
from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.generate import generate
from specmini.measure import compare
from specmini.sampling import Sampling, plain
from specmini.verify import Draft, Verdict, block, verify
from specmini.verify.block import verify_block


@pytest.fixture(scope="module")
def engine():
    return Engine.load().walked()


def written(engine, tables, sampling, new_tokens, draft_length, rule="textbook"):
    """The chance of every text that the engine writes after token 0, block by block."""
    target, draft = tables

    def run(walker):
        drafter = engine.model_drafter.ModelDrafter(TableModel(draft), sampling, rule)
        return engine.generate.generate(
            TableModel(target), (0,), new_tokens, walker, sampling=sampling, drafter=drafter,
            draft_length=draft_length, verify=engine.block_verify.verify_block,
        ).tokens  # fmt: skip

    return outcomes(run)


# --- the text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", rules)
@pytest.mark.parametrize("sampling", samplings)
def test_three_tokens_jointly(engine, rule, sampling):
    tables, sampling = pair(3, 1), samplings[sampling]
    found = written(engine, tables, sampling, 3, 2, rule)
    assert largest_error(found, exact_text(tables[0], sampling, (0,), 3)) < 1e-12


@pytest.mark.parametrize("draft_length", [1, 2, 3])
def test_four_tokens_jointly(engine, draft_length):
    tables = pair(2, 2, seed=3)
    found = written(engine, tables, plain, 4, draft_length)
    assert largest_error(found, exact_text(tables[0], plain, (0,), 4)) < 1e-12


def test_tables_with_zeros_and_certainties(engine):
    for tables in awkward_tables():
        found = written(engine, tables, plain, 3, 2)
        assert largest_error(found, exact_text(tables[0], plain, (0,), 3)) < 1e-12


def text_of_one_round(verify, tables, draft_length):
    """Chances of K + 1 tokens, of which a round writes the first and the target the rest."""
    p, q = tables

    def run(walker):
        tokens = [0]
        for _ in range(draft_length):
            tokens.append(walker.choose(q[tokens[-1]]))
        draft = Draft(np.array(tokens[1:]), q[tokens[:-1]])
        verdict = verify(p[tokens], draft, walker)
        text = [*tokens[: verdict.n_accepted + 1], verdict.next_token]
        while len(text) < draft_length + 2:
            text.append(walker.choose(p[text[-1]]))
        return tuple(text[1:])

    return outcomes(run)


breakages = {
    "stops at the first beginning that fails": (
        "while n_accepted and",
        "while n_accepted == len(draft) and",
    ),
    "residual not weighted": ("worth[accepted] * p[accepted]", "1.0 * p[accepted]"),
    "worth not cut at 1": ("worth.append(min(1.0, ", "worth.append(min(9.0, "),
    "worth of the last token alone": ("worth[-1] * float(p[", "float(p["),
    "accepted with chance w at every length": (
        "(weights.sum() + 1 - worth[n_accepted]) >= weights.sum()",
        "1.0 >= worth[n_accepted]",
    ),
}


@pytest.mark.parametrize("draft_length", [1, 2, 3])
def test_a_round_and_what_follows_is_the_targets_text(engine, draft_length):
    tables = pair(3, 1, seed=8)
    found = text_of_one_round(engine.block_verify.verify_block, tables, draft_length)
    right = exact_text(tables[0], plain, (0,), draft_length + 1)
    assert largest_error(found, right) < 1e-12


@pytest.mark.parametrize("breakage", breakages)
def test_a_broken_rule_is_caught(breakage):
    broken = Engine.load(Breakage(block, *breakages[breakage])).walked()
    tables = pair(3, 1, seed=8)
    found = text_of_one_round(broken.block_verify.verify_block, tables, 3)
    assert largest_error(found, exact_text(tables[0], plain, (0,), 4)) > 1e-4


# --- the number of accepted tokens --------------------------------------------------------------


def survival(verify, tables, draft_length, rule="textbook"):
    """Chance of every beginning to be drafted and accepted, after token 0."""
    p, q = tables

    def run(walker):
        tokens = [0]
        for _ in range(draft_length):
            tokens.append(walker.choose(q[tokens[-1]]))
        known = q[tokens[:-1]] if rule == "textbook" else None
        verdict = verify(p[tokens], Draft(np.array(tokens[1:]), known), walker)
        return tuple(tokens[1 : verdict.n_accepted + 1])

    chances = {}
    for text, chance in outcomes(run).items():
        for length in range(1, len(text) + 1):
            chances[text[:length]] = chances.get(text[:length], 0.0) + chance
    return chances


def largest_survival(tables, text):
    """The least of: draft the first j tokens of a text, and let the target write the others."""
    steps = list(itertools.pairwise((0, *text)))
    p, q = ([table[step] for step in steps] for table in tables)
    return min(np.prod(q[:j]) * np.prod(p[j:]) for j in range(len(text) + 1))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("vocabulary", "draft_length"), [(2, 4), (3, 3), (4, 2)])
def test_every_beginning_is_accepted_as_often_as_can_be(engine, vocabulary, draft_length, seed):
    tables = pair(vocabulary, 1, seed)
    block = survival(engine.block_verify.verify_block, tables, draft_length)
    one_by_one = survival(engine.verify.verify, tables, draft_length)
    for length in range(1, draft_length + 1):
        for text in itertools.product(range(vocabulary), repeat=length):
            bound = largest_survival(tables, text)
            assert block.get(text, 0.0) == pytest.approx(bound, abs=1e-12)
            assert one_by_one.get(text, 0.0) <= bound + 1e-12
    assert sum(block.values()) > sum(one_by_one.values()) + 1e-6


def test_the_papers_example(engine):
    """Sun et al. 2024, section 2: 10/9 accepted tokens one by one, 11/9 as a block."""
    tables = np.array([[1 / 3, 2 / 3]] * 2), np.array([[2 / 3, 1 / 3]] * 2)
    for rule, accepted in (
        (engine.verify.verify, 10 / 9),
        (engine.block_verify.verify_block, 11 / 9),
    ):
        assert sum(survival(rule, tables, 2).values()) == pytest.approx(accepted, abs=1e-12)


def test_one_token_is_accepted_as_often_as_ever(engine):
    tables = pair(4, 1, seed=6)
    expected = theory.tokens_per_round(np.minimum(*tables)[0].sum(), 1) - 1
    chances = survival(engine.block_verify.verify_block, tables, 1)
    assert sum(chances.values()) == pytest.approx(expected, abs=1e-12)


def test_named_with_certainty_there_is_nothing_to_gain(engine):
    tables = pair(3, 1, seed=7)
    block, one_by_one = (
        survival(rule, tables, 3, "exact match")
        for rule in (engine.block_verify.verify_block, engine.verify.verify)
    )
    assert largest_error(block, one_by_one) < 1e-12


# --- the function -------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [verify, verify_block])
def test_an_empty_draft_is_a_plain_step(rule):
    empty = Draft(np.array([], dtype=np.int64))
    found = rule([[0.0, 1.0]], empty, np.random.default_rng(0))
    assert found == Verdict(0, 1)


def test_equal_rows_are_always_accepted():
    rows = random_table(50, 1, np.random.default_rng(0))[:9]
    rng = np.random.default_rng(1)
    for _ in range(200):
        tokens = np.array([rng.choice(50, p=row) for row in rows[:8]])
        assert verify_block(rows, Draft(tokens, rows[:8]), rng).n_accepted == 8


def test_greedy_decoding_gives_the_same_tokens():
    rng = np.random.default_rng(2)
    greedy = Sampling(0.0)
    table = random_table(6, 2, rng, 0.5)
    drafter = ModelDrafter(TableModel(0.5 * table + 0.5 * random_table(6, 2, rng)), greedy)
    plainly = generate(TableModel(table), [1], 40, rng, sampling=greedy)
    block = generate(
        TableModel(table), [1], 40, rng,
        sampling=greedy, drafter=drafter, draft_length=4, verify=verify_block,
    )  # fmt: skip
    assert block.tokens == plainly.tokens
    assert len(block.rounds) < 30


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.5]], r"target_probs must have shape \(2, V\) for 1 draft tokens"),
        ([[0.5, 0.6], [0.5, 0.5]], "target_probs must sum to 1 in each row, got 1.1 in row 0"),
        ([[1.0], [1.0]], "target_probs must have the draft's vocabulary of 2, got 1"),
    ],
)
def test_bad_rows_are_refused(rows, message):
    draft = Draft(np.array([0]), np.array([[0.5, 0.5]]))
    with pytest.raises(ValueError, match=message):
        verify_block(rows, draft, np.random.default_rng(0))


def test_a_comparison_may_use_the_block_rule():
    pytest.importorskip("threadpoolctl")
    table = random_table(8, 1, np.random.default_rng(3))
    draft = 0.5 * table + 0.5 * random_table(8, 1, np.random.default_rng(4))
    one_by_one, block = (
        compare(
            TableModel(table, 700), ModelDrafter(TableModel(draft, 700), plain), [[0], [1]],
            draft_lengths=[4], sampling=plain, new_tokens=600, rng=np.random.default_rng(5),
            repeats=3, verify=rule,
        ).cell(4).full.tokens_per_round
        for rule in (verify, verify_block)
    )  # fmt: skip
    assert block > one_by_one + 0.05
