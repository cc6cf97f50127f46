"""The table model says what its table says, and forgets what it is told to."""

import numpy as np
import pytest

from specmini.engine.table_model import TableModel, random_table
from specmini.sampling import plain


def table(order, vocabulary=3):
    return random_table(vocabulary, order, np.random.default_rng(order))


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_rows_are_those_of_the_last_tokens(order):
    rows = table(order)
    model = TableModel(rows)
    assert (model.order, model.vocabulary, model.length) == (order, 3, 0)
    text = [2, 0, 1, 1, 2]
    probs = plain.probs(model.forward(text))
    for place in range(5):
        recent = [0, 0, 0, *text[: place + 1]][-order:] if order else []
        np.testing.assert_allclose(probs[place], rows[tuple(recent)], atol=1e-15)


def test_a_table_with_zeros_forbids():
    rows = np.array([[0.0, 1.0], [0.5, 0.5]])
    np.testing.assert_array_equal(plain.probs(TableModel(rows).forward([0, 1])), rows)


def test_a_random_table_is_one_of_distributions():
    for order in range(3):
        rows = table(order, vocabulary=4)
        assert rows.shape == (4,) * (order + 1)
        np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-12)
    peaked = random_table(4, 2, np.random.default_rng(0), concentration=0.1)
    assert peaked.max(-1).mean() > rows.max(-1).mean()


@pytest.mark.parametrize(
    ("rows", "context", "message"),
    [
        (1.0, 9, r"table must have shape \(V, \.\.\., V\), got \(\)"),
        (np.full((2, 3), 1 / 3), 9, r"got \(2, 3\)"),
        (np.zeros((0, 0)), 9, r"got \(0, 0\)"),
        ([[0.5, 0.5], [0.5, 0.6]], 9, "table must sum to 1 in each row, got 1.1 in row 1"),
        ([[0.5, 0.5], [-0.5, 1.5]], 9, "table must be at least 0, got -0.5"),
        (np.eye(2), 0, r"context must be a whole number in \[1, 2\*\*53\], got 0"),
    ],
)
def test_what_is_no_table_is_refused(rows, context, message):
    with pytest.raises(ValueError, match=message):
        TableModel(rows, context)
