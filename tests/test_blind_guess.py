"""The best guess behind an unknown token beats every other guess."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmini.exact.blind_guess import best_blind_guess, blind_acceptance


def case(seed, rows, vocabulary, sharpness):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(rows))
    return weights, rng.dirichlet(np.full(vocabulary, sharpness), rows), rng


@given(
    st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 8), st.sampled_from([0.1, 1.0, 10.0])
)
def test_no_other_guess_is_accepted_more(seed, rows, vocabulary, sharpness):
    weights, p, rng = case(seed, rows, vocabulary, sharpness)
    best = best_blind_guess(weights, p)
    assert best.sum() == pytest.approx(1)
    reached = blind_acceptance(weights, p, best)
    others = [weights @ p, *p, *rng.dirichlet(np.ones(vocabulary), 50)]
    # a step from the best towards any other, too: the criterion is concave
    others += [0.99 * best + 0.01 * other for other in others]
    assert max(blind_acceptance(weights, p, q / q.sum()) for q in others) <= reached + 1e-9


def test_one_possible_token_hides_nothing():
    p = [[0.1, 0.6, 0.3]]
    np.testing.assert_allclose(best_blind_guess([1.0], p), p[0])
    assert blind_acceptance([1.0], p, p[0]) == pytest.approx(1)


def test_two_equal_tokens_with_nothing_in_common_leave_a_half():
    p = [[1.0, 0.0], [0.0, 1.0]]
    assert blind_acceptance([0.5, 0.5], p, best_blind_guess([0.5, 0.5], p)) == pytest.approx(0.5)


def test_the_average_is_not_the_best_guess():
    weights, p = [0.6, 0.4], [[1.0, 0.0], [0.0, 1.0]]
    average = blind_acceptance(weights, p, [0.6, 0.4])
    assert average == pytest.approx(0.52)
    assert blind_acceptance(weights, p, best_blind_guess(weights, p)) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("weights", "p", "message"),
    [
        ([0.5, 0.6], [[1.0], [1.0]], "weights must sum to 1"),
        ([1.0], [[0.5, 0.4]], "target_probs must sum to 1"),
        ([1.0], [0.5, 0.5], r"shapes \(M,\) and \(M, V\)"),
    ],
)
def test_refuses(weights, p, message):
    with pytest.raises(ValueError, match=message):
        best_blind_guess(weights, p)
