"""The corpus as four streams of token ids, encoded once and kept.

Documents of one kind stand one after the other, each closed by an end-of-text token. A model
trains on windows cut anywhere out of a stream and is judged on fixed windows of held-out ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specmini import checkpoints, tokenizer
from specmini.corpus import Corpus, Document, standard_library
from specmini.tokenizer import Tokenizer

__all__ = ["Stream", "Streams", "draw_windows", "even_windows", "prepare", "store"]

Stream = NDArray[np.int16]

streams_file: Final = "streams.safetensors"
tokenizer_file: Final = "tokenizer.json"
stream_names: Final = ("code", "prose", "code_held_out", "prose_held_out")
largest_vocabulary: Final = 1 << 15  # an id fits in int16


@dataclass(frozen=True)
class Streams:
    """A corpus in tokens.

    Attributes:
        tokenizer: what encoded it.
        corpus: what it was made from, for example ``"CPython 3.11.7 standard library"``.
        corpus_sha256: hash of the list of its files, or of the ids if a model wrote them.
        code: (N,) ids of training code; the other streams likewise.
    """

    tokenizer: Tokenizer
    corpus: str
    corpus_sha256: str
    code: Stream
    prose: Stream
    code_held_out: Stream
    prose_held_out: Stream


def prepare(folder: Path, vocabulary: int = 1024, corpus: Corpus | None = None) -> Streams:
    """The streams stored in a folder, made there first if need be (under a minute).

    A tokenizer that is in the folder already, as ``tokenizer.json``, is used as it is.

    Args:
        folder: where ``streams.safetensors`` and ``tokenizer.json`` are or shall be.
        vocabulary: size of a new tokenizer.
        corpus: what to encode; the running Python's standard library if not given.

    Raises:
        ValueError: the stored streams belong to another tokenizer, or ``vocabulary`` is too large.
    """
    if vocabulary > largest_vocabulary:
        raise ValueError(f"vocabulary must be at most {largest_vocabulary}, got {vocabulary}")
    folder.mkdir(parents=True, exist_ok=True)
    path, tokenizer_path = folder / streams_file, folder / tokenizer_file
    if not path.exists():
        corpus = standard_library() if corpus is None else corpus
        if tokenizer_path.exists():
            bpe = tokenizer.load(tokenizer_path)
        else:
            bpe = tokenizer.train((d.text for d in corpus.documents if not d.held_out), vocabulary)
        store(folder, _encode(corpus, bpe))
    stored, record = checkpoints.read(path)
    bpe = tokenizer.load(tokenizer_path)
    if bpe.sha256 != record["tokenizer_sha256"]:
        raise ValueError(
            f"{path} was encoded with the tokenizer {record['tokenizer_sha256']}, "
            f"but {tokenizer_path} is {bpe.sha256}"
        )
    arrays: Mapping[str, Stream] = {name: ids.numpy() for name, ids in stored.items()}
    return Streams(bpe, record["corpus"], record["corpus_sha256"], **arrays)


def draw_windows(
    streams: Streams, count: int, length: int, prose_share: float, rng: np.random.Generator
) -> Tensor:
    """Windows from random places of the training streams.

    Args:
        streams: where from.
        count: number of windows B.
        length: tokens in each, T.
        prose_share: chance that a window is prose.
        rng: source of randomness.

    Returns:
        (B, T) ids.

    Raises:
        ValueError: a training stream is shorter than a window.
    """
    rows = np.empty((count, length), dtype=np.int64)  # (B, T)
    for row in rows:
        stream = streams.prose if rng.random() < prose_share else streams.code
        if len(stream) < length:
            raise ValueError(f"length must be at most {len(stream)}, got {length}")
        start = rng.integers(len(stream) - length + 1)
        row[:] = stream[start : start + length]
    return torch.from_numpy(rows)


def even_windows(stream: Stream, length: int, count: int | None = None) -> Tensor:
    """Windows at even distances over a stream: the same ones for every model.

    Args:
        stream: (N,) ids.
        length: tokens in a window, T.
        count: at most so many windows; all that fit side by side if not given.

    Returns:
        (B, T) ids.

    Raises:
        ValueError: the stream is shorter than one window, or ``count`` is below 1.
    """
    fitting = len(stream) // length
    if fitting < 1:
        raise ValueError(f"length must be at most {len(stream)}, got {length}")
    if count is not None and count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    number = fitting if count is None else min(count, fitting)
    starts = np.linspace(0, len(stream) - length, number).astype(np.int64)  # (B,)
    return torch.from_numpy(stream[starts[:, None] + np.arange(length)].astype(np.int64))


def store(folder: Path, streams: Streams) -> None:
    """Write streams and their tokenizer, for ``prepare`` to read.

    Args:
        folder: where to; made if need be.
        streams: the streams.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(streams.tokenizer, folder / tokenizer_file)
    tensors = {name: torch.from_numpy(getattr(streams, name)) for name in stream_names}
    record = {
        "corpus": streams.corpus,
        "corpus_sha256": streams.corpus_sha256,
        "tokenizer_sha256": streams.tokenizer.sha256,
    }
    checkpoints.write(folder / streams_file, tensors, record)


def _encode(corpus: Corpus, bpe: Tokenizer) -> Streams:
    """A corpus in tokens."""
    return Streams(
        bpe,
        corpus.source,
        corpus.sha256,
        code=_joined(corpus.select("code", held_out=False), bpe),
        prose=_joined(corpus.select("prose", held_out=False), bpe),
        code_held_out=_joined(corpus.select("code", held_out=True), bpe),
        prose_held_out=_joined(corpus.select("prose", held_out=True), bpe),
    )


def _joined(documents: Iterable[Document], bpe: Tokenizer) -> Stream:
    """(N,) ids of documents, with an end of text after each."""
    ids: list[int] = []
    for document in documents:
        ids += bpe.encode(document.text)
        ids.append(bpe.end_of_text)
    return np.array(ids, dtype=np.int16)
