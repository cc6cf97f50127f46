"""Chapters are stored executed, in one normal form, and say what their pictures show."""

import re
import subprocess
import sys

import nbformat
import pytest
from chapters import BOOK, CHAPTERS, code_cells, load

from specmini import notebooks
from specmini.widgets.page import MIME as WIDGET_MIME

by_name = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def problems(notebook):
    """What is wrong with a stored chapter; empty when nothing is."""
    found = []
    if "widgets" in notebook.metadata:
        found.append("holds widget state")
    for number, cell in enumerate(code_cells(notebook), start=1):
        if cell.execution_count is None:
            # nbval compares nothing in such a cell, even in strict mode.
            found.append(f"code cell {number} was not executed")
        for output in cell.outputs:
            if output.output_type == "error":
                found.append(f"code cell {number} stores an error")
            data = output.get("data", {})
            pictures = [mime for mime in data if mime.startswith("image/")]
            if pictures and WIDGET_MIME not in data:
                svg = data.get("image/svg+xml", "")
                if not ("<title id=" in svg and "<desc id=" in svg):
                    found.append(f"code cell {number} shows an unlabelled figure")
                if not cell.metadata.get("mystnb", {}).get("figure", {}).get("caption"):
                    found.append(f"code cell {number} shows a figure without a caption")
    return found


@by_name
def test_stored_executed_and_labelled(path):
    assert problems(load(path)) == []


@by_name
def test_stored_in_normal_form(path):
    stored = path.read_text(encoding="utf-8")
    assert stored == nbformat.writes(notebooks.normalized(load(path))) + "\n"


@by_name
def test_cells_are_short(path):
    """A longer cell is a function waiting to be named; folded checks of answers may be longer."""
    for cell in code_cells(load(path)):
        longest = 30 if "hide-cell" in cell.metadata.get("tags", []) else 18
        assert len(cell.source.splitlines()) <= longest, cell.source


@by_name
def test_only_pictures_widgets_and_clocks_escape_comparison(path):
    """A cell that nbval skips shows a picture or a widget, or holds what it measured to bounds."""
    for cell in code_cells(load(path)):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            mimes = {mime for output in cell.outputs for mime in output.get("data", {})}
            bounded = re.search(r"^ *assert ", cell.source, re.MULTILINE)
            assert mimes & {"image/svg+xml", WIDGET_MIME} or bounded, cell.source


def damaged(damage):
    notebook = notebooks.read(CHAPTERS[0])
    damage(notebook)
    return problems(notebook)


def test_the_checks_catch_an_unexecuted_chapter():
    def strip(notebook):
        for cell in code_cells(notebook):
            cell.execution_count, cell.outputs = None, []

    assert any("not executed" in problem for problem in damaged(strip))


def test_the_checks_catch_widget_state():
    assert "holds widget state" in damaged(lambda nb: nb.metadata.update(widgets={}))


def test_the_checks_catch_an_unlabelled_figure():
    def add_plot(notebook):
        output = nbformat.v4.new_output("display_data", {"image/png": "iVBORw0KGgo="})
        code_cells(notebook)[0].outputs.append(output)

    assert any("unlabelled" in problem for problem in damaged(add_plot))


def test_the_checks_catch_a_stored_error():
    def add_error(notebook):
        output = nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])
        code_cells(notebook)[0].outputs.append(output)

    assert any("stores an error" in problem for problem in damaged(add_error))


def test_executing_writes_normal_form_and_a_failing_cell_leaves_the_file_alone(tmp_path):
    path = tmp_path / "chapter.ipynb"
    cells = [nbformat.v4.new_code_cell("print(1 + 1)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    notebooks.execute(path)
    stored = load(path)
    assert stored.cells[0].outputs[0].text == "2\n"
    assert problems(stored) == []

    stored.cells[0].source = "1 / 0"
    notebooks.write(stored, path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        notebooks.execute(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["chapter.ipynb"]


def test_a_write_that_is_killed_leaves_the_chapter_and_nothing_that_looks_like_one(tmp_path):
    path = tmp_path / "chapter.ipynb"
    notebooks.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]), path)
    before = path.read_bytes()
    # _exit ends the process as kill -9 does: nothing is cleaned up.
    code = (
        "import os, sys, nbformat, pathlib\n"
        "from specmini import notebooks\n"
        "os.replace = lambda *_: os._exit(9)\n"
        "notebooks.write(nbformat.v4.new_notebook(), pathlib.Path(sys.argv[1]))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)]).returncode == 9
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
    assert notebooks.chapters(tmp_path) == [path]

    notebooks.write(load(path), path)
    assert [p.name for p in tmp_path.iterdir()] == ["chapter.ipynb"]


def test_a_write_that_fails_leaves_the_chapter_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "chapter.ipynb"
    notebooks.write(nbformat.v4.new_notebook(), path)
    before = path.read_bytes()

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(notebooks.os, "replace", refuse)
    changed = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("new")])
    with pytest.raises(OSError, match="disk full"):
        notebooks.write(changed, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["chapter.ipynb"]


def test_normal_form_forgets_the_run_and_keeps_the_author():
    cell = nbformat.v4.new_code_cell("x", execution_count=9)
    cell.metadata = nbformat.from_dict(
        {"tags": ["hide-input"], "mystnb": {"figure": {}}, "execution": {"started": "now"}}
    )
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "f00"}, "text/plain": "x"}
    cell.outputs = [nbformat.v4.new_output("execute_result", view, execution_count=9)]
    skipped = nbformat.v4.new_code_cell("y")
    book = nbformat.v4.new_notebook(cells=[skipped, cell], metadata={"widgets": {"state": {}}})
    stored = notebooks.normalized(book)
    assert set(stored.metadata) == {"kernelspec", "language_info"}
    assert [c.execution_count for c in stored.cells] == [None, 1]
    assert stored.cells[1].metadata == {"tags": ["hide-input"], "mystnb": {"figure": {}}}
    assert stored.cells[1].outputs[0].execution_count == 1
    assert stored.cells[1].outputs[0].data == {"text/plain": "x"}
    assert book.cells[1].execution_count == 9  # a copy: the caller's notebook is as it was
    assert notebooks.normalized(stored) == stored


def test_neighboring_prints_are_stored_as_one():
    def prints(text, name="stdout"):
        return nbformat.v4.new_output("stream", name=name, text=text)

    cell = nbformat.v4.new_code_cell("...", execution_count=1)
    shown = nbformat.v4.new_output("display_data", data={"text/plain": "a figure"})
    cell.outputs = [prints("one\n"), prints("two\n"), prints("!", "stderr"), shown, prints("3\n")]
    outputs = notebooks.normalized(nbformat.v4.new_notebook(cells=[cell])).cells[0].outputs
    assert [output.get("text") for output in outputs] == ["one\ntwo\n", "!", None, "3\n"]
    assert cell.outputs[0].text == "one\n", "the notebook that was given must stay"


def test_the_command_runs_every_notebook_of_a_folder(tmp_path, monkeypatch):
    for name in ("b.ipynb", "a.ipynb"):
        notebooks.write(nbformat.v4.new_notebook(), tmp_path / name)
    ran = []
    monkeypatch.setattr(notebooks, "execute", ran.append)
    monkeypatch.setattr(sys, "argv", ["notebooks", str(tmp_path), str(tmp_path / "b.ipynb")])
    notebooks.main()
    assert [path.name for path in ran] == ["a.ipynb", "b.ipynb", "b.ipynb"]


def test_a_folder_without_notebooks_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"folder must hold at least one \.ipynb file"):
        notebooks.chapters(tmp_path)


def test_every_chapter_is_in_the_table_of_contents():
    toc = (BOOK.parent / "_toc.yml").read_text(encoding="utf-8")
    for path in [*CHAPTERS, *BOOK.glob("*.md")]:
        assert f"book/{path.stem}" in toc
