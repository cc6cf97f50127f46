"""Verifying trees: every branch has the chance it must have, exactly."""

import numpy as np
import pytest
from lossless import Breakage, Engine, exact_text, largest_error, outcomes
from test_lossless import pair

from specmini.engine.table_model import random_table
from specmini.sampling import plain
from specmini.theory.topology import ancestors, depths
from specmini.verify import Draft, Verdict, verify
from specmini.verify import tree as tree_module
from specmini.verify.tree import DraftTree, TreeVerdict, verify_tree

shapes = {
    "nothing": [],
    "one": [-1],
    "chain": [-1, 0, 1],
    "two siblings": [-1, -1],
    "all tokens there are": [-1, -1, -1],
    "binary": [-1, -1, 0, 0, 1, 1],
    "ragged": [-1, 0, -1, 0, 1],
}


def ids(*numbers):
    return np.array(numbers, dtype=np.int64)


@pytest.fixture(scope="module")
def engine():
    return Engine.load().walked()


def grown(shape, q, start, walker, named):
    """Tokens of a tree after ``start``: siblings drawn without replacement from a table's rows."""
    tokens, left = [], {-1: q[start].copy()}
    for node, parent in enumerate(shape):
        token = walker.choose(left[parent])
        left[parent][token] = 0.0
        left[node] = q[token].copy()
        tokens.append(token)
    rows = None if named else q[[start, *tokens]]
    return DraftTree(ids(*tokens), ids(*shape), rows)


def text_of_one_round(verify_tree, tables, shape, length, named):
    """Chances of so many tokens, of which a round writes the first and the target the rest."""
    p, q = tables

    def run(walker):
        tree = grown(shape, q, 0, walker, named)
        verdict = verify_tree(p[[0, *tree.tokens]], tree, walker)
        text = [*tree.tokens[list(verdict.path)].tolist(), verdict.next_token]
        while len(text) < length:
            text.append(walker.choose(p[text[-1]]))
        return tuple(text)

    return outcomes(run)


# --- the text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
@pytest.mark.parametrize("shape", shapes)
def test_a_round_and_what_follows_is_the_targets_text(engine, shape, named):
    shape = shapes[shape]
    tables = pair(3, 1, seed=11)
    length = int(depths(shape).max(initial=-1)) + 2
    found = text_of_one_round(engine.tree.verify_tree, tables, shape, length, named)
    assert largest_error(found, exact_text(tables[0], plain, (0,), length)) < 1e-12


@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
@pytest.mark.parametrize("start", range(4))
def test_tables_with_zeros(engine, start, named):
    """p certain where q is not, p and q on different tokens, p certain, equal rows."""
    target = np.array([[0, 0, 1.0, 0], [0.5, 0.5, 0, 0], [0.1, 0.2, 0.3, 0.4], [0.25] * 4])
    draft = np.array([[0.7, 0.1, 0.1, 0.1], [0, 0, 0.5, 0.5], [0, 0.5, 0, 0.5], [0.25] * 4])
    order = [start, *(i for i in range(4) if i != start)]
    tables = tuple(table[np.ix_(order, order)] for table in (target, draft))
    found = text_of_one_round(engine.tree.verify_tree, tables, [-1, -1, 0], 3, named)
    assert largest_error(found, exact_text(tables[0], plain, (0,), 3)) < 1e-12


def test_a_named_tree_may_be_pruned_by_anything_known_when_it_is_made(engine):
    p, q = pair(3, 1, seed=12)

    def run(walker):
        tree = grown([-1, -1, -1], q, 0, walker, named=True)
        kept = [node for node, token in enumerate(tree.tokens) if token != 1]  # out of dislike
        pruned = DraftTree(tree.tokens[kept], tree.parents[kept])
        verdict = engine.tree.verify_tree(p[[0, *pruned.tokens]], pruned, walker)
        return (*pruned.tokens[list(verdict.path)].tolist(), verdict.next_token)[:1]

    assert largest_error(outcomes(run), exact_text(p, plain, (0,), 1)) < 1e-12


def test_a_drawn_tree_must_not_be_pruned_by_what_was_drawn(engine):
    """Keeping the likelier of two draws, as a list sorted by confidence does, is not lossless."""
    p, q = pair(3, 1, seed=12)

    def run(walker):
        tree = grown([-1, -1], q, 0, walker, named=False)
        best = int(q[0][tree.tokens].argmax())
        pruned = DraftTree(tree.tokens[[best]], ids(-1), q[[0, int(tree.tokens[best])]])
        verdict = engine.tree.verify_tree(p[[0, *pruned.tokens]], pruned, walker)
        return (*pruned.tokens[list(verdict.path)].tolist(), verdict.next_token)[:1]

    assert largest_error(outcomes(run), exact_text(p, plain, (0,), 1)) > 0.01


breakages = {
    "residual forgotten": ("p = residual(p, q, token)", "p = p.copy()"),
    "p not normalized between siblings": ("p = p / p.sum()", "p = p * 1.0"),
    "q not normalized between siblings": ("else q / q.sum()", "else q * 1.0"),
    "drawn with replacement, verified without": ("q[token] = 0.0", "q[token] *= 1.0"),
    "row of the node before": ("p = rows[node + 1]", "p = rows[node]"),
    "p and q swapped": (
        "rng.random() * (1.0 if q is None else q[token]) < p[token]",
        "rng.random() * p[token] < (1.0 if q is None else q[token])",
    ),
    "next token from the whole p": ("draw(p, rng)", "draw(rows[node + 1], rng)"),
}


@pytest.mark.parametrize("breakage", breakages)
def test_a_broken_rule_is_caught(breakage):
    broken = Engine.load(Breakage(tree_module, *breakages[breakage])).walked()
    tables = pair(4, 1, seed=13)
    found = text_of_one_round(broken.tree.verify_tree, tables, [-1, -1, -1, 0], 3, named=False)
    assert largest_error(found, exact_text(tables[0], plain, (0,), 3)) > 1e-4


# --- what is accepted ---------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
def test_a_chain_is_verified_as_a_chain(named):
    rng = np.random.default_rng(3)
    accepted = set()
    for _ in range(300):
        rows = random_table(6, 1, rng)
        q = 0.6 * rows[:4] + 0.4 * random_table(6, 1, rng)[:4]
        tokens = ids(*(rng.choice(6, p=row) for row in q))
        draft = Draft(tokens, None if named else q)
        one, other = (np.random.default_rng(seed) for seed in [int(rng.integers(1000))] * 2)
        chain = verify(rows[:5], draft, one)
        found = verify_tree(rows[:5], DraftTree.chain(draft), other)
        assert found == TreeVerdict(tuple(range(chain.n_accepted)), chain.next_token)
        assert Verdict(found.n_accepted, found.next_token) == chain
        assert one.random() == other.random()
        accepted.add(chain.n_accepted)
    assert {0, 1, 2, 3} <= accepted


def chance_to_accept(engine, tables, siblings, named):
    p, q = tables

    def run(walker):
        tree = grown([-1] * siblings, q, 0, walker, named)
        return engine.tree.verify_tree(p[[0, *tree.tokens]], tree, walker).n_accepted

    return outcomes(run)[1]


def test_more_siblings_are_accepted_more_often(engine):
    tables = pair(4, 1, seed=14)
    chances = [chance_to_accept(engine, tables, n, named=False) for n in range(1, 5)]
    assert chances[0] == pytest.approx(np.minimum(*tables)[0].sum(), abs=1e-12)
    assert np.diff(chances).min() > 0.01
    assert chances[3] == pytest.approx(1.0, abs=1e-12)  # all tokens are there


def test_named_siblings_are_accepted_with_the_sum_of_their_chances(engine):
    p = np.array([0.4, 0.3, 0.2, 0.1])
    rows = np.tile(p, (4, 1))
    for order in ([0, 2, 3], [3, 2, 0]):
        tree = DraftTree(ids(*order), ids(-1, -1, -1))
        counts = outcomes(lambda walker, t=tree: engine.tree.verify_tree(rows, t, walker).path)
        for place, token in enumerate(order):
            assert counts[place,] == pytest.approx(p[token], abs=1e-12)


def test_greedy_decoding_takes_the_targets_path():
    certain = np.eye(5)[[2, 4, 1, 0, 3, 3]]  # after the text comes 2, after node 1 comes 1, ...
    tree = DraftTree(ids(0, 2, 3, 1, 4), ids(-1, -1, 1, 1, 3))
    found = verify_tree(certain, tree, np.random.default_rng(0))
    assert found == TreeVerdict((1, 3), 3)


def test_an_empty_tree_is_a_plain_step():
    found = verify_tree([[0.0, 1.0]], DraftTree(ids(), ids()), np.random.default_rng(0))
    assert found == TreeVerdict((), 1)


# --- trees --------------------------------------------------------------------------------------


def test_depths_and_ancestors():
    parents = [-1, 0, -1, 0, 1]
    assert depths(parents).tolist() == [0, 1, 0, 1, 2]
    on_path = [[0], [0, 1], [2], [0, 3], [0, 1, 4]]
    assert [np.flatnonzero(row).tolist() for row in ancestors(parents)] == on_path
    assert ancestors([]).shape == (0, 0)


half = np.full((3, 2), 0.5)


@pytest.mark.parametrize(
    ("tokens", "parents", "probs", "message"),
    [
        ([0], ids(-1), None, "tokens must be an array of integers"),
        (ids(0, 1), [-1, 0], None, r"parents must be an array of shape \(2,\) as tokens"),
        (ids(0, 1), ids(-1), None, r"parents must be an array of shape \(2,\) as tokens"),
        (ids(0, 1), ids(-1, 1), None, r"parents must be in \[-1, 1\) at node 1, got 1"),
        (ids(0, 1), ids(-1, -2), None, r"parents must be in \[-1, 1\) at node 1, got -2"),
        (ids(0, 1), np.array([-1.0, 0.0]), None, r"parents must be integers of shape \(N,\)"),
        (ids(0, 1), ids(-1, 0), half[:2], r"probs must have shape \(3, V\) for 2 tokens"),
        (ids(0, 1), ids(-1, 0), [0.5], "probs must be an array of numbers or None"),
        (ids(0, 2), ids(-1, 0), half, r"tokens must be in \[0, 2\), got 2 at 1"),
        (ids(0, 1), ids(-1, 0), 0.9 * half, "probs must sum to 1 in each row"),
        (ids(0, 0), ids(-1, -1), half, r"children of node -1 must be different .* got \[0, 0\]"),
        (ids(0, 1), ids(-1, 0), np.eye(2)[[0, 0, 0]], "children of node 0 must be different"),
    ],
)
def test_what_is_no_tree_is_refused(tokens, parents, probs, message):
    with pytest.raises(ValueError, match=message):
        DraftTree(tokens, parents, probs)


def test_rows_of_leaves_are_not_looked_at():
    probs = np.array([[0.5, 0.5], [np.nan, 3.0], [0.0, 0.0]])
    tree = DraftTree(ids(0, 1), ids(-1, -1), probs)
    assert verify_tree(half, tree, np.random.default_rng(0)).n_accepted <= 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (half[:2], r"target_probs must have shape \(3, V\) for 2 draft tokens, got \(2, 2\)"),
        (np.ones((3, 1)), "target_probs must have the draft's vocabulary of 2, got 1"),
        (0.9 * half, "target_probs must sum to 1 in each row"),
    ],
)
def test_bad_rows_are_refused(rows, message):
    tree = DraftTree(ids(0, 1), ids(-1, 0), half)
    with pytest.raises(ValueError, match=message):
        verify_tree(rows, tree, np.random.default_rng(0))
