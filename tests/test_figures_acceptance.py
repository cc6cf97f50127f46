"""The figures on acceptance draw the numbers they are given, and claim only what these show."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_hex

from specmini import palette
from specmini.figures import acceptance

WORDS = [" the", "\n", "x$", "a", "b", "c"]
P = np.array([0.5, 0.2, 0.15, 0.1, 0.05, 0.0])
Q = np.array([0.3, 0.4, 0.05, 0.1, 0.0, 0.15])
HEATS = [0.1, 1.0, 4.0]


def axes_of(figure):
    [axes] = figure.drawing.axes
    return axes


def lines_of(figure):
    return {line.get_label(): line.get_ydata() for line in axes_of(figure).lines}


def test_overlap_draws_both_distributions_and_fills_what_they_share():
    figure = acceptance.overlap(WORDS, P, Q, shown=4)
    bars = axes_of(figure).patches
    rows = np.array([bar.get_width() for bar in bars]).reshape(-1, 3)  # p, q, both
    # rows by the larger of p and q; what is left shares the last one
    order, rest = [0, 1, 2, 5], [3, 4]
    expected = [[P[i], Q[i], min(P[i], Q[i])] for i in order]
    expected.append([P[rest].sum(), Q[rest].sum(), np.minimum(P, Q)[rest].sum()])
    np.testing.assert_allclose(rows, expected, atol=1e-12)
    assert rows[:, 2].sum() == pytest.approx(np.minimum(P, Q).sum())
    filled = {to_hex(bar.get_facecolor()) for bar in bars if bar.get_fill()}
    assert filled == {palette.ROLES["accepted"].light}
    assert "share 65%" in figure.claim


def test_overlap_shows_white_space_and_takes_no_token_for_a_formula():
    figure = acceptance.overlap(WORDS, P, Q, shown=4)
    labels = [label.get_text() for label in axes_of(figure).get_yticklabels()]
    assert labels == ["␣the", "↵", r"x\$", "c", "2 others"]
    ET.fromstring(figure._repr_svg_())


@pytest.mark.parametrize(
    ("agreeing", "differing", "share", "claim"),
    [
        ([1.0, 0.5, 0.9], [0.0, 0.4, 0.9], 0.9, "lowest at temperature 1"),
        ([1.0, 0.7, 0.9], [0.0, 0.5, 0.9], 0.2, "only rises"),
        ([1.0, 0.7, 0.5], [0.0, 0.1, 0.2], 0.9, "only falls"),
    ],
)
def test_textbook_by_agreement_mixes_the_two_and_says_where_it_is_lowest(
    agreeing, differing, share, claim
):
    figure = acceptance.textbook_by_agreement(HEATS, agreeing, differing, share)
    same, other, mixed = lines_of(figure).values()
    np.testing.assert_allclose(same, agreeing)
    np.testing.assert_allclose(other, differing)
    np.testing.assert_allclose(mixed, share * same + (1 - share) * other)
    assert claim in figure.claim


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: acceptance.overlap(WORDS, P[:5], Q), r"target_probs must have shape \(6,\)"),
        (lambda: acceptance.overlap(WORDS, P, Q / 2), r"draft_probs must sum to 1, got 0.5"),
        (lambda: acceptance.overlap(WORDS, P, Q, 6), r"shown must be in \[1, 6\), got 6"),
        (
            lambda: acceptance.textbook_by_agreement([1, 1], [0, 1], [0, 1], 0.5),
            "temperatures must be at least two and rise",
        ),
        (
            lambda: acceptance.textbook_by_agreement(HEATS, [0.5], [0, 0, 1], 0.5),
            r"agreeing must have shape \(3,\)",
        ),
        (
            lambda: acceptance.textbook_by_agreement(HEATS, [1, 1, 1], [0, 0, 1], 1.5),
            "share must be a number in",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_words_and_ids_of_each_figure_are_its_own():
    figures = [
        acceptance.overlap(WORDS, P, Q, shown=4),
        acceptance.textbook_by_agreement(HEATS, [1, 0.5, 1], [0, 0.5, 1], 0.5),
    ]
    ids = [i for figure in figures for i in re.findall(r'\bid="([^"]+)"', figure._repr_svg_())]
    assert len(ids) == len(set(ids))
    for figure in figures:
        axes = axes_of(figure)
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert len(figure.description) > 50
