"""The picture of a pass says what its parts are, whatever machine measured them."""

import pytest

from specmini.figures.step import pass_parts

TOKENS = [1, 4, 16]


def test_title_and_words_come_from_the_numbers():
    figure = pass_parts(TOKENS, [1e-3] * 3, [3e-3] * 3, [1e-3, 4e-3, 16e-3], [4e-3, 5e-3, 18e-3])
    assert "75% of the parts is reading weights" in figure.claim
    assert "from 4 tokens on, arithmetic sets the pace" in figure.claim
    assert "16: calls 1.00, reading 3.00, further arithmetic 13.00" in figure.description


def test_arithmetic_that_never_shows_is_said_to_hide():
    figure = pass_parts(TOKENS, [1e-3] * 3, [3e-3] * 3, [1e-4] * 3, [4e-3] * 3)
    assert "up to 16 tokens, arithmetic hides" in figure.claim


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2, 4, 16], *[[1.0] * 3] * 4), "tokens must rise from 1"),
        (([], *[[]] * 4), "tokens must rise from 1"),
        ((TOKENS, *[[1.0] * 3] * 3, [1.0]), r"each part must have shape \(3,\)"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        pass_parts(*arguments)
