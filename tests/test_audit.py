"""The audit is exact on its grid, finds wrong rules, and refuses what is no rule."""

import numpy as np
import pytest

from specmini import theory
from specmini.exact.audit import audit
from specmini.sampling import draw
from specmini.verify import Draft, Verdict, verify

P = np.array([[0.5, 0.1, 0.4], [0.4, 0.5, 0.1], [0.1, 0.4, 0.5]])
Q = np.array([[0.3, 0.5, 0.2], [0.2, 0.3, 0.5], [0.5, 0.2, 0.3]])


@pytest.mark.parametrize("draft_length", [1, 2])
def test_the_rule_of_the_package_is_exact_and_yields_what_the_formula_says(draft_length):
    found = audit(verify, P, Q, draft_length)
    for tokens in range(1, draft_length + 2):
        assert found.distance(tokens) < 1e-12
    assert found.tokens_per_round == pytest.approx(theory.tokens_per_round(0.6, draft_length))
    two = found.wanted.reshape(3, 3, -1).sum(-1)  # (V, V) the first two tokens
    np.testing.assert_allclose(two, P[0][:, None] * P)
    assert found.written.sum() == pytest.approx(1)


def from_target(p, draft, rng):
    """Replace a rejected word by one of p, without subtracting q."""
    if rng.random() * draft.probs[0, draft.tokens[0]] < p[0, draft.tokens[0]]:
        return Verdict(1, draw(p[1], rng))
    return Verdict(0, draw(p[0], rng))


def test_a_wrong_rule_is_measured_exactly():
    found = audit(from_target, P, Q, draft_length=1)
    first = found.written.sum(1)
    kept = np.minimum(P[0], Q[0])
    np.testing.assert_allclose(first, kept + (1 - kept.sum()) * P[0], atol=1e-12)
    assert found.distance(1) == pytest.approx(0.04)


def test_a_coarse_grid_is_off_by_no_more_than_it_says():
    p, q = np.array([[0.62, 0.38]] * 2), np.array([[0.13, 0.87]] * 2)
    found = audit(verify, p, q, draft_length=1, cells=20)
    assert 0 < found.distance(2) <= 2 * 2 / 20


def test_a_drafter_that_never_says_a_word_is_covered():
    target, certain = np.array([[0.4, 0.2, 0.4]] * 3), np.array([[0.0, 1.0, 0.0]] * 3)
    found = audit(verify, target, certain, draft_length=1)
    assert found.distance(2) < 1e-12
    assert found.tokens_per_round == pytest.approx(1.2)  # accepted with p of the one it says


BAD_RULES = {
    "at most K \\+ 1 random numbers": lambda p, draft, rng: [rng.random() for _ in range(9)],
    "accept 0 to 1 tokens": lambda p, draft, rng: Verdict(2, 0),
    "add one in \\[0, 3\\)": lambda p, draft, rng: Verdict(0, 3),
}


@pytest.mark.parametrize("message", BAD_RULES)
def test_no_rule(message):
    with pytest.raises(ValueError, match=f"rule must.*{message}"):
        audit(BAD_RULES[message], P, Q, draft_length=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((P[:2], Q), r"tables must both have shape \(V, V\)"),
        ((P, Q[:, :2]), r"tables must both have shape \(V, V\)"),
        ((P * 2, Q), "target_table must sum to 1"),
        ((P, Q, 0), "draft_length must be at least 1, got 0"),
        ((P, Q, 1, 0), "cells must be at least 1, got 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        audit(verify, *arguments)


@pytest.mark.parametrize("tokens", [0, 3])
def test_distance_is_about_tokens_there_are(tokens):
    with pytest.raises(ValueError, match=rf"tokens must be in \[1, 2\], got {tokens}"):
        audit(verify, P, Q, draft_length=1).distance(tokens)


def test_the_draft_given_to_the_rule_carries_its_distributions():
    seen = []

    def rule(p, draft, rng):
        seen.append((p, draft))
        return verify(p, draft, rng)

    audit(rule, P, Q, draft_length=2, cells=1)
    assert len(seen) == 9
    p, draft = seen[5]  # drafts in order: token 1, then token 2
    assert isinstance(draft, Draft)
    np.testing.assert_array_equal(draft.tokens, [1, 2])
    np.testing.assert_array_equal(draft.probs, Q[[0, 1]])
    np.testing.assert_array_equal(p, P[[0, 1, 2]])
