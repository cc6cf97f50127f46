"""Argument checks: a clean array comes back, or a ValueError that says what was wrong.

Every message names the argument, the value that was given and the values that are allowed.
Nothing is clipped and nothing is guessed: a bool, a string, a complex number, ``None`` or a
NaN is an error, not a number. The checks cost two or three passes over an array.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

type_error_kinds: Final = {"b": "bool", "S": "bytes", "U": "str", "c": "complex", "O": "object"}

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TextArray = NDArray[np.str_]


def real(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as float64; any finite real number is allowed.

    Args:
        name: argument name for the message.
        value: number or array of any shape.

    Raises:
        ValueError: a bool, string, complex, object, NaN or infinity is in ``value``.
    """
    return _in_range(name, value, -np.inf, np.inf, "a finite number")


def probability(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as float64 with every element in [0, 1].

    Args:
        name: argument name for the message.
        value: number or array of any shape.

    Raises:
        ValueError: an element is outside [0, 1] or not a number.
    """
    return _in_range(name, value, 0.0, 1.0, "a number in [0, 1]")


def non_negative(name: str, value: ArrayLike, infinite: bool = False) -> FloatArray:
    """Return ``value`` as float64 with every element in [0, inf).

    Args:
        name: argument name for the message.
        value: number or array of any shape.
        infinite: allow infinity too.

    Raises:
        ValueError: an element is negative, infinite (unless allowed) or not a number.
    """
    if infinite:
        return _in_range(name, value, 0.0, np.inf, "a number in [0, inf]", infinite=True)
    return _in_range(name, value, 0.0, np.inf, "a finite number in [0, inf)")


def at_least(name: str, value: ArrayLike, minimum: float) -> FloatArray:
    """Return ``value`` as float64 with every element finite and at least ``minimum``.

    Args:
        name: argument name for the message.
        value: number or array of any shape.
        minimum: smallest value allowed.

    Raises:
        ValueError: an element is smaller, infinite or not a number.
    """
    return _in_range(name, value, minimum, np.inf, f"a finite number in [{minimum}, inf)")


def positive(name: str, value: ArrayLike, infinite: bool = False) -> FloatArray:
    """Return ``value`` as float64 with every element in (0, inf).

    Args:
        name: argument name for the message.
        value: number or array of any shape.
        infinite: allow infinity too.

    Raises:
        ValueError: an element is zero, negative, infinite (unless allowed) or not a number.
    """
    smallest = np.nextafter(0.0, 1.0)
    if infinite:
        return _in_range(name, value, smallest, np.inf, "a number in (0, inf]", infinite=True)
    return _in_range(name, value, smallest, np.inf, "a finite number in (0, inf)")


def whole_number(name: str, value: ArrayLike, minimum: int = 0) -> IntArray:
    """Return ``value`` as int64 with every element at least ``minimum``.

    A float with a whole value (``4.0``) is a whole number; ``4.5`` is not.

    Args:
        name: argument name for the message.
        value: number or array of any shape.
        minimum: smallest value allowed.

    Raises:
        ValueError: an element is below ``minimum``, above 2**53, fractional or not a number.
    """
    # Above 2**53 neighbouring integers share one double, so K + 1 would no longer be exact.
    largest = 2**53
    allowed = f"a whole number in [{minimum}, 2**53]"
    numbers = number_array(name, value, allowed)
    if numbers.dtype.kind == "f":  # half precision holds no 2**53
        numbers = numbers.astype(np.float64, copy=False)
    if numbers.size and not (numbers.min() >= minimum and numbers.max() <= largest):
        _refuse(name, numbers, ~((numbers >= minimum) & (numbers <= largest)), allowed)
    if numbers.dtype.kind == "f":
        fractional = numbers != np.rint(numbers)
        if fractional.any():
            _refuse(name, numbers, fractional, allowed)
    return numbers.astype(np.int64, copy=False)


def single(name: str, numbers: NDArray[Any]) -> Any:
    """Return the one number of a zero-dimensional array as a Python int or float.

    Args:
        name: argument name for the message.
        numbers: what another check returned.

    Raises:
        ValueError: ``numbers`` has an axis.
    """
    if numbers.ndim:
        raise ValueError(f"{name} must be a single number, got an array of shape {numbers.shape}")
    return numbers.item()


def broadcast_shape(**arrays: NDArray[Any]) -> tuple[int, ...]:
    """Return the common shape of the named arrays.

    Args:
        **arrays: argument name to array.

    Raises:
        ValueError: the shapes do not broadcast; the message lists each of them.
    """
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"shapes must broadcast against each other (NumPy rules), got {shapes}"
        ) from None


def broadcast(**arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return read-only views of the named arrays, all in their common shape.

    Args:
        **arrays: argument name to array.

    Raises:
        ValueError: the shapes do not broadcast; the message lists each of them.
    """
    shape = broadcast_shape(**arrays)
    return tuple(np.broadcast_to(array, shape) for array in arrays.values())


def choice(name: str, value: object, choices: tuple[str, ...], *, any_case: bool = False) -> str:
    """Return the one of ``choices`` that ``value`` is.

    Args:
        name: argument name for the message.
        value: what the caller gave.
        choices: the strings that are allowed.
        any_case: let upper and lower case be the same.

    Raises:
        ValueError: ``value`` is none of them; the message lists them all.
    """
    if isinstance(value, str):
        for option in choices:
            if value == option or (any_case and value.casefold() == option.casefold()):
                return option
    listed = ", ".join(repr(option) for option in choices)
    raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def switch(name: str, value: object) -> bool:
    """Return ``value`` if it is ``True`` or ``False``.

    Args:
        name: argument name for the message.
        value: what the caller gave.

    Raises:
        ValueError: it is anything else.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return value


def number_array(name: str, value: ArrayLike, allowed: str = "an array of numbers") -> NDArray[Any]:
    """Return ``value`` as an array of real numbers, of any size and in its own type.

    Args:
        name: argument name for the message.
        value: number or array of any shape.
        allowed: what is allowed, for the message.

    Raises:
        ValueError: a bool, string, complex or object is in ``value``, or its rows differ in length.
    """
    try:
        numbers = np.asarray(value)
    except (ValueError, TypeError):
        raise ValueError(
            f"{name} must be {allowed} (or an array of such), got {shown(value)}"
        ) from None
    if numbers.dtype.kind not in "fiu" or _holds_bool(value):
        kind = type_error_kinds.get(numbers.dtype.kind, str(numbers.dtype))
        kind = "bool" if _holds_bool(value) else kind
        raise ValueError(f"{name} must be {allowed}, got {shown(value)} of type {kind}")
    return numbers


def _in_range(
    name: str, value: ArrayLike, low: float, high: float, allowed: str, infinite: bool = False
) -> FloatArray:
    numbers = number_array(name, value, allowed).astype(np.float64, copy=False)
    if numbers.size == 0:
        return numbers
    smallest, largest = numbers.min(), numbers.max()
    # NaN propagates through min and max and fails both comparisons, so no third pass is needed.
    inside = smallest >= low and largest <= high
    if inside and (infinite or (np.isfinite(smallest) and np.isfinite(largest))):
        return numbers
    outside = ~((numbers >= low) & (numbers <= high))
    if not infinite:
        outside |= ~np.isfinite(numbers)
    _refuse(name, numbers, outside, allowed)


def _holds_bool(value: object) -> bool:
    """NumPy turns ``[True, 0.5]`` into floats silently, so a list is looked at before that."""
    if isinstance(value, (list, tuple)):
        return any(_holds_bool(item) for item in value)
    return isinstance(value, (bool, np.bool_)) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "b"
    )


def _refuse(name: str, numbers: NDArray[Any], wrong: NDArray[np.bool_], allowed: str) -> NoReturn:
    first = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(wrong)))
    offender = numbers[first] if numbers.ndim else numbers[()]
    where = f" at index {first if len(first) > 1 else first[0]}" if numbers.ndim else ""
    raise ValueError(f"{name} must be {allowed}, got {offender.item()!r}{where}")


def shown(value: object, limit: int = 60) -> str:
    """Return a refused value for a message, NumPy's numbers as plain ones, cut to ``limit``."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # Python refuses to print some thousands of digits
        text = "an int too long to print"
    return text if len(text) <= limit else text[: limit - 3] + "..."
