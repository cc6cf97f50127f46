"""What a reader may set: the ranges, once for the Python traits and the page's controls alike."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import traitlets

from specmini.checks import shown
from specmini.roofline.machine import ARITHMETIC_BITS

# Digits that survive a slider: JupyterLab's sends 0.8700000000000001 for 0.87.
KEPT_DIGITS = 14


class SettingError(traitlets.TraitError, ValueError):
    """A setting was given a value that it does not allow.

    It is a ``ValueError``, like every bad argument in the package, and a ``TraitError``, so that
    ipywidgets rolls back a refused change.
    """


def refuse(name: str, must: str, given: Any) -> NoReturn:
    """Raise the ``SettingError`` that says what something must be, and what was given."""
    raise SettingError(f"{name} must {must}, got {shown(given)}")


def with_keys(name: str, given: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return a copy of a dict that has the keys and no other, in their order.

    Raises:
        SettingError: it is no such dict; the message names the keys.
    """
    if not isinstance(given, dict) or set(given) != set(keys):
        refuse(name, f"be a dict with the keys {', '.join(keys)}", given)
    return {key: given[key] for key in keys}


@dataclass(frozen=True)
class Range:
    """The allowed values of a number.

    Attributes:
        low: smallest value allowed.
        high: largest value allowed.
        whole: only whole numbers are allowed.
    """

    low: float
    high: float
    whole: bool = False

    def checked(self, name: str, value: Any) -> float | int:
        """Return ``value`` as an int or float, rounded to 14 significant digits.

        Args:
            name: setting name for the message.
            value: what was given.

        Raises:
            SettingError: it is not a number of the range; the message names all three.
        """
        # np.bool_ is no numbers.Real, bool is one.
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        # An integer too large for a float is compared before it is converted; NaN is not inside.
        if real and self.low <= value <= self.high:
            number = float(value)
            if number.is_integer() or not self.whole:
                return int(number) if self.whole else float(f"{number:.{KEPT_DIGITS}g}")
        kind = "a whole number" if self.whole else "a number"
        raise SettingError(
            f"{name} must be {kind} in [{self.low}, {self.high}], got {shown(value)}"
        )


RANGES: Mapping[str, Range] = {
    "alpha": Range(0, 1),
    "c": Range(0, 1),
    "K": Range(0, 16, whole=True),
    "v": Range(1, 8),
    "h": Range(0, 1),
    "batch": Range(1, 512, whole=True),
    "context": Range(0, 131072, whole=True),
    "overhead_ms": Range(0, 100),
    "seed": Range(0, 2**32 - 1, whole=True),
    "target_temperature": Range(0, 2),
    "draft_temperature": Range(0, 2),
    "draft_length": Range(1, 16, whole=True),
    "concurrency": Range(1, 1024, whole=True),
    "bandwidth": Range(0.01, 100),
    "peak": Range(0.1, 100_000),
    "memory": Range(1, 1024, whole=True),
    "billions": Range(0.1, 2000),
    "active_billions": Range(0, 2000),
    "draft_billions": Range(0.01, 1000),
    "new_per_day": Range(1, 100, whole=True),
}
BITS = ARITHMETIC_BITS
DEVICES = (1, 2, 4, 8)
MINUTES = (5, 10, 20)


class Number(traitlets.TraitType[Any, Any]):
    """A trait with the range of its name, kept in the saved page."""

    def __init__(self, name: str, default: float) -> None:
        super().__init__(default_value=default)
        self.range = RANGES[name]
        self.tag(sync=True, page=True)

    def validate(self, obj: Any, value: Any) -> float | int:
        """Return the checked value."""
        return self.range.checked(str(self.name), value)


class Choice(traitlets.TraitType[Any, Any]):
    """A trait that takes one of a few strings or whole numbers, kept in the saved page."""

    def __init__(self, options: Iterable[str | int], default: str | int) -> None:
        super().__init__(default_value=default)
        self.options = tuple(options)
        self.tag(sync=True, page=True)

    def validate(self, obj: Any, value: Any) -> str | int:
        """Return the option that equals the value."""
        if isinstance(value, (str, numbers.Real)) and not isinstance(value, bool):
            for option in self.options:
                if option == value:
                    return option
        raise SettingError(
            f"{self.name} must be one of {', '.join(map(str, self.options))}, got {shown(value)}"
        )


class Switch(traitlets.TraitType[Any, Any]):
    """A trait that is True or False, kept in the saved page."""

    def __init__(self, default: bool) -> None:
        super().__init__(default_value=default)
        self.tag(sync=True, page=True)

    def validate(self, obj: Any, value: Any) -> bool:
        """Return the value if it is a bool."""
        if isinstance(value, bool):
            return value
        raise SettingError(f"{self.name} must be True or False, got {shown(value)}")
