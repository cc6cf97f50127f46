"""Chapters that open in Colab and on Binder: when the buttons show, and the cell that installs.

One setting decides, ``repository.url`` in ``_config.yml``. While it is empty no page has a button,
since it would lead nowhere. Once it is filled the site links each chapter on the branch that
``repository.branch`` names. The publish workflow puts there what
``python -m specmini.publish.launch book --into FOLDER`` makes: the chapters, each with one more
cell on top that installs this version of the package where it is missing. The chapters of the book
itself do without that cell; ``make lab`` has the package.
"""

import argparse
import re
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode

from specmini import __version__, notebooks

EXTRAS = "specmini[book,lab]"
CELL_ID = "install-specmini"
REPOSITORY = re.compile(r"https://[\w.-]+(?:/[\w.-]+){2,}")


def package_source(url: str) -> str:
    """What pip installs the package from: the tag of this version in a public repository.

    Args:
        url: of the repository; without one there is no source, which is the empty string.

    Raises:
        ValueError: if ``url`` is no ``https`` address of a repository.
    """
    if not url:
        return ""
    if not REPOSITORY.fullmatch(url) or url.endswith(".git"):
        raise ValueError(f"repository.url must read https://HOST/OWNER/NAME, got {url!r}")
    return f"{EXTRAS} @ git+{url}@v{__version__}"


def settle_buttons(options: MutableMapping[str, Any]) -> str:
    """Keep the launch buttons that lead somewhere, and tell where the package comes from.

    Args:
        options: the theme's; without a repository its ``launch_buttons`` are dropped, and Colab's
            is for a repository that is not on GitHub, since Colab opens no other.

    Returns:
        What pip installs the package from, or the empty string without a repository.

    Raises:
        ValueError: if the repository's address is none.
    """
    url = options.get("repository_url", "")
    source = package_source(url)
    if not source:
        options.pop("launch_buttons", None)
    elif not url.startswith("https://github.com/"):
        kept = dict(options.get("launch_buttons", {}))
        kept.pop("colab_url", None)
        options["launch_buttons"] = kept
    return source


def launchable(notebook: NotebookNode, source: str) -> NotebookNode:
    """A copy that runs in a bare Jupyter: its first cell installs the package where it is missing.

    Args:
        notebook: a chapter, or a copy that has such a cell already, which is replaced.
        source: what pip installs the package from, such as ``specmini[book,lab] @ git+https://…``,
            or a folder, ``CHECKOUT[book,lab]``; empty for a copy without that cell.

    Raises:
        ValueError: if ``source`` holds what would end its string early, or mean something to it.
    """
    if re.search(r"[\"'\n\r\\${}]", source):
        raise ValueError(f"source must be an address or a folder for pip, got {source!r}")
    copy = notebooks.normalized(notebook)
    copy.cells = [cell for cell in copy.cells if cell.id != CELL_ID]
    if source:
        lines = (
            "# Run this cell first: it installs the book's package where it is missing.",
            "import importlib.util",
            "",
            'if importlib.util.find_spec("specmini") is None:',
            f'    %pip install --quiet "{source}"',
        )
        copy.cells.insert(0, nbformat.v4.new_code_cell("\n".join(lines), id=CELL_ID))
    return copy


def main() -> None:
    """Command line: write launchable copies of all chapters in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of the chapters")
    parser.add_argument("--into", type=Path, required=True, help="folder of the copies")
    parser.add_argument(
        "--package",
        help="what pip installs; default: from the repository that _config.yml names, and no "
        "install cell while it names none",
    )
    given = parser.parse_args()
    try:
        source = given.package
        if source is None:
            config = yaml.safe_load(Path("_config.yml").read_text(encoding="utf-8"))
            source = package_source(config["repository"]["url"])
        copies = {
            path.name: launchable(notebooks.read(path), source)
            for path in notebooks.chapters(given.folder)
        }
    except ValueError as problem:
        parser.error(str(problem))
    given.into.mkdir(parents=True, exist_ok=True)
    for name, copy in copies.items():
        notebooks.write(copy, given.into / name)
    cell = f"install {source}" if source else "without an install cell"
    sys.stdout.write(f"{len(copies)} notebooks in {given.into}, {cell}\n")


if __name__ == "__main__":
    main()
