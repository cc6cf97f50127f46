"""Colab and Binder: buttons that lead somewhere or are not there, and a cell that installs once."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from chapters import CHAPTERS, ROOT, load
from IPython.core.inputtransformer2 import TransformerManager
from sphinx.testing.util import SphinxTestApp

from specmini import __version__, sphinxext
from specmini.publish import launch

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
EXAMPLE = "https://github.com/example/book"  # nobody's: it stands for an address in tests
SOURCE = f"specmini[book,lab] @ git+{EXAMPLE}@v{__version__}"


def options(url):
    return {
        "repository_url": url,
        "repository_branch": CONFIG["repository"]["branch"],
        "launch_buttons": dict(CONFIG["launch_buttons"]),
    }


# --- the setting ----------------------------------------------------------------------------


def test_without_a_repository_there_are_no_buttons():
    theme = options("")
    assert launch.settle_buttons(theme) == ""
    assert "launch_buttons" not in theme


def test_with_a_repository_the_buttons_stay_and_the_package_is_this_version():
    theme = options(EXAMPLE)
    assert launch.settle_buttons(theme) == SOURCE
    assert theme["launch_buttons"] == CONFIG["launch_buttons"]
    assert launch.settle_buttons(theme) == SOURCE  # asked again, it says the same


def test_colab_opens_github_alone():
    theme = options("https://gitlab.com/example/book")
    assert launch.settle_buttons(theme) == SOURCE.replace("github", "gitlab")
    assert set(CONFIG["launch_buttons"]) - set(theme["launch_buttons"]) == {"colab_url"}


@pytest.mark.parametrize(
    "url",
    ["example/book", "http://github.com/a/b", f"{EXAMPLE}.git", f"{EXAMPLE}/", 'https://x/"/b'],
)
def test_what_is_no_address_of_a_repository_is_refused(url):
    with pytest.raises(ValueError, match=r"repository\.url must read https://HOST/OWNER/NAME"):
        launch.settle_buttons(options(url))


# --- the buttons on a page ------------------------------------------------------------------


def page_of_a_book(folder: Path, url: str) -> tuple[str, Path]:
    """One chapter built by the book's theme and extension: its page, and what it offers to load."""
    source = folder / "source"
    source.mkdir()
    cells = [nbformat.v4.new_markdown_cell("# A chapter"), nbformat.v4.new_code_cell("1 + 1")]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    chapter = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(chapter, source / "index.ipynb")
    settings = {
        "extensions": ["myst_nb", "sphinx_design", "specmini.sphinxext"],
        "html_theme": "sphinx_book_theme",
        "html_theme_options": options(url),
        "nb_execution_mode": "off",
    }
    (source / "conf.py").write_text("")
    app = SphinxTestApp(
        srcdir=source, builddir=folder / "_build", freshenv=True, confoverrides=settings
    )
    try:
        app.build()
        site = Path(app.outdir)
        assert "repository" not in app.warning.getvalue()
    finally:
        app.cleanup()
    return (site / "index.html").read_text(encoding="utf-8"), site / "_sources" / "index.ipynb"


@pytest.fixture
def without_files_to_take_along(monkeypatch):
    """Cards and sheet take seconds to write, and no button leads to them."""
    monkeypatch.setattr(sphinxext.practice_site, "write_files", lambda _: None)


@pytest.mark.usefixtures("without_files_to_take_along")
def test_buttons_on_a_page_lead_to_its_notebook(tmp_path):
    page, download = page_of_a_book(tmp_path, EXAMPLE)
    colab = "https://colab.research.google.com/github/example/book/blob/notebooks/index.ipynb"
    binder = "https://mybinder.org/v2/gh/example/book/notebooks?urlpath=lab/tree/index.ipynb"
    assert f'href="{colab}"' in page
    assert f'href="{binder}"' in page
    assert SOURCE in load(download).cells[0].source


@pytest.mark.usefixtures("without_files_to_take_along")
def test_without_a_repository_a_page_says_nothing_of_them(tmp_path):
    page, download = page_of_a_book(tmp_path, "")
    for word in ("colab", "binder", "launch-button", "github.com/executablebooks/jupyter-book"):
        assert word not in page.lower()
    assert [cell.cell_type for cell in load(download).cells] == ["markdown", "code"]


def test_all_places_name_the_repository_or_none_does():
    """One setting decides; what cannot read it must say the same."""
    url = CONFIG["repository"]["url"]
    launch.package_source(url)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation.get("repository-code", "") == url
    assert project.get("urls", {}).get("Repository", "") == url


# --- the cell -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_launchable_chapter_is_the_chapter_with_one_cell_on_top(path):
    chapter = load(path)
    assert launch.CELL_ID not in [cell.id for cell in chapter.cells]
    copy = launch.launchable(chapter, SOURCE)
    nbformat.validate(copy)
    assert copy.cells[0].id == launch.CELL_ID
    assert copy.cells[1:] == chapter.cells
    assert launch.launchable(copy, SOURCE) == copy  # never two of them
    assert launch.launchable(copy, "") == chapter


def run(cell, installed, monkeypatch):
    """Run an install cell as IPython would; return what it hands to pip."""
    asked = []
    magic = type("Shell", (), {"run_line_magic": lambda _, name, line: asked.append((name, line))})
    if not installed:
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    code = TransformerManager().transform_cell(cell.source)
    ast.parse(code)
    exec(code, {"get_ipython": magic})
    return asked


def test_the_cell_installs_what_is_missing_and_nothing_else(monkeypatch):
    cell = launch.launchable(load(CHAPTERS[0]), SOURCE).cells[0]
    assert run(cell, True, monkeypatch) == []
    assert run(cell, False, monkeypatch) == [("pip", f'install --quiet "{SOURCE}"')]


@pytest.mark.parametrize("source", ['a"; b', "a\nb", "a'b", "{a}", "$A", "a\\b"])
def test_a_source_that_would_leave_its_string_is_refused(source):
    with pytest.raises(ValueError, match="source must be an address or a folder"):
        launch.launchable(load(CHAPTERS[0]), source)


def test_the_command_copies_all_chapters(tmp_path, monkeypatch, capsys):
    command = ["launch", str(ROOT / "book"), "--into", str(tmp_path / "copies")]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [*command, "--package", SOURCE])
    launch.main()
    assert capsys.readouterr().out.startswith(f"{len(CHAPTERS)} notebooks in ")
    copies = sorted((tmp_path / "copies").iterdir())
    assert [path.name for path in copies] == [path.name for path in CHAPTERS]
    assert all(load(path).cells[0].id == launch.CELL_ID for path in copies)

    monkeypatch.setattr(sys, "argv", [*command, "--package", 'a"b'])
    with pytest.raises(SystemExit):
        launch.main()
    assert "source must be" in capsys.readouterr().err

    monkeypatch.setattr(sys, "argv", command)  # the setting of the book decides
    launch.main()
    url = CONFIG["repository"]["url"]
    assert (launch.CELL_ID in copies[0].read_text(encoding="utf-8")) == bool(url)


# --- Binder ---------------------------------------------------------------------------------


def test_binder_installs_pinned_versions_of_all_that_the_package_asks_for():
    environment = yaml.safe_load((ROOT / "binder" / "environment.yml").read_text(encoding="utf-8"))
    *conda, last = environment["dependencies"]
    pinned = set(last["pip"])
    ours = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert pinned <= set(re.findall(r"^\S+==\S+", ours, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = {
        re.split(r"[<>=]", line)[0]
        for line in [*project["dependencies"], *extras["book"], *extras["lab"]]
    }
    assert asked - {pin.partition("==")[0] for pin in pinned} == {"torch"}
    assert any(line.startswith("pytorch-cpu") for line in conda)
