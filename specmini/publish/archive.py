"""A folder as one zip that is the same, byte for byte, whoever packs it, and its checksum.

``python -m specmini.publish.archive _build/html --into dist`` packs the built site. Nothing in the
site needs a server: unpacked, it opens from ``index.html`` by a double click.
"""

import argparse
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from specmini import __version__
from specmini.files import replaced

OLDEST_DATE = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the first that a zip can tell; when a file was made counts not
PLAIN_FILE = 0o100644


def write_archive(folder: Path, archive: Path) -> Path:
    """Pack a folder, and write its checksum beside it; each file is replaced in one step.

    What is packed stands under one folder, which has the archive's name, so that unpacking spills
    nothing. Files come in the order of their names, with one date and one mode.

    Args:
        folder: what to pack, with all that is in it.
        archive: the zip to write, outside of ``folder``; its folder is made if need be.

    Returns:
        The file with the checksum, ``NAME.zip.sha256``, which ``sha256sum --check`` reads.

    Raises:
        ValueError: if ``folder`` holds no file, or ``archive`` would lie in it or is no ``.zip``.
    """
    if archive.suffix != ".zip":
        raise ValueError(f"archive must end in .zip, got {archive.name!r}")
    if archive.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"archive must lie outside of {str(folder)!r}, got {str(archive)!r}")
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    files = {name: path for name, path in sorted(names.items()) if path.is_file()}
    if not files:
        raise ValueError(f"folder must hold at least one file, got {str(folder)!r}")
    archive.parent.mkdir(parents=True, exist_ok=True)
    content = {f"{archive.stem}/{name}": path.read_bytes() for name, path in files.items()}
    replaced(archive, lambda unfinished: write_undated(unfinished, content))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    checksum = archive.with_name(f"{archive.name}.sha256")
    line = f"{digest}  {archive.name}\n"
    replaced(checksum, lambda unfinished: unfinished.write_text(line, "utf-8", newline="\n"))
    return checksum


def write_undated(archive: Path, content: Mapping[str, bytes]) -> None:
    """Write a zip that depends on what is in it alone.

    Args:
        archive: where.
        content: of each file, under its name in the zip, in the order in which they are packed.
    """
    with zipfile.ZipFile(archive, "w") as packed:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, OLDEST_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = PLAIN_FILE << 16
            entry.create_system = 3  # the mode above is Unix's, also if Windows packs
            packed.writestr(entry, data, compresslevel=9)


def main() -> None:
    """Command line: pack a folder under the version of the book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what to pack")
    parser.add_argument("--into", type=Path, default=Path("dist"), help="where the zip goes")
    parser.add_argument("--name", default="book", help="what is packed, for the zip's name")
    given = parser.parse_args()
    archive = given.into / f"specmini-{given.name}-{__version__}.zip"
    try:
        checksum = write_archive(given.folder, archive)
    except ValueError as problem:
        parser.error(str(problem))
    sys.stdout.write(f"{archive}\n{checksum}\n")


if __name__ == "__main__":
    main()
