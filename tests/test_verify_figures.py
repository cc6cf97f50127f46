"""The pictures of draft and verify show what their words say."""

import re

import pytest

from specmini.figures import verify as figures


def shown(figure):
    return re.sub(r"<[^>]+>", " ", figure._repr_svg_())


def test_overlap_shows_both_distributions_and_equal_areas():
    figure = figures.overlap([0.5, 0.1, 0.4], [0.3, 0.5, 0.2], ["sun", "rain", "wind"])
    assert "equal (0.40)" in figure.claim
    text = shown(figure)
    for label in ("p 0.5", "q 0.5", "sun", "min(p, q)"):
        assert label in text
    assert "rain: p 0.1, q 0.5, accepted 0.1" in figure.description


def test_round_counts_what_is_in_the_cache():
    figure = figures.round_in_cache(["a", "b", "c"], ["d", "e"], 1, "f")
    text = shown(figure)
    assert "before: 2 tokens in the cache" in text
    assert "3 tokens go in, 3 rows of p come out" in text
    assert "truncate(4)" in text
    assert [text.count(mark) for mark in ("✓d", "✗e", "+f")] == [2, 1, 1]  # d is there twice


@pytest.mark.parametrize("accepted", [-1, 2])
def test_round_needs_a_rejection(accepted):
    with pytest.raises(ValueError, match=rf"n_accepted must be in \[0, 2\), got {accepted}"):
        figures.round_in_cache(["a"], ["b", "c"], accepted, "d")


def test_ids_differ_on_one_page():
    one = figures.overlap([0.5, 0.5], [0.4, 0.6], ["x", "y"])._repr_svg_()
    other = figures.round_in_cache(["a"], ["b"], 0, "c")._repr_svg_()
    ids = re.findall(r'\bid="([^"]+)"', one + other)
    assert len(ids) == len(set(ids))
