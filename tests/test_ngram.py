"""N-gram tables: against counts made by hand, and as a distribution."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini.drafters.ngram import NgramDrafter, NgramTables
from specmini.sampling import Sampling, greedy, plain

repeatable = settings(derandomize=True, deadline=None, max_examples=200)
corpora = st.lists(st.integers(0, 3), max_size=60)


def by_hand(tokens, vocabulary, context, discount):
    """P(x | context) for each x, by the formula, from the longest context down."""
    size = len(context)
    after = Counter(
        tokens[place + size]
        for place in range(len(tokens) - size)
        if tuple(tokens[place : place + size]) == tuple(context)
    )
    if context:
        shorter = by_hand(tokens, vocabulary, context[1:], discount)
    else:
        shorter = [1 / vocabulary] * vocabulary
    if not after:
        return shorter
    total, left = after.total(), discount * len(after) / after.total()
    return [
        max(after[token] - discount, 0) / total + left * shorter[token]
        for token in range(vocabulary)
    ]


@repeatable
@given(corpora, st.lists(st.integers(0, 3), max_size=6), st.integers(1, 4), st.floats(0.05, 0.95))
def test_chances_are_those_counted_by_hand(tokens, context, order, discount):
    found = NgramTables(tokens, 4, order, discount).probs(context)
    kept = context[len(context) - min(len(context), order - 1) :]
    np.testing.assert_allclose(found, by_hand(tokens, 4, kept, discount), rtol=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found.min() > 0


def test_without_a_corpus_every_token_is_as_likely():
    np.testing.assert_array_equal(NgramTables([], 4).probs([1, 2]), [0.25] * 4)


def test_large_vocabularies_keep_contexts_apart():
    """Contexts are numbers in base V: none may run into another."""
    tokens = [999, 0, 1, 0, 999, 2, 0, 0, 3]
    for kind in (np.int16, np.uint64):
        tables = NgramTables(np.array(tokens, dtype=kind), 1000, order=3)
        for start in range(len(tokens) - 2):
            assert tables.probs(tokens[start : start + 2]).argmax() == tokens[start + 2]


def test_a_draft_is_drawn_row_by_row():
    """Rows are those of the tables, after each context in turn, through the sampling."""
    tokens = np.random.default_rng(1).integers(0, 5, 200)
    tables, sampling = NgramTables(tokens, 5, 3), Sampling(0.5, top_k=3)
    drafter = NgramDrafter(tables, sampling)
    for text in ([4], [1, 2, 3, 0]):
        draft = drafter.propose(text, 4, np.random.default_rng(2))
        so_far = list(text)
        for token, row in zip(draft.tokens, draft.probs, strict=True):
            right = sampling.probs(np.log(tables.probs(so_far)))
            np.testing.assert_allclose(row, right, rtol=1e-6)
            so_far.append(int(token))


def test_draws_have_the_frequencies_they_claim():
    """20 000 draws; a share that is off by 5 standard errors has chance 6e-7, for 5 of them."""
    tables = NgramTables([0, 1, 0, 2, 0, 1, 0, 3], 5)
    drafter, rng = NgramDrafter(tables, plain), np.random.default_rng(3)
    drawn = [int(drafter.propose([0], 1, rng).tokens[0]) for _ in range(20_000)]
    shares, right = np.bincount(drawn, minlength=5) / 20_000, tables.probs([0])
    assert (np.abs(shares - right) < 5 * np.sqrt(right * (1 - right) / 20_000)).all()


def test_one_token_of_context_or_none():
    tokens = [0, 1, 0, 1, 2]
    for order, likeliest in ((1, 0), (2, 1)):
        draft = NgramDrafter(NgramTables(tokens, 3, order), greedy).propose(
            [2, 0], 2, np.random.default_rng(0)
        )
        assert draft.tokens.tolist() == [likeliest, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": [0, 3]}, r"tokens must be in \[0, 3\), got 3 at 1"),
        ({"order": 0}, r"order must be a whole number in \[1, .*got 0"),
        ({"order": 40}, r"order must keep vocabulary \*\* order within 2 \*\* 63, got 40"),
        ({"discount": 1.0}, r"discount must be in \(0, 1\), got 1\.0"),
        ({"discount": 0}, r"discount must be in \(0, 1\), got 0"),
        ({"vocabulary": 0}, r"vocabulary must be a whole number in \[1, .*got 0"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NgramTables(**{"tokens": [0, 1], "vocabulary": 3, **options})
