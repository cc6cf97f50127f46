"""Every model that sees trees: each node as if its path were the text, and no trace left."""

import copy
import functools

import numpy as np
import pytest

from specmini.engine.table_model import TableModel, random_table
from specmini.engine.tree_model import Branches
from specmini.engine.uncached_model import UncachedModel


def table_model():
    return UncachedModel(TableModel(random_table(7, 2, np.random.default_rng(1)), context=24))


@functools.cache
def gpt():
    torch = pytest.importorskip("torch")
    from specmini.gpt import GPT, Config

    config = Config(vocabulary=7, context=24, layers=2, width=8, heads=2)
    model = GPT(config, torch.Generator().manual_seed(1))
    with torch.no_grad():
        for weight in model.parameters():  # attention and positions must matter
            weight.mul_(4.0)
        model.wpe.weight.mul_(4.0)
    return model.requires_grad_(False)


def torch_model():
    model = gpt()
    from specmini.engine.torch_model import TorchModel

    return TorchModel(copy.deepcopy(model).double())


def uncached_torch_model():
    return UncachedModel(torch_model())


def numpy_model():
    model = gpt()
    from specmini.engine.numpy_model import NumpyModel

    return NumpyModel(model)


def compiled_model():
    model = gpt()
    from specmini.engine.fast_model import Choice, FastModel

    return FastModel(model, Choice("NumPy", "torch", {}))


makers = [table_model, torch_model, uncached_torch_model, numpy_model, compiled_model]


@pytest.fixture(params=makers, ids=lambda make: make.__name__)
def make(request):
    return request.param


text = [3, 1, 6, 0, 2]
tokens = [4, 1, 5, 0, 0, 6, 2, 3, 1]
trees = {
    "one node": [-1],
    "a chain": [-1, 0, 1, 2],
    "only siblings": [-1, -1, -1, -1],
    "binary": [-1, -1, 0, 0, 1, 1],
    "ragged": [-1, 0, -1, 0, 1, 2, 4, 6, 2],
}
close = {"rtol": 1e-5, "atol": 1e-5}


def path_to(parents, node):
    return [] if node < 0 else [*path_to(parents, parents[node]), node]


def after(make, seen, new):
    """Logits of new tokens after others, by a model that saw nothing else."""
    model = make()
    return model.forward([*seen, *new])[len(seen) :]


@pytest.mark.parametrize("prompt", [[], text], ids=["at the start", "after a text"])
@pytest.mark.parametrize("tree", trees)
def test_each_node_is_seen_as_if_its_path_were_the_text(make, tree, prompt):
    model, parents = make(), trees[tree]
    if prompt:
        model.forward(prompt)
    found = model.forward_tree(tokens[: len(parents)], parents)
    assert found.shape == (len(parents), 7)
    for node, row in enumerate(found):
        path = [tokens[one] for one in path_to(parents, node)]
        np.testing.assert_allclose(row, after(make, prompt, path)[-1], **close)
    assert model.length == len(prompt)


@pytest.mark.parametrize("pieces", [[1] * 9, [3, 6], [2, 1, 6]])
def test_a_tree_may_come_in_pieces(make, pieces):
    model, whole, parents = make(), make(), trees["ragged"]
    for one in (model, whole):
        one.forward(text)
    ends = np.cumsum(pieces)
    found = [
        model.forward_tree(tokens[e - n : e], parents[e - n : e])
        for n, e in zip(pieces, ends, strict=True)
    ]
    np.testing.assert_allclose(np.concatenate(found), whole.forward_tree(tokens, parents), **close)


@pytest.mark.parametrize("node", range(-1, 9))
def test_a_kept_path_is_as_if_it_had_always_been_the_text(make, node):
    model, parents = make(), trees["ragged"]
    model.forward(text)
    model.forward_tree(tokens, parents)
    path = path_to(parents, node)
    model.keep(path)
    seen = [*text, *(tokens[one] for one in path)]
    assert model.length == len(seen)
    np.testing.assert_allclose(model.forward([2, 6, 6]), after(make, seen, [2, 6, 6]), **close)
    # and again, with a tree behind a text that came from a tree
    model.forward_tree([1, 5], [-1, -1])
    model.keep([1])
    seen += [2, 6, 6, 5]
    np.testing.assert_allclose(model.forward([0]), after(make, seen, [0]), **close)


@pytest.mark.parametrize("back", ["forward", "truncate"])
def test_text_forgets_a_tree_that_was_not_kept(make, back):
    model = make()
    model.forward(text)
    model.forward_tree([4, 4], [-1, 0])
    seen = text
    if back == "forward":
        model.forward([6])
        seen = [*text, 6]
    else:
        model.truncate(4)
        seen = text[:4]
    assert model.length == len(seen)
    with pytest.raises(ValueError, match="in a tree of 0 nodes"):
        model.keep([0])
    found = model.forward_tree([1, 2], [-1, 0])
    np.testing.assert_allclose(found, after(make, seen, [1, 2]), **close)


def test_a_tree_may_fill_the_context(make):
    model = make()
    model.forward(text)
    model.forward_tree([1] * 19, [-1] * 19)
    with pytest.raises(ValueError, match=r"tokens must have length in \[1, 0\] after 24 of 24"):
        model.forward_tree([1], [0])
    model.keep([18])
    assert model.length == 6


@pytest.mark.parametrize(
    ("new", "parents", "message"),
    [
        ([], [], r"tokens must have length in \[1, 17\] after 7 of 24, got 0"),
        ([1] * 18, [-1] * 18, r"tokens must have length in \[1, 17\] after 7 of 24, got 18"),
        ([7], [0], r"tokens must be in \[0, 7\), got 7 at 0"),
        ([1, 1], [0], "parents must be as many as the 2 tokens, got 1"),
        ([1, 1], [0, 3], r"parents must be in \[-1, 3\) at node 3, got 3"),
        ([1], [-2], r"parents must be in \[-1, 2\) at node 2, got -2"),
        ([1], [0.5], r"parents must be integers of shape \(N,\), got float64"),
    ],
)
def test_nodes_that_cannot_be_seen_are_refused_and_change_nothing(make, new, parents, message):
    model = make()
    model.forward(text)
    model.forward_tree([4, 4], [-1, -1])
    with pytest.raises(ValueError, match=message):
        model.forward_tree(new, parents)
    model.keep([1])
    np.testing.assert_allclose(model.forward([2]), after(make, [*text, 4], [2]), **close)


@pytest.mark.parametrize("path", [[1], [0, 2], [0, 1, 0], [-1], [3], [0, 1, 2, 3]])
def test_what_is_no_path_is_refused_and_changes_nothing(make, path):
    model = make()
    model.forward(text)
    model.forward_tree([4, 5, 6], [-1, 0, 1])
    with pytest.raises(ValueError, match="path must go from parent to child in a tree of 3 nodes"):
        model.keep(path)
    model.keep([0, 1, 2])
    np.testing.assert_allclose(model.forward([2]), after(make, [*text, 4, 5, 6], [2]), **close)


def test_a_cache_knows_the_way_to_each_node():
    branches = Branches()
    placed = branches.add([0] * 4, [-1, 0, -1, 1])
    assert placed.depths.tolist() == [0, 1, 0, 2]
    assert branches.path_to(3) == [0, 1, 3]
    more = branches.add([0], [2])
    assert more.sees.tolist() == [[False, False, True, False, True]]
    assert len(branches) == 5
