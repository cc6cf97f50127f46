"""JSON files of this package: read with errors that name the file, and replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from specmini.files import replaced

__all__ = ["expected", "packaged", "parsed", "read", "read_rows", "write", "write_rows"]


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


def packaged(name: str) -> Any:
    """What a JSON file in ``specmini/data`` holds."""
    return parsed(name, (resources.files("specmini") / "data" / name).read_bytes())


def read_rows(path: Path, name: str) -> tuple[Any, Any]:
    """What ``write_rows`` wrote under ``about`` and under the name of the rows, not yet checked.

    Raises:
        OSError: the file cannot be read.
        ValueError: as ``parsed``; or it is no object with these two.
    """
    content = read(path)
    if not isinstance(content, dict) or set(content) != {"about", name}:
        raise ValueError(f"{path} must hold an object with about and {name}")
    return content["about"], content[name]


def write_rows(
    path: Path, about: Mapping[str, Any], name: str, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write what was measured, a line a row, in one step.

    Args:
        path: where to.
        about: what holds for all rows: machine, versions, date.
        name: of the rows.
        rows: anything JSON can hold.

    Raises:
        OSError: it cannot be written.
    """
    head = json.dumps(about, indent=1, ensure_ascii=False)
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write(path, f'{{"about": {head},\n"{name}": [\n{body}\n]}}\n')


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
