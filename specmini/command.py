"""The command line: ``specmini advise`` and ``specmini metrics``; ``python -m specmini`` the same.

Exit codes: 0 for an answer, 2 for input that cannot be used, with one line that says why.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from specmini import catalog, wording
from specmini.advisor import Advice, advise
from specmini.configuration import Configuration, PlainTime
from specmini.configured import configure
from specmini.conversions import convert, metrics
from specmini.metrics import DraftCounts, between
from specmini.metrics_text import fetch, read_counts

__all__ = ["advice_lines", "counts_lines", "main"]

EXAMPLE = (
    'specmini advise --target Qwen3-32B --machine h100 --drafter "draft model Qwen3-1.7B" '
    "--draft-length 4 --concurrency 32 --acceptance 2.86"
)

VERDICTS = {
    "win": "Speculation wins",
    "lose": "Speculation loses",
    "too close to call": "Too close to call",
    "faster tokens, less output": "Faster tokens, but less output",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: words after the command's name; those of the process if not given.

    Returns:
        The exit code.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        text, figure = given.answer(given)
        if given.figure:
            _save(figure, given.figure)
    except ValueError as error:
        print(f"specmini {given.command}: {error}", file=sys.stderr)
        return 2
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="specmini", description="When does speculative decoding win?"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument("--figure", metavar="FILE", help="draw the speedup against K to an SVG")
    setting = shared.add_argument_group("what runs")
    machines = ", ".join(catalog.machines())
    setting.add_argument("--machine", default="", help=f"words, or one of {machines}")
    setting.add_argument("--engine", default="", help="such as vLLM or llama.cpp")
    setting.add_argument("--weights", default="", help="such as bf16, FP8, Q4_K_M")
    setting.add_argument("--draft-weights", default="", help="those of the target if not given")
    setting.add_argument("--concurrency", type=int, help="requests in flight (1)")
    setting.add_argument("--context", type=int, help="positions of a request in the cache (512)")
    setting.add_argument("--memory", type=float, metavar="GB", help="of one device")
    setting.add_argument("--devices", type=int, help="that share every matrix")
    setting.add_argument("--cost-ratio", type=float, metavar="C", help="measured draft step / step")
    setting.add_argument("--prompt-share", type=float, default=0.0, metavar="S",
                         help="prompt tokens for each output token (0)")  # fmt: skip
    setting.add_argument("--plain", action="append", default=[], metavar="N:MS[:RUNNING]",
                         help="ms a token without speculation at N requests; repeat")  # fmt: skip
    one = commands.add_parser("advise", parents=[shared], epilog=EXAMPLE,
                              help="should speculation be on?")  # fmt: skip
    one.add_argument("--target", required=True, help="name or size, such as Qwen3-32B or 35B-A3B")
    one.add_argument("--drafter", required=True, help="such as EAGLE-3, MTP, ngram, draft model 1B")
    one.add_argument("--draft-length", default="", metavar="K", help="or 'tree steps,k,tokens'")
    one.add_argument("--acceptance", default="", help="as the tool printed it")
    one.add_argument("--acceptance-is", default="tokens per round", metavar="WHAT",
                     help="'tokens per round', 'accepted / drafted', or 'TOOL: METRIC' such as "
                          "'vLLM: draft acceptance rate'")  # fmt: skip
    one.set_defaults(answer=_advise)
    two = commands.add_parser("metrics", parents=[shared], help="read a metrics page or a log")
    two.add_argument("source", help="file, or address of a metrics page")
    two.add_argument("later", nargs="?", help="a second reading: what was counted in between")
    two.add_argument("--target", default="", help="with --drafter: advice for these numbers")
    two.add_argument("--drafter", default="")
    two.add_argument("--draft-length", type=int, metavar="K", help="if the source does not tell")
    two.set_defaults(answer=_metrics)
    return parser


def _advise(given: argparse.Namespace) -> tuple[str, Configuration]:
    acceptance, meaning = given.acceptance, given.acceptance_is
    if acceptance and ":" in meaning:
        length, _ = wording.read_draft_length(given.draft_length, given.drafter)
        acceptance, meaning = _converted(acceptance, meaning, length), "tokens per round"
    configuration = _configured(given, given.draft_length, acceptance, meaning)
    if acceptance and configuration.tokens_per_round is None:
        tools = ", ".join(dict.fromkeys(metric.tool for metric in metrics()))
        raise ValueError(
            f"--acceptance-is must tell what {acceptance!r} is: 'tokens per round', 'accepted / "
            f"drafted', or 'TOOL: METRIC' with a tool out of {tools}, got {meaning!r}"
        )
    advice = advise(configuration)
    if given.json:
        return _json(_plain(asdict(_listed(advice)))), configuration
    return "\n".join(advice_lines(advice)), configuration


def _metrics(given: argparse.Namespace) -> tuple[str, Configuration | None]:
    counts = read_counts(fetch(given.source))
    if given.later:
        counts = between(counts, read_counts(fetch(given.later)))
    lines, answer = counts_lines(counts), _counted(counts)
    configuration = None
    if given.target or given.drafter:
        length = counts.draft_length or given.draft_length
        if length is None:
            raise ValueError(f"--draft-length must be given, {counts.source} does not tell K")
        configuration = _configured(
            given, str(length), f"{counts.tokens_per_round!r}", "tokens per round"
        )
        if counts.running and given.concurrency is None:
            running = max(round(counts.running + (counts.waiting or 0)), 1)
            configuration = replace(configuration, concurrency=running)
        if len(counts.survival) == length:
            configuration = replace(configuration, survival=counts.survival)
        advice = advise(configuration)
        lines += ["", *advice_lines(advice)]
        answer = {**answer, "advice": _plain(asdict(_listed(advice)))}
    elif given.figure:
        raise ValueError("--figure needs --target and --drafter")
    return (_json(answer) if given.json else "\n".join(lines)), configuration


def _configured(
    given: argparse.Namespace, length: str, acceptance: str, meaning: str
) -> Configuration:
    """The configuration of the options that both commands share."""
    found = configure(
        given.target,
        given.drafter,
        machine=given.machine,
        engine=given.engine,
        weights=given.weights,
        draft_weights=given.draft_weights,
        draft_length=length,
        concurrency=given.concurrency,
        context=given.context,
        acceptance=acceptance,
        acceptance_is=meaning,
    )
    machine = found.machine
    if given.memory is not None:
        machine = replace(machine, memory=1e9 * given.memory)
    return replace(
        found,
        machine=machine,
        devices=found.devices if given.devices is None else given.devices,
        cost_ratio=given.cost_ratio,
        prompt_share=given.prompt_share,
        plain_times=tuple(sorted(map(_plain_time, given.plain), key=lambda one: one.concurrency)),
    )


def _plain_time(text: str) -> PlainTime:
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or numbers[0] != int(numbers[0]):
        raise ValueError(f"--plain must be N:MS or N:MS:RUNNING, such as 8:34.6, got {text!r}")
    running = numbers[2] if len(numbers) == 3 else None
    return PlainTime(int(numbers[0]), numbers[1] / 1000, running)


def _converted(value: str, meaning: str, length: int | None) -> str:
    """E from a value in the definition of a tool of ``specmini.conversions``."""
    tool, _, metric = meaning.partition(":")
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        raise ValueError(f"--acceptance must be numbers, got {value!r}") from None
    single = numbers if len(numbers) > 1 else numbers[0]
    return repr(convert(tool.strip(), metric.strip(), single, length).tokens_per_round)


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
    counted: dict[str, Any] = _plain({**asdict(counts), **told})
    return counted


def _listed(advice: Advice) -> Advice:
    return replace(advice, sensitivities=dict(advice.sensitivities))


def _plain(value: Any) -> Any:
    """The same without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def _save(configuration: Configuration | None, path: str) -> None:
    """Draw the speedup against K; matplotlib is loaded only here."""
    if configuration is None:
        raise ValueError("--figure needs --target and --drafter")
    try:
        from specmini.figures.record import advice_by_length
    except ImportError:
        raise ValueError("--figure needs matplotlib: pip install specmini[book]") from None
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(advice_by_length(configuration)._repr_svg_())
    except OSError as error:
        raise ValueError(f"cannot write {path!r}: {error}") from None
