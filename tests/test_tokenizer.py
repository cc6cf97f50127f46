"""Byte-pair encoding: exact round trips, and merges that are the ones defined."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmini import tokenizer
from specmini.tokenizer import Tokenizer

text = "def low(lower):\n    return lowest if lower else low  # é 漢\n" * 3
trained = tokenizer.train([text], 280)


@given(st.binary())
def test_any_bytes_come_back(content):
    assert trained.decode(trained.encode(content)) == content


@given(st.text())
def test_any_text_comes_back(content):
    assert trained.text(trained.encode(content)) == content


@given(st.binary())
def test_words_are_the_input_cut_up(content):
    assert b"".join(tokenizer.words(content)) == content


def test_training_text_gets_shorter():
    assert len(trained.encode(text)) < 0.6 * len(text.encode())
    assert max(trained.encode(text)) >= 256


def test_the_commonest_pair_is_merged_first():
    # in "aab aab ab" the pair (a, b) stands three times and (a, a) twice
    made = tokenizer.train(["aab ", "aab ", "ab ", "ab "], 258)
    assert made.merges == ((ord("a"), ord("b")),)


def test_equal_counts_go_to_the_larger_pair():
    made = tokenizer.train(["xy,xy,pq,pq"], 258)
    assert made.merges == ((ord("x"), ord("y")),)


def test_words_that_occur_once_do_not_count():
    made = tokenizer.train(["zzzzzzzz ab", "ab", " ab"], 258)
    assert made.merges == ((ord("a"), ord("b")),)


def slow_encode(made: Tokenizer, content: bytes) -> list[int]:
    """The definition: apply every merge in turn, from left to right, to each word."""
    encoded: list[int] = []
    for word in tokenizer.words(content):
        ids = list(word)
        for new, pair in enumerate(made.merges, start=256):
            position = 0
            while position < len(ids) - 1:
                if (ids[position], ids[position + 1]) == pair:
                    ids[position : position + 2] = [new]
                position += 1
        encoded += ids
    return encoded


@given(st.text(alphabet="delowr st(:\n", max_size=60))
def test_encoding_is_the_merges_applied_in_order(content):
    assert trained.encode(content) == slow_encode(trained, content.encode())


def test_the_merge_found_first_wins_where_two_compete():
    a, b, c = b"abc"
    assert Tokenizer([(a, b), (b, c)]).encode("abc") == [256, c]
    assert Tokenizer([(b, c), (a, b)]).encode("abc") == [a, 256]


def test_training_counts_after_each_merge_as_a_recount_would():
    """The incremental counts agree with counting all pairs anew for every merge."""
    words = [list(word) for word in tokenizer.words((text * 2).encode())]
    for new, merge in enumerate(trained.merges, start=256):
        counts: dict[tuple[int, int], int] = {}
        for ids in words:
            for pair in itertools.pairwise(ids):
                counts[pair] = counts.get(pair, 0) + 1
        assert merge == max(counts, key=lambda pair: (counts[pair], pair))
        for ids in words:
            position = 0
            while position < len(ids) - 1:
                if (ids[position], ids[position + 1]) == merge:
                    ids[position : position + 2] = [new]
                position += 1


def test_end_of_text_is_the_last_id_and_has_no_bytes():
    assert trained.end_of_text == trained.vocabulary - 1 == 279
    assert trained.decode([97, trained.end_of_text, 98]) == b"ab"


def test_bytes_that_are_not_utf8_can_be_shown():
    assert trained.text([0xFF]) == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("bad", [-1, 280])
def test_ids_outside_the_vocabulary(bad):
    with pytest.raises(ValueError, match=rf"ids must be in \[0, 280\), got {bad}"):
        trained.decode([1, bad])


def test_a_merge_of_ids_not_made_yet():
    with pytest.raises(
        ValueError, match=r"merges\[0\] must use ids in \[0, 256\), got \(97, 256\)"
    ):
        Tokenizer([(97, 256)])


def test_a_merge_that_stands_twice():
    with pytest.raises(ValueError, match="distinct"):
        Tokenizer([(97, 98), (97, 98)])


@pytest.mark.parametrize(("size", "message"), [(256, "at least 257"), (500, "at most")])
def test_vocabulary_out_of_range(size, message):
    with pytest.raises(ValueError, match=f"vocabulary must be {message}.*{size}"):
        tokenizer.train(["ab ab"], size)


def test_a_file_gives_the_same_tokenizer(tmp_path):
    tokenizer.save(trained, tmp_path / "t.json")
    loaded = tokenizer.load(tmp_path / "t.json")
    assert loaded.sha256 == trained.sha256
    assert loaded.encode(text) == trained.encode(text)


def test_a_changed_merge_is_noticed(tmp_path):
    path = tmp_path / "t.json"
    tokenizer.save(trained, path)
    content = json.loads(path.read_text())
    content["merges"][-1] = [1, 2]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=rf"t\.json holds merges with hash .*not {trained.sha256}"):
        tokenizer.load(path)


@pytest.mark.parametrize("content", ["", "{}", '{"merges": 3, "sha256": ""}', "[]"])
def test_not_a_tokenizer_file(tmp_path, content):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(ValueError, match=r"t\.json must (be JSON|hold merges and their sha256)"):
        tokenizer.load(tmp_path / "t.json")
