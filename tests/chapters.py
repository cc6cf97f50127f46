"""The chapters as the tests see them: paths, cells, prose and outputs."""

import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "book"
CHAPTERS = sorted(BOOK.glob("*.ipynb"))
PAGES = sorted(BOOK.glob("*.md"))


def load(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]


def markdown(notebook):
    return [c.source for c in notebook.cells if c.cell_type == "markdown"]


def output_text(cell):
    """Everything a reader can read in a cell's outputs."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            parts.append(output.text)
        data = output.get("data", {})
        parts += [data[mime] for mime in ("text/plain", "text/html") if mime in data]
    return re.sub(r"<[^>]+>", " ", "\n".join(parts))
