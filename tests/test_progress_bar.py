"""The bar of the commands that take a while."""

import io

import pytest

from specmini.commands.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def opened(monkeypatch):
    """A terminal in place of the error stream; in the test, since pytest swaps it after setup."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_a_pipe_sees_nothing_of_it(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert progress_bar("turns") is None


def test_it_grows_with_what_is_done(monkeypatch):
    terminal = opened(monkeypatch)
    bar = progress_bar("turns")
    bar(500, 2000)
    bar(2000, 2000)
    first, last = terminal.getvalue().split("\r")[1:]
    assert first == "[######                  ] 500 of 2,000 turns"
    assert last == "[########################] 2,000 of 2,000 turns\n"


@pytest.mark.parametrize(("spent", "share"), [(30, 12), (60, 24), (90, 24)])
def test_time_that_runs_out_ends_it(monkeypatch, spent, share):
    terminal = opened(monkeypatch)
    progress_bar("texts", seconds=60)(10, 100, spent)
    bar, words = terminal.getvalue().split("] ")
    assert bar.count("#") == share
    assert words == f"10 of 100 texts, {spent} s" + ("\n" if share == 24 else "")


def test_no_time_at_all_is_over_at_once(monkeypatch):
    terminal = opened(monkeypatch)
    progress_bar("texts", seconds=0)(5, 100, 0.2)
    assert terminal.getvalue().endswith("\n")
