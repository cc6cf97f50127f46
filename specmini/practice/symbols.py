r"""The signs of a formula as people type it: ``2K``, ``\frac{1}{c}``, ``a**K``, ``α^{K+1}``.

``symbols`` cuts a text into them, each with its column. The page's script does the same, with the
tables of this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FormulaError", "Symbol", "symbols"]

MOST_CHARACTERS: Final = 200
BLANKS: Final = " \t\n\r\u00a0\u2009\u202f"
DIGITS: Final = "0123456789"
LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZαγρΣ"
# What a word or a letter means. γ is the name of K in Leviathan et al. 2023.
NAMES: Final[dict[str, str]] = {
    **{"alpha": "α", "a": "α", "α": "α"},
    **{"gamma": "K", "γ": "K", "K": "K", "k": "K"},
    **{"rho": "ρ", "ρ": "ρ"},
    **{letter: letter for letter in "cvjinmErS"},
}
FUNCTIONS: Final = ("min", "max", "exp", "log", "ln")
SUMS: Final = ("sum", "Σ")
FRACTIONS: Final = ("frac", "dfrac", "tfrac")
# Words of TeX that stand for a sign, or for nothing.
SIGNS_IN_WORDS: Final[dict[str, str]] = {
    **{"cdot": "*", "times": "*", "div": "/"},
    **{"le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "lt": "<", "gt": ">"},
    **{"left": "", "right": "", "quad": ""},
}
SIGNS: Final[dict[str, str]] = {
    **{sign: sign for sign in "+-*/^_=<>≤≥(){}[],"},
    **{"−": "-", "–": "-", "·": "*", "×": "*", "⋅": "*", "÷": "/"},
}
# Two characters that are one sign; they are looked at first.
PAIRS: Final[dict[str, str]] = {"**": "^", "<=": "≤", ">=": "≥", "==": "="}
WORDS: Final = tuple(
    sorted(
        {*FUNCTIONS, *SUMS, *FRACTIONS, *(name for name in NAMES if len(name) > 1)},
        key=lambda word: (-len(word), word),
    )
)


class FormulaError(ValueError):
    """A formula that cannot be read.

    Attributes:
        column: of the character where reading stopped, from 1; 0 for the formula as a whole.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Symbol:
    """One sign, number, name or word of a formula.

    Attributes:
        kind: ``"number"``, ``"name"``, ``"word"`` (of a function, sum or fraction), ``"sign"`` or
            ``"end"``.
        text: what it means, such as ``"α"`` for ``a``, ``"-"`` for ``−``.
        column: of its first character, from 1.
        typed: as it stands in the text.
    """

    kind: str
    text: str
    column: int
    typed: str


def symbols(text: str) -> list[Symbol]:
    """Cut a formula into symbols; the last is the end.

    Args:
        text: at most 200 characters.

    Raises:
        FormulaError: it is longer, or has a character, word or number that means nothing.
    """
    if len(text) > MOST_CHARACTERS:
        raise FormulaError(f"This is longer than {MOST_CHARACTERS} characters.", 0)
    found: list[Symbol] = []
    at = 0
    while at < len(text):
        start, character = at, text[at]
        if character in BLANKS:
            at += 1
        elif character in DIGITS or (character == "." and text[at + 1 : at + 2] in _DIGIT_SET):
            at = _end_of_number(text, at)
            found.append(_number(text[start:at], start + 1))
        elif character in LETTERS or character == "\\":
            at = _end_of_run(text, at + 1, LETTERS)
            found += _words(text[start:at], start + 1)
        elif text[at : at + 3] == "..." or character == "…":
            raise FormulaError(
                f"I cannot read the dots at column {start + 1}; write sum_{{i=0}}^{{K}} α^i.",
                start + 1,
            )
        else:
            typed = text[at : at + 2] if text[at : at + 2] in PAIRS else character
            sign = PAIRS.get(typed) or SIGNS.get(typed)
            if sign is None:
                raise FormulaError(f"I cannot read “{typed}” at column {start + 1}.", start + 1)
            found.append(Symbol("sign", sign, start + 1, typed))
            at += len(typed)
    return [*found, Symbol("end", "", len(text) + 1, "")]


_DIGIT_SET = set(DIGITS)


def _end_of_run(text: str, at: int, allowed: str) -> int:
    while at < len(text) and text[at] in allowed:
        at += 1
    return at


def _end_of_number(text: str, at: int) -> int:
    at = _end_of_run(text, at, DIGITS)
    if text[at : at + 1] == "." and text[at : at + 3] != "...":
        at = _end_of_run(text, at + 1, DIGITS)
    # "2e" is 2 times e; only digits make it a power of ten.
    if text[at : at + 1] in ("e", "E"):
        digits = at + 2 if text[at + 1 : at + 2] in ("+", "-") else at + 1
        if (end := _end_of_run(text, digits, DIGITS)) > digits:
            return end
    return at


def _number(typed: str, column: int) -> Symbol:
    if float(typed) == float("inf"):
        raise FormulaError(f"The number at column {column} is too large.", column)
    return Symbol("number", typed, column, typed)


def _words(typed: str, column: int) -> list[Symbol]:
    """The names in a run of letters: ``Kc`` is two, ``alpha`` is one."""
    rest, found = typed, []
    if typed == "\\":
        raise FormulaError(f"I cannot read “{typed}” at column {column}.", column)
    if typed.startswith("\\"):
        rest, column = typed[1:], column + 1
        for word in sorted(SIGNS_IN_WORDS, key=lambda word: (-len(word), word)):
            if rest.startswith(word):
                sign = SIGNS_IN_WORDS[word]
                found += [Symbol("sign", sign, column, word)] if sign else []
                rest, column = rest[len(word) :], column + len(word)
                break
    while rest:
        word = next((word for word in WORDS if rest.startswith(word)), rest[0])
        if word in FUNCTIONS or word in SUMS or word in FRACTIONS:
            meaning = "sum" if word in SUMS else "frac" if word in FRACTIONS else word
            found.append(Symbol("word", meaning, column, word))
        elif word in NAMES:
            found.append(Symbol("name", NAMES[word], column, word))
        else:
            raise FormulaError(f"I do not know the name “{word}” at column {column}.", column)
        rest, column = rest[len(word) :], column + len(word)
    return found
