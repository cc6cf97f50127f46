"""What serving engines offer for speculation, and what providers say that they use.

The rows are those of ``specmini/data/engines.toml``: names of settings and their defaults as one
version of each engine has them, with the address at which they were read. What an engine prints
about acceptance is defined in ``specmini.conversions.metrics``; here stands only under which tool.
Engines change these names within months: read the version before you copy a setting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeVar, get_args

from specmini import checks

__all__ = [
    "Combination",
    "Engine",
    "Family",
    "Kind",
    "Method",
    "Option",
    "Statement",
    "Topic",
    "combinations",
    "engine",
    "engines",
    "methods",
    "options",
    "statements",
]

Family = Literal["draft model", "lookup", "head", "block", "self", "custom"]
Topic = Literal[
    "draft length", "acceptance", "tree", "load", "confidence", "lookup", "vocabulary", "report"
]
Works = Literal["yes", "no", "partly", "untested"]
Kind = Literal["runs", "measured", "offers", "publishes", "silent"]


@dataclass(frozen=True)
class Engine:
    """One engine at one version.

    Attributes:
        name: of the engine.
        version: release, or commit.
        checked_on: day on which its rows were read, ISO 8601.
        url: where most of its rows were read.
        released: month of the version, if known.
        rule: which of ``rules.RULES`` it follows by default above temperature 0, if known.
        rule_url: where that was read.
        textbook: what switches the textbook rule on, if anything does.
        lossless: what keeps the target's distribution and what does not, if known.
        metrics: the tool under which ``conversions.metrics`` defines what it prints, if any.
        absent: methods often asked for that its own list of methods does not hold.
        start: a command that starts it with a chain of three drafts, put together from its
            documents.
        start_url: those documents.
    """

    name: str
    version: str
    checked_on: str
    url: str
    released: str | None = None
    rule: str | None = None
    rule_url: str | None = None
    textbook: str | None = None
    lossless: str | None = None
    metrics: str | None = None
    absent: tuple[str, ...] = ()
    start: str | None = None
    start_url: str | None = None


@dataclass(frozen=True)
class Method:
    """One way to draft that an engine offers.

    Attributes:
        engine: name of the engine.
        family: what kind of drafter it is.
        method: the drafter.
        switch: the setting that turns it on, with its value.
        url: where that was read.
        example: a line that turns it on, if the source or the defaults give one.
        note: what else a reader must know.
    """

    engine: str
    family: Family
    method: str
    switch: str
    url: str
    example: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Option:
    """One setting of an engine.

    Attributes:
        engine: name of the engine.
        topic: what it is about.
        name: as the engine spells it.
        default: as the engine has it, in words where it depends; empty if it has none.
        meaning: what it does, in the terms of this book.
        url: where that was read.
        exact: False if the setting can change the distribution of the text.
    """

    engine: str
    topic: Topic
    name: str
    default: str
    meaning: str
    url: str
    exact: bool = True


@dataclass(frozen=True)
class Combination:
    """Whether an engine speculates together with something else.

    Attributes:
        engine: name of the engine.
        with_what: the other feature.
        works: "yes", "no", "partly", or "untested" where the engine's documents say so.
        urls: where that was read.
        says: how far, or by which setting; empty if there is no more to it.
    """

    engine: str
    with_what: str
    works: Works
    urls: tuple[str, ...]
    says: str = ""


@dataclass(frozen=True)
class Statement:
    """What one provider says of its own service.

    Attributes:
        provider: who says it.
        kind: whether it says that it runs so, measured it, offers it to customers, publishes draft
            weights, or is silent about how it is fast.
        says: the statement, shortened.
        read: "own page", "copy" of it, or "notes" that quote it.
        checked_on: day on which it was read, ISO 8601.
        url: of what was read.
        dated: month of the statement; None for documentation without a date.
    """

    provider: str
    kind: Kind
    says: str
    read: str
    checked_on: str
    url: str
    dated: str | None = None


Row = TypeVar("Row", Method, Option, Combination)


def engines() -> tuple[Engine, ...]:
    """Every engine, in the order of the file."""
    return _all(Engine, "engine")


def engine(name: str) -> Engine:
    """One engine.

    Args:
        name: in upper or lower case.

    Raises:
        ValueError: there is none of that name; the message lists all names.
    """
    by_name = {one.name: one for one in engines()}
    return by_name[checks.choice("name", name, tuple(by_name), any_case=True)]


def methods(engine: str | None = None, family: str | None = None) -> tuple[Method, ...]:
    """The methods, in the order of the file.

    Args:
        engine: only those of one engine, in upper or lower case.
        family: only those of one family.

    Raises:
        ValueError: there is no such engine or family.
    """
    if family is not None:
        checks.choice("family", family, get_args(Family))
    rows = _of_engine(_all(Method, "method"), engine)
    return tuple(row for row in rows if family in (None, row.family))


def options(engine: str | None = None, topic: str | None = None) -> tuple[Option, ...]:
    """The settings, in the order of the file.

    Args:
        engine: only those of one engine, in upper or lower case.
        topic: only those about one topic.

    Raises:
        ValueError: there is no such engine or topic.
    """
    if topic is not None:
        checks.choice("topic", topic, get_args(Topic))
    rows = _of_engine(_all(Option, "option"), engine)
    return tuple(row for row in rows if topic in (None, row.topic))


def combinations(engine: str | None = None) -> tuple[Combination, ...]:
    """What speculation goes together with, in the order of the file.

    A pair that is missing is not known: no document and no line of code was found that says so.

    Args:
        engine: only those of one engine, in upper or lower case.

    Raises:
        ValueError: there is no such engine.
    """
    return _of_engine(_all(Combination, "combination"), engine)


def statements(kind: str | None = None) -> tuple[Statement, ...]:
    """What providers say, in the order of the file.

    Args:
        kind: only those of one kind.

    Raises:
        ValueError: there is no such kind.
    """
    if kind is not None:
        checks.choice("kind", kind, get_args(Kind))
    return tuple(row for row in _all(Statement, "deployed") if kind in (None, row.kind))


def _of_engine(rows: Iterable[Row], name: str | None) -> tuple[Row, ...]:
    if name is None:
        return tuple(rows)
    found = engine(name).name
    return tuple(row for row in rows if row.engine == found)


Kept = TypeVar("Kept", Engine, Method, Option, Combination, Statement)


def _all(row_class: type[Kept], table: str) -> tuple[Kept, ...]:
    return tuple(row_class(**row) for row in _tables()[table])


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    text = resources.files("specmini").joinpath("data/engines.toml").read_text("utf-8")
    tables: dict[str, list[dict[str, Any]]] = tomllib.loads(text)
    for row in tables["engine"]:
        row["absent"] = tuple(row.get("absent", ()))
    for row in tables["combination"]:
        row["urls"] = tuple(row["urls"])
    return tables
