"""``specmini advise``: should speculation be on?"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, replace

from specmini.advisor import Advice, advise
from specmini.commands import setting
from specmini.commands.printing import as_json, draw, without_nan
from specmini.configuration import Configuration, wording
from specmini.conversions import convert, metrics

__all__ = ["VERDICTS", "add", "advice_lines", "answered", "configuration_from", "listed"]

EXAMPLE = (
    'specmini advise --target Qwen3-32B --machine h100 --drafter "draft model Qwen3-1.7B" '
    "--draft-length 4 --concurrency 32 --acceptance 2.86"
)

MEANING = "tokens per round"  # of an acceptance that nothing is said of

VERDICTS = {
    "win": "Speculation wins",
    "lose": "Speculation loses",
    "too close to call": "Too close to call",
    "faster tokens, less output": "Faster tokens, but less output",
}


def add(commands: setting.Commands) -> None:
    """Add the command to those of ``specmini``."""
    one = commands.add_parser("advise", parents=[setting.options()], epilog=EXAMPLE,
                              help="should speculation be on?")  # fmt: skip
    _add_options(one)
    one.set_defaults(answer=answered)


def configuration_from(arguments: Sequence[str]) -> Configuration:
    """The configuration that the command would answer for.

    Args:
        arguments: words after ``specmini advise``.

    Raises:
        ValueError: an option has a value that cannot be used.
    """
    parser = argparse.ArgumentParser(prog="specmini advise", parents=[setting.options()])
    _add_options(parser)
    return _configuration(parser.parse_args(arguments))


def _add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--target", required=True, help="name or size, such as Qwen3-32B or 35B-A3B")
    one.add_argument("--drafter", required=True, help="such as EAGLE-3, MTP, ngram, draft model 1B")
    one.add_argument("--draft-length", default="", metavar="K", help="or 'tree steps,k,tokens'")
    one.add_argument("--acceptance", default="", help="as the tool printed it")
    one.add_argument("--acceptance-is", default=MEANING, metavar="WHAT",
                     help="'tokens per round', 'accepted / drafted', or 'TOOL: METRIC' such as "
                          "'vLLM: draft acceptance rate'")  # fmt: skip


def answered(given: argparse.Namespace) -> str:
    """What the command prints."""
    configuration = _configuration(given)
    advice = advise(configuration)
    if given.figure:
        draw(configuration, given.figure)
    if given.json:
        return as_json(without_nan(asdict(listed(advice))))
    return "\n".join(advice_lines(advice))


def _configuration(given: argparse.Namespace) -> Configuration:
    acceptance, meaning = given.acceptance, given.acceptance_is
    if acceptance and ":" in meaning:
        length, _ = wording.read_draft_length(given.draft_length, given.drafter)
        acceptance, meaning = _converted(acceptance, meaning, length), MEANING
    if not acceptance and meaning != MEANING:
        raise ValueError(f"--acceptance must be given with --acceptance-is, got {meaning!r} alone")
    configuration = setting.configured(given, given.draft_length, acceptance, meaning)
    if acceptance and not re.match(r"\s*[.\d]*\d", acceptance):
        raise ValueError(
            f"--acceptance must be a number such as 2.86, 0.47 or 47%, got {acceptance!r}"
        )
    if acceptance and configuration.tokens_per_round is None:
        tools = ", ".join(dict.fromkeys(metric.tool for metric in metrics()))
        raise ValueError(
            f"--acceptance-is must tell what {acceptance!r} is: 'tokens per round', 'accepted / "
            f"drafted', or 'TOOL: METRIC' with a tool out of {tools}, got {meaning!r}"
        )
    return configuration


def advice_lines(advice: Advice) -> list[str]:
    """An advice as lines of plain text."""
    verdict = VERDICTS[advice.verdict]
    best = (
        f"K = {advice.best_length}, {advice.best_speedup:.2f} times as fast"
        if advice.best_length
        else "none: plain decoding is the fastest"
    )
    rate, at = advice.break_even_acceptance, advice.break_even_concurrency
    lines = [
        f"{verdict}: a token comes {advice.speedup:.2f} times as fast "
        f"(80 % interval {advice.low:.2f} to {advice.high:.2f})",
        f"  output of the server    {advice.throughput:.2f} times as much",
        f"  tokens a round          {advice.tokens_per_round:.2f}, for {advice.round_cost:.2f} "
        "plain steps",
        f"  best draft length       {best}",
        "  break-even acceptance   "
        + ("none: not even 1 pays" if math.isnan(rate) else f"alpha = {rate:.2f}"),
        "  break-even load         "
        + (f"from {at} requests in flight on it loses" if at else "none up to 1,024 requests"),
        f"  a check is bound by     {advice.bound}",
        f"  matters most            {advice.matters_most}",
    ]
    if advice.plain_seconds is not None:
        lines.append(f"  plain step              {1000 * advice.plain_seconds:.1f} ms")
    lines += [f"warning: {warning}" for warning in advice.warnings]
    lines += [f"assumed: {assumption}" for assumption in advice.assumed]
    basis = "your plain times" if advice.calibrated else f"data sheets, {advice.kernels}"
    return [*lines, f"basis: {basis}"]


def listed(advice: Advice) -> Advice:
    """The same, with sensitivities that JSON can hold."""
    return replace(advice, sensitivities=dict(advice.sensitivities))


def _converted(value: str, meaning: str, length: int | None) -> str:
    """E from a value in the definition of a tool of ``specmini.conversions``."""
    tool, _, metric = meaning.partition(":")
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        raise ValueError(f"--acceptance must be numbers, got {value!r}") from None
    names = (tool.strip().casefold(), metric.strip().casefold())
    listed = any(
        (one.tool.casefold(), one.metric.casefold()) == names
        for one in metrics()
        if one.kind in ("survival", "conditional")  # of K = 1 a single number is printed
    )
    single = numbers if listed or len(numbers) > 1 else numbers[0]
    return repr(convert(tool.strip(), metric.strip(), single, length).tokens_per_round)
