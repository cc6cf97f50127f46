"""The package about itself: its parts, their size, and who imports whom, read from the source.

A part is a module at the top of ``specmini`` or a folder there. Nothing is imported for this.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["PAPER_WING", "Part", "imported", "modules_of", "parts"]

PACKAGE: Final = Path(__file__).parents[1]

# What stands on NumPy alone, and imports nothing of the other parts.
PAPER_WING: Final = (
    *("checks", "theory", "conversions", "roofline", "catalog", "configuration", "cost"),
    *("record", "advisor", "metrics"),
)


@dataclass(frozen=True)
class Part:
    """One part of the package.

    Attributes:
        name: below ``specmini``.
        purpose: the first sentence of its docstring.
        modules: number of files.
        lines: in all of them, comments and docstrings included.
        imports: other parts that it imports, sorted.
    """

    name: str
    purpose: str
    modules: int
    lines: int
    imports: tuple[str, ...]


def parts() -> list[Part]:
    """All parts but the command-line entry, sorted by name."""
    names = {
        path.stem
        for path in PACKAGE.iterdir()
        if (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem[0] != "_")
    }
    return [_part(name) for name in sorted(names)]


def modules_of(part: str) -> list[str]:
    """Names below ``specmini`` of a module, or of a folder and all that is in it.

    Raises:
        ValueError: there is no such part.
    """
    folder = PACKAGE / part
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    if not files or not files[0].exists():
        raise ValueError(f"part must be a module or folder of specmini, got {part!r}")
    names = (file.relative_to(PACKAGE).with_suffix("").parts for file in files)
    return [".".join(name for name in path if name != "__init__") for path in names]


def imported(module: str) -> Iterator[str]:
    """Parts that the text of a module imports, wherever in it.

    Args:
        module: a name as ``modules_of`` gives it.
    """
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.ImportFrom) and node.module == "specmini":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("specmini."):
            yield str(node.module).split(".")[1]


def _part(name: str) -> Part:
    modules = modules_of(name)
    text = ast.get_docstring(ast.parse(_source(name))) or ""
    others = {other for module in modules for other in imported(module)} - {name}
    lines = sum(_source(module).count("\n") for module in modules)
    purpose = text.split("\n\n")[0].replace("\n", " ")
    return Part(name, purpose, len(modules), lines, tuple(sorted(others)))


def _source(module: str) -> str:
    path = PACKAGE.joinpath(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")
