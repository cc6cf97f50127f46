"""What is said about speculative decoding, with a verdict, its condition and its evidence.

``claims`` reads them; ``Ledger`` shows some of them as MyST Markdown, each under an anchor of its
own, so that Sphinx resolves and checks every reference.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, get_args

from specmini import checks

__all__ = ["Claim", "Ledger", "Source", "claims", "places", "subjects", "verdicts"]

Verdict = Literal["holds", "holds with a condition", "outdated", "undocumented", "wrong"]
Subject = Literal[
    "yield", "acceptance", "cost", "lossless", "batch", "machine", "drafters", "products", "clock"
]
Heard = Literal["interview card", "folklore", "vendor", "paper"]

verdicts: Final[tuple[Verdict, ...]] = get_args(Verdict)
subjects: Final[tuple[Subject, ...]] = get_args(Subject)
marks: Final[dict[str, str]] = dict(zip(verdicts, "✓◐†?✗", strict=True))
roles: Final = {  # of what a label of the book names, by the beginning of the label
    "thm-": "prf:ref",
    "prop-": "prf:ref",
    "cor-": "prf:ref",
    "eq-": "eq",
    "fig-": "numref",
}
nouns: Final = {
    "red-flag-": "red flag",
    "systems-": "in real systems",
    "tab-": "table",
    "ex-": "exercise",
}
date_form: Final = re.compile(r"20\d\d(-\d\d(-\d\d)?)?")
place_form: Final = re.compile(r"([a-z]+)(?:#([\w-]+)|/(.+))?")


@dataclass(frozen=True)
class Source:
    """A document outside the book.

    Attributes:
        title: what it is.
        url: where it is.
        date: its own, or of reading where it bears none: year, year-month or year-month-day.

    Raises:
        ValueError: a url that is not https, or a date of another form.
    """

    title: str
    url: str
    date: str

    def __post_init__(self) -> None:
        if not self.url.startswith("https://"):
            raise ValueError(f"url must begin with https://, got {self.url!r}")
        if not date_form.fullmatch(self.date):
            raise ValueError(f"date must be YYYY, YYYY-MM or YYYY-MM-DD, got {self.date!r}")


@dataclass(frozen=True)
class Claim:
    """One claim and what is to be said about it; the texts are MyST Markdown.

    Attributes:
        id: its subject, a hyphen and a short name.
        claim: the claim, in one sentence.
        heard: where one hears it.
        verdict: one of ``verdicts``.
        why: the condition or the correction, in a few sentences.
        shown: places of the book: ``page``, ``page#label`` or ``page/Heading``.
        papers: keys of the book's bibliography, each with a locator in braces or without.
        sources: other documents.

    Raises:
        ValueError: an unknown subject, verdict or place where it was heard; a place of the book
            of another form; an empty text; or no evidence.
    """

    id: str
    claim: str
    heard: tuple[Heard, ...]
    verdict: Verdict
    why: str
    shown: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        checks.choice(f"subject of {self.id!r}", self.id.partition("-")[0], subjects)
        checks.choice(f"verdict of {self.id!r}", self.verdict, verdicts)
        for where in self.heard:
            checks.choice(f"heard of {self.id!r}", where, get_args(Heard))
        for name in ("claim", "heard", "why"):
            if not getattr(self, name):
                raise ValueError(f"{name} of {self.id!r} must not be empty")
        if not (self.shown or self.papers or self.sources):
            raise ValueError(f"{self.id!r} must have evidence: shown, papers or sources")
        for place in self.shown:
            if not place_form.fullmatch(place):
                raise ValueError(
                    f"shown of {self.id!r} must be page, page#label or page/Heading, got {place!r}"
                )

    @property
    def subject(self) -> str:
        """The part of the id before the first hyphen."""
        return self.id.partition("-")[0]

    @property
    def mark(self) -> str:
        """The verdict's sign; it stands beside the verdict's name, never alone."""
        return marks[self.verdict]


class Ledger:
    """Claims as a page shows them: a block each, in the order given.

    Args:
        shown: the claims.
    """

    def __init__(self, shown: Sequence[Claim]) -> None:
        self.shown = tuple(shown)

    def __repr__(self) -> str:
        return "\n\n".join(
            f"{one.mark} {one.verdict}: {one.claim}\n{one.why}" for one in self.shown
        )

    def _repr_markdown_(self) -> str:
        return "\n\n".join(map(_block, self.shown))


@cache
def claims() -> tuple[Claim, ...]:
    """Read all claims, in the order of ``specmini/data/claims.toml``.

    Raises:
        ValueError: a claim that the schema refuses, or an id that stands twice.
    """
    text = (resources.files("specmini") / "data" / "claims.toml").read_text(encoding="utf-8")
    return _parse(tomllib.loads(text)["claim"])


def _parse(entries: Sequence[dict[str, Any]]) -> tuple[Claim, ...]:
    found: dict[str, Claim] = {}
    for entry in entries:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in entry.items()
        }
        fields["sources"] = tuple(Source(**source) for source in entry.get("sources", ()))
        try:
            one = Claim(**fields)
        except TypeError as error:  # a field is missing, or has another name
            raise ValueError(f"fields of {entry.get('id')!r}: {error}") from None
        if one.id in found:
            raise ValueError(f"ids must differ, got {one.id!r} twice")
        found[one.id] = one
    return tuple(found.values())


def _block(one: Claim) -> str:
    evidence = places(one.shown)
    evidence += [f"{{cite}}`{paper}`" for paper in one.papers]
    evidence += [f"[{source.title}]({source.url}) ({source.date})" for source in one.sources]
    kind = one.verdict.partition(" ")[0]
    return (
        f":::{{admonition}} {one.mark} {one.verdict.capitalize()}: “{one.claim}”\n"
        f":class: claim claim-{kind if ' ' not in one.verdict else 'condition'}\n"
        f":name: claim-{one.id}\n\n{one.why}\n\n"
        f"*Evidence:* {'; '.join(evidence)}. *Heard:* {', '.join(one.heard)}.\n:::"
    )


def places(shown: Sequence[str]) -> list[str]:
    """Return places of the book as MyST links, one a page: the page, then what is on it.

    An equation brings brackets of its own.

    Args:
        shown: each ``page``, ``page#label`` or ``page/Heading``, as ``Claim`` checks it.
    """
    pages: dict[str, list[str]] = {}
    for place in shown:
        match = place_form.fullmatch(place)
        assert match is not None  # whoever took the text in has checked it
        page, label, heading = match.groups()
        places = pages.setdefault(page, [])
        if heading:
            places.append(f"section *{heading}*")
        elif label:
            places.append(_link(label))
    return [", ".join([f"{{doc}}`{page}`", *places]) for page, places in pages.items()]


def _link(label: str) -> str:
    for start, role in roles.items():
        if label.startswith(start):
            return f"{{{role}}}`{label}`"
    noun = next((noun for start, noun in nouns.items() if label.startswith(start)), "section")
    return f"{{ref}}`{noun} <{label}>`"
