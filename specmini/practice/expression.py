r"""Formulas as readers type them, as trees: read, written back, asked for their names.

The grammar, a recursive descent without ``eval``:

- relation: ``[name =] sum [< > ≤ ≥ sum]``
- sum: products joined by ``+`` and ``-``
- product: powers joined by ``*``, ``/`` or nothing (``2K``, ``Kc``, ``(1+K)c``), from the left
- power: an atom, or ``atom ^ power``, from the right; a minus may stand before it
- atom: number, name, brackets, ``min(a, b)``, ``exp(a)``, ``\frac{a}{b}``,
  ``sum(a, i, low, high)`` or ``sum_{i=low}^{high} product``

Names and signs are those of ``specmini.practice.symbols``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from specmini.practice.symbols import FormulaError, Symbol, symbols

__all__ = ["Node", "names", "parse", "write"]

DEEPEST: Final = 40
OPENING: Final = {"(": ")", "[": "]", "{": "}"}
RELATIONS: Final = ("<", ">", "≤", "≥")
INDEXES: Final = "ijnm"
BRACKETS: Final = "brackets stand inside each other"
POWERS: Final = "powers stand above each other"
ARGUMENTS: Final[dict[str, tuple[int, int]]] = {  # fewest and most
    "min": (2, 8),
    "max": (2, 8),
    "exp": (1, 1),
    "log": (1, 1),
    "ln": (1, 1),
}


@dataclass(frozen=True)
class Node:
    """A formula, or a part of one.

    Attributes:
        kind: ``"number"``, ``"name"``, ``"negative"``, one of ``+ - * / ^ < > ≤ ≥``, ``"call"`` or
            ``"sum"``.
        text: of a number, a name, a function, or of the index of a sum; else empty.
        parts: what it is made of; of a sum the body, the lower and the upper bound.
        column: where it stands in what was typed, from 1.
    """

    kind: str
    text: str
    parts: tuple[Node, ...]
    column: int


def parse(text: str, *, tight: bool = False) -> Node:
    """Read a formula.

    Args:
        text: what was typed; a leading ``S =`` is dropped.
        tight: let a product without a sign bind before a division, so that ``1/2K`` is 1/(2K).

    Raises:
        FormulaError: it is none; the message says what was expected, and after which column.
    """
    return _Reader(symbols(text), tight).formula()


class _Reader:
    def __init__(self, found: list[Symbol], tight: bool) -> None:
        self.found, self.tight = found, tight
        self.at = self.depth = 0

    @property
    def now(self) -> Symbol:
        return self.found[self.at]

    def take(self) -> Symbol:
        symbol = self.now
        self.at += symbol.kind != "end"
        return symbol

    def sees(self, *signs: str) -> bool:
        return self.now.kind == "sign" and self.now.text in signs

    def refuse(self, wanted: str) -> FormulaError:
        if self.at == 0 and self.now.kind == "end":
            return FormulaError("There is nothing to read yet.", 0)
        before = self.found[self.at - 1] if self.at else None
        after = before.column + len(before.typed) - 1 if before else 0
        place = f"after column {after}" if after else "at the beginning"
        found = f"found “{self.now.typed}”" if self.now.kind != "end" else "it ends there"
        return FormulaError(f"I expected {wanted} {place}, but {found}.", after)

    def expect(self, sign: str) -> None:
        if not self.sees(sign):
            raise self.refuse(sign)
        self.take()

    def formula(self) -> Node:
        if self.now.kind == "name":
            following = self.found[self.at + 1]
            if following.kind == "sign" and following.text == "=":
                self.at += 2
        left = self.sum()
        if self.sees(*RELATIONS):
            sign = self.take()
            left = Node(sign.text, "", (left, self.sum()), sign.column)
        if self.now.kind != "end":
            raise self.refuse("a sign such as + or *")
        return left

    @contextmanager
    def deeper(self, things: str, column: int) -> Iterator[None]:
        """One level down; a formula that is too deep is refused before the stack is."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise FormulaError(f"More than {DEEPEST} {things} at column {column}.", column)
        yield
        self.depth -= 1

    def sum(self) -> Node:
        with self.deeper(BRACKETS, self.now.column):
            left = self.product()
            while self.sees("+", "-"):
                sign = self.take()
                left = Node(sign.text, "", (left, self.product()), sign.column)
            return left

    def product(self) -> Node:
        left = self.joined() if self.tight else self.signed()
        while True:
            if self.sees("*", "/"):
                sign = self.take()
                right = self.joined() if self.tight else self.signed()
                left = Node(sign.text, "", (left, right), sign.column)
            elif self.follows():
                column = self.now.column
                left = Node("*", "", (left, self.power()), column)
            else:
                return left

    def joined(self) -> Node:
        """Factors without a sign between them."""
        left = self.signed()
        while self.follows():
            column = self.now.column
            left = Node("*", "", (left, self.power()), column)
        return left

    def follows(self) -> bool:
        """Whether a factor stands here without a sign before it; a number would be a slip."""
        return self.now.kind in ("name", "word") or self.sees(*OPENING)

    def signed(self) -> Node:
        signs = []
        while self.sees("+", "-"):
            signs.append(self.take())
        node = self.power()
        for sign in reversed(signs):
            if sign.text == "-":
                node = Node("negative", "", (node,), sign.column)
        return node

    def power(self) -> Node:
        base = self.atom()
        if not self.sees("^"):
            return base
        sign = self.take()
        with self.deeper(POWERS, sign.column):
            return Node("^", "", (base, self.signed()), sign.column)

    def atom(self) -> Node:
        symbol = self.now
        if symbol.kind in ("number", "name"):
            self.take()
            return Node(symbol.kind, symbol.text, (), symbol.column)
        if self.sees(*OPENING):
            return self.bracket()
        if symbol.kind == "word":
            self.take()
            if symbol.text == "sum":
                return self.summation(symbol)
            if symbol.text == "frac":
                above = self.braced()
                return Node("/", "", (above, self.braced()), symbol.column)
            return self.call(symbol)
        raise self.refuse("a number, a name or (")

    def bracket(self) -> Node:
        closing = OPENING[self.take().text]
        inside = self.sum()
        self.expect(closing)
        return inside

    def braced(self) -> Node:
        if not self.sees("{"):
            raise self.refuse("{")
        return self.bracket()

    def arguments(self) -> list[Node]:
        self.expect("(")
        given = [self.sum()]
        while self.sees(","):
            self.take()
            given.append(self.sum())
        self.expect(")")
        return given

    def call(self, symbol: Symbol) -> Node:
        given = self.arguments()
        fewest, most = ARGUMENTS[symbol.text]
        if not fewest <= len(given) <= most:
            needed = str(fewest) if fewest == most else f"{fewest} or more"
            raise FormulaError(
                f"{symbol.text} at column {symbol.column} takes {needed} "
                f"{'value' if needed == '1' else 'values'}, got {len(given)}.",
                symbol.column,
            )
        text = "log" if symbol.text == "ln" else symbol.text
        return Node("call", text, tuple(given), symbol.column)

    def summation(self, symbol: Symbol) -> Node:
        if not self.sees("_"):
            return self.listed_sum(symbol)
        self.take()
        closing = OPENING[self.take().text] if self.sees(*OPENING) else None
        index = self.index()
        self.expect("=")
        low = self.sum() if closing else self.atom()
        if closing:
            self.expect(closing)
        self.expect("^")
        high = self.atom()
        # The body is a product: what is added after it is no part of the sum.
        with self.deeper(BRACKETS, symbol.column):
            body = self.product()
        return Node("sum", index, (body, low, high), symbol.column)

    def listed_sum(self, symbol: Symbol) -> Node:
        """The form ``sum(a, i, low, high)``."""
        self.expect("(")
        body = self.sum()
        self.expect(",")
        index = self.index()
        self.expect(",")
        low = self.sum()
        self.expect(",")
        high = self.sum()
        self.expect(")")
        return Node("sum", index, (body, low, high), symbol.column)

    def index(self) -> str:
        if self.now.kind != "name" or self.now.text not in INDEXES:
            raise self.refuse("an index such as i")
        return self.take().text


def names(node: Node) -> Iterator[Node]:
    """The names that a formula takes a value from, from left to right; no index of a sum."""
    if node.kind == "name":
        yield node
    for number, part in enumerate(node.parts):
        inside = names(part)
        # The index means something in the body alone.
        if node.kind == "sum" and number == 0:
            inside = (name for name in inside if name.text != node.text)
        yield from inside


LEVEL: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 2, "^": 4}


def write(node: Node) -> str:
    """Write a formula with every sign and as few brackets as it needs."""
    if node.kind in RELATIONS:
        return f"{write(node.parts[0])} {node.kind} {write(node.parts[1])}"
    if node.kind == "call":
        return f"{node.text}({', '.join(map(write, node.parts))})"
    if node.kind == "sum":
        body, low, high = node.parts
        return f"sum({write(body)}, {node.text}, {write(low)}, {write(high)})"
    if node.kind not in LEVEL:
        return node.text
    level = LEVEL[node.kind]
    if node.kind == "negative":
        return "−" + _inside(node.parts[0], 3)
    left, right = node.parts
    if node.kind == "^":
        return f"{_inside(left, 5)}^{_inside(right, 5)}"
    sign = {"-": "−", "*": "·"}.get(node.kind, node.kind)
    return f"{_inside(left, level)} {sign} {_inside(right, level + 1)}"


def _inside(node: Node, least: int) -> str:
    text = write(node)
    return f"({text})" if LEVEL.get(node.kind, 9) < least else text
