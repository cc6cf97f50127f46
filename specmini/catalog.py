"""Machines and models: what they are, and a catalog of them from the TOML files in ``data``.

A number that no public document states is absent and ``None``: a machine is listed once its
bandwidth and its memory are documented. Prices, clocks and measured efficiencies are not here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from specmini import checks
from specmini.roofline.experts import Experts
from specmini.roofline.machine import Machine
from specmini.roofline.shape import LatentAttention, Model

__all__ = ["machine", "machines", "model", "models"]


Entry = TypeVar("Entry", Machine, Model)


def machines() -> dict[str, Machine]:
    """Return every machine by its short name (``"h100"``), in the order of the file.

    A ``Machine`` has one ``source`` and one ``checked_on``: the sources of its numbers
    joined, and the oldest of their dates.
    """
    return dict(_machines())


def models() -> dict[str, Model]:
    """Return every model by its short name (``"llama-3.1-8b"``), in the order of the file."""
    return dict(_models())


def machine(short_name: str) -> Machine:
    """Return one machine.

    Args:
        short_name: a key of ``machines()``, in upper or lower case.

    Raises:
        ValueError: there is none of that name; the message lists all names.
    """
    return _find("machine", short_name, _machines())


def model(short_name: str) -> Model:
    """Return one model.

    Args:
        short_name: a key of ``models()``, in upper or lower case.

    Raises:
        ValueError: there is none of that name; the message lists all names.
    """
    return _find("model", short_name, _models())


def _find(kind: str, short_name: str, entries: Mapping[str, Entry]) -> Entry:
    return entries[checks.choice(kind, short_name, tuple(entries), any_case=True)]


@cache
def _machines() -> Mapping[str, Machine]:
    return {key: _machine(entry) for key, entry in _read("machines.toml").items()}


@cache
def _models() -> Mapping[str, Model]:
    return {key: _model(entry) for key, entry in _read("models.toml").items()}


def _machine(entry: dict[str, Any]) -> Machine:
    numbers = {key: number for key, number in entry.items() if key != "name"}
    return Machine(
        **{"peak_flops": None, **{key: number["value"] for key, number in numbers.items()}},
        name=entry["name"],
        source="; ".join(f"{key}: {number['source']}" for key, number in numbers.items()),
        checked_on=min(number["checked_on"] for number in numbers.values()),
    )


def _model(entry: dict[str, Any]) -> Model:
    parts: dict[str, type] = {"latent": LatentAttention, "experts": Experts}
    tables = {key: parts[key](**entry[key]) for key in parts if key in entry}
    return Model(**{**entry, **tables})


def _read(file_name: str) -> dict[str, dict[str, Any]]:
    text = resources.files("specmini").joinpath("data", file_name).read_text(encoding="utf-8")
    return tomllib.loads(text)
