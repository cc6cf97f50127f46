"""Suffix matching: counts, matches and scores against a naive search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini.drafters.suffix import SuffixDrafter, SuffixTrie

repeatable = settings(derandomize=True, deadline=None, max_examples=300)
texts = st.lists(st.integers(0, 2), min_size=1, max_size=30)


def proposed(drafter, text, draft_length=4):
    return drafter.propose(text, draft_length, np.random.default_rng(0)).tokens.tolist()


def occurrences(run, text):
    return [
        start for start in range(len(text) - len(run) + 1) if text[start : start + len(run)] == run
    ]


def score_by_search(corpus, run, tokens):
    """Expected accepted tokens of a proposal, from occurrences found one by one."""
    chance, score = 1.0, 0.0
    for token in tokens:
        followed = [
            text[start + len(run)]
            for text in corpus
            for start in occurrences(run, text)
            if start + len(run) < len(text)
        ]
        chance *= followed.count(token) / len(followed)
        score += chance
        run = [*run, token]
    return score


def best_by_search(corpora, text, draft_length, factor, depth, min_chance):
    """Highest score over all match lengths and corpora: likeliest token by likeliest token."""
    best = 0.0
    for corpus in corpora:
        for matched in range(1, min(len(text), depth) + 1):
            run, tokens, chance = text[-matched:], [], 1.0
            while len(tokens) < min(draft_length, int(factor * matched)):
                longer = run + tokens
                if len(longer) >= depth:
                    break
                followed = [
                    one[start + len(longer)]
                    for one in corpus
                    for start in occurrences(longer, one)
                    if start + len(longer) < len(one)
                ]
                if not followed:
                    break
                # of equals, the one whose first time was last
                token = max(
                    dict.fromkeys(reversed(list(dict.fromkeys(followed)))), key=followed.count
                )
                chance *= followed.count(token) / len(followed)
                if chance < min_chance:
                    break
                tokens.append(token)
            best = max(best, score_by_search(corpus, run, tokens) if tokens else 0.0)
    return best


@repeatable
@given(texts, st.integers(1, 6))
def test_the_trie_counts_every_short_run(text, depth):
    trie = SuffixTrie(depth)
    path = trie.start
    for token in text:
        path = trie.add(path, token)
    for start in range(len(text)):
        for end in range(start + 1, min(start + depth, len(text)) + 1):
            node = trie.start[0]
            for token in text[start:end]:
                node = node.children[token]
            assert node.count == len(occurrences(text[start:end], text))
    # the path holds the text's own suffixes
    assert [node.count for node in path[1:]] == [
        len(occurrences(text[len(text) - size :], text))
        for size in range(1, min(depth, len(text)) + 1)
    ]


@repeatable
@given(texts, texts, st.integers(1, 6))
def test_following_finds_the_longest_suffix_that_occurs(counted, followed, depth):
    trie = SuffixTrie(depth)
    path = trie.start
    for token in counted:
        path = trie.add(path, token)
    path = trie.start
    for end, token in enumerate(followed, start=1):
        path = trie.follow(path, token)
        longest = max(
            size
            for size in range(min(depth, end) + 1)
            if size == 0 or occurrences(followed[end - size : end], counted)
        )
        assert len(path) == longest + 1


@repeatable
@given(
    texts, st.lists(texts, max_size=3), st.integers(1, 5),
    st.sampled_from([0.5, 1.0, 2.0]), st.integers(2, 8), st.sampled_from([0.0, 0.1, 0.6]),
)  # fmt: skip
def test_the_proposal_has_the_best_score_of_a_search(
    text, earlier, draft_length, factor, depth, min_chance
):
    """For the counts of the running text and of the earlier ones, apart."""
    drafter = SuffixDrafter(earlier, depth, factor, min_chance)
    for end in range(1, len(text)):
        proposed(drafter, text[:end])
    tokens = proposed(drafter, text, draft_length)
    best = best_by_search([[text], earlier], text, draft_length, factor, depth, min_chance)
    assert len(tokens) <= draft_length
    if not tokens:
        assert best == 0
        return
    scores = [
        score_by_search(corpus, text[-matched:], tokens)
        for corpus in ([text], earlier)
        for matched in range(1, min(len(text), depth) + 1)
        if any(occurrences(text[-matched:] + tokens, one) for one in corpus)
        and len(tokens) <= int(factor * matched)
    ]
    assert max(scores) >= best - 1e-12


def test_a_draft_is_the_longer_the_longer_the_match():
    text = [1, 2, 3, 4, 5, 6, 7, 8]
    for matched in range(1, 5):
        assert proposed(SuffixDrafter(), [*text, 9, *text[:matched]], 8) == text[matched:][:matched]
    assert proposed(SuffixDrafter(factor=3.0), [*text, 9, 1], 8) == [2, 3, 4]


def test_counts_decide_and_unlikely_drafts_end():
    text = [1, 2, 1, 2, 1, 3, 1]
    assert proposed(SuffixDrafter(), text) == [2]
    assert proposed(SuffixDrafter(min_chance=0.7), text) == []


def test_earlier_texts_are_matched_and_remembered():
    drafter = SuffixDrafter([[5, 6, 7, 8]])
    assert proposed(drafter, [1, 5, 6]) == [7, 8]
    assert proposed(drafter, [1, 2, 3]) == []
    drafter.remember([2, 3, 4])
    assert proposed(drafter, [1, 2, 3]) == [4]
    assert proposed(drafter, [1, 5, 6]) == [7, 8]


def test_texts_that_were_read_are_not_remembered_by_themselves():
    """Or a prompt that is measured twice would find its own answer."""
    drafter = SuffixDrafter()
    proposed(drafter, [1, 2, 3, 4])
    assert proposed(drafter, [1, 2]) == []


def test_a_new_text_has_no_proposal():
    assert proposed(SuffixDrafter(), [7]) == []
    assert proposed(SuffixDrafter(), [1, 2, 3]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 1}, r"depth must be a whole number in \[2, .*got 1"),
        ({"factor": 0}, r"factor must be a finite number in \(0, inf\), got 0"),
        ({"min_chance": 1.5}, r"min_chance must be a number in \[0, 1\], got 1\.5"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SuffixDrafter(**options)
