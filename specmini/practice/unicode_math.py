r"""Short TeX formulas as a line of text: ``\frac{E}{Kc+v}`` becomes ``E/(Kc+v)``.

For paper and for screen readers' announcements, where MathML does not reach. An unknown command is
an error, so that nothing is dropped in silence.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from specmini.checks import shown

__all__ = ["as_text"]

SYMBOLS: Final = {
    "cdot": "·", "times": "×", "sum": "Σ", "le": "≤", "ge": "≥", "star": "*", "dots": "…",
    "min": "min", "max": "max", "approx": "≈", "to": "→", "infty": "∞", "ne": "≠", "ln": "ln",
    "mid": "|", "sim": "~", "in": "∈", "prod": "Π", "pm": "±", "iff": "⇔", "quad": " ",
}  # fmt: skip
SPACES: Final = {",": " ", ";": " ", "!": "", " ": " ", "{": "{", "}": "}", "%": "%", "\\": "; "}
GROUPS: Final = ("text", "operatorname", "mathrm", "big", "Big", "left", "right", "bigl", "bigr")
RAISED: Final = dict(zip("0123456789+-=()in", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿ", strict=True)) | {"*": "*"}
LOWERED: Final = dict(zip("0123456789+-=()aeijnx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₙₓ", strict=True))
piece: Final = re.compile(r"\\([a-zA-Z]+|.)|([_^])|([{}])|(\s+)|(.)", re.DOTALL)


def as_text(tex: str) -> str:
    """Return a formula as one line of Unicode text.

    Raises:
        ValueError: a command that is not known here, braces that do not match, or too many of
            them inside each other.
    """
    try:
        text, rest = _sequence(tex, closing=False)
    except RecursionError:
        raise ValueError(f"formula must not be nested so deep, got {shown(tex)}") from None
    if rest:
        raise ValueError(f"formula must have matching braces, got {tex!r}")
    return " ".join(text.replace("&", "").split())


def _sequence(tex: str, closing: bool) -> tuple[str, str]:
    """Text up to the closing brace, or to the end, and what is left after it."""
    done = ""
    while tex:
        if tex[0] == "}":
            if not closing:
                return done, tex
            return done, tex[1:]
        one, tex = _one(tex)
        done += one
    if closing:
        raise ValueError("formula must have matching braces, got one that is not closed")
    return done, ""


def _one(tex: str) -> tuple[str, str]:
    match = piece.match(tex)
    if match is None:
        raise ValueError("formula must go on after a command that takes an argument")
    command, script, brace, space, letter = match.groups()
    rest = tex[match.end() :]
    if brace:
        return _sequence(rest, closing=True)
    if script:
        inner, rest = _one(rest.lstrip())
        return _script(inner, script), rest
    if command:
        return _command(command, rest)
    return (" " if space else letter.replace("-", "−")), rest


def _command(name: str, rest: str) -> tuple[str, str]:
    if name in SPACES:
        return SPACES[name], rest
    if name in ("frac", "tfrac", "dfrac"):
        above, rest = _one(rest.lstrip())
        below, rest = _one(rest.lstrip())
        return f"{_grouped(above)}/{_grouped(below)}", rest
    if name in GROUPS:
        return ("", rest) if name[:1] in "bBlr" else _one(rest.lstrip())
    if name in SYMBOLS:
        return SYMBOLS[name], rest
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {name.replace('lambda', 'lamda')}"), rest
    except KeyError:
        raise ValueError(rf"formula must use known commands, got \{name}") from None


def _grouped(text: str) -> str:
    simple = re.fullmatch(r"[\w.*]+", text) is not None
    return text if simple else f"({text})"


def _script(inner: str, sign: str) -> str:
    table = RAISED if sign == "^" else LOWERED
    plain = inner.replace("−", "-")
    if all(letter in table for letter in plain):
        return "".join(table[letter] for letter in plain)
    if sign == "_":
        return f"_{inner}"
    return f"^{_grouped(inner)}"
