"""The chapters as files: run them, and store them in one form that reads well in a diff.

``python -m specmini.notebooks book`` runs every chapter in place. Stored outputs are what
``pytest --nbval`` compares a fresh run against, so a chapter that was never run proves nothing.
"""

import argparse
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}

# A live widget's model id is random, and means nothing without the kernel that made it.
UNSTABLE_OUTPUTS = ("application/vnd.jupyter.widget-view+json",)

CELL_METADATA = ("tags", "mystnb")
PAGE_METADATA = ("mystnb",)  # how the build runs the page


def read(path: Path) -> NotebookNode:
    """Read a notebook as format 4.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no notebook; the message names the file.
    """
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except OSError:
        raise
    except Exception as error:  # nbformat has no error of its own for what has no cells or metadata
        raise ValueError(f"{path} must be a notebook: {' '.join(str(error).split())}") from error
    return notebook


def normalized(notebook: NotebookNode) -> NotebookNode:
    """A copy in stored form: no clocks, versions or widget state; prints joined, cells from 1."""
    book: NotebookNode = nbformat.from_dict(notebook)
    kept = {key: book.metadata[key] for key in PAGE_METADATA if key in book.metadata}
    book.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE} | kept)
    book.nbformat, book.nbformat_minor = 4, 5
    count = 0
    for index, cell in enumerate(book.cells):
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in CELL_METADATA if key in cell.metadata}
        )
        cell.setdefault("id", f"cell-{index}")
        if cell.cell_type != "code":
            continue
        executed = cell.execution_count is not None
        count += executed
        cell.execution_count = count if executed else None
        cell.outputs = _joined(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
            for mime in UNSTABLE_OUTPUTS:
                output.get("data", {}).pop(mime, None)
    return book


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs with neighboring prints as one: where a kernel cuts them is chance."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == "stream" and output.get("name") == last.get("name"):
            last.text += output.text
        else:
            joined.append(output)
    return joined


def write(notebook: NotebookNode, path: Path) -> None:
    """Write in stored form; the file is replaced in one step or not at all.

    The beginnings of a write that is killed carry a name that no build takes for a chapter, and
    the next write replaces them.
    """
    unfinished = path.with_name(f".{path.name}.part")
    try:
        text = nbformat.writes(normalized(notebook)) + "\n"
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def execute(path: Path, timeout: int = 300) -> None:
    """Run a chapter from a fresh kernel and store its outputs; a failing cell raises."""
    notebook = read(path)
    NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name=KERNEL["name"],
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    write(notebook, path)


def chapters(folder: Path) -> list[Path]:
    """The notebooks of the book, in file order.

    Raises:
        ValueError: if ``folder`` holds none.
    """
    found = sorted(folder.glob("*.ipynb"))
    if not found:
        raise ValueError(f"folder must hold at least one .ipynb file, got {str(folder)!r}")
    return found


def main() -> None:
    """Command line: run chapters in place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="a notebook, or a folder of them")
    for given in parser.parse_args().paths:
        for path in chapters(given) if given.is_dir() else [given]:
            sys.stderr.write(f"running {path}\n")
            execute(path)


if __name__ == "__main__":
    main()
