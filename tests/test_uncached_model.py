"""Without a cache the logits and the texts stay what they are."""

import numpy as np
import pytest

from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.engine.uncached_model import UncachedModel
from specmini.generate import generate
from specmini.sampling import plain


@pytest.fixture
def table():
    return random_table(5, 2, np.random.default_rng(0))


def test_logits_are_those_of_the_model_inside(table):
    cached, uncached = TableModel(table), UncachedModel(TableModel(table))
    for tokens, kept in (([1, 2], 2), ([3], 3), ([0, 4, 1], 4), ([2, 2], 6)):
        assert np.array_equal(uncached.forward(tokens), cached.forward(tokens))
        for model in (cached, uncached):
            model.truncate(kept)
        assert uncached.length == cached.length == kept


def test_it_goes_over_the_whole_text_in_every_pass(table):
    inner = TableModel(table)
    model = UncachedModel(inner)
    model.forward([1, 2, 3])
    model.truncate(1)
    model.forward([4])
    assert (inner.length, model.length) == (2, 2)


def test_speculation_writes_the_same_text(table):
    texts = [
        generate(
            make(TableModel(table)),
            [1, 2],
            40,
            np.random.default_rng(5),
            sampling=plain,
            drafter=ModelDrafter(TableModel(table), plain),
            draft_length=3,
        ).tokens
        for make in (lambda model: model, UncachedModel)
    ]
    assert texts[0] == texts[1]


def test_bad_calls_are_refused_and_change_nothing(table):
    model = UncachedModel(TableModel(table))
    model.forward([1, 2])
    with pytest.raises(ValueError, match=r"tokens must have length in \[1, "):
        model.forward([])
    with pytest.raises(ValueError, match=r"length must be in \[0, 2\], got 3"):
        model.truncate(3)
    with pytest.raises(ValueError, match="tokens must be"):
        model.forward([99])
    assert model.length == 2
