"""What tools print about acceptance, turned into one vocabulary.

Every tool has a number that it calls acceptance. Some print tokens per round, some accepted
over drafted, some a chance per position, and the names do not tell which. ``metrics`` lists
them with their definition and source; ``convert`` turns one printed value into E, rho, the
i.i.d. equivalent of alpha and rates by position, as far as they follow from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal, NoReturn, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.theory.acceptance import one_length
from specmini.theory.positions import (
    conditional_rates_from_survival,
    falling_survival,
    tokens_per_round_by_position,
)
from specmini.theory.shares import (
    acceptance_rate_from_share,
    acceptance_rate_from_tokens,
    share_from_tokens,
    tokens_from_counts,
    tokens_from_share,
    tokens_from_survival,
)

__all__ = [
    "Metric",
    "Reported",
    "acceptance_rate_from_share",
    "acceptance_rate_from_tokens",
    "convert",
    "metrics",
    "share_from_tokens",
    "tokens_from_counts",
    "tokens_from_share",
    "tokens_from_survival",
]


Kind = Literal[
    "tokens",
    "tokens_plus_one",
    "accepted",
    "filled",
    "share",
    "output_share",
    "survival",
    "alpha",
    "conditional",
    "unknown",
]


@dataclass(frozen=True)
class Metric:
    """One number that one tool prints.

    Attributes:
        tool: who prints it.
        metric: its name there.
        kind: what it is; the kinds are listed in ``specmini/data/metrics.toml``.
        definition: the same in words.
        source: where the definition was read.

    Raises:
        ValueError: there is no such kind.
    """

    tool: str
    metric: str
    kind: Kind
    definition: str
    source: str

    def __post_init__(self) -> None:
        checks.choice("kind", self.kind, get_args(Kind))


@dataclass(frozen=True)
class Reported:
    """A printed value in the vocabulary of this package.

    A field that does not follow from what was given is None, and ``unknown`` says why.

    Attributes:
        metric: what was printed, with definition and source.
        draft_length: K, if known.
        tokens_per_round: E, in [1, K + 1].
        accepted_share: rho, accepted over drafted tokens.
        acceptance_rate: the one alpha that gives this E with this K if all positions had it.
            Meant for chains; a tree of depth K has more than one draft a position.
        conditional_rates: acceptance given that those before were accepted, position 1..K; NaN
            at positions that no round reached.
        unknown: name of a field that is None -> reason.
        assumption: what was taken for granted, in words; empty if nothing was.
    """

    metric: Metric
    draft_length: int | None
    tokens_per_round: float
    accepted_share: float | None = None
    acceptance_rate: float | None = None
    conditional_rates: tuple[float, ...] | None = None
    unknown: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    assumption: str = ""


@cache
def metrics() -> tuple[Metric, ...]:
    """Every metric that ``convert`` knows, in the order of the table in the book."""
    text = resources.files("specmini").joinpath("data/metrics.toml").read_text("utf-8")
    return tuple(Metric(**row) for row in tomllib.loads(text)["metric"])


def convert(
    tool: str,
    metric: str,
    value: ArrayLike,
    draft_length: int | None = None,
    drafted_per_round: float | None = None,
) -> Reported:
    """Turn a value that a tool printed into E, rho, alpha and rates by position.

    Args:
        tool: name as in ``metrics()``, upper or lower case.
        metric: name as in ``metrics()``, upper or lower case.
        value: what was printed: one number, or one number a position.
        draft_length: K, the most that a round drafts. Taken as what every round drafts unless
            ``drafted_per_round`` says otherwise.
        drafted_per_round: drafted tokens over rounds, in (0, K], where rounds stop early.

    Returns:
        What follows from the value; None for what does not, with the reason.

    Raises:
        ValueError: the tool or the metric is not in the table (the message lists them), the
            value is impossible for the metric, E does not follow from it, or a length that the
            conversion needs is missing.
    """
    entry = _find(tool, metric)
    length = None if draft_length is None else one_length(draft_length, shortest=1)
    drafted = _drafted(drafted_per_round, length)
    if entry.kind in ("survival", "conditional"):
        return _from_positions(entry, value, length, drafted)
    if entry.kind == "alpha":
        if length is None:
            _missing(entry, "draft_length")
        rate = checks.single("value", checks.probability("value", value))
        return _from_positions(entry, np.repeat(rate, length), None, drafted)
    number = checks.single("value", checks.real("value", value))
    tokens = _tokens(entry, number, length, drafted)
    return _reported(entry, tokens, length, drafted, None)


def _tokens(entry: Metric, value: float, length: int | None, drafted: float | None) -> float:
    """E from a single printed number."""
    mean_drafted = length if drafted is None else drafted
    if entry.kind == "unknown":
        raise ValueError(f"{entry.tool} {entry.metric!r} cannot be converted: {entry.definition}")
    if entry.kind == "share":
        if mean_drafted is None:
            _missing(entry, "draft_length or, where rounds stop early, drafted_per_round")
        _check_value(entry, value, 0.0, 1.0)
        return 1.0 + value * mean_drafted
    if entry.kind == "filled":
        if length is None:
            _missing(entry, "draft_length")
        _check_value(entry, value, 1.0 / (length + 1), 1.0)
        return max(value * (length + 1), 1.0)  # 49 * (1 / 49) is below 1
    if entry.kind == "output_share":
        _check_value(entry, value, 0.0, np.nextafter(1.0, 0.0))
        tokens = 1.0 / (1.0 - value)
    else:
        tokens = value + {"tokens": 0.0, "accepted": 1.0, "tokens_plus_one": -1.0}[entry.kind]
    highest = np.inf if mean_drafted is None else 1.0 + mean_drafted
    if not 1.0 <= tokens <= highest:
        raise ValueError(
            f"value must give between 1 and {highest} tokens per round for {entry.tool} "
            f"{entry.metric!r}, got {value!r}, which means {tokens!r}"
        )
    return tokens


def _from_positions(
    entry: Metric, value: ArrayLike, length: int | None, drafted: float | None
) -> Reported:
    rates = checks.probability("value", value)
    if rates.ndim != 1 or rates.size == 0:
        raise ValueError(
            f"value must be a list of K >= 1 numbers in [0, 1], one a position, for "
            f"{entry.tool} {entry.metric!r}, got shape {rates.shape}"
        )
    if length is not None and length != rates.size:
        raise ValueError(
            f"draft_length must equal the number of positions in value, {rates.size}, got {length}"
        )
    drafted = _drafted(drafted, rates.size)
    if entry.kind in ("conditional", "alpha"):
        if drafted is not None and drafted < rates.size:
            raise ValueError(
                f"drafted_per_round must be {rates.size} or left out for {entry.tool} "
                f"{entry.metric!r}, got {drafted!r}: where rounds stop early, tokens per round do "
                f"not follow from chances given that the round went on"
            )
        tokens, conditional = tokens_per_round_by_position(rates), rates
    else:
        falling_survival("value", rates)
        tokens, conditional = tokens_from_survival(rates), conditional_rates_from_survival(rates)
    return _reported(entry, float(tokens), rates.size, drafted, conditional)


def _reported(
    entry: Metric,
    tokens: float,
    length: int | None,
    drafted: float | None,
    conditional: FloatArray | None,
) -> Reported:
    """Everything that follows from E and the lengths; the rest with a reason."""
    unknown: dict[str, str] = {}
    mean_drafted = length if drafted is None else drafted
    fixed = length is not None and (drafted is None or drafted == length)
    share = rate = rates = None
    if mean_drafted is None:
        unknown["accepted_share"] = "needs draft_length or drafted_per_round"
    else:
        share = (tokens - 1.0) / mean_drafted
        if share > 1.0 + 1e-12:  # beyond the rounding of adding and subtracting 1
            raise ValueError(
                f"drafted_per_round must be in [{tokens - 1.0!r}, inf), at least the accepted "
                f"drafts per round, got {mean_drafted!r}"
            )
        share = min(share, 1.0)
    if fixed:
        rate = float(acceptance_rate_from_tokens(tokens, cast(int, length)))
    elif length is None and drafted is None:
        unknown["acceptance_rate"] = "needs draft_length"
    else:
        unknown["acceptance_rate"] = (
            "rounds draft different numbers of tokens, so E and the mean length do not fix alpha"
        )
    if conditional is None:
        unknown["conditional_rates"] = "needs a metric that is printed position by position"
    elif not fixed:
        unknown["conditional_rates"] = (
            "rounds stop early, so a position may be missed without a rejection before it"
        )
    else:
        rates = tuple(float(chance) for chance in conditional)
    assumption = (
        f"every round drafts {length} tokens; where rounds stop early, give drafted_per_round"
        if length is not None and drafted is None
        else ""
    )
    return Reported(
        entry, length, tokens, share, rate, rates, MappingProxyType(unknown), assumption
    )


def _find(tool: str, metric: str) -> Metric:
    tools = tuple(dict.fromkeys(entry.tool for entry in metrics()))
    found = checks.choice("tool", tool, tools, any_case=True)
    names = tuple(entry.metric for entry in metrics() if entry.tool == found)
    name = checks.choice(f"metric of {found}", metric, names, any_case=True)
    return next(entry for entry in metrics() if (entry.tool, entry.metric) == (found, name))


def _drafted(drafted_per_round: float | None, length: int | None) -> float | None:
    if drafted_per_round is None:
        return None
    checked = checks.positive("drafted_per_round", drafted_per_round)
    drafted: float = checks.single("drafted_per_round", checked)
    if length is not None and drafted > length:
        raise ValueError(
            f"drafted_per_round must be in (0, draft_length = {length}], got {drafted_per_round!r}"
        )
    return drafted


def _missing(entry: Metric, needed: str) -> NoReturn:
    raise ValueError(
        f"{needed} must be given to turn {entry.tool} {entry.metric!r} into tokens per round, got "
        f"None; the metric is {entry.definition}"
    )


def _check_value(entry: Metric, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(
            f"value must be in [{low}, {high}] (a share, not a percentage) for {entry.tool} "
            f"{entry.metric!r}, got {value!r}"
        )
