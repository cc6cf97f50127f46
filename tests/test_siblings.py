"""Acceptance by rank, against every branch of the engine and against draws."""

import numpy as np
import pytest
from lossless import Engine, outcomes
from test_tree import grown

from specmini.exact.siblings import acceptance_by_rank
from specmini.sampling import draw
from specmini.verify.chain import residual
from specmini.verify.tree import DraftTree, verify_tree

P, Q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.4, 0.1, 0.3])


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("siblings", ["drawn", "named"])
def test_every_branch_of_the_engine_agrees(siblings, ranks):
    engine = Engine.load().walked()
    rows = np.tile(P, (ranks + 1, 1))

    def run(walker):
        tree = grown([-1] * ranks, np.tile(Q, (4, 1)), 0, walker, False)
        if siblings == "named":
            tree = DraftTree(np.argsort(-Q)[:ranks], np.full(ranks, -1))
        return engine.tree.verify_tree(rows, tree, walker).path

    found = outcomes(run)
    expected = [found.get((rank,), 0.0) for rank in range(ranks)]
    np.testing.assert_allclose(acceptance_by_rank(P, Q, ranks, siblings), expected, atol=1e-12)


def test_drawing_again_agrees_with_draws():
    """Each of the 3 shares is a mean of 40,000 rounds: at 4.5 sigma a false alarm has 2e-5."""
    rng, rounds = np.random.default_rng(3), 40_000
    counts = np.zeros(3)
    for _ in range(rounds):
        p = P
        for rank in range(3):
            token = draw(Q, rng)
            if rng.random() * Q[token] < p[token]:
                counts[rank] += 1
                break
            p = residual(p, Q, token)
            p = p / p.sum()
    expected = acceptance_by_rank(P, Q, 3, "drawn again")
    room = 4.5 * np.sqrt(expected * (1 - expected) / rounds)
    assert (np.abs(counts / rounds - expected) < room).all()


@pytest.mark.parametrize("seed", range(20))
def test_draws_that_do_not_repeat_themselves_are_accepted_more(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(5, 0.5), size=2)
    once, again = (acceptance_by_rank(p, q, 3, way).sum() for way in ("drawn", "drawn again"))
    assert once >= again - 1e-12
    assert once <= 1 + 1e-12


@pytest.mark.parametrize("siblings", ["drawn", "drawn again"])
def test_ends(siblings):
    assert acceptance_by_rank(P, P, 2, siblings) == pytest.approx([1, 0])
    apart = acceptance_by_rank([1.0, 0.0, 0.0], [0.0, 0.5, 0.5], 3, siblings)
    assert apart == pytest.approx([0, 0, 0])
    # q is certain of one token: it has no second one to offer
    certain = acceptance_by_rank([0.4, 0.6], [1.0, 0.0], 2, "drawn")
    assert certain == pytest.approx([0.4, 0])


def test_named_siblings_of_a_tree_with_one_level():
    tree = DraftTree(np.array([1, 3]), np.array([-1, -1]))
    rng, rows = np.random.default_rng(0), np.tile(P, (3, 1))
    paths = [verify_tree(rows, tree, rng).path for _ in range(20_000)]
    shares = [np.mean([path == (rank,) for path in paths]) for rank in (0, 1)]
    # 4.5 sigma of 20,000 rounds: a false alarm has a chance of 1e-5
    assert shares == pytest.approx(acceptance_by_rank(P, Q, 2, "named").tolist(), abs=0.015)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((P, Q[:3], 1, "drawn"), r"must have one shape \(V,\), got \(4,\) and \(3,\)"),
        ((P, Q, 5, "named"), r"ranks must be in \[1, 4\], got 5"),
        ((P, Q, 0, "named"), "ranks must be a whole number"),
        ((P, Q, 2, "sorted"), "siblings must be one of 'drawn', 'drawn again', 'named'"),
        ((P, 2 * Q, 1, "named"), "draft_probs"),
        ((np.full(2000, 1 / 2000), np.full(2000, 1 / 2000), 3, "drawn"), "within 1000000"),
    ],
)
def test_what_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        acceptance_by_rank(*arguments)
