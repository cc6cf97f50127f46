"""The best tree is the best of all trees, and its yield is that of real rounds."""

import itertools

import numpy as np
import pytest
from lossless import Engine, outcomes
from test_tree import grown

from specmini import catalog, theory
from specmini.roofline.deployment import Deployment
from specmini.theory import acceptance
from specmini.theory.topology import depths
from specmini.theory.tree_shape import (
    best_by_size,
    best_choice,
    best_tree,
    expected_tokens,
    node_values,
    sizes_near_best,
)

falling = np.array([[0.5, 0.2, 0.1], [0.6, 0.15, 0.15], [0.3, 0.3, 0.05]])


def every_tree(nodes):
    """Parents of all trees of so many nodes."""
    return itertools.product(*(range(-1, node) for node in range(nodes)))


def fits(shape, chances):
    children = max(np.bincount(np.array(shape) + 1))
    return depths(shape).max() < chances.shape[0] and children <= chances.shape[1]


@pytest.mark.parametrize("nodes", range(1, 8))
@pytest.mark.parametrize(
    "chances", [falling, np.tile([0.55, 0.25], (4, 1))], ids=["by depth", "same"]
)
def test_no_tree_of_so_many_nodes_yields_more(nodes, chances):
    best = best_tree(chances, nodes)
    yields = [
        expected_tokens(shape, chances) for shape in every_tree(nodes) if fits(shape, chances)
    ]
    assert expected_tokens(best, chances) == pytest.approx(max(yields), abs=1e-12)
    assert best == best_tree(chances, nodes + 1)[:nodes]
    assert (np.diff(node_values(best, chances)) <= 1e-15).all()


def test_one_rank_is_a_chain():
    for length in range(1, 6):
        chances = np.full((length, 1), 0.7)
        assert best_tree(chances, 9) == tuple(range(-1, length - 1))
        expected = theory.tokens_per_round(0.7, length)
        assert expected_tokens(best_tree(chances, 9), chances) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
@pytest.mark.parametrize("shape", [[-1, -1, 0], [-1, 0, -1, 0, 1], [-1, -1, 0, 0]])
def test_real_rounds_yield_what_is_expected(shape, named):
    """With the same p and q everywhere, acceptance does depend on depth and rank alone."""
    engine = Engine.load().walked()
    p = np.tile([0.5, 0.3, 0.2], (3, 1))
    q = np.tile([0.2, 0.5, 0.3], (3, 1))

    def path(walker, shape):
        tree = grown(shape, q, 0, walker, named)
        return engine.tree.verify_tree(p[[0, *tree.tokens]], tree, walker).path

    siblings = outcomes(lambda walker: path(walker, [-1, -1]))
    chances = np.tile([siblings[(0,)], siblings[(1,)]], (3, 1))
    mean = sum(
        chance * (len(taken) + 1) for taken, chance in outcomes(lambda w: path(w, shape)).items()
    )
    assert mean == pytest.approx(expected_tokens(shape, chances), abs=1e-12)


def test_free_checks_ask_for_the_largest_tree_and_dear_ones_for_the_smallest():
    free = best_choice(falling, 0.0, np.ones(6))
    assert free.shape == best_tree(falling, 6)
    assert free.speedup == expected_tokens(free.shape, falling)
    dear = best_choice(falling, 0.0, 1.0 + np.arange(1, 7))
    assert (dear.shape, dear.levels) == ((-1,), 1)
    assert dear.speedup == pytest.approx(1.5 / 2)


def test_a_slow_draft_asks_for_a_wide_tree():
    quick, slow = (best_choice(falling, cost, np.ones(6)) for cost in (0.01, 0.4))
    assert quick.levels > slow.levels == 1
    assert slow.round_cost == pytest.approx(1.4)


def test_a_chain_has_the_theorys_best_length():
    chances, lengths = np.full((12, 1), 0.8), np.arange(1, 13)
    found = best_choice(chances, 0.1, np.ones(12))
    assert found.levels == theory.best_draft_length(0.8, 0.1)
    expected = theory.speedup(0.8, 0.1, lengths).max()
    assert found.speedup == pytest.approx(expected, abs=1e-12)
    assert acceptance.tokens_per_round(0.8, found.levels) == pytest.approx(found.tokens_per_round)


def test_the_best_size_shrinks_with_the_batch_and_ends_near_the_knee():
    """Tokens of a pass, trees of all sequences together, stay below the ridge's few hundred."""
    served = Deployment(catalog.machines()["h100"], catalog.models()["llama-3.1-8b"])
    chances = np.tile([0.6, 0.15, 0.07, 0.04], (8, 1))
    sizes = np.arange(1, 257)
    best = {
        batch: best_choice(chances, 0.05, served.verify_cost(batch, sizes, 1000))
        for batch in (1, 4, 16, 64, 256)
    }
    found = [len(choice.shape) for choice in best.values()]
    assert found == sorted(found, reverse=True)
    assert found[0] > 50
    assert found[-1] <= 2
    for batch in (4, 16, 64):
        assert batch * (len(best[batch].shape) + 1) < 1.5 * served.ridge_tokens


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        ([0.5], r"acceptance must have shape \(D, R\), got \(1,\)"),
        ([[0.5, 0.6]], "acceptance must sum to at most 1 a row, got 1.1"),
        ([[1.5]], r"acceptance must be a number in \[0, 1\]"),
        ([[0.2, 0.3]], "acceptance must not rise with the rank, .* got 0.3 after 0.2 at depth 0"),
    ],
)
def test_bad_chances_are_refused(chances, message):
    with pytest.raises(ValueError, match=message):
        best_tree(chances, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: best_tree(falling, 0), r"nodes must be a whole number in \[1"),
        (lambda: expected_tokens([-1] * 4, falling), "got node 3 of depth 0 and rank 3"),
        (lambda: expected_tokens([-1, 0, 1, 2], falling), "got node 3 of depth 3 and rank 0"),
        (lambda: expected_tokens([0], falling), r"parents must be in \[-1, 0\) at node 0, got 0"),
        (lambda: best_choice(falling, -0.1, [1.0]), "cost_ratio must be"),
        (lambda: best_choice(falling, 0.1, []), r"verify_costs must have shape \(N,\)"),
        (lambda: best_choice([[0.0]], 0.1, [1.0]), "acceptance a first chance above 0"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_each_size_has_its_best_tree_and_the_best_of_all_is_among_them():
    costs = np.maximum(1.0, np.arange(2, 13) / 6)
    sizes = best_by_size(falling, 0.1, costs)
    assert [len(choice.shape) for choice in sizes] == list(range(1, 12))
    assert best_choice(falling, 0.1, costs) in sizes
    for size, choice in enumerate(sizes, start=1):
        for levels in range(1, len(falling) + 1):
            shape = best_tree(falling[:levels], size)
            if len(shape) == size:
                cost = 0.1 * (1 + depths(shape).max()) + costs[size - 1]
                assert choice.speedup >= expected_tokens(shape, falling) / cost - 1e-12


def test_a_flat_top_holds_several_sizes_and_a_sharp_one_holds_itself():
    chances = np.tile([0.6, 0.2, 0.1], (8, 1))
    flat = best_by_size(chances, 0.05, np.ones(32))
    sharp = best_by_size(chances, 0.05, np.maximum(1, np.arange(2, 34) / 9))
    fewest, most = sizes_near_best(flat)
    gains = [one.speedup for one in flat]
    assert most == 32 == 1 + int(np.argmax(gains))
    assert gains[fewest - 1] >= 0.98 * max(gains) > gains[fewest - 2]
    assert sizes_near_best(flat, 0.0) == (32, 32)
    assert sizes_near_best(sharp) == (8, 8)
    with pytest.raises(ValueError, match="choices must hold at least one tree"):
        sizes_near_best([])
    with pytest.raises(ValueError, match="within"):
        sizes_near_best(flat, 1.5)
