"""From logits to probabilities, and from probabilities to a token."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lossless import ScriptedRandom, edge

from specmini.sampling import Sampling, draw, greedy, plain

# an absurd logit over an absurd temperature overflows to -inf, a probability of 0
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in divide")

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

special = st.sampled_from([-math.inf, -1e30, 1e30, 0.0])
logit = st.integers(-3000, 3000).map(lambda n: n / 100) | special
rows = st.lists(logit, min_size=1, max_size=12).filter(lambda row: max(row) > -math.inf)
temperatures = st.floats(0.01, 100.0)
samplings = st.builds(
    Sampling,
    temperature=temperatures | st.sampled_from([0.0, 1e-30, 1e30]),
    top_k=st.none() | st.integers(1, 14),
    top_p=st.floats(0.01, 1.0),
)
types = st.sampled_from([np.float32, np.float64])


# --- probabilities ----------------------------------------------------------------------------


@repeatable
@given(rows, samplings, types)
def test_a_row_is_a_distribution_in_the_order_of_its_logits(row, sampling, dtype):
    logits = np.array(row, dtype)
    probs = sampling.probs(logits)
    assert probs.dtype == np.float64
    assert probs.sum() == pytest.approx(1, abs=1e-12)
    assert (probs >= 0).all()
    assert probs[logits.argmax()] == probs.max()
    assert (probs[logits == -math.inf] == 0).all()
    rising = probs[np.lexsort((-np.arange(len(row)), logits))]  # greedy takes the first of equals
    assert (rising[1:] >= rising[:-1] * (1 - 1e-6)).all()


@repeatable
@given(rows, samplings.filter(lambda sampling: sampling.temperature > 0), types)
def test_equal_logits_are_treated_equally(row, sampling, dtype):
    logits = np.array([*row, *row], dtype)
    first, second = np.split(sampling.probs(logits), 2)
    np.testing.assert_array_equal(first, second)


@repeatable
@given(rows, st.floats(0.05, 20.0))
def test_temperature_divides_the_logits(row, temperature):
    weights = [math.exp((x - max(row)) / temperature) for x in row]
    np.testing.assert_allclose(
        Sampling(temperature).probs(row), np.array(weights) / math.fsum(weights), atol=1e-14
    )


@repeatable
@given(rows, st.integers(1, 14))
def test_top_k_keeps_the_k_likeliest_and_their_equals(row, k):
    probs, all_probs = Sampling(top_k=k).probs(row), plain.probs(row)
    kept = probs > 0
    kth = sorted(row)[-min(k, len(row))]
    np.testing.assert_array_equal(kept, (np.array(row) >= kth) & (all_probs > 0))
    np.testing.assert_allclose(probs[kept], all_probs[kept] / all_probs[kept].sum(), rtol=1e-12)


@repeatable
@given(rows, st.floats(0.01, 0.999))
def test_top_p_keeps_the_smallest_set_that_reaches_p_and_its_equals(row, top_p):
    probs, all_probs = Sampling(top_p=top_p).probs(row), plain.probs(row)
    kept = probs > 0
    assert all_probs[kept].sum() >= top_p - 1e-12
    likelier = all_probs[all_probs > all_probs[kept].min()]
    assert likelier.sum() < top_p + 1e-12  # without the last and its equals it does not reach
    assert all_probs[~kept].max(initial=0) < all_probs[kept].min()
    np.testing.assert_allclose(probs[kept], all_probs[kept] / all_probs[kept].sum(), rtol=1e-12)


def test_top_p_by_hand():
    logits = np.log([0.1, 0.4, 0.2, 0.3])
    np.testing.assert_allclose(Sampling(top_p=0.6).probs(logits), [0, 4 / 7, 0, 3 / 7])
    np.testing.assert_allclose(Sampling(top_p=0.75).probs(logits), [0, 4 / 9, 2 / 9, 3 / 9])
    np.testing.assert_allclose(Sampling(top_p=0.01).probs(logits), [0, 1, 0, 0])
    # top-k goes first: of what it leaves, 0.57 and 0.43, the first reaches a half
    np.testing.assert_allclose(Sampling(top_k=2, top_p=0.5).probs(logits), [0, 1, 0, 0])
    # temperature goes before both: at 1/2 the squares count, of which the first is over a half
    np.testing.assert_allclose(Sampling(0.5, top_p=0.5).probs(logits), [0, 1, 0, 0])


@repeatable
@given(rows, samplings, types)
def test_a_row_among_others_gives_the_same_as_alone(row, sampling, dtype):
    logits = np.array([row, row[::-1], row], dtype)
    np.testing.assert_allclose(sampling.probs(logits)[0], sampling.probs(logits[0]), rtol=1e-6)
    stacked = sampling.probs(logits[:, None])
    assert stacked.shape == (3, 1, len(row))


@repeatable
@given(rows, types)
def test_the_limit_of_small_temperatures_is_greedy(row, dtype):
    logits = np.array(row, dtype)
    best = logits == logits.max()
    limit = Sampling(1e-30).probs(logits)
    np.testing.assert_allclose(limit, best / best.sum(), atol=1e-12)
    assert greedy.probs(logits).tolist() == [float(i == logits.argmax()) for i in range(len(row))]


def test_the_limit_of_large_temperatures_is_uniform():
    for dtype in (np.float32, np.float64):
        logits = np.array([3.0, -20.0, -np.inf, 1e20], dtype)
        probs = Sampling(1e30).probs(logits)
        np.testing.assert_allclose(probs, [1 / 3, 1 / 3, 0, 1 / 3], rtol=1e-6)


def test_single_precision_is_as_exact_as_its_logits():
    logits = np.random.default_rng(1).normal(0, 5, (5, 1024))
    exact = plain.probs(logits.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(plain.probs(logits.astype(np.float32)), exact, rtol=3e-6)
    half = logits.astype(np.float16)
    np.testing.assert_array_equal(plain.probs(half), plain.probs(half.astype(np.float64)))


def test_logits_are_left_as_they_are():
    for dtype in (np.float32, np.float64):
        logits = np.array([[1.0, 2.0, 4.0]], dtype)
        for sampling in (plain, greedy, Sampling(0.5, 2, 0.5)):
            sampling.probs(logits)
            assert logits.tolist() == [[1.0, 2.0, 4.0]]


@pytest.mark.parametrize("sampling", [plain, greedy, Sampling(0.5, 2, 0.9)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([[0.0, 1.0], [np.nan, 1.0]], "logits must be finite or -inf.*nan"),
        ([[0.0, 1.0], [-np.inf, -np.inf]], "finite one in each row.*-inf"),
        ([[0.0, np.inf]], "logits must be finite or -inf.* inf"),
        ([], r"logits must have shape \(\.\.\., V\), V at least 1, got \(0,\)"),
        (np.zeros((3, 0)), r"got \(3, 0\)"),
        (1.0, r"got \(\)"),
    ],
)
def test_logits_that_stand_for_nothing_are_refused(sampling, dtype, logits, message):
    with pytest.raises(ValueError, match=message):
        sampling.probs(np.array(logits, dtype))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": -0.1}, r"temperature must be 0 or in \[1e-30, 1e30\], got -0\.1"),
        ({"temperature": 1e-31}, "temperature must be 0 or"),
        ({"temperature": math.inf}, "temperature must be .* got inf"),
        ({"temperature": math.nan}, "temperature must be .* got nan"),
        ({"top_k": 0}, r"top_k must be a whole number in \[1, .*got 0"),
        ({"top_k": 2.5}, "top_k must be a whole number .*got 2.5"),
        ({"top_k": True}, "top_k must be a whole number .*got True"),
        ({"top_p": 0.0}, r"top_p must be in \(0, 1\], got 0\.0"),
        ({"top_p": 1.1}, r"top_p must be in \(0, 1\], got 1\.1"),
        ({"top_p": math.nan}, "top_p must be .* got nan"),
    ],
)
def test_settings_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**arguments)


# --- the draw ---------------------------------------------------------------------------------

below_one = math.nextafter(1.0, 0.0)


@pytest.mark.parametrize(
    "weights",
    [
        [0.2, 0.3, 0.5],
        [0.0, 0.7, 0.0, 0.0, 0.1, 0.2, 0.0],
        [1.0],
        [1e-9, 1.0, 1e-9],
        [3.0, 4.0],  # need not sum to 1
        [1e-300, 3e-300],
        [0.1] * 10,
    ],
)
def test_each_index_owns_its_share_of_the_uniform_numbers(weights):
    """All of draw: the index never falls as the uniform number rises, so bisection finds it."""
    edges = [
        edge(lambda uniform, last=last: draw(weights, ScriptedRandom([uniform])) <= last)
        for last in range(len(weights))
    ]
    shares = np.array(weights) / sum(weights)
    np.testing.assert_allclose(np.diff(edges, prepend=0), shares, atol=1e-15)


@repeatable
@given(
    st.lists(
        st.sampled_from([0.0, 5e-324, 1e-310, 1e-17, 0.3, 1.0]), min_size=1, max_size=9
    ).filter(any),
    st.floats(0, below_one) | st.just(below_one),
    types,
)
def test_draw_never_returns_what_has_no_weight(weights, uniform, dtype):
    weights = np.array(weights, dtype)
    if weights.any():  # single precision rounds the smallest away
        assert weights[draw(weights, ScriptedRandom([uniform]))] > 0


def test_draw_uses_one_number():
    rng = ScriptedRandom([0.5, 0.5])
    assert draw(np.array([0.2, 0.8]), rng) == 1
    assert rng.used == 1


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.0, 0.0], r"weights must have a sum in \(0, inf\), got 0\.0"),
        ([0.5, math.nan], "got nan"),
        ([0.5, math.inf], "got inf"),
        ([], r"weights must have shape \(V,\), V at least 1, got \(0,\)"),
        ([[0.5, 0.5]], r"got \(1, 2\)"),
        (0.5, r"got \(\)"),
    ],
)
def test_weights_that_cannot_be_drawn_from_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        draw(np.array(weights), np.random.default_rng(0))
