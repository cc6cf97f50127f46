"""JSON files of this package: read with errors that name the file, and replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from specmini.files import replaced

__all__ = ["expected", "parsed", "read", "write"]


def parsed(name: str, text: str | bytes) -> Any:
    """The value that a JSON text stands for.

    Args:
        name: of the text, for the message.
        text: UTF-8 if it is bytes.

    Raises:
        ValueError: it is no JSON, or nested deeper than Python reads.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be JSON: {error}") from None


def read(path: Path) -> Any:
    """The value that a JSON file holds.

    Raises:
        OSError: the file cannot be read.
        ValueError: as ``parsed``.
    """
    return parsed(str(path), path.read_bytes())


def write(path: Path, text: str) -> None:
    """Write a JSON text as UTF-8; the file is replaced in one step or not at all.

    Raises:
        OSError: it cannot be written.
    """
    content = text.encode()
    replaced(path, lambda unfinished: unfinished.write_bytes(content))


@contextmanager
def expected(path: Path, things: str) -> Iterator[None]:
    """Have what is wrong with the content of a file named with the file.

    Args:
        path: the file.
        things: what it must hold.

    Raises:
        ValueError: what was made of the content inside failed for a field that is missing, of
            another type or out of range.
    """
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{path} must hold {things}, and lacks the field {error}") from None
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must hold {things}: {error}") from None
