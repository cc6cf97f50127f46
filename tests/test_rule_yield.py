"""Exact yields of both rules, against every branch of the engine."""

import numpy as np
import pytest
from lossless import Engine, outcomes

from specmini import theory
from specmini.engine.table_model import random_table
from specmini.exact.rule_yield import rule_yield
from specmini.verify import Draft


def walked_yield(verify, p, q, draft_length, starts):
    def run(walker):
        tokens = [walker.choose(starts)]
        for _ in range(draft_length):
            tokens.append(walker.choose(q[tokens[-1]]))
        return verify(p[tokens], Draft(np.array(tokens[1:]), q[tokens[:-1]]), walker).n_accepted

    return 1 + sum(accepted * chance for accepted, chance in outcomes(run).items())


@pytest.mark.parametrize("draft_length", [1, 2, 3])
def test_every_branch_of_both_rules_agrees(draft_length):
    engine = Engine.load().walked()
    rng = np.random.default_rng(draft_length)
    p, q = (random_table(3, 1, rng, 0.5) for _ in range(2))
    starts = rng.dirichlet(np.ones(3))
    found = rule_yield(p, q, draft_length, starts)
    walked = [
        walked_yield(verify, p, q, draft_length, starts)
        for verify in (engine.verify.verify, engine.block_verify.verify_block)
    ]
    assert [found.token_by_token, found.block] == pytest.approx(walked, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_block_is_never_worse_and_one_token_is_no_block(seed):
    rng = np.random.default_rng(seed)
    p, q = (random_table(4, 1, rng, 0.4) for _ in range(2))
    starts = np.full(4, 0.25)
    assert 0 <= rule_yield(p, q, 1, starts).gain < 1e-12
    assert rule_yield(p, q, 4, starts).gain > 1e-3  # these tables mix tokens p likes more and less


@pytest.mark.parametrize("seed", range(5))
def test_drafts_that_count_as_certain_leave_a_block_nothing_to_carry(seed):
    rng = np.random.default_rng(seed)
    p, q = (random_table(4, 1, rng, 0.4) for _ in range(2))
    certain = np.eye(4)[q.argmax(1)]  # p / q never exceeds 1
    assert rule_yield(p, certain, 4, np.full(4, 0.25)).gain < 1e-12


def test_the_same_rows_everywhere_give_the_formula():
    p, q = np.tile([0.5, 0.5], (2, 1)), np.tile([0.7, 0.3], (2, 1))
    found = rule_yield(p, q, 5, [1.0, 0.0])
    assert found.token_by_token == pytest.approx(float(theory.tokens_per_round(0.8, 5)), abs=1e-12)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"draft_length": 0}, "draft_length must be a whole number"),
        ({"draft_length": 40}, r"draft_length must keep V \*\* \(K \+ 1\) within 10000000"),
        ({"starts": [1.0]}, r"tables must have shape \(1, 1\) for 1 starts"),
        ({"starts": [0.5, 0.4]}, "starts"),
        ({"draft_table": [[0.5, 0.6], [0.5, 0.5]]}, "draft_table"),
    ],
)
def test_what_is_refused(change, sentence):
    table = np.full((2, 2), 0.5)
    good = {"target_table": table, "draft_table": table, "draft_length": 2, "starts": [0.5, 0.5]}
    with pytest.raises(ValueError, match=sentence):
        rule_yield(**{**good, **change})
