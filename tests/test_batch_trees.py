"""Trees in a batch: each slot sees its own, keeps its own path, and writes what it would alone."""

import numpy as np
import pytest
from test_batch_model import config, gpt, names, one_way
from test_batch_serving import requests, tables, without_times

from specmini.batch.fast import FastBatch
from specmini.batch.serving import requests_for
from specmini.batch.side_by_side import SideBySideEngines, SideBySideTrees
from specmini.batch.steps import StepBatch
from specmini.batch.tree_drafter import BatchModelTreeDrafter
from specmini.batch.tree_serving import TreeServer
from specmini.drafters.tree import (
    ConfidentGrower,
    ConfidentTreeDrafter,
    StaticGrower,
    StaticTreeDrafter,
)
from specmini.engine.numpy_model import NumpyModel
from specmini.engine.table_model import TableModel
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.engine.uncached_model import UncachedModel
from specmini.generate import generate
from specmini.generate_tree import generate_tree
from specmini.measure.tallies import tally
from specmini.sampling import Sampling, greedy, plain

shapes = {"binary": [-1, -1, 0, 0, 1, 1], "ragged": [-1, 0, -1, 0, 1, 2, 4, 6, 2]}


@pytest.fixture(autouse=True)
def one_thread():
    with single_thread():
        yield


# --- passes -------------------------------------------------------------------------------------


def random_tree(rng, known):
    """Up to four nodes behind some others."""
    count = int(rng.integers(1, 5))
    return [int(rng.integers(-1, known + node)) for node in range(count)]


@pytest.mark.parametrize("name", names)
def test_each_slot_sees_its_own_tree_only(name):
    """40 turns: texts grow and are cut, trees come in one or two passes, any path is kept."""
    rng, slots = np.random.default_rng(0), 4
    model = FastBatch(gpt, slots, one_way(name))
    right = SideBySideEngines([NumpyModel(gpt) for _ in range(slots)])
    for _ in range(40):
        for slot in range(slots):
            if model.lengths[slot] > config.context - 12:
                for one in (model, right):
                    one.truncate(slot, 3)
        chosen = rng.permutation(slots)[: rng.integers(1, slots + 1)].tolist()
        new = [rng.integers(50, size=rng.integers(1, 4)).tolist() for _ in chosen]
        same(model.forward(chosen, new), right.forward(chosen, new))
        trees = [[] for _ in chosen]
        for _ in range(rng.integers(1, 3)):
            more = [random_tree(rng, len(tree)) for tree in trees]
            tokens = [rng.integers(50, size=len(nodes)).tolist() for nodes in more]
            found = model.forward_tree(chosen, tokens, more)
            same(found, right.forward_tree(chosen, tokens, more))
            trees = [tree + nodes for tree, nodes in zip(trees, more, strict=True)]
        paths = [path_to(tree, int(rng.integers(-1, len(tree)))) for tree in trees]
        for one in (model, right):
            one.keep(chosen, paths)
        assert list(model.lengths) == list(right.lengths)
        rows = np.array(chosen)
        last = np.array([model.lengths[slot] for slot in chosen]) - 1
        same(model.features(rows, last), right.features(rows, last))


def path_to(parents, node):
    return [] if node < 0 else [*path_to(parents, parents[node]), node]


def same(found, right):
    # float32 rounds at 6e-8; a node that sees too much or too little shows at 1e-2
    assert found.shape == right.shape
    assert np.abs(found - right).max() < 2e-5 * np.abs(right).max()


@pytest.mark.parametrize("name", names)
def test_features_are_those_of_the_single_sequence(name):
    rng = np.random.default_rng(2)
    model, alone = FastBatch(gpt, 3, one_way(name)), TorchModel(gpt)
    texts = [rng.integers(50, size=length).tolist() for length in (9, 4, 7)]
    model.forward([2, 0, 1], texts, last_only=True)
    model.truncate(0, 2)
    model.forward([0], [[5, 6]])
    for slot, text in ((2, texts[0]), (0, [*texts[1][:2], 5, 6]), (1, texts[2])):
        alone.truncate(0)
        alone.forward(text)
        places = np.arange(len(text))
        same(model.features(np.full(len(text), slot), places), alone.features)


def test_what_no_tree_can_be_is_refused_and_changes_nothing():
    def filled(model):
        model.forward([0, 1], [[1], [2, 3]])
        return model

    for model in (
        filled(FastBatch(gpt, 2, one_way("NumPy"))),
        filled(SideBySideTrees([NumpyModel(gpt) for _ in range(2)])),
    ):
        for slots, tokens, parents, message in (
            ([2], [[1]], [[-1]], "slots must be different numbers"),
            ([0], [[1, 1]], [[-1]], "parents must be as many"),
            ([0], [[1, 1]], [[-1, 1]], r"parents must be in \[-1, 1\) at node 1, got 1"),
            ([1], [[1] * 23], [[-1] * 23], "got 23"),
            ([0], [[50]], [[-1]], "tokens must be in .*got 50 at 0"),
        ):
            with pytest.raises(ValueError, match=message):
                model.forward_tree(slots, tokens, parents)
        model.forward_tree([0, 1], [[1, 2], [1]], [[-1, 0], [-1]])
        with pytest.raises(ValueError, match="path must go from parent to child"):
            model.keep([0], [[1]])
        assert model.lengths == (1, 2)


def test_a_tree_that_is_refused_in_one_slot_is_in_none():
    model = StepBatch(config, 2, None)
    with pytest.raises(ValueError, match=r"parents must be in \[-1, 0\) at node 0, got 0"):
        model.forward_tree([0, 1], [[1], [1]], [[-1], [0]])
    with pytest.raises(ValueError, match="a tree of 0 nodes"):
        model.keep([0], [[0]])


# --- texts --------------------------------------------------------------------------------------

growers = {
    **{name: (StaticGrower(shape), shape) for name, shape in shapes.items()},
    "confident": (ConfidentGrower(2, 3), None),
}


def model(table, context):
    return UncachedModel(TableModel(table, context))


def batch(table, slots, context):
    return SideBySideTrees([model(table, context) for _ in range(slots)])


def alone(name, of, siblings):
    grower, shape = growers[name]
    if shape is None:
        return ConfidentTreeDrafter(of, siblings, grower.width, grower.levels)
    return StaticTreeDrafter(of, siblings, shape)


@pytest.mark.parametrize("name", growers)
@pytest.mark.parametrize("named", [False, True], ids=["drawn", "named"])
@pytest.mark.parametrize(
    ("sampling", "slots", "nodes", "admission"),
    [
        (plain, 1, 9, "continuous"),
        (Sampling(0.7, top_k=3, top_p=0.8), 4, 3, "static"),
        (greedy, 3, 6, "continuous"),
        (plain, 16, 5, "continuous"),
    ],
)
def test_a_text_is_that_of_the_single_sequence(name, named, sampling, slots, nodes, admission):
    """Token for token and round for round, from the same random numbers, exactly."""
    siblings = None if named else sampling
    drafter = BatchModelTreeDrafter(batch(tables[1], slots, 30), siblings, growers[name][0])
    found = TreeServer(
        batch(tables[0], slots, 64), requests(20), sampling=sampling, drafter=drafter,
        nodes=nodes, stop_tokens=[3], admission=admission,
    ).run()  # fmt: skip
    for text, request in zip(found.texts, requests(20), strict=True):
        single = generate_tree(
            model(tables[0], 64), request.prompt, request.new_tokens, request.rng,
            sampling=sampling, drafter=alone(name, model(tables[1], 30), siblings),
            nodes=nodes, stop_tokens=[3],
        )  # fmt: skip
        assert without_times(text) == without_times(single)


@pytest.mark.parametrize("name", ["ragged", "confident"])
def test_greedy_texts_of_a_network_do_not_depend_on_the_batch(name):
    """Every way to compute a pass, batches of 1 to 64: the same texts as without a draft."""
    rng = np.random.default_rng(5)
    prompts = [rng.integers(50, size=rng.integers(1, 8)).tolist() for _ in range(66)]
    right = [generate(TorchModel(gpt), one, 9, rng, sampling=greedy).tokens for one in prompts]
    accepted = 0
    for place, slots in enumerate((1, 3, 16, 64)):
        choice = one_way(names[place % len(names)])
        drafter = BatchModelTreeDrafter(FastBatch(gpt, slots, choice), None, growers[name][0])
        found = TreeServer(
            FastBatch(gpt, slots, choice), requests_for(prompts, 9, rng), sampling=greedy,
            drafter=drafter, nodes=9,
        ).run()  # fmt: skip
        assert [text.tokens for text in found.texts] == right
        accepted += tally(row for round in found.rounds for row in round.rows).accepted
    # the draft is the target itself, and a tree has paths of three tokens
    assert accepted > 4 * 66 * 9 / 2


def test_a_drafter_that_oversteps_is_told():
    class Overstepping(BatchModelTreeDrafter):
        def propose_trees(self, slots, texts, nodes, levels, rngs):
            return super().propose_trees(slots, texts, [9] * len(slots), levels, rngs)

    drafter = Overstepping(batch(tables[1], 2, 30), None, growers["ragged"][0])
    server = TreeServer(
        batch(tables[0], 2, 64), requests(2), sampling=greedy, drafter=drafter, nodes=2
    )
    with pytest.raises(ValueError, match="tree must have at most 2 nodes, got 9"):
        server.run()
    with pytest.raises(ValueError, match="nodes must be at least 1 with a drafter"):
        TreeServer(batch(tables[0], 2, 64), requests(2), sampling=greedy, drafter=drafter, nodes=0)
