"""The zip of the site: the same bytes whoever packs it, complete, with a checksum."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from specmini import __version__
from specmini.publish import archive


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    for name, text in {
        "index.html": "<p>α</p>",
        "book/a.html": "a" * 900,
        "_static/b.js": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_all_files_come_back_under_one_folder(site, tmp_path):
    archive.write_archive(site, tmp_path / "out" / "the-book.zip")
    with zipfile.ZipFile(tmp_path / "out" / "the-book.zip") as packed:
        assert packed.testzip() is None
        packed.extractall(tmp_path / "back")
    unpacked = tmp_path / "back" / "the-book"
    assert [path.name for path in (tmp_path / "back").iterdir()] == ["the-book"]
    files = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    assert files == {path.relative_to(site) for path in site.rglob("*") if path.is_file()}
    for name in files:
        assert (unpacked / name).read_bytes() == (site / name).read_bytes()


def test_dates_modes_and_the_order_on_disk_change_nothing(site, tmp_path):
    archive.write_archive(site, tmp_path / "one" / "book.zip")
    other = tmp_path / "other"
    for path in sorted(site.rglob("*"), reverse=True):
        if path.is_file():
            target = other / path.relative_to(site)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
            target.chmod(0o600)
            os.utime(target, (1e9, 1e9))
    archive.write_archive(other, tmp_path / "two" / "book.zip")
    one, two = ((tmp_path / name / "book.zip").read_bytes() for name in ("one", "two"))
    assert one == two
    with zipfile.ZipFile(tmp_path / "one" / "book.zip") as packed:
        assert packed.namelist() == sorted(packed.namelist())
        assert {entry.date_time for entry in packed.infolist()} == {archive.OLDEST_DATE}

    (other / "index.html").write_text("changed")
    archive.write_archive(other, tmp_path / "two" / "book.zip")
    assert (tmp_path / "two" / "book.zip").read_bytes() != one


def test_the_checksum_is_the_zips_and_in_the_form_that_tools_read(site, tmp_path):
    checksum = archive.write_archive(site, tmp_path / "book.zip")
    digest = hashlib.sha256((tmp_path / "book.zip").read_bytes()).hexdigest()
    assert checksum.name == "book.zip.sha256"
    assert checksum.read_text() == f"{digest}  book.zip\n"
    if shutil.which("sha256sum"):
        check = ["sha256sum", "--check", "--status", checksum.name]
        assert subprocess.run(check, cwd=tmp_path).returncode == 0
        (tmp_path / "book.zip").write_bytes(b"other")
        assert subprocess.run(check, cwd=tmp_path).returncode != 0


def test_what_cannot_be_packed_is_refused(site, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="folder must hold at least one file"):
        archive.write_archive(tmp_path / "empty", tmp_path / "book.zip")
    with pytest.raises(ValueError, match=r"archive must end in \.zip, got 'book\.tar'"):
        archive.write_archive(site, tmp_path / "book.tar")
    with pytest.raises(ValueError, match="archive must lie outside of"):
        archive.write_archive(site, site / "book.zip")
    assert not list(tmp_path.glob("*.zip*"))


def test_a_write_that_fails_leaves_the_archive_before_it(site, tmp_path, monkeypatch):
    archive.write_archive(site, tmp_path / "book.zip")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("book.zip*")}

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    (site / "index.html").write_text("new")
    with pytest.raises(OSError, match="disk full"):
        archive.write_archive(site, tmp_path / "book.zip")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("book.zip*")} == before
    assert not list(tmp_path.glob(".*"))


def test_the_command_names_the_zip_after_the_version(site, tmp_path):
    command = [sys.executable, "-m", "specmini.publish.archive", str(site)]
    run = subprocess.run(
        [*command, "--into", str(tmp_path / "dist")], capture_output=True, text=True, check=True
    )
    name = f"specmini-book-{__version__}.zip"
    written = [tmp_path / "dist" / name, tmp_path / "dist" / f"{name}.sha256"]
    assert run.stdout.split("\n")[:2] == [str(path) for path in written]
    assert sorted((tmp_path / "dist").iterdir()) == written
    run = subprocess.run([*command[:-1], str(tmp_path / "none")], capture_output=True, text=True)
    assert run.returncode == 2
    assert "folder must hold at least one file" in run.stderr
