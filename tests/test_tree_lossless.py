"""Trees lose nothing: texts by the real loop and drafters, every branch walked, to 1e-12."""

import numpy as np
import pytest
from lossless import Breakage, Engine, exact_text, largest_error, outcomes
from test_lossless import pair, samplings

from specmini import generate_tree as tree_loop
from specmini.drafters import sapling
from specmini.drafters import tree as tree_drafters
from specmini.engine.table_model import TableModel, random_table
from specmini.engine.uncached_model import UncachedModel
from specmini.generate import generate
from specmini.generate_tree import generate_tree
from specmini.sampling import Sampling, greedy, plain


@pytest.fixture(scope="module")
def engine():
    return Engine.load().walked()


def model(table, context=256):
    return UncachedModel(TableModel(table, context))


makers = {
    "two siblings, one with a child": lambda d, m, s: d.StaticTreeDrafter(m, s, [-1, -1, 0]),
    "binary": lambda d, m, s: d.StaticTreeDrafter(m, s, [-1, -1, 0, 0, 1, 1]),
    "chain": lambda d, m, s: d.StaticTreeDrafter(m, s, [-1, 0]),
    "confident": lambda d, m, s: d.ConfidentTreeDrafter(m, s, width=2, levels=2),
    "confident and narrow": lambda d, m, s: d.ConfidentTreeDrafter(m, s, width=1, levels=3),
}


def written(engine, tables, sampling, new_tokens, make, named, nodes=6, **options):
    """The chance of every text that the engine writes after token 0, a tree a round."""
    target, draft = tables

    def run(walker):
        drafter = makers[make](engine.tree_drafter, model(draft), None if named else sampling)
        return engine.generate_tree.generate_tree(
            model(target), (0,), new_tokens, walker,
            sampling=sampling, drafter=drafter, nodes=nodes, **options,
        ).tokens  # fmt: skip

    return outcomes(run)


@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
@pytest.mark.parametrize("sampling", samplings)
@pytest.mark.parametrize("make", makers)
def test_two_tokens_jointly(engine, make, sampling, named):
    tables, sampling = pair(3, 1), samplings[sampling]
    found = written(engine, tables, sampling, 2, make, named)
    assert largest_error(found, exact_text(tables[0], sampling, (0,), 2)) < 1e-12


@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
@pytest.mark.parametrize("sampling", ["T = 0.3", "T = 1.7, top-k 2, top-p 0.9"])
@pytest.mark.parametrize("make", ["two siblings, one with a child", "confident"])
def test_three_tokens_jointly(engine, make, sampling, named):
    tables, sampling = pair(3, 1, seed=2), samplings[sampling]
    found = written(engine, tables, sampling, 3, make, named, nodes=4)
    assert largest_error(found, exact_text(tables[0], sampling, (0,), 3)) < 1e-12


@pytest.mark.parametrize("make", ["binary", "confident"])
def test_four_tokens_jointly(engine, make):
    tables = pair(2, 1, seed=3)
    found = written(engine, tables, plain, 4, make, named=False, nodes=3)
    assert largest_error(found, exact_text(tables[0], plain, (0,), 4)) < 1e-12


def test_a_text_that_may_stop_early(engine):
    tables = pair(3, 1, seed=4)
    make = "two siblings, one with a child"
    found = written(engine, tables, plain, 3, make, named=False, stop_tokens=(1,))
    right = exact_text(tables[0], plain, (0,), 3, stop_tokens=(1,))
    assert largest_error(found, right) < 1e-12


breakages = {
    "children drawn as if nothing was drawn before": (
        sapling,
        "self._q[node], self._left[node] = q, q.copy()",
        "self._q[node] = self._left[node] = q",
    ),
    "rows of another node": (
        sapling,
        "probs[places[node] + 1] = q",
        "probs[places[node]] = q",
    ),
    "nodes hang one too high": (
        tree_loop,
        "(parent + 1 for parent in",
        "(max(parent, 0) for parent in",
    ),
    "another path kept": (
        tree_loop,
        "target.keep([0, *(node + 1 for node in verdict.path)])",
        "target.keep([0])",
    ),
}


@pytest.mark.parametrize("breakage", breakages)
def test_a_broken_loop_is_caught(breakage):
    broken, tables = Engine.load(Breakage(*breakages[breakage])).walked(), pair(3, 1, seed=2)
    try:
        found = written(broken, tables, plain, 3, "two siblings, one with a child", named=False)
    except ValueError:  # the engine itself refuses to go on
        return
    assert largest_error(found, exact_text(tables[0], plain, (0,), 3)) > 1e-4


def test_confidence_must_not_choose_among_what_was_drawn(engine):
    """EAGLE-2's last step, done to drawn tokens: the likelier of two stays. Not lossless."""
    tables = pair(3, 1, seed=2)

    class Sorting(engine.tree_drafter.StaticTreeDrafter):
        def propose_tree(self, text, nodes, levels, rng):
            tree = super().propose_tree(text, nodes, levels, rng)
            best = int(tree.probs[0][tree.tokens].argmax())
            return type(tree)(tree.tokens[[best]], tree.parents[[best]], tree.probs[:2])

    def run(walker):
        return engine.generate_tree.generate_tree(
            model(tables[0]), (0,), 2, walker,
            sampling=plain, drafter=Sorting(model(tables[1]), plain, [-1, -1]), nodes=2,
        ).tokens  # fmt: skip

    assert largest_error(outcomes(run), exact_text(tables[0], plain, (0,), 2)) > 0.01


# --- greedy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", makers)
def test_greedy_decoding_gives_the_same_tokens(make):
    """20 prompts and all sizes from 1 to 12; the drafter is used again, so no state may leak."""
    rng = np.random.default_rng(8)
    table = random_table(6, 2, rng, concentration=0.5)
    draft = 0.5 * table + 0.5 * random_table(6, 2, rng)
    drafter, target = makers[make](tree_drafters, model(draft), None), model(table)
    for nodes in [*range(1, 13), *range(1, 9)]:
        prompt = rng.integers(0, 6, size=rng.integers(1, 9)).tolist()
        plainly = generate(TableModel(table), prompt, 40, rng, sampling=greedy)
        found = generate_tree(
            target, prompt, 40, rng, sampling=greedy, drafter=drafter, nodes=nodes
        )
        assert found.tokens == plainly.tokens
        assert len(found.rounds) < 40


def test_a_drawn_tree_at_temperature_zero_is_a_chain():
    table = random_table(6, 1, np.random.default_rng(0))
    drafter = tree_drafters.StaticTreeDrafter(model(table), Sampling(0.0), [-1, -1, 0, 0, 1])
    tree = drafter.propose_tree([3], 5, 5, np.random.default_rng(0))
    assert tree.parents.tolist() == [-1, 0]
