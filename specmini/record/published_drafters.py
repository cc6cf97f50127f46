"""Drafters from papers and public reports, each a point on the map of ``drafter_map``.

The rows of ``specmini/data/published_drafters.toml`` hold printed numbers and their sources. A row
may instead name one of ``published.leviathan_table_4`` or of the record of field reports, so that
no number is written twice. A drafter is here only if how often it is accepted and what it costs
were published, or enough for both to follow.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from specmini.record import FieldReport, field_reports
from specmini.record.papers import leviathan_table_4
from specmini.theory.drafter_map import DrafterPoint, equivalent_chain

__all__ = ["published_drafters"]

LEVIATHAN = "https://arxiv.org/abs/2211.17192"


@cache
def published_drafters() -> tuple[DrafterPoint, ...]:
    """The points, in the order of the file."""
    text = resources.files("specmini").joinpath("data/published_drafters.toml").read_text("utf-8")
    return tuple(_point(row) for row in tomllib.loads(text)["drafter"])


def _point(row: Mapping[str, Any]) -> DrafterPoint:
    if "leviathan" in row:
        return _of_leviathan(row)
    if "report" in row:
        return _of_a_report(row)
    length, gain = row["draft_length"], row["speedup"]
    tokens = row.get("tokens_per_round")
    if tokens is None:
        # one draft: α is the accepted share, and E is one more
        if length != 1:
            raise ValueError(f"tokens_per_round must be given at K = {length}, got {row['map']!r}")
        tokens = 1.0 + row["acceptance_rate"]
    return _equivalent(row, tokens, length, gain, row["baseline"], row["url"])


def _of_leviathan(row: Mapping[str, Any]) -> DrafterPoint:
    """Their Table 4 prints α, c and the speedup itself."""
    wanted = row["leviathan"]
    [found] = [
        one
        for one in leviathan_table_4()
        if all(getattr(one, name) == value for name, value in wanted.items())
    ]
    return DrafterPoint(
        name=row["map"],
        rung=row["rung"],
        acceptance_rate=found.acceptance_rate,
        cost_ratio=found.cost_ratio,
        draft_length=found.draft_length,
        speedup=found.measured_speedup,
        engine="the authors' own",
        source=LEVIATHAN,
    )


def _of_a_report(row: Mapping[str, Any]) -> DrafterPoint:
    """A report tells E, or what E follows from, and the speedup."""
    [found] = [one for one in field_reports(used=False) if one.name == row["report"]]
    tokens, length = _measured(found)
    engine, source = found.words["engine"].split(" ")[0], found.url.split(" ")[0]
    return _equivalent(row, tokens, length, found.speedup or 0.0, engine, source)


def _measured(report: FieldReport) -> tuple[float, int]:
    """E and K of a report."""
    setting = report.configuration
    if setting is None or setting.tokens_per_round is None or setting.draft_length is None:
        raise ValueError(f"report must tell E and K, got {report.name!r}")
    return setting.tokens_per_round, setting.draft_length


def _equivalent(
    row: Mapping[str, Any], tokens: float, length: int, gain: float, engine: str, source: str
) -> DrafterPoint:
    rate, cost = equivalent_chain(tokens, tokens / gain, length)
    return DrafterPoint(
        name=row["map"],
        rung=row["rung"],
        acceptance_rate=rate,
        cost_ratio=cost,
        draft_length=length,
        speedup=gain,
        engine=engine,
        source=source,
        tree=row.get("tree", False),
        exact=row.get("exact", True),
    )
