"""Prompt lookup: what followed the last few tokens before, against a search by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini.drafters.lookup import LookupDrafter

repeatable = settings(derandomize=True, deadline=None, max_examples=300)
texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def proposed(drafter, text, draft_length=4):
    return drafter.propose(text, draft_length, np.random.default_rng(0)).tokens.tolist()


def searched(text, draft_length, longest, shortest):
    """The longest n-gram first, then the last place: every place looked at."""
    for size in range(min(longest, len(text)), shortest - 1, -1):
        for start in range(len(text) - size - 1, -1, -1):
            if text[start : start + size] == text[-size:]:
                return text[start + size : start + size + draft_length]
    return []


@repeatable
@given(texts, st.integers(0, 6), st.integers(1, 4), st.integers(0, 3))
def test_it_finds_what_a_search_finds(text, draft_length, shortest, more):
    """Read in one go, and token by token."""
    right = searched(text, draft_length, shortest + more, shortest)
    at_once = LookupDrafter(shortest + more, shortest)
    step_by_step = LookupDrafter(shortest + more, shortest)
    for end in range(1, len(text)):
        proposed(step_by_step, text[:end])
    assert proposed(at_once, text, draft_length) == right
    assert proposed(step_by_step, text, draft_length) == right


@repeatable
@given(st.lists(texts, min_size=2, max_size=6))
def test_texts_may_follow_in_any_order(several):
    drafter = LookupDrafter()
    for text in several:
        assert proposed(drafter, text) == searched(text, 4, 3, 1)


def test_the_longest_match_wins_and_then_the_last():
    drafter = LookupDrafter()
    assert proposed(drafter, [4, 1, 2, 5, 9, 2, 6, 4, 1, 2], 1) == [5]
    assert proposed(drafter, [1, 2, 5, 1, 2, 6, 7, 1, 2]) == [6, 7, 1, 2]


def test_what_is_new_has_no_proposal():
    assert proposed(LookupDrafter(), [7]) == []
    assert proposed(LookupDrafter(), [1, 2, 3]) == []
    assert proposed(LookupDrafter(min_ngram=2), [1, 2, 3, 2]) == []


def test_it_ends_where_the_text_ends():
    assert proposed(LookupDrafter(), [1, 2, 3, 1], 10) == [2, 3, 1]
    assert proposed(LookupDrafter(), [5, 5], 10) == [5]


def test_it_names_its_tokens_with_certainty():
    assert LookupDrafter().propose([1, 1], 1, np.random.default_rng(0)).probs is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_ngram": 0}, r"max_ngram must be a whole number in \[1, .*got 0"),
        ({"min_ngram": 0}, r"min_ngram must be a whole number in \[1, .*got 0"),
        ({"max_ngram": 2.5}, r"max_ngram must be a whole number .*got 2\.5"),
        ({"max_ngram": 2, "min_ngram": 3}, r"min_ngram must be in \[1, 2\], got 3"),
    ],
)
def test_lengths_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LookupDrafter(**options)
