"""What people write about their machine, model, weights, drafter and acceptance, as numbers.

"2x RTX 3090 24GB", "Llama-3.1-8B-Instruct", "UD-Q4_K_XL, 131K ctx", "draft model Qwen3-0.6B",
"tree 3,3,8": such words stand in bug reports and at the top of logs, and a reader should not have
to translate them. A word that is not known gives ``None`` or an error that says what is known. What
is read is listed in ``specmini/data/wording.toml``; nothing is guessed here.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from specmini import catalog
from specmini.checks import shown

__all__ = [
    "DRAFTERS",
    "ENGINES",
    "PLATFORMS",
    "MachineWords",
    "Size",
    "in_cpu_memory",
    "read_acceptance",
    "read_bits",
    "read_context",
    "read_devices",
    "read_draft_length",
    "read_drafter",
    "read_engine",
    "read_machine",
    "read_size",
]

PLATFORMS = ("data center", "card", "old card", "apple", "unified", "cpu")
DRAFTERS = ("draft model", "eagle", "eagle-3", "mtp", "block", "lookup")
ENGINES = ("server", "local")


@dataclass(frozen=True)
class MachineWords:
    """A machine as far as words tell.

    Attributes:
        platform: one of ``PLATFORMS``.
        key: short name in ``specmini.catalog``, or of the machine there that comes nearest.
        exact: the catalog has this very machine.
    """

    platform: str
    key: str | None
    exact: bool


@dataclass(frozen=True)
class Size:
    """A model by its numbers of parameters.

    Attributes:
        parameters: in all.
        active: that one token meets; the same for a dense model.
        key: short name in ``specmini.catalog`` if it is there.
    """

    parameters: float
    active: float
    key: str | None = None

    @property
    def sparse(self) -> bool:
        """Whether it is a mixture of experts."""
        return self.active < 0.7 * self.parameters


def read_machine(text: str) -> MachineWords | None:
    """The machine that is meant, ``None`` if no known one is named.

    Args:
        text: such as "2x H100 TP2", "RTX 5090 (600 W)", "Apple M3 Ultra 96GB".
    """
    low = text.casefold()
    for row in _words()["machine"]:
        if re.search(row["pattern"], low):
            return MachineWords(row["platform"], row.get("key"), row.get("exact", False))
    return None


def read_devices(text: str) -> int:
    """How many of the machine share the work, 1 if no number is told.

    Args:
        text: such as "2x H100 TP2", "8 GPUs", "3x RTX 3060 12GB (layer split)".
    """
    low = text.casefold()
    counts = re.findall(r"(?<![a-z\d-])(\d{1,2})\s?[x×]\s?(?=[a-z\d])", low)
    counts += re.findall(r"\btp\s?=?(\d{1,2})\b", low) + re.findall(r"\b(\d{1,2}) gpus", low)
    return max([1, *(int(number) for number in counts)])


def in_cpu_memory(text: str) -> bool:
    """Whether part of the weights stays in the CPU's memory, as in "38/66 layers on GPU"."""
    return re.search(r"offload|layers on gpu|cpu only|ryzen.*\+", text.casefold()) is not None


def read_size(text: str) -> Size | None:
    """Parameters of the first model that is named, ``None`` if no size is.

    Args:
        text: such as "Qwen3-32B bf16", "Qwen3.6-35B-A3B (MoE)", "Llama-3.2-1B", "OPT-125M".
    """
    low = text.casefold()
    if found := _catalog_names().search(low):
        model = catalog.model(found[1])
        return Size(model.parameters, model.active_parameters, found[1])
    for row in _words()["model"]:
        if re.search(row["pattern"], low):
            billions, active = row["billions"], row.get("active", row["billions"])
            return Size(1e9 * billions, 1e9 * active, row.get("key"))
    found = re.search(r"(?<![a-z\d.])e?(\d+(?:\.\d+)?)\s*([bm])(?![a-z\d])", low)
    if not found:
        return None
    parameters = float(found[1]) * (1e9 if found[2] == "b" else 1e6)
    sparse = re.search(r"\ba(\d+(?:\.\d+)?)b\b", low)
    return Size(parameters, float(sparse[1]) * 1e9 if sparse else parameters)


def read_bits(text: str) -> float | None:
    """Bits a stored weight takes, scales of its groups included; ``None`` if none is named.

    Args:
        text: such as "bf16", "Q4_K_M", "UD-IQ2_XXS, 16K ctx", "AWQ int4", "exl2 6.0bpw".
    """
    low = text.casefold()
    if found := re.search(r"(\d+(?:\.\d+)?)\s*bpw", low):
        return float(found[1])
    for row in _words()["weights"]:
        if re.search(row["pattern"], low):
            return float(row["bits"])
    return None


def read_context(text: str) -> int | None:
    """Positions of context that are named, as in "32467-token prompt"; ``None`` if none.

    Raises:
        ValueError: the number has more than 300 digits.
    """
    if found := re.search(r"(\d+)(k?)-token prompt", text.casefold()):
        return _whole("context", found[1]) * (1024 if found[2] else 1)
    return None


def read_engine(text: str) -> str | None:
    """One of ``ENGINES``: "server" if it batches requests, "local" if it runs on a desk."""
    low = text.casefold()
    for row in _words()["engine"]:
        if re.search(row["pattern"], low):
            return str(row["kind"])
    return None


def read_drafter(text: str) -> str | None:
    """One of ``DRAFTERS``, ``None`` if none is named.

    Args:
        text: such as "EAGLE-3 (yuhuili/...)", "built-in MTP head", "ngram-mod", "draft 7B".
    """
    low = text.casefold()
    for row in _words()["drafter"]:
        if re.search(row["pattern"], low):
            return str(row["kind"])
    return None


def read_draft_length(text: str, method: str = "") -> tuple[int | None, int | None]:
    """Drafting steps K and, for a tree, the tokens that a check holds.

    Args:
        text: such as "4", "default 2", "tree 3,3,8" (SGLang: steps, top-k, draft tokens).
        method: words about the drafter, which may hold "steps8".

    Returns:
        K and the tokens of a check, each ``None`` if it is not told.

    Raises:
        ValueError: a number has more than 300 digits.
    """
    if tree := re.search(r"tree (\d+),(\d+),(\d+)", text):
        return _whole("draft_length", tree[1]), _whole("draft_length", tree[3])
    found = re.fullmatch(r"\s*(?:default )?(\d+)\s*", text) or re.search(r"steps\s*(\d+)", method)
    return (_whole("draft_length", found[1]) if found else None), None


def read_acceptance(value: str, definition: str, draft_length: int | None) -> float | None:
    """Tokens per round E, if value and definition tell it.

    Args:
        value: as printed, such as "2.1", "0.637", "58.68%", ".87-.89", "AL 1.21; ...".
        definition: what the number is, in words; "=> AL 4.2" gives E itself.
        draft_length: K, needed for a share of drafted tokens.

    Returns:
        E, or ``None`` where the definition is unknown ("LM Studio") or the value is a bound or a
        range wider than a tenth.
    """
    words = definition.casefold()
    if told := re.search(r"=> al (\d+(?:\.\d+)?)", words) or re.search(
        r"\bal (\d+(?:\.\d+)?)", value.casefold()
    ):
        return float(told[1])
    numbers = [float(one) for one in re.findall(r"(?<![\w/.])\d*\.?\d+(?![\w/])", value)]
    if not numbers or "<" in value or ">" in value:
        return None
    if "acceptance length" in words or "accept len" in words or "tokens per round" in words:
        return numbers[0] if numbers[0] >= 1 and len(numbers) == 1 else None
    share = re.match(r"accepted ?/ ?(drafted|proposed|generated)", words)
    if share is None or draft_length is None:
        return None
    shares = [one / 100 if one > 1 else one for one in numbers[: 2 if "-" in value else 1]]
    if max(shares) - min(shares) > 0.1:
        return None
    return 1 + draft_length * sum(shares) / len(shares)


def _whole(name: str, digits: str) -> int:
    if len(digits) > 300:  # far from the thousands that Python refuses to read
        raise ValueError(f"{name} must have at most 300 digits, got {shown(digits)}")
    return int(digits)


@cache
def _catalog_names() -> re.Pattern[str]:
    names = "|".join(re.escape(key) for key in sorted(catalog.models(), key=len, reverse=True))
    return re.compile(rf"(?<![\w.])({names})(?![\d.])")


@cache
def _words() -> dict[str, Any]:
    text = resources.files("specmini").joinpath("data/wording.toml").read_text("utf-8")
    return tomllib.loads(text)
