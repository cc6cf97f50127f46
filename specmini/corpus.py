"""A training corpus that needs no download: the standard library of the Python that runs this.

Two kinds of document. *Code*: every ``.py`` file of the library except tests, installed packages
and files that an installation generates. *Prose*: docstrings longer than 200 characters, and the
topics of the language reference that ``pydoc_data`` carries.

The split into training and held-out text is made **by file, before docstrings are taken out**:
otherwise a held-out docstring would stand, word for word, inside a training file. Topics quote each
other (the topic ``compound`` holds all of ``if``, ``for`` and ``while``), so topics that share a
paragraph are held out together or not at all.

The library changes between versions and between distributions (of 633 files, 366 are the same in
3.11.7 and 3.10.13), so every corpus carries its hash, and a checkpoint names the one it saw. The
text is under the PSF licence agreement: https://docs.python.org/3/license.html
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

__all__ = ["CopiedText", "Corpus", "Document", "copied_text", "from_files", "standard_library"]

Kind = Literal["code", "prose"]

topics_file: Final = "pydoc_data/topics.py"
prose_length: Final = 200  # characters; shorter docstrings are mostly "Return the value."
paragraph_length: Final = 80  # characters; shorter paragraphs repeat without being copied
held_out_one_in: Final = 16
not_sources: Final = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}
character_tables: Final = {"encodings"}  # sixty codecs that differ only in their numbers


@dataclass(frozen=True)
class Document:
    """One text. ``name`` is its file, with the line for a docstring and the key for a topic."""

    kind: Kind
    name: str
    text: str
    held_out: bool


@dataclass(frozen=True)
class Corpus:
    """Documents in a fixed order, and what they were made from.

    Attributes:
        source: what the files are, for example ``"CPython 3.11.7 standard library"``.
        files: SHA-256 of each file, by path relative to the library, sorted by path.
        documents: code and prose, training and held-out; within a file, in order of lines.
        dropped: names of held-out documents left out because training text contains them.
    """

    source: str
    files: Mapping[str, str]
    documents: tuple[Document, ...]
    dropped: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Hash of the list of file hashes, in the format that ``sha256sum`` prints."""
        listing = "".join(f"{digest}  {path}\n" for path, digest in self.files.items())
        return hashlib.sha256(listing.encode()).hexdigest()

    def select(self, kind: Kind, held_out: bool) -> tuple[Document, ...]:
        """Documents of one kind on one side of the split, in corpus order."""
        return tuple(d for d in self.documents if d.kind == kind and d.held_out == held_out)


@dataclass(frozen=True)
class CopiedText:
    """How much of one kind of held-out text also stands in training text.

    Attributes:
        paragraphs: long paragraphs in the held-out documents of the kind.
        shared: how many of them occur in a training document of either kind.
        examples: the shared paragraphs that training repeats most often, longest-lived first.
    """

    paragraphs: int
    shared: int
    examples: tuple[tuple[str, int], ...]


def standard_library(root: Path | None = None) -> Corpus:
    """Read the standard library of the running Python, about 12 MB, in some seconds.

    Args:
        root: the library's folder; the running interpreter's if not given.

    Raises:
        ValueError: ``root`` holds no Python files.
    """
    root = Path(sysconfig.get_paths()["stdlib"]) if root is None else root
    version = ".".join(map(str, sys.version_info[:3]))
    return from_files(f"CPython {version} standard library", _read_sources(root))


def from_files(source: str, files: Mapping[str, bytes]) -> Corpus:
    """Build a corpus from Python files.

    Args:
        source: what the files are.
        files: content by relative path; files that are not UTF-8 or not Python are left out.

    Raises:
        ValueError: none of the files could be read.
    """
    hashes: dict[str, str] = {}
    documents: list[Document] = []
    for path, content in sorted(files.items()):
        try:
            text = content.decode()
            tree = ast.parse(text)
        except (UnicodeDecodeError, SyntaxError):
            continue
        hashes[path] = hashlib.sha256(content).hexdigest()
        if path == topics_file:
            documents += _topics(tree)
            continue
        held_out = _is_held_out(path)
        documents.append(Document("code", path, text, held_out))
        documents += [
            Document("prose", f"{path}:{line}", docstring, held_out)
            for line, docstring in _docstrings(tree)
        ]
    if not hashes:
        raise ValueError(f"files must hold at least one UTF-8 Python source, got {sorted(files)}")
    kept, dropped = _without_copies(documents)
    return Corpus(source, hashes, kept, dropped)


def copied_text(documents: Iterable[Document], kind: Kind, examples: int = 5) -> CopiedText:
    """Measure how much held-out text of a kind training text repeats, paragraph by paragraph.

    Args:
        documents: training and held-out documents of all kinds.
        kind: the kind of held-out document to look at.
        examples: how many shared paragraphs to return.
    """
    in_training: dict[str, int] = {}
    held_out: list[str] = []
    for document in documents:
        if not document.held_out:
            for paragraph in _paragraphs(document.text):
                in_training[paragraph] = in_training.get(paragraph, 0) + 1
        elif document.kind == kind:
            held_out += _paragraphs(document.text)
    shared = [paragraph for paragraph in held_out if paragraph in in_training]
    ranked = sorted({(p, in_training[p]) for p in shared}, key=lambda item: (-item[1], item[0]))
    return CopiedText(len(held_out), len(shared), tuple(ranked[:examples]))


def _read_sources(root: Path) -> dict[str, bytes]:
    """Content of the library's own sources, by path relative to ``root``."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*.py")
        if not (not_sources | character_tables).intersection(path.relative_to(root).parts)
        # these are written by an installation, so they differ between machines
        and not path.name.startswith("_sysconfigdata")
        and not path.relative_to(root).parts[0].startswith("config-")
    }


def _is_held_out(name: str) -> bool:
    """A choice that depends on the name alone, so a new file moves no other file."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % held_out_one_in == 0


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, docstring) of every long docstring of a module, in order of lines."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None and len(docstring) > prose_length:
                found.append((node.body[0].lineno, docstring))
    return iter(sorted(found))


def _topics(tree: ast.Module) -> list[Document]:
    """The topics as prose; topics with a paragraph in common fall on the same side."""
    topics: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            topics |= ast.literal_eval(node.value)
    group = {key: key for key in topics}  # the group's name is its first key
    owner: dict[str, str] = {}
    for key, text in sorted(topics.items()):
        for paragraph in _paragraphs(text):
            old, new = group[owner.setdefault(paragraph, key)], group[key]
            if old != new:
                first = min(old, new)
                group = {k: first if g in (old, new) else g for k, g in group.items()}
    return [
        Document("prose", f"{topics_file}:{key}", text, _is_held_out(f"{topics_file}:{group[key]}"))
        for key, text in sorted(topics.items())
        if len(text) > prose_length
    ]


def _without_copies(
    documents: list[Document],
) -> tuple[tuple[Document, ...], tuple[str, ...]]:
    """Drop held-out prose that some training document contains, whatever its indentation."""
    training = "\0".join(" ".join(d.text.split()) for d in documents if not d.held_out)
    dropped = {
        d.name
        for d in documents
        if d.held_out and d.kind == "prose" and " ".join(d.text.split()) in training
    }
    return tuple(d for d in documents if d.name not in dropped), tuple(sorted(dropped))


def _paragraphs(text: str) -> list[str]:
    """Long paragraphs of a text, with comment marks, indentation and line breaks removed."""
    lines = (line.strip().lstrip("#").strip() for line in text.splitlines())
    blocks = "\n".join(lines).split("\n\n")
    paragraphs = (" ".join(block.split()) for block in blocks)
    return [paragraph for paragraph in paragraphs if len(paragraph) > paragraph_length]
