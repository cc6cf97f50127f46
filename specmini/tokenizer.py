"""Byte-level byte-pair encoding, small enough to read: text to token ids and back, exactly.

Training starts from the 256 bytes and, again and again, gives the commonest adjacent pair of
tokens an id of its own (Sennrich, Haddow and Birch 2016, arXiv:1508.07909; on bytes as in GPT-2).
Pairs never cross a *word* as ``words`` cuts it, so text is a bag of words with counts: training
touches each distinct word once and encoding looks each one up.

Ids: 0 to 255 are the bytes, then one id a merge, and the last is ``<|endoftext|>``, which stands
between documents and is never produced by text.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from specmini import json_files

__all__ = ["Tokenizer", "load", "save", "train", "words"]

Pair = tuple[int, int]

largest: Final = 64 * 2**20  # bytes of all tokens of a tokenizer

# A word takes the space before it. White space before a word keeps its last space for that word,
# so the line break and the indentation of a line of code are one token where they are common.
word_pattern: Final = re.compile(
    rb" ?[A-Za-z_\x80-\xff]+"  # identifiers, English, and every byte outside ASCII
    rb"| ?[0-9]+"
    rb"| ?[^\sA-Za-z0-9_\x80-\xff]+"  # operators and punctuation
    rb"|\s+(?!\S)"
    rb"|\s+"
)


class Tokenizer:
    """Encodes bytes by merging pairs in the order in which training found them.

    Args:
        merges: pairs of ids; merge i makes id 256 + i out of two smaller ids.

    Raises:
        ValueError: a merge is no pair of ids that exist before it, or stands twice; or the tokens
            have more than 64 MiB together.
    """

    def __init__(self, merges: Sequence[Pair]) -> None:
        self.merges = tuple((left, right) for left, right in merges)
        self._bytes = [bytes([byte]) for byte in range(256)]
        size = 256
        for new, pair in enumerate(self.merges, start=256):
            if not all(type(old) is int and 0 <= old < new for old in pair):
                raise ValueError(f"merges[{new - 256}] must use ids in [0, {new}), got {pair}")
            left, right = (self._bytes[old] for old in pair)
            size += len(left) + len(right)
            if size > largest:  # each merge can double a token: 40 of them fill any memory
                raise ValueError(
                    f"merges must make tokens of at most {largest} bytes together, "
                    f"got {size} with merges[{new - 256}]"
                )
            self._bytes.append(left + right)
        self._rank = {pair: 256 + i for i, pair in enumerate(self.merges)}
        if len(self._rank) != len(self.merges):
            raise ValueError(f"merges must be distinct, got {len(self.merges)} with repetitions")
        self._cache: dict[bytes, tuple[int, ...]] = {}

    @property
    def end_of_text(self) -> int:
        """Id of the token between documents."""
        return len(self._bytes)

    @property
    def vocabulary(self) -> int:
        """Number of ids: bytes, merges and the end of text."""
        return len(self._bytes) + 1

    @property
    def sha256(self) -> str:
        """Hash of the merges: equal for tokenizers that encode alike."""
        return hashlib.sha256(json.dumps(self.merges).encode()).hexdigest()

    def encode(self, text: str | bytes) -> list[int]:
        """Token ids of a text; ``decode`` gives its bytes back exactly."""
        content = text.encode() if isinstance(text, str) else text
        ids: list[int] = []
        for word in words(content):
            if word not in self._cache:
                self._cache[word] = self._merge(word)
            ids += self._cache[word]
        return ids

    def decode(self, ids: Iterable[int]) -> bytes:
        """Bytes of token ids; the end of text has none.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        table = [*self._bytes, b""]
        chosen = list(ids)
        if bad := [i for i in chosen if not 0 <= i < self.vocabulary]:
            raise ValueError(f"ids must be in [0, {self.vocabulary}), got {bad[0]}")
        return b"".join(table[i] for i in chosen)

    def text(self, ids: Iterable[int]) -> str:
        """Decoded text for people: bytes that are not UTF-8 show as replacement characters."""
        return self.decode(ids).decode(errors="replace")

    def _merge(self, word: bytes) -> tuple[int, ...]:
        """Merge the pair that training found first, until none is left."""
        ids = list(word)
        while len(ids) > 1:
            pair = min(itertools.pairwise(ids), key=lambda p: self._rank.get(p, 1 << 30))
            if pair not in self._rank:
                break
            ids = _replace(ids, pair, self._rank[pair])
        return tuple(ids)


def words(content: bytes) -> list[bytes]:
    """Cut bytes into words, none of which a token crosses; joined, they are the input again."""
    return word_pattern.findall(content)


def train(texts: Iterable[str | bytes], vocabulary: int) -> Tokenizer:
    """Find the merges for a vocabulary of the given size.

    Words that occur once are left out: a third of the distinct words, and one word in a hundred
    of the running text. Equal counts go to the larger pair of ids, so the result depends on the
    texts alone.

    Args:
        texts: any number of texts.
        vocabulary: number of ids wanted, with 256 bytes and the end of text.

    Raises:
        ValueError: ``vocabulary`` is below 257, or the texts have too few pairs for it.
    """
    if vocabulary < 257:
        raise ValueError(f"vocabulary must be at least 257 (bytes and end of text): {vocabulary}")
    counts: Counter[bytes] = Counter()
    for text in texts:
        counts.update(words(text.encode() if isinstance(text, str) else text))
    counted = [(list(word), count) for word, count in counts.items() if count > 1]

    pair_counts: Counter[Pair] = Counter()
    holders: defaultdict[Pair, set[int]] = defaultdict(set)  # which words a pair occurs in
    for index, (ids, count) in enumerate(counted):
        for pair in itertools.pairwise(ids):
            pair_counts[pair] += count
            holders[pair].add(index)

    merges: list[Pair] = []
    for new in range(256, vocabulary - 1):
        best = max(pair_counts, key=lambda pair: (pair_counts[pair], pair), default=(0, 0))
        if pair_counts[best] < 1:
            raise ValueError(f"vocabulary must be at most {new + 1} for these texts: {vocabulary}")
        merges.append(best)
        for index in sorted(holders.pop(best)):
            ids, count = counted[index]
            merged = _replace(ids, best, new)
            for pair in itertools.pairwise(ids):
                pair_counts[pair] -= count
            for pair in itertools.pairwise(merged):
                pair_counts[pair] += count
                holders[pair].add(index)
            counted[index] = (merged, count)
        del pair_counts[best]
    return Tokenizer(merges)


def save(tokenizer: Tokenizer, path: Path) -> None:
    """Write the merges and their hash as JSON; the file is replaced in one step."""
    content = {"sha256": tokenizer.sha256, "merges": tokenizer.merges}
    json_files.write(path, json.dumps(content) + "\n")


def load(path: Path) -> Tokenizer:
    """Read a tokenizer that ``save`` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a tokenizer, or its hash does not fit its merges.
    """
    content = json_files.read(path)
    with json_files.expected(path, "merges and their sha256"):
        tokenizer = Tokenizer([(left, right) for left, right in content["merges"]])
        expected = content["sha256"]
    if tokenizer.sha256 != expected:
        raise ValueError(f"{path} holds merges with hash {tokenizer.sha256}, not {expected}")
    return tokenizer


def _replace(ids: list[int], pair: Pair, new: int) -> list[int]:
    """``ids`` with each occurrence of ``pair``, from left to right, replaced by ``new``."""
    merged: list[int] = []
    position = 0
    while position < len(ids):
        if tuple(ids[position : position + 2]) == pair:
            merged.append(new)
            position += 2
        else:
            merged.append(ids[position])
            position += 1
    return merged
