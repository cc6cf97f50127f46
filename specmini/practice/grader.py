"""Whether a typed formula is right, by its value at many points, and what a wrong one betrays.

Two formulas are taken for the same if they agree at every point of ``points()``. Those lie inside
the allowed ranges, two of them with α within a millionth of 0 and of 1, where a formula may be
undefined or lose digits without being wrong. Known wrong forms are compared in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from specmini.practice.evaluation import evaluate, holds, is_relation
from specmini.practice.expression import Node, names, parse, write
from specmini.practice.symbols import FormulaError, symbols

__all__ = ["Verdict", "grade_formula", "grade_number", "points", "same"]

RELATIVE: Final = 1e-7
ABSOLUTE: Final = 1e-9
POINTS: Final = 40
BRACKETS: Final = "brackets"


@dataclass(frozen=True)
class Verdict:
    """What is said about a typed formula.

    Attributes:
        kind: ``"right"``, ``"known"`` (a wrong form with a misconception behind it), ``"wrong"``
            or ``"unreadable"``.
        note: in words; for ``"known"`` empty, as the misconception has its own.
        misconception: its id, or empty.
        column: of the place that could not be read, from 1; 0 if there is none.
    """

    kind: str
    note: str = ""
    misconception: str = ""
    column: int = 0


@cache
def points() -> tuple[Mapping[str, float], ...]:
    """Return the points at which formulas are compared, the same at each call.

    The first is the book's example, for messages. j stays below K; E and r stand for nothing yet.
    """
    found: list[Mapping[str, float]] = [
        {"α": 0.8, "c": 0.1, "K": 4.0, "v": 1.2, "j": 2.0, "ρ": 0.6},
        {"α": 1e-6, "c": 0.3, "K": 3.0, "v": 1.5, "j": 1.0, "ρ": 0.2},
        {"α": 1 - 1e-6, "c": 1.05, "K": 5.0, "v": 1.1, "j": 0.0, "ρ": 0.9},
    ]
    for number in range(POINTS - len(found)):
        # Multiples of irrational numbers spread evenly, and no two columns move together.
        share = [round(math.fmod((number + 1) * math.sqrt(root), 1), 4) for root in (2, 3, 5, 7)]
        length = 1 + number % 9
        found.append(
            {
                "α": round(0.03 + 0.94 * share[0], 4),
                "c": round(0.01 + 1.1 * share[1], 4),
                "K": float(length),
                "v": round(1.02 + share[2], 4),
                "j": float((number // 2) % length),
                "ρ": round(0.02 + 0.96 * share[3], 4),
            }
        )
    return tuple(found)


def same(one: float, other: float) -> bool:
    """Whether two values are equal but for rounding; NaN equals nothing."""
    return abs(one - other) <= RELATIVE * abs(other) + ABSOLUTE


def grade_formula(
    text: str,
    right: str,
    wrong: Sequence[tuple[str, str]] = (),
    *,
    allowed: Sequence[str],
    given: Mapping[str, str] | None = None,
) -> Verdict:
    """Grade a formula or a condition.

    Args:
        text: what was typed.
        right: a right form; if it is a condition, one must be typed.
        wrong: known wrong forms, each with the id of its misconception.
        allowed: names that may occur.
        given: names that stand for a formula, which may occur as well.

    Raises:
        ValueError: ``right`` or a wrong form cannot be read.
    """
    shorthands = tuple((given or {}).items())
    known = (*allowed, *(name for name, _ in shorthands))
    try:
        node = parse(text)
        _check_names(node, known)
    except FormulaError as error:
        return Verdict("unreadable", str(error), column=error.column)
    wanted = _known(right)
    if is_relation(node) != is_relation(wanted):
        needed = "a condition, with > or <" if is_relation(wanted) else "a formula without > or <"
        return Verdict("unreadable", f"This step asks for {needed}.")
    places = _places(shorthands)
    typed, sought = _values(node, places), _known_values(right, shorthands)
    if _agree(typed, sought):
        return Verdict("right", _spelling(text))
    # 1/2K may be meant as 1/(2K): then the formula is right and only its brackets are missing.
    if _agree(_values(parse(text, tight=True), places), sought):
        return Verdict("known", misconception=BRACKETS)
    for formula, misconception in wrong:
        if _agree(typed, _known_values(formula, shorthands)):
            return Verdict("known", misconception=misconception)
    return Verdict("wrong", _difference(typed, sought, places, known))


def grade_number(
    text: str,
    right: float,
    wrong: Sequence[tuple[str, str]] = (),
    *,
    at: Mapping[str, float],
    tolerance: float,
) -> Verdict:
    """Grade a number, or a formula that gives one.

    Args:
        text: what was typed; the names of ``at`` may occur.
        right: the right number.
        wrong: formulas of known wrong numbers, each with the id of its misconception.
        at: values of the names.
        tolerance: difference that is allowed.

    Raises:
        ValueError: a wrong form cannot be read.
    """
    try:
        node = parse(text)
        _check_names(node, tuple(at))
    except FormulaError as error:
        return Verdict("unreadable", str(error), column=error.column)
    if is_relation(node):
        return Verdict("unreadable", "This step asks for a number.")
    value = evaluate(node, at)
    if abs(value - right) <= tolerance:
        return Verdict("right", _spelling(text))
    for formula, misconception in wrong:
        if abs(value - evaluate(_known(formula), at)) <= tolerance:
            return Verdict("known", misconception=misconception)
    if math.isnan(value):
        return Verdict("wrong", "This has no value: it divides by 0, or is too large.")
    return Verdict("wrong", f"I read {figure(value)}; that is not it.")


def figure(value: float) -> str:
    """Write a number with five digits, as the page's script does."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e15:
        mantissa, power = f"{value:.4e}".split("e")
        text = f"{float(mantissa):.4f}".rstrip("0").rstrip(".") + f"·10^{int(power)}"
    else:
        text = repr(float(f"{value:.5g}")).removesuffix(".0")
    return text.replace("-", "−")


def _check_names(node: Node, allowed: Sequence[str]) -> None:
    for name in names(node):
        if name.text not in allowed:
            known = ", ".join(sorted(allowed))
            raise FormulaError(
                f"{name.text} at column {name.column} has no place here; use {known}.", name.column
            )


@cache
def _known(formula: str) -> Node:
    return parse(formula)


@cache
def _places(shorthands: tuple[tuple[str, str], ...]) -> list[Mapping[str, float]]:
    return [
        {**point, **{name: evaluate(_known(formula), point) for name, formula in shorthands}}
        for point in points()
    ]


# Floats, or truth values of a condition, with None where there is no value.
Values = list[Any]


@cache
def _known_values(formula: str, shorthands: tuple[tuple[str, str], ...]) -> Values:
    return _values(_known(formula), _places(shorthands))


def _values(node: Node, places: Sequence[Mapping[str, float]]) -> Values:
    """Values at every point; after the first that is undefined, None and no more work."""
    found: Values = []
    for point in places:
        value = holds(node, point) if is_relation(node) else evaluate(node, point)
        if value is None or value != value:
            return [*found, *[None] * (len(places) - len(found))]
        found.append(value)
    return found


def _agree(one: Values, other: Values) -> bool:
    return all(_equal(*pair) for pair in zip(one, other, strict=True))


def _equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    return one is other if isinstance(one, bool) else same(one, other)


def _difference(
    typed: Values, sought: Values, places: Sequence[Mapping[str, float]], allowed: Sequence[str]
) -> str:
    """Where the two differ, in words."""
    pairs = zip(typed, sought, strict=True)
    number = next(index for index, pair in enumerate(pairs) if not _equal(*pair))
    values = (f"{name} = {figure(places[number][name])}" for name in allowed)
    place, yours = f"At {', '.join(values)}", typed[number]
    if yours is None:
        return f"{place} yours has no value."
    if isinstance(yours, bool):
        hold, win = ("holds" if yours else "does not hold"), ("wins" if sought[number] else "loses")
        return f"{place} your condition {hold}, but the round {win}."
    return f"{place} yours gives {figure(yours)}; it should be {figure(sought[number])}."


def _spelling(text: str) -> str:
    """A word about the other name of K, so that nobody is puzzled."""
    other = any(one.kind == "name" and one.typed in ("γ", "gamma") for one in symbols(text))
    return "γ is the paper's name for the draft length; I read it as K." if other else ""


def reading(text: str) -> str:
    """How a formula is understood, or why it cannot be."""
    try:
        return f"I read: {write(parse(text))}"
    except FormulaError as error:
        return str(error)
