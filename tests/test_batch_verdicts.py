"""Draws and verdicts for many sequences at once: the same, number for number, as one by one."""

import numpy as np
import pytest

from specmini.batch.draws import draw_each
from specmini.batch.verdicts import verify_each
from specmini.sampling import draw
from specmini.verify import Draft, verify


def test_draws_are_those_of_single_rows():
    rng = np.random.default_rng(3)
    weights = rng.random((200, 30)) ** 4
    weights[rng.random(weights.shape) < 0.5] = 0.0
    weights[0], weights[1] = 0.0, 0.0
    weights[0, 7], weights[1, -1] = 5e-324, 2.0
    together = draw_each(weights, [np.random.default_rng(i) for i in range(200)])
    alone = [draw(row, np.random.default_rng(i)) for i, row in enumerate(weights)]
    assert together == alone


class Largest:
    def random(self):
        return np.nextafter(1.0, 0.0)


def test_the_largest_random_number_draws_the_last_token_that_can_be():
    rows = np.array([[1e-323, 0.0], [1.0, 0.0], [0.5, 0.5]])
    assert draw_each(rows, [Largest()] * 3) == [draw(row, Largest()) for row in rows] == [0, 0, 1]


@pytest.mark.parametrize(
    "weights", [np.ones(3), np.ones((3, 2)), np.zeros((2, 0)), np.zeros((2, 2))]
)
def test_rows_that_cannot_be_drawn_from_are_refused(weights):
    with pytest.raises(ValueError, match="weights must have"):
        draw_each(weights, [Largest()] * 2)


def distributions(rng, count, vocabulary):
    rows = rng.random((count, vocabulary)) ** 3
    rows[rng.random(rows.shape) < 0.3] = 0.0
    rows[:, 0] += 0.01
    return rows / rows.sum(-1, keepdims=True)


def ragged(rng, count, shown):
    """Drafts of 0 to 5 tokens, and the target's rows for each."""
    drafts, rows = [], []
    for _ in range(count):
        length = int(rng.integers(6))
        q = distributions(rng, length, 7)
        tokens = np.array([draw(row, rng) for row in q], np.int64)
        p = distributions(rng, length + 1, 7)
        p[:length] = 0.2 * p[:length] + 0.8 * (q if shown else np.eye(7)[tokens])
        q = q.astype(np.float32) if rng.random() < 0.5 else q
        drafts.append(Draft(tokens, q if shown else None))
        rows.append(p)
    return drafts, rows


@pytest.mark.parametrize("shown", [True, False])
def test_verdicts_are_those_of_single_drafts_and_use_the_same_numbers(shown):
    drafts, rows = ragged(np.random.default_rng(4), 400, shown)
    together, alone = ([np.random.default_rng(i) for i in range(400)] for _ in range(2))
    found = verify_each(np.concatenate(rows), drafts, together)
    assert found == [
        verify(p, draft, rng) for p, draft, rng in zip(rows, drafts, alone, strict=True)
    ]
    # every generator has given as many numbers
    assert [rng.random() for rng in together] == [rng.random() for rng in alone]
    accepted = [verdict.n_accepted for verdict in found]
    assert set(accepted) == set(range(6))
    assert any(n < len(draft) for n, draft in zip(accepted, drafts, strict=True))


def test_a_token_that_cannot_be_is_never_accepted():
    """p = 0 and the smallest uniform number there is, 0."""

    class Zero:
        def random(self):
            return 0.0

    p = np.array([[0.0, 1.0], [0.5, 0.5]])
    (found,) = verify_each(p, [Draft(np.array([0]))], [Zero()])
    assert (found.n_accepted, found.next_token) == (0, 1)


@pytest.mark.parametrize(
    ("probs", "tokens", "message"),
    [
        (np.full((2, 2), 0.5), [0, 0], r"target_probs must have shape \(3, V\) for 1 drafts"),
        (np.full((3, 2), 0.5), [0, 2], r"tokens must be in \[0, 2\), got 2"),
        (np.full((2, 2), 0.6), [0], "target_probs must sum to 1 in each row, got 1.2 in row 0"),
        (np.full(2, 0.5), [0], r"got \(2,\)"),
    ],
)
def test_what_cannot_be_judged_is_refused(probs, tokens, message):
    with pytest.raises(ValueError, match=message):
        verify_each(probs, [Draft(np.array(tokens))], [Largest()])
