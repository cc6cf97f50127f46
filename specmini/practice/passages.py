"""Paragraphs of confident claims in which a reader marks what is wrong.

``passages`` reads them from ``specmini/data/practice/passages.yaml``. A paragraph is a row of
words; a span is a phrase of it that is judged, right or wrong, with a reason. No result is typed
in: the numbers of texts and reasons are calls of the functions that ``specmini.practice.stated``
lists, worked out here. ``Answers`` shows all reasons as MyST Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from specmini import checks
from specmini.practice import source, stated
from specmini.record import claims

__all__ = [
    "TITLES",
    "Answers",
    "Passage",
    "Span",
    "Verdict",
    "bare",
    "built",
    "passage",
    "passages",
]

Verdict = Literal["right", "wrong", "undocumented", "outdated"]

# Titles of the pages that a span may name: a widget has no Sphinx to fill them in.
TITLES: Final = {
    "editor": "The editor and the junior",
    "step": "One token at a time",
    "verify": "Draft and verify",
    "acceptance": "Acceptance",
    "tokens": "Expected tokens",
    "speedup": "Speedup",
    "clock": "Formula against clock",
    "roofline": "What a pass costs",
    "batch": "When the batch eats the win",
    "drafters": "Drafters: the ladder",
    "serving": "Serving: what to set",
    "advice": "Should I turn it on?",
}

marked: Final = re.compile(r"\[([^\]]+)\]\(([a-z0-9-]+)\)")
word_form: Final = re.compile(r"\S+(?: [=+] \S+)*")  # "K = 4" and "1 + c" stay together
sentence_end: Final = re.compile(r"[.?!][”\"')]*$")
around: Final = re.compile(r"^[“\"]+|[”\",.;:?!]+$")


@dataclass(frozen=True)
class Span:
    """A phrase of a paragraph, and what is to be said about it.

    Attributes:
        id: unique in its paragraph.
        first: position of its first word.
        last: position of its last word.
        verdict: ``"right"``, or the way in which it is an error.
        why: the reason, plain text.
        shown: where the book shows it: ``page`` or ``page#label``.
        claim: id of a claim in the ledger; empty if there is none.
        known: every number that was computed for the reason or went into it.
    """

    id: str
    first: int
    last: int
    verdict: Verdict
    why: str
    shown: str
    claim: str = ""
    known: tuple[float, ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether a reader should mark it."""
        return self.verdict != "right"

    @property
    def positions(self) -> range:
        """Its words."""
        return range(self.first, self.last + 1)


@dataclass(frozen=True)
class Passage:
    """A paragraph to look for errors in.

    Attributes:
        id: unique; the paragraph's name everywhere.
        title: what it is about.
        words: its words, punctuation attached; a formula such as ``K = 4`` is one.
        sentences: position of the first word of each sentence.
        spans: what is judged, in the order of the text; no two share a word.
        known: every number that was computed for the text or went into it.
    """

    id: str
    title: str
    words: tuple[str, ...]
    sentences: tuple[int, ...]
    spans: tuple[Span, ...]
    known: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        """The paragraph as it reads."""
        return " ".join(self.words)

    @property
    def errors(self) -> tuple[Span, ...]:
        """The spans that a reader should mark."""
        return tuple(span for span in self.spans if span.is_error)

    def phrase(self, span: Span) -> str:
        """The words of a span, without the punctuation around them."""
        return bare(" ".join(self.words[span.first : span.last + 1]))


class Answers:
    """Every span of some paragraphs with its reason, as a page shows them: folded, one a paragraph.

    Args:
        shown: the paragraphs.
    """

    def __init__(self, shown: Sequence[Passage]) -> None:
        self.shown = tuple(shown)

    def __repr__(self) -> str:
        return "\n".join(
            f"{one.id}: {', '.join(one.phrase(span) for span in one.errors)}" for one in self.shown
        )

    def _repr_markdown_(self) -> str:
        return "\n\n".join(map(_answers, self.shown))


@cache
def passages() -> tuple[Passage, ...]:
    """Read all paragraphs, in the order of the file.

    Raises:
        ValueError: what is wrong, with the paragraph and what is allowed there.
    """
    return tuple(map(built, source.read("passages")))


def passage(key: str) -> Passage:
    """Return one paragraph.

    Raises:
        ValueError: there is none of this id; the message lists them all.
    """
    every = {one.id: one for one in passages()}
    return every[checks.choice("passage", key, tuple(every))]


def bare(words: str) -> str:
    """Return words without quotation marks and punctuation around them."""
    return around.sub("", words)


def built(item: Mapping[str, Any]) -> Passage:
    """Make a paragraph of an item that fits the schema.

    Args:
        item: as ``specmini/data/practice/passages.schema.yaml`` describes it.

    Raises:
        ValueError: spans of the text and entries differ, or a word belongs to two spans; a
            paragraph without an error or without a phrase that is right; a number that cannot be
            computed, or a claim that is not in the ledger.
    """
    where, entries = f"passage {item['id']!r}", item["spans"]
    text, known = _filled(where, item["text"], item.get("numbers", {}))
    plain, found = _unmarked(" ".join(text.split()))
    if [name for name, *_ in found] != list(entries):
        raise ValueError(
            f"{where}: spans must be those of the text in its order, "
            f"{', '.join(name for name, *_ in found)}, got {', '.join(entries)}"
        )
    starts = [(match.start(), match.end()) for match in word_form.finditer(plain)]
    words = tuple(plain[start:end] for start, end in starts)
    spans, taken = [], -1
    for name, begin, stop in found:
        inside = [n for n, (start, end) in enumerate(starts) if start < stop and end > begin]
        if inside[0] <= taken:
            raise ValueError(f"{where}: a word must belong to one span, got two at {name!r}")
        taken = inside[-1]
        spans.append(_span(where, name, inside[0], taken, entries[name]))
    sentences = [0, *(n + 1 for n, word in enumerate(words[:-1]) if sentence_end.search(word))]
    result = Passage(item["id"], item["title"], words, tuple(sentences), tuple(spans), known)
    if not 0 < len(result.errors) < len(spans):
        raise ValueError(f"{where}: spans must hold an error and a phrase that is right")
    return result


def _span(where: str, name: str, first: int, last: int, entry: Mapping[str, Any]) -> Span:
    claim = entry.get("claim", "")
    if claim:
        checks.choice(f"{where}: claim of {name!r}", claim, tuple(c.id for c in claims.claims()))
    why, known = _filled(f"{where}: {name!r}", entry["why"], entry.get("numbers", {}))
    return Span(name, first, last, entry["verdict"], why, entry["shown"], claim, known)


def _filled(where: str, text: str, numbers: Mapping[str, str]) -> tuple[str, tuple[float, ...]]:
    """The text with its numbers, and every number that was computed or went in."""
    try:
        found = {name: stated.parse(call) for name, call in numbers.items()}
        filled = text.format(**{name: value for name, (value, _) in found.items()})
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(f"{where}: numbers must be calls that the text names: {error}") from None
    known = [number for value, inputs in found.values() for number in (value, *inputs)]
    return filled, tuple(known)


def _unmarked(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """The text without its marks, and each span's id with the characters it takes there."""
    plain, end, found = "", 0, []
    for match in marked.finditer(text):
        plain += text[end : match.start()]
        found.append((match[2], len(plain), len(plain) + len(match[1])))
        plain, end = plain + match[1], match.end()
    return plain + text[end:], found


def _answers(one: Passage) -> str:
    rows = []
    for span in one.spans:
        [place] = claims.places([span.shown])
        ledger = f", {{ref}}`ledger <claim-{span.claim}>`" if span.claim else ""
        sign = "✗" if span.is_error else "✓"
        rows.append(
            f"- {sign} *{span.verdict}:* “{one.phrase(span)}”. {span.why} See {place}{ledger}."
        )
    listed = "\n".join(rows)
    return f":::{{dropdown}} {one.title}\n:name: answers-{one.id}\n\n{one.text}\n\n{listed}\n:::"
