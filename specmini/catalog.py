"""Machines and models: what they are, and a catalog of them from the TOML files in ``data``.

A number that no public document states is absent, so a machine is listed only when its peak, its
bandwidth and its memory are all documented. Prices, clocks and measured efficiencies are not here.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks


@dataclass(frozen=True)
class Machine:
    """One accelerator.

    Attributes:
        name: as a reader knows it.
        peak_flops: dense 16-bit matrix operations with 32-bit accumulation, FLOP/s.
        bandwidth: device memory bandwidth, bytes/s.
        memory: device memory, bytes.
        source: where the numbers come from.
        checked_on: the day they were last read there.

    Raises:
        ValueError: a number is not positive and finite.
    """

    name: str
    peak_flops: float
    bandwidth: float
    memory: float
    source: str
    checked_on: datetime.date

    def __post_init__(self) -> None:
        for number in ("peak_flops", "bandwidth", "memory"):
            checked = checks.positive(number, getattr(self, number))
            object.__setattr__(self, number, checks.single(number, checked))


@dataclass(frozen=True)
class Model:
    """Shape of a dense decoder with grouped-query attention and a gated MLP (Llama, Qwen).

    Attributes:
        name: as a reader knows it.
        layers: transformer blocks.
        hidden: width of the residual stream.
        intermediate: width inside the MLP.
        heads: query heads; a multiple of ``kv_heads``.
        kv_heads: key (and value) heads.
        head_dim: width of a head; ``heads * head_dim`` need not equal ``hidden``.
        vocabulary: rows of the embedding table, padding included.
        tied_embeddings: the output head is the input embedding table.
        source: where the shape comes from.
        checked_on: the day it was last read there.
        qkv_bias: the query, key and value projections have biases (Qwen2.5).
        qk_norm: each query and key head is normalized (Qwen3).

    Raises:
        ValueError: a size is not a whole number of at least 1, a switch is not a bool, or
            ``heads`` is not a multiple of ``kv_heads``.
    """

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied_embeddings: bool
    source: str
    checked_on: datetime.date
    qkv_bias: bool = False
    qk_norm: bool = False

    def __post_init__(self) -> None:
        sizes = ("layers", "hidden", "intermediate", "heads", "kv_heads", "head_dim", "vocabulary")
        for size in sizes:
            checked = checks.whole_number(size, getattr(self, size), minimum=1)
            object.__setattr__(self, size, checks.single(size, checked))
        for switch in ("tied_embeddings", "qkv_bias", "qk_norm"):
            if not isinstance(getattr(self, switch), bool):
                raise ValueError(f"{switch} must be True or False, got {getattr(self, switch)!r}")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"heads must be a multiple of kv_heads (= {self.kv_heads}), got {self.heads}"
            )

    @property
    def parameters(self) -> int:
        """Parameters of the whole model; a tied table counts once."""
        query = self.heads * self.head_dim
        keys_and_values = 2 * self.kv_heads * self.head_dim
        attention = self.hidden * (query + keys_and_values) + query * self.hidden
        biases = query + keys_and_values if self.qkv_bias else 0
        norms = 2 * self.hidden + (2 * self.head_dim if self.qk_norm else 0)
        mlp = 3 * self.hidden * self.intermediate
        final_norm = self.hidden
        tables = self._table if self.tied_embeddings else 2 * self._table
        return self.layers * (attention + biases + norms + mlp) + final_norm + tables

    @property
    def matmul_parameters(self) -> int:
        """Parameters that one pass reads and every token is multiplied with.

        Everything but an input embedding table of its own, which is only looked up. A tied table
        counts, since it is the output head. Norms and biases are included although they are not
        matrices: at most 0.02 % of the total in the catalog.
        """
        return self.parameters - (0 if self.tied_embeddings else self._table)

    @property
    def kv_values_per_token(self) -> int:
        """Numbers that the cache holds for one position: a key and a value a KV head and layer."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def weight_bytes(self, bytes_per_weight: ArrayLike = 2) -> NDArray[np.float64]:
        """Bytes of weights that one pass reads.

        Args:
            bytes_per_weight: bytes a stored weight takes, any shape.

        Returns:
            ``matmul_parameters * bytes_per_weight``, same shape.

        Raises:
            ValueError: ``bytes_per_weight`` is not positive and finite.
        """
        per_weight = checks.positive("bytes_per_weight", bytes_per_weight)
        return np.multiply(per_weight, self.matmul_parameters)

    @property
    def _table(self) -> int:
        return self.vocabulary * self.hidden


Entry = TypeVar("Entry", Machine, Model)


def machines() -> dict[str, Machine]:
    """Return every machine by its short name (``"h100"``), in the order of the file.

    A ``Machine`` has one ``source`` and one ``checked_on``: the sources of its three numbers
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
    return {key: Model(**entry) for key, entry in _read("models.toml").items()}


def _machine(entry: dict[str, Any]) -> Machine:
    numbers = {key: number for key, number in entry.items() if key != "name"}
    return Machine(
        name=entry["name"],
        source="; ".join(f"{key}: {number['source']}" for key, number in numbers.items()),
        checked_on=min(number["checked_on"] for number in numbers.values()),
        **{key: number["value"] for key, number in numbers.items()},
    )


def _read(file_name: str) -> dict[str, dict[str, Any]]:
    text = resources.files("specmini").joinpath("data", file_name).read_text(encoding="utf-8")
    return tomllib.loads(text)
