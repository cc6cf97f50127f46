"""What tree drafters propose, what the loop shows the target, and what its rounds record."""

import numpy as np
import pytest
from test_tree_model import gpt, torch_model

from specmini.drafters import ModelDrafter
from specmini.drafters.tree import ConfidentTreeDrafter, StaticTreeDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.engine.uncached_model import UncachedModel
from specmini.generate import Round, generate
from specmini.generate_tree import generate_tree
from specmini.measure import take_turns
from specmini.measure.cell import cell
from specmini.measure.tallies import acceptance, tally
from specmini.measure.tree_tallies import tree_acceptance
from specmini.sampling import Sampling, greedy, plain
from specmini.theory.topology import depths
from specmini.verify.tree import DraftTree

table = random_table(6, 1, np.random.default_rng(1), concentration=0.5)
draft_table = 0.7 * table + 0.3 * random_table(6, 1, np.random.default_rng(2))
binary = [-1, -1, 0, 0, 1, 1]


def rng(seed=0):
    return np.random.default_rng(seed)


def model(of=draft_table, context=256):
    return UncachedModel(TableModel(of, context))


class SpyTree(UncachedModel):
    """Shows what it has seen, and counts its passes over trees."""

    def __init__(self, of, context=256):
        super().__init__(TableModel(of, context))
        self.trees = []

    @property
    def seen(self):
        return list(self._seen)

    def forward_tree(self, tokens, parents):
        self.trees.append((list(tokens), list(parents)))
        return super().forward_tree(tokens, parents)


def likeliest(row, count):
    return np.argsort(-row, kind="stable")[:count].tolist()


# --- proposals ----------------------------------------------------------------------------------


def test_named_siblings_are_the_likeliest_tokens_in_order():
    tree = StaticTreeDrafter(model(), None, binary).propose_tree([3], 6, 9, rng())
    first = likeliest(draft_table[3], 2)
    rest = [token for parent in first for token in likeliest(draft_table[parent], 2)]
    assert tree.tokens.tolist() == [*first, *rest]
    assert tree.parents.tolist() == binary
    assert tree.probs is None


def test_drawn_siblings_come_with_what_they_were_drawn_from():
    drafter = StaticTreeDrafter(model(), plain, binary)
    tree = drafter.propose_tree([3], 6, 9, rng())
    np.testing.assert_allclose(tree.probs[0], draft_table[3])
    for node in (0, 1):
        np.testing.assert_allclose(tree.probs[node + 1], draft_table[tree.tokens[node]])
    assert not tree.probs[3:].any()  # leaves


@pytest.mark.parametrize("nodes", range(1, 7))
@pytest.mark.parametrize("levels", [1, 2])
def test_a_static_tree_is_cut_to_what_is_asked(nodes, levels):
    drafter = StaticTreeDrafter(model(), None, binary)
    tree = drafter.propose_tree([3], nodes, levels, rng())
    kept = [node for node in range(nodes) if depths(binary)[node] < levels]
    assert tree.parents.tolist() == [binary[node] for node in kept]


def test_the_draft_model_runs_once_a_level_and_never_on_leaves():
    spy = SpyTree(draft_table)
    StaticTreeDrafter(spy, None, [-1, -1, 0, 1, 2, 4]).propose_tree([3], 6, 9, rng())
    assert [len(tokens) for tokens, _ in spy.trees] == [2, 1, 1]
    assert [parents for _, parents in spy.trees] == [[-1, -1], [0], [2]]


def test_a_confident_tree_is_the_likeliest_of_what_was_looked_at():
    tree = ConfidentTreeDrafter(model(), None, width=6, levels=2).propose_tree([3], 8, 9, rng())
    joint = {(a,): draft_table[3, a] for a in range(6)}
    joint |= {(a, b): draft_table[3, a] * draft_table[a, b] for a in range(6) for b in range(6)}
    expected = sorted(joint, key=joint.get, reverse=True)[:8]
    paths = []
    for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    assert sorted(paths) == sorted(expected)


def test_a_drawn_confident_tree_puts_each_draw_where_the_text_most_likely_is():
    drafter = ConfidentTreeDrafter(model(), plain, width=3, levels=4)
    for seed in range(20):
        tree = drafter.propose_tree([3], 12, 9, rng(seed))
        joint, left, front = {-1: 1.0}, {-1: 1.0}, [-1]
        levels = depths(tree.parents)
        for node, (token, parent) in enumerate(zip(tree.tokens, tree.parents, strict=True)):
            if levels[node] > levels[max(node - 1, 0)]:
                front = [n for n in range(node) if levels[n] == levels[node] - 1]
            chance = {n: joint[n] * left[n] for n in front}
            assert chance[parent] == pytest.approx(max(chance.values()))
            q = tree.probs[parent + 1, token]
            joint[node], left[node] = joint[parent] * q, 1.0
            left[parent] -= q
        assert np.bincount(levels).tolist() == [3, 3, 3, 3]


def test_few_tokens_make_small_trees():
    few = Sampling(top_k=2)
    tree = StaticTreeDrafter(model(), few, [-1, -1, -1, 0, 2]).propose_tree([3], 5, 9, rng())
    assert tree.parents.tolist() == [-1, -1, 0]
    tree = ConfidentTreeDrafter(model(), greedy, 3, 2).propose_tree([3], 9, 9, rng())
    assert tree.parents.tolist() == [-1, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda m: StaticTreeDrafter(m, None, binary),
        lambda m: ConfidentTreeDrafter(m, None, 2, 3),
        lambda m: ConfidentTreeDrafter(m, plain, 2, 3),
    ],
)
@pytest.mark.parametrize("length", range(1, 13))
def test_a_draft_model_with_little_room_makes_small_trees_or_none(make, length):
    tree = make(model(context=9)).propose_tree([3] * length, 6, 9, rng())
    assert (len(tree) == 0) == (length > 9)


@pytest.mark.parametrize("draft_context", [256, 20])
def test_what_the_draft_model_computed_is_used_again(draft_context):
    """The path that was accepted is not run again, and the logits are those of a fresh model."""
    drafter = StaticTreeDrafter(model(table, draft_context), None, binary)
    tree = drafter.propose_tree([3, 1], 6, 9, rng())
    accepted = [int(tree.tokens[1]), int(tree.tokens[4])]
    text = [3, 1, *accepted, 5]
    assert drafter.model.length == 2
    again = drafter.propose_tree(text, 6, 9, rng())
    assert drafter.model.length == 5
    fresh = StaticTreeDrafter(model(table), None, binary).propose_tree(text, 6, 9, rng())
    assert again.tokens.tolist() == fresh.tokens.tolist()
    other = drafter.propose_tree([3, 2, 2], 6, 9, rng())
    fresh = StaticTreeDrafter(model(table), None, binary).propose_tree([3, 2, 2], 6, 9, rng())
    assert other.tokens.tolist() == fresh.tokens.tolist()


def test_a_borrowed_draft_model_is_noticed():
    drafter = StaticTreeDrafter(model(), None, binary)
    drafter.propose_tree([3], 6, 9, rng())
    drafter.model.forward([1])
    with pytest.raises(ValueError, match="each drafter needs a model of its own"):
        drafter.propose_tree([3, 1], 6, 9, rng())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StaticTreeDrafter(model(), None, []), "shape must have at least one node"),
        (lambda: StaticTreeDrafter(model(), None, [0]), r"parents must be in \[-1, 0\) at node 0"),
        (lambda: ConfidentTreeDrafter(model(), None, 0, 2), "width must be a whole number"),
        (lambda: ConfidentTreeDrafter(model(), None, 2, 0), "levels must be a whole number"),
    ],
)
def test_bad_shapes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- the loop -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", [None, plain])
def test_between_rounds_the_target_has_seen_all_but_the_last_token(sampling):
    target = SpyTree(table)
    drafter = StaticTreeDrafter(model(), sampling, binary)
    found = generate_tree(target, [4, 1], 60, rng(), sampling=plain, drafter=drafter, nodes=6)
    assert target.seen == [4, 1, *found.tokens][:-1]
    text = [4, 1]
    for (tokens, parents), round in zip(target.trees, found.rounds, strict=True):
        assert tokens == [text[-1], *round.drafted]
        assert parents == [-1, *(parent + 1 for parent in round.parents)]
        assert [round.drafted[node] for node in round.path] == list(round.tokens[:-1])
        text += round.tokens


@pytest.mark.parametrize("context", [8, 9, 10, 12])
def test_a_text_may_fill_the_context(context):
    target = SpyTree(table, context)
    drafter = StaticTreeDrafter(model(), None, binary)
    found = generate_tree(target, [4, 1], 60, rng(), sampling=greedy, drafter=drafter, nodes=6)
    plainly = generate(TableModel(table, context), [4, 1], 60, rng(), sampling=greedy)
    assert (found.tokens, found.ending) == (plainly.tokens, "context")


def test_a_chain_writes_what_generate_writes():
    """From the same random numbers: a tree without branches is the same algorithm."""
    chain = StaticTreeDrafter(model(), plain, [-1, 0, 1])
    found = generate_tree(model(table), [4], 80, rng(5), sampling=plain, drafter=chain, nodes=3)
    drafter = ModelDrafter(TableModel(draft_table), plain)
    right = generate(
        TableModel(table), [4], 80, rng(5), sampling=plain, drafter=drafter, draft_length=3
    )
    assert found.tokens == right.tokens
    for one, other in zip(found.rounds, right.rounds, strict=True):
        assert (one.drafted, one.n_accepted, one.is_bonus) == (
            other.drafted, other.n_accepted, other.is_bonus,
        )  # fmt: skip
    assert acceptance(found.rounds, 3) == acceptance(right.rounds, 3)


def networks():
    from specmini.engine.fast_model import Choice, FastModel
    from specmini.engine.numpy_model import NumpyModel

    return {
        "torch": torch_model,
        "NumPy": lambda: NumpyModel(gpt()),
        "compiled": lambda: FastModel(gpt(), Choice("NumPy", "torch", {})),
    }


@pytest.mark.parametrize("engine", ["torch", "NumPy", "compiled"])
def test_networks_write_the_same_greedy_text_with_trees(engine):
    """Target and draft are one network, so every round is as long as the tree is deep."""
    pytest.importorskip("torch")
    target, draft = networks()[engine](), networks()[engine]()
    drafter = StaticTreeDrafter(draft, None, [-1, -1, 0, 0, 2, 1])
    for prompt in ([3], [1, 2, 0], [5, 5]):
        plainly = generate(target, prompt, 18, rng(), sampling=greedy)
        found = generate_tree(target, prompt, 18, rng(), sampling=greedy, drafter=drafter, nodes=6)
        assert found.tokens == plainly.tokens
        assert [len(round.tokens) for round in found.rounds[:3]] == [4, 4, 4]


class Wrong:
    """Proposes what it was given, whatever is asked."""

    def __init__(self, tree, harm=lambda: None):
        self.tree, self.harm = tree, harm

    def propose_tree(self, text, nodes, levels, rng):
        self.harm()
        return self.tree


def named(tokens, parents):
    return DraftTree(np.array(tokens), np.array(parents))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (named([1] * 5, [-1] * 5), "tree must have at most 4 nodes, got 5"),
        (named([1] * 3, [-1, 0, 1]), "tree must have at most 2 levels, got 3"),
        (named([9], [-1]), r"tree tokens must be in \[0, 6\), got 9 at 0"),
    ],
)
def test_a_drafter_that_goes_wrong_is_noticed(tree, message):
    with pytest.raises(ValueError, match=message):
        generate_tree(model(table), [4], 3, rng(), sampling=plain, drafter=Wrong(tree), nodes=4)


def test_a_drafter_that_runs_the_target_is_noticed():
    target = model(table)
    drafter = Wrong(named([1], [-1]), lambda: target.forward([1]))
    with pytest.raises(ValueError, match="a drafter needs a model of its own"):
        generate_tree(target, [4], 3, rng(), sampling=plain, drafter=drafter, nodes=4)


@pytest.mark.parametrize("nodes", [0, -1, 1.5])
def test_a_wrong_number_of_nodes_is_refused(nodes):
    drafter = StaticTreeDrafter(model(), None, binary)
    with pytest.raises(ValueError, match="nodes must be"):
        generate_tree(model(table), [4], 3, rng(), sampling=plain, drafter=drafter, nodes=nodes)


# --- what rounds record -------------------------------------------------------------------------


def a_round(path, parents=(-1, -1, 0, 0, 2)):
    tokens = (7,) * (len(path) + 1)
    return Round((7,) * len(parents), len(path), tokens, 1.0, 2.0, 4.0, parents, path)


def test_the_targets_token_is_a_bonus_after_a_leaf():
    found = [a_round(path).is_bonus for path in ((), (0,), (1,), (0, 2), (0, 3), (0, 2, 4))]
    assert found == [False, False, True, False, True, True]


def test_rounds_are_counted_by_depth_and_rank():
    rounds = [a_round(()), a_round((1,)), a_round((0, 2)), a_round((0, 3)), a_round((0, 2, 4))]
    counts = tree_acceptance(rounds, levels=3, ranks=2)
    assert counts.offered.tolist() == [[5, 5], [3, 3], [2, 0]]
    assert counts.accepted.tolist() == [[3, 1], [2, 1], [1, 0]]
    np.testing.assert_allclose(counts.rates, [[0.6, 0.2], [2 / 3, 1 / 3], [0.5, 0]])
    one = tree_acceptance(rounds, levels=1, ranks=1)
    assert (one.offered.tolist(), one.accepted.tolist()) == ([[5]], [[3]])
    assert tally(rounds).tokens_per_round == 13 / 5
    # by depth alone, as for chains: a leaf offers nothing more
    by_depth = acceptance(rounds, 5)
    assert by_depth.offered == (5, 3, 2, 0, 0)
    assert by_depth.accepted == (4, 3, 1, 0, 0)


def test_rates_that_rise_with_the_rank_are_leveled():
    counts = tree_acceptance([a_round(()), a_round((1,))], levels=2, ranks=2)
    assert counts.rates[0].tolist() == [0.0, 0.5]
    assert counts.falling_rates[0].tolist() == [0.0, 0.0]


def test_a_chain_has_no_ranks():
    chain = Round((1, 2), 1, (1, 3), 1.0, 1.0, 2.0)
    with pytest.raises(ValueError, match="rounds must have drafted trees, got a chain of 2"):
        tree_acceptance([chain], 1, 1)


def test_trees_are_measured_in_turns_with_plain_decoding():
    pytest.importorskip("threadpoolctl")
    target, sampling = model(table), plain

    def with_trees(nodes):
        drafter = StaticTreeDrafter(model(), sampling, binary)

        def write(prompt, limit, rng):
            return generate_tree(
                target, prompt, limit, rng, sampling=sampling, drafter=drafter, nodes=nodes
            )

        return write

    def plainly(prompt, limit, rng):
        return generate(target, prompt, limit, rng, sampling=sampling)

    ways = {0: plainly, 2: with_trees(2), 6: with_trees(6)}
    runs = take_turns(ways, [[1], [2, 3]], new_tokens=60, rng=rng(), repeats=2)
    small, large = cell(runs[0], runs[2], 2), cell(runs[0], runs[6], 6)
    assert [len(texts) for texts in runs[6]] == [2, 2]
    assert small.full.tokens_per_round < large.full.tokens_per_round
    assert large.full.drafted == 6 * large.full.rounds
    assert large.speedup > 0
    assert sum(large.gained[3:]) == 0  # two levels and the target's own token
