"""The value of a formula at a point; undefined is NaN, and no formula takes long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from specmini.practice.expression import RELATIONS, Node

__all__ = ["evaluate", "holds"]

MOST_STEPS: Final = 20_000
LARGEST_BOUND: Final = 10_000
NAN: Final = float("nan")


class _TooLongError(Exception):
    pass


def evaluate(node: Node, point: Mapping[str, float]) -> float:
    """Return the value of a formula.

    Args:
        node: a formula without a relation sign.
        point: value of each of its names.

    Returns:
        NaN where any part is undefined, infinite or beyond the largest double, where the bounds
        of a sum are no whole numbers, or where it would take more than 20,000 operations.

    Raises:
        KeyError: a name has no value.
    """
    try:
        return _Machine().value(node, {name: float(value) for name, value in point.items()})
    except _TooLongError:
        return NAN


def holds(node: Node, point: Mapping[str, float]) -> bool | None:
    """Return whether a relation is true, ``None`` if one of its sides is undefined.

    Args:
        node: a formula whose kind is a relation sign.
        point: value of each of its names.
    """
    left, right = (evaluate(part, point) for part in node.parts)
    if math.isnan(left) or math.isnan(right):
        return None
    return left < right if node.kind in ("<", "≤") else left > right


def is_relation(node: Node) -> bool:
    """Whether a formula compares two others."""
    return node.kind in RELATIONS


class _Machine:
    def __init__(self) -> None:
        self.steps = 0

    def value(self, node: Node, point: dict[str, float]) -> float:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooLongError
        if node.kind == "number":
            return float(node.text)
        if node.kind == "name":
            return point[node.text]
        if node.kind == "sum":
            return self.total(node, point)
        result = _combine(node, [self.value(part, point) for part in node.parts])
        return result if math.isfinite(result) else NAN

    def total(self, node: Node, point: dict[str, float]) -> float:
        body, *bounds = node.parts
        low, high = (self.value(bound, point) for bound in bounds)
        whole = all(abs(bound) <= LARGEST_BOUND and bound == math.floor(bound)
                    for bound in (low, high) if not math.isnan(bound))  # fmt: skip
        if not whole or math.isnan(low) or math.isnan(high):
            return NAN
        total = 0.0
        for index in range(int(low), int(high) + 1):
            total += self.value(body, {**point, node.text: float(index)})
        return total if math.isfinite(total) else NAN


def _combine(node: Node, values: list[float]) -> float:
    if any(math.isnan(value) for value in values):
        return NAN
    if node.kind == "call":
        return _call(node.text, values)
    if node.kind == "negative":
        return -values[0]
    left, right = values
    if node.kind == "+":
        return left + right
    if node.kind == "-":
        return left - right
    if node.kind == "*":
        return left * right
    if node.kind == "/":
        return left / right if right else NAN
    return _power(left, right)


def _call(name: str, values: list[float]) -> float:
    if name in ("min", "max"):
        return min(values) if name == "min" else max(values)
    if name == "exp":
        return math.exp(values[0]) if values[0] < 709.0 else NAN
    return math.log(values[0]) if values[0] > 0 else NAN


def _power(base: float, exponent: float) -> float:
    try:
        result = base**exponent
    except (OverflowError, ZeroDivisionError):
        return NAN
    return result if isinstance(result, float) else NAN  # a root of a negative number
