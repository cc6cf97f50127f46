"""What the page's script takes from the parser and the grader: no table stands twice."""

from __future__ import annotations

from typing import Any

from specmini.practice import evaluation, expression, grader, symbols


def tables() -> dict[str, Any]:
    """Return the tables and limits of formulas as plain JSON values."""
    return {
        "most_characters": symbols.MOST_CHARACTERS,
        "blanks": symbols.BLANKS,
        "letters": symbols.LETTERS,
        "names": symbols.NAMES,
        "functions": list(symbols.FUNCTIONS),
        "sums": list(symbols.SUMS),
        "fractions": list(symbols.FRACTIONS),
        "words_of_signs": symbols.SIGNS_IN_WORDS,
        "signs": symbols.SIGNS,
        "pairs": symbols.PAIRS,
        "words": list(symbols.WORDS),
        "deepest": expression.DEEPEST,
        "opening": expression.OPENING,
        "relations": list(expression.RELATIONS),
        "indexes": expression.INDEXES,
        "arguments": {name: list(counts) for name, counts in expression.ARGUMENTS.items()},
        "most_steps": evaluation.MOST_STEPS,
        "largest_bound": evaluation.LARGEST_BOUND,
        "relative": grader.RELATIVE,
        "absolute": grader.ABSOLUTE,
    }
