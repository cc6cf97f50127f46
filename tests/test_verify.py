"""Accept, recover, bonus: every branch of ``verify`` has the chance it must have, exactly."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lossless import Engine, ScriptedRandom, Watched, edge, largest_error, outcomes

from specmini.engine.table_model import random_table
from specmini.sampling import draw
from specmini.verify.chain import Draft, Verdict, check_rows, check_tokens, verify

below_one = math.nextafter(1.0, 0.0)


def ids(*tokens):
    return np.array(tokens, dtype=np.int64)


def one_hot(token, vocabulary):
    return np.eye(vocabulary)[token]


# --- every branch, the uniform numbers taken as they are --------------------------------------


def acceptance(target_probs, draft, position):
    """The chance that a position is accepted, the ones before it being so.

    Nothing in ``verify`` is replaced: a larger number never turns a rejection into an acceptance,
    so bisection finds the edge.
    """

    def accepts(uniform):
        numbers = [0.0] * position + [uniform] + [0.5] * len(target_probs)
        return verify(target_probs, draft, ScriptedRandom(numbers)).n_accepted > position

    return edge(accepts)


def added(target_probs, draft, position):
    """The chances of the token that is added after ``position`` tokens were accepted."""
    rejection = [below_one] if position < len(draft) else []

    def at_most(last):
        def holds(uniform):
            rng = ScriptedRandom([0.0] * position + rejection + [uniform])
            return verify(target_probs, draft, rng).next_token <= last

        return edge(holds)

    return np.diff([at_most(last) for last in range(len(target_probs[0]))], prepend=0)


hard_pairs = {
    "ordinary": ([0.1, 0.2, 0.7], [0.5, 0.3, 0.2]),
    "equal": ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]),
    "disjoint": ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7]),
    "p with zeros": ([0.0, 1.0, 0.0], [0.2, 0.3, 0.5]),
    "q with zeros": ([0.2, 0.3, 0.5], [0.0, 1.0, 0.0]),
    "both certain, agreeing": ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0]),
    "both certain, disagreeing": ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
    "q tiny": ([0.5, 0.5], [1e-12, 1 - 1e-12]),
    "p tiny": ([1e-12, 1 - 1e-12], [0.5, 0.5]),
    "nearly equal": ([0.3, 0.7], [0.3 + 1e-9, 0.7 - 1e-9]),
    "one token": ([1.0], [1.0]),
}


@pytest.mark.parametrize("certain", [False, True], ids=["q known", "named with certainty"])
@pytest.mark.parametrize("pair", hard_pairs)
def test_one_drafted_token_leaves_p_as_it_is(pair, certain):
    """sum over x of q(x) [accept(x) at x + reject(x) residual] = p, to the last digits."""
    p, q = (np.array(row) for row in hard_pairs[pair])
    target_probs = np.array([p, p[::-1]])
    found = np.zeros(len(p))
    for token in np.flatnonzero(q):
        draft = Draft(ids(token), None if certain else q[None])
        accepted = acceptance(target_probs, draft, 0)
        found[token] += q[token] * accepted
        if accepted < 1:
            found += q[token] * (1 - accepted) * added(target_probs, draft, 0)
        expected = p[token] if certain else min(1.0, p[token] / q[token])
        assert accepted == pytest.approx(expected, abs=1e-14)
    np.testing.assert_allclose(found, p, atol=1e-12)


@pytest.mark.parametrize("certain", [False, True], ids=["q known", "named with certainty"])
def test_two_drafted_tokens_and_the_bonus(certain):
    """The row after a token depends on the token, as in a text; three tokens, jointly."""
    rng = np.random.default_rng(1)
    p, q = (random_table(3, 2, rng, 0.7) for _ in range(2))
    found = np.zeros((3, 3, 3))
    for a, b in itertools.product(range(3), repeat=2):
        target_probs = np.array([p[0, 0], p[0, a], p[a, b]])
        draft = Draft(ids(a, b), None if certain else np.array([q[0, 0], q[0, a]]))
        chance = q[0, 0, a] * q[0, a, b]
        first = acceptance(target_probs, draft, 0)
        second = acceptance(target_probs, draft, 1)
        # what a round does not write is written by the target
        for token, share in enumerate(added(target_probs, draft, 0) if first < 1 else []):
            found[token] += chance * (1 - first) * share * p[0, token][:, None] * p[token]
        for token, share in enumerate(added(target_probs, draft, 1) if second < 1 else []):
            found[a, token] += chance * first * (1 - second) * share * p[a, token]
        found[a, b] += chance * first * second * added(target_probs, draft, 2)
    np.testing.assert_allclose(found, p[0, 0][:, None, None] * p[0][:, :, None] * p, atol=1e-12)


# --- every branch, walked ---------------------------------------------------------------------

weights = st.lists(st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0, 3.0]), min_size=3, max_size=3)
distributions = weights.filter(any).map(lambda row: np.array(row) / sum(row))


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.tuples(distributions, distributions), min_size=1, max_size=3), st.booleans())
def test_any_pair_of_distributions(pairs, certain):
    """Positions with rows of their own: what a round writes has the target's distribution."""
    engine = Engine.load().walked()
    rows = [np.array(rows) for rows in zip(*pairs, strict=True)]
    target_probs, draft_probs = rows[0], rows[1][:-1]

    def write(walker):
        tokens = ids(*(walker.choose(row) for row in draft_probs))
        verdict = engine.verify.verify(
            target_probs,
            Draft(tokens, draft_probs if len(tokens) and not certain else None),
            walker,
        )
        written = [*tokens[: verdict.n_accepted].tolist(), verdict.next_token]
        return (*written, *(walker.choose(row) for row in target_probs[len(written) :]))

    right = {
        tokens: math.prod(row[token] for row, token in zip(target_probs, tokens, strict=True))
        for tokens in itertools.product(range(3), repeat=len(pairs))
    }
    assert largest_error(outcomes(write), right) < 1e-12


# --- the edges, one by one --------------------------------------------------------------------


@pytest.mark.parametrize("uniform", [0.0, 0.5, below_one])
def test_a_token_that_the_target_never_writes_is_never_accepted(uniform):
    p, q = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[1.0, 0.0]])
    for draft in (Draft(ids(0), q), Draft(ids(0))):
        assert verify(p, draft, ScriptedRandom([uniform, 0.0])) == Verdict(0, 1)


@pytest.mark.parametrize("uniform", [0.0, 0.5, below_one])
def test_equal_distributions_are_always_accepted(uniform):
    for q in np.random.default_rng(2).dirichlet(np.full(4, 0.5), size=20):
        for token in np.flatnonzero(q):
            verdict = verify([q, q], Draft(ids(token), q[None]), ScriptedRandom([uniform, 0.0]))
            assert verdict.n_accepted == 1


def test_equal_distributions_in_single_precision_are_always_accepted():
    """In float32 the largest uniform number times q would round up to q, and be rejected."""
    q = np.array([[0.3, 0.7]], np.float32)
    p = np.vstack([q, q])
    for token in range(2):
        verdict = verify(p, Draft(ids(token), q), ScriptedRandom([below_one, 0.0]))
        assert verdict.n_accepted == 1


def test_a_residual_that_is_numerically_zero_falls_back_on_p():
    """p sums to a bit less than 1, within tolerance, and nowhere exceeds q."""
    p = np.array([[1 - 5e-7, 0.0], [0.5, 0.5]])
    for draft in (Draft(ids(0), np.array([[1.0, 0.0]])), Draft(ids(0))):
        assert verify(p, draft, ScriptedRandom([below_one, below_one])) == Verdict(0, 0)


def test_the_acceptance_is_p_over_q_and_not_p():
    p, q = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.5, 0.5]])
    for uniform, n_accepted in ((0.49, 1), (0.51, 0)):
        verdict = verify(p, Draft(ids(0), q), ScriptedRandom([uniform, 0.0]))
        assert verdict.n_accepted == n_accepted


@pytest.mark.parametrize("length", range(6))
@pytest.mark.parametrize("n_accepted", range(6))
def test_a_number_of_its_own_for_each_position_looked_at(length, n_accepted):
    if n_accepted > length:
        return
    p = np.full((length + 1, 2), 0.5)
    # accepted for numbers below a half: each position must see its own
    numbers = [0.4] * n_accepted + [0.6] * (n_accepted < length) + [0.0]
    rng = ScriptedRandom(numbers)
    verdict = verify(p, Draft(ids(*[1] * length)), rng)
    assert verdict == Verdict(n_accepted, 0)
    assert rng.used == len(numbers)


def test_an_empty_draft_is_a_plain_draw():
    p = np.array([0.2, 0.3, 0.5])
    for uniform in (0.0, 0.1, 0.4, 0.6, below_one):
        drawn = draw(p, ScriptedRandom([uniform]))
        for draft in (Draft(ids()), Draft(ids(), np.zeros((0, 3)))):
            assert verify(p[None], draft, ScriptedRandom([uniform])) == Verdict(0, drawn)


def test_greedy_rows_keep_the_agreeing_prefix():
    p = np.array([one_hot(token, 5) for token in (3, 1, 4, 1)])
    rng = np.random.default_rng(0)
    for draft, verdict in {
        (3, 1, 4): Verdict(3, 1),
        (3, 1, 0): Verdict(2, 4),
        (3, 2, 4): Verdict(1, 1),
        (0, 1, 4): Verdict(0, 3),
    }.items():
        sure = np.array([one_hot(token, 5) for token in draft])
        assert verify(p, Draft(ids(*draft)), rng) == verdict
        assert verify(p, Draft(ids(*draft), sure), rng) == verdict


def test_the_same_seed_gives_the_same_verdicts_and_no_number_twice():
    p = np.random.default_rng(1).dirichlet(np.ones(4), 4)
    runs = []
    for _ in range(2):
        rng = Watched(seed=9)
        runs.append([verify(p, Draft(ids(0, 1, 2)), rng) for _ in range(200)])
        assert len(set(rng.given)) == len(rng.given)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 5


def test_nothing_that_is_given_is_changed():
    p, q = np.random.default_rng(3).dirichlet(np.ones(4), (2, 3))
    draft = Draft(ids(0, 1), q[:2])
    before = p.copy(), q.copy(), draft.tokens.copy()
    for seed in range(50):
        verify(p, draft, np.random.default_rng(seed))
        verify(p, Draft(draft.tokens), np.random.default_rng(seed))
    for array, copy in zip((p, q, draft.tokens), before, strict=True):
        np.testing.assert_array_equal(array, copy)


# --- single precision and other types ---------------------------------------------------------


def test_single_precision_differs_by_its_rounding_only():
    rng = np.random.default_rng(4)
    p, q = (rng.dirichlet(np.ones(50), 3).astype(np.float32) for _ in range(2))
    tokens = ids(*(draw(row, rng) for row in q[:2]))
    for seed in range(200):
        single = verify(p, Draft(tokens, q[:2]), np.random.default_rng(seed))
        double = verify(
            p.astype(float), Draft(tokens, q[:2].astype(float)), np.random.default_rng(seed)
        )
        assert single == double


def test_a_verdict_holds_plain_integers():
    for dtype in (np.int32, np.int64, np.uint8):
        draft = Draft(np.array([1, 0], dtype))
        verdict = verify(np.full((3, 2), 0.5), draft, np.random.default_rng(0))
        assert type(verdict.n_accepted) is int
        assert type(verdict.next_token) is int


# --- what is refused --------------------------------------------------------------------------

half = np.full((1, 2), 0.5)


@pytest.mark.parametrize(
    ("tokens", "probs", "message"),
    [
        ([1, 2], None, r"tokens must be an array of integers, got \[1, 2\]"),
        (np.array([1.0]), None, r"tokens must be integers of shape \(K,\), got float64"),
        (np.array([True]), None, "got bool"),
        (np.array(1), None, r"shape \(\)"),
        (np.array([[1]]), None, r"shape \(1, 1\)"),
        (ids(1), np.full(2, 0.5), r"probs must have shape \(1, V\) for 1 tokens, got \(2,\)"),
        (ids(1, 0), half, r"probs must have shape \(2, V\)"),
        (ids(0), [[1.0, 0.0]], r"probs must be an array .*got \[\[1.0, 0.0\]\]"),
        (ids(2), half, r"tokens must be in \[0, 2\), got 2 at 0"),
        (ids(-1), half, r"tokens must be in \[0, 2\), got -1 at 0"),
        (ids(1), np.array([[0.5, 0.6]]), "probs must sum to 1 in each row, got 1.1 in row 0"),
        (ids(1), np.array([[-0.5, 1.5]]), "probs must be at least 0, got -0.5"),
        (ids(1), np.array([[np.nan, 1.0]]), "probs must be at least 0, got nan"),
        (ids(1), np.array([[1.0, 0.0]]), "probs must be positive at the token drawn, got 0.0"),
    ],
)
def test_drafts_that_cannot_be_are_refused(tokens, probs, message):
    with pytest.raises(ValueError, match=message):
        Draft(tokens, probs)


@pytest.mark.parametrize(
    ("target_probs", "draft", "message"),
    [
        (half, Draft(ids(1)), r"target_probs must have shape \(2, V\) for 1 draft tokens, got"),
        (half[0], Draft(ids()), r"target_probs must have shape \(1, V\)"),
        (np.eye(3)[:2], Draft(ids(1), half), "target_probs must have the draft's vocabulary of 2"),
        (np.eye(2), Draft(ids(2)), r"tokens must be in \[0, 2\), got 2 at 0"),
        (np.eye(2), Draft(ids(-1)), r"tokens must be in \[0, 2\), got -1 at 0"),
        (
            np.eye(2) * 0.9,
            Draft(ids(1)),
            "target_probs must sum to 1 in each row, got 0.9",
        ),
        (np.array([[1.5, -0.5]]), Draft(ids()), "target_probs must be at least 0, got -0.5"),
        (np.array([[np.nan, 1.0]]), Draft(ids()), "target_probs must be at least 0, got nan"),
        (np.zeros((1, 0)), Draft(ids()), "target_probs must sum to 1"),
    ],
)
def test_target_rows_that_cannot_be_are_refused(target_probs, draft, message):
    with pytest.raises(ValueError, match=message):
        verify(target_probs, draft, np.random.default_rng(0))


def test_the_checks_let_right_input_pass():
    check_tokens([], 3)
    check_tokens((0, np.int32(2)), 3)
    check_rows("rows", np.zeros((0, 3)))
    check_rows("rows", np.full((2, 3), np.float32(1 / 3)))


def test_single_precision_rows_over_a_large_vocabulary_are_distributions():
    """Summed in any order, such a row misses 1 by more than any row over a small vocabulary."""
    logits = np.random.default_rng(0).normal(0, 3, (20, 50_257)).astype(np.float32)
    weights = np.exp(logits - logits.max(-1, keepdims=True))  # (20, 50257)
    q = weights / np.add.accumulate(weights, -1)[:, -1:]  # as a kernel that sums in one pass
    assert np.abs(q.sum(-1) - 1).max() > 1e-6
    draft = Draft(q.argmax(-1), q)
    rows = np.concatenate((q, q[-1:]))  # (21, 50257)
    assert verify(rows, draft, np.random.default_rng(0)).n_accepted == 20, "p is q"


@pytest.mark.parametrize("tokens", [[1.0], [True], ["a"], [[1]], [2**70], [3], [-1]])
def test_what_is_no_token_is_refused(tokens):
    with pytest.raises(ValueError, match="prompt must be "):
        check_tokens(tokens, 3, "prompt")
