"""A small frozen piece of the held-out text, so that prompts do not depend on the installed Python.

``specmini/data/excerpts.json`` was cut once from the corpus that the committed models saw, and is
read ever after. Each excerpt begins at the start of a line and is long enough for a prompt and for
the text that really follows it. The text is under the PSF licence agreement, which lies beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, get_args

from specmini import json_files
from specmini.checks import choice
from specmini.corpus import Corpus, Document, Kind

__all__ = ["Excerpt", "cut", "frozen", "store"]

excerpt_length: Final = 700  # characters, some 270 tokens: one full context of the tiny models


@dataclass(frozen=True)
class Excerpt:
    """A piece of a held-out document.

    Attributes:
        kind: code or prose.
        name: the document's name in the corpus.
        text: about ``excerpt_length`` characters from the start of a line.
    """

    kind: Kind
    name: str
    text: str


def cut(corpus: Corpus, kind: Kind, count: int) -> tuple[Excerpt, ...]:
    """Cut excerpts from held-out documents of a kind, as many different ones as possible.

    Every document gives pieces side by side; the first pieces of all documents come before any
    second piece. Prose starts where its document starts. Code starts in its middle, past the
    licence and the imports that open most files.

    Args:
        corpus: where from.
        kind: of documents.
        count: how many excerpts.

    Raises:
        ValueError: ``count`` is below 1 or more than the documents give.
    """
    pieces = [
        (place, document.name, piece)
        for document in corpus.select(kind, held_out=True)
        for place, piece in enumerate(_pieces(document))
    ]
    if not 1 <= count <= len(pieces):
        raise ValueError(f"count must be in [1, {len(pieces)}] for {kind}, got {count}")
    return tuple(Excerpt(kind, name, text) for _, name, text in sorted(pieces)[:count])


def store(path: Path, corpus: Corpus, excerpts: Sequence[Excerpt]) -> None:
    """Write excerpts as JSON, with what they were cut from, in one step."""
    content = {
        "corpus": corpus.source,
        "corpus_sha256": corpus.sha256,
        "licence": "PSF-LICENSE.txt",
        "excerpts": [asdict(excerpt) for excerpt in excerpts],
    }
    json_files.write(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def frozen(kind: Kind) -> tuple[Excerpt, ...]:
    """The committed excerpts of a kind, in a fixed order.

    Raises:
        ValueError: an unknown kind.
    """
    choice("kind", kind, get_args(Kind))
    content = json_files.packaged("excerpts.json")
    excerpts = (Excerpt(**fields) for fields in content["excerpts"])
    return tuple(excerpt for excerpt in excerpts if excerpt.kind == kind)


def _pieces(document: Document) -> list[str]:
    """Full-length pieces of a document that start at line starts and do not overlap."""
    start = document.text.find("\n", len(document.text) // 2) + 1 if document.kind == "code" else 0
    pieces: list[str] = []
    while len(piece := document.text[start : start + excerpt_length]) == excerpt_length:
        pieces.append(piece)
        start = document.text.find("\n", start + excerpt_length) + 1 or len(document.text)
    return pieces
