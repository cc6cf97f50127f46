"""What commands print and draw: JSON without NaN, and a figure in a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from specmini.configuration import Configuration
from specmini.files import replaced

__all__ = ["as_json", "draw", "without_nan"]


def as_json(value: Any) -> str:
    """The value as JSON, for people and programs."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def without_nan(value: Any) -> Any:
    """The same without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def draw(configuration: Configuration, path: str) -> None:
    """Draw the speedup against K to an SVG, in one step; matplotlib is loaded only here.

    Raises:
        ValueError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from specmini.figures.record import advice_by_length
    except ImportError:
        raise ValueError("--figure needs matplotlib: pip install specmini[book]") from None
    content = advice_by_length(configuration)._repr_svg_().encode()
    try:
        replaced(Path(path), lambda unfinished: unfinished.write_bytes(content))
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot write {path!r}: {error}") from None
