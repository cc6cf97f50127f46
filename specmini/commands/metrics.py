"""``specmini metrics``: what a server counted, and advice for it."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from specmini.advisor import advise
from specmini.commands import setting
from specmini.commands.advise import advice_lines, listed
from specmini.commands.printing import as_json, draw, without_nan
from specmini.configuration import Configuration
from specmini.cost.round_cost import LOOKUP_SHARE
from specmini.metrics import DraftCounts, between
from specmini.metrics.pages import fetch, read_counts

__all__ = ["add", "answered", "counts_lines"]


def add(commands: setting.Commands) -> None:
    """Add the command to those of ``specmini``."""
    one = commands.add_parser("metrics", parents=[setting.options()],
                              help="read a metrics page or a log")  # fmt: skip
    one.add_argument("source", help="file, or address of a metrics page")
    one.add_argument("later", nargs="?", help="a second reading: what was counted in between")
    one.add_argument("--target", default="", help="with --drafter: advice for these numbers")
    one.add_argument("--drafter", default="")
    one.add_argument("--draft-length", type=int, metavar="K", help="if the source does not tell")
    one.set_defaults(answer=answered)


def answered(given: argparse.Namespace) -> str:
    """What the command prints."""
    counts = read_counts(fetch(given.source))
    if given.later:
        counts = between(counts, read_counts(fetch(given.later)))
    lines, answer = counts_lines(counts), _counted(counts)
    if given.target or given.drafter:
        length = counts.draft_length or given.draft_length
        if given.draft_length not in (None, length):
            raise ValueError(
                f"--draft-length must be left out or {length}, as {counts.source} tells, "
                f"got {given.draft_length}"
            )
        if length is None:
            raise ValueError(f"--draft-length must be given, {counts.source} does not tell K")
        configuration = setting.configured(
            given, str(length), f"{counts.tokens_per_round!r}", "tokens per round"
        )
        if counts.running and given.concurrency is None:
            running = max(round(counts.running + (counts.waiting or 0)), 1)
            configuration = replace(configuration, concurrency=running)
        if len(counts.survival) == length:
            configuration = replace(configuration, survival=counts.survival)
        if configuration.drafter == "lookup":
            configuration = _with_silent_steps(configuration, counts)
        advice = advise(configuration)
        if given.figure:
            draw(configuration, given.figure)
        lines += ["", *advice_lines(advice)]
        answer = {**answer, "advice": without_nan(asdict(listed(advice)))}
    elif given.figure:
        raise ValueError("--figure needs --target and --drafter")
    return as_json(answer) if given.json else "\n".join(lines)


def _with_silent_steps(configuration: Configuration, counts: DraftCounts) -> Configuration:
    """The counters hold the rounds that drafted; a lookup is silent in others."""
    return replace(
        configuration,
        tokens_per_round=1 + LOOKUP_SHARE * (counts.tokens_per_round - 1),
        survival=tuple(LOOKUP_SHARE * share for share in configuration.survival),
        assumed=(
            *configuration.assumed,
            f"a lookup drafts in {LOOKUP_SHARE:.0%} of the steps; the counters hold only those",
        ),
    )


def counts_lines(counts: DraftCounts) -> list[str]:
    """What a server counted, as lines of plain text."""
    share, rate = counts.accepted_share, counts.acceptance_rate
    lines = [
        f"{counts.source}: {counts.tokens_per_round:.3f} tokens a round (E), "
        f"{counts.rounds:,.0f} rounds"
    ]
    if share is not None:
        lines += [
            f"  accepted over drafted   {share:.3f} (rho)",
            f"  break-even              a draft may cost up to {share:.3f} plain steps, checking "
            "included",
        ]
    if rate is not None:
        lines.append(f"  one alpha for all       {rate:.3f}")
    if counts.by_position:
        alphas = " ".join(f"{one:.2f}" for one in counts.rates_by_position)
        lines.append(f"  alpha by position       {alphas}")
    return [*lines, *(f"note: {remark}" for remark in counts.remarks)]


def _counted(counts: DraftCounts) -> dict[str, Any]:
    told = {
        "tokens_per_round": counts.tokens_per_round,
        "accepted_share": counts.accepted_share,
        "acceptance_rate": counts.acceptance_rate,
        "rates_by_position": list(counts.rates_by_position),
        "drafted_per_round": counts.drafted_per_round,
        "draft_length": counts.draft_length,
        "remarks": list(counts.remarks),
    }
    counted: dict[str, Any] = without_nan({**asdict(counts), **told})
    return counted
