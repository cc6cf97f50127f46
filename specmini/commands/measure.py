"""``specmini measure``: does speculation win on the reader's own machine?"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specmini.checks import shown
from specmini.commands.printing import as_json, without_nan
from specmini.commands.progress import progress_bar
from specmini.commands.setting import Commands, generator
from specmini.json_files import expected, parsed
from specmini.sampling import Sampling
from specmini.tables import Table

if TYPE_CHECKING:
    from specmini.engine.cached_model import CachedModel
    from specmini.measure.trial import Trial

__all__ = ["add", "answered", "trial_lines"]

EXAMPLE = "specmini measure --kind code --temperature 1 --draft-length 1,2,4"
PROMPT_TOKENS = 64
VERDICTS = {
    "win": "Speculation wins on this machine",
    "lose": "Speculation loses on this machine",
    "too close to call": "Too close to call on this machine",
}


def add(commands: Commands) -> None:
    """Add the command to those of ``specmini``."""
    one = commands.add_parser("measure", epilog=EXAMPLE,
                              help="does it win on this machine?")  # fmt: skip
    models = one.add_argument_group("what runs")
    models.add_argument("--target", type=Path, metavar="PATH", help="a checkpoint of this package, "
                        "or a folder in Hugging Face's layout if transformers is installed; "
                        "the pair of this package if not given")  # fmt: skip
    models.add_argument("--draft", type=Path, metavar="PATH", help="the same, for the draft model")
    texts = one.add_argument_group("what it writes")
    texts.add_argument("--kind", choices=("prose", "code"), default="prose",
                       help="of the prompts that come with this package (prose)")  # fmt: skip
    texts.add_argument("--prompts", type=Path, metavar="FILE", help="your own instead, one a line; "
                       "as JSON strings if the name ends in .jsonl")  # fmt: skip
    texts.add_argument("--count", type=int, default=20, metavar="N", help="prompts at most (20)")
    texts.add_argument("--new-tokens", type=int, default=96, metavar="N", help="a prompt (96)")
    texts.add_argument("--temperature", type=float, default=0.0, metavar="T", help="(0, greedy)")
    texts.add_argument("--draft-length", default="1,2,3,4,6,8", metavar="K,...",
                       help="to try (1,2,3,4,6,8)")  # fmt: skip
    texts.add_argument("--seed", type=int, default=0, help="of the texts (0)")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(answer=answered)


def answered(given: argparse.Namespace) -> str:
    """What the command prints."""
    lengths, sampling = _lengths(given.draft_length), Sampling(given.temperature)
    rng = generator(given.seed)
    if given.count < 1:
        raise ValueError(f"--count must be at least 1, got {given.count}")
    try:
        from specmini.measure.trial import try_pair

        target, draft, encode = _models(given.target, given.draft)
    except ImportError as error:
        raise ValueError(f"measure needs {error.name}: pip install specmini[lab]") from None
    prompts = _prompts(given, encode)
    trial = try_pair(
        target,
        draft,
        prompts,
        draft_lengths=lengths,
        sampling=sampling,
        new_tokens=given.new_tokens,
        rng=rng,
        progress=progress_bar("turns"),
    )
    if given.json:
        return as_json(without_nan(_told(trial)))
    texts = f"{len(prompts)} prompts, {given.new_tokens} new tokens each, temperature "
    return "\n".join(trial_lines(trial, f"{texts}{given.temperature:g}"))


def trial_lines(trial: Trial, texts: str) -> list[str]:
    """A trial as lines of plain text.

    Args:
        trial: what was measured.
        texts: on what, in words.
    """
    best = trial.best
    low, high = trial.interval(best)
    rows = [_row(trial, place) for place in range(len(trial.cells))]
    table = Table(
        {
            "K": [row["draft_length"] for row in rows],
            "alpha": [row["acceptance_rate"] for row in rows],
            "c": [row["cost_ratio"] for row in rows],
            "v": [row["verify_cost"] for row in rows],
            "E": [row["tokens_per_round"] for row in rows],
            "measured": [row["speedup"] for row in rows],
            "interval": [f"{row['low']:.2f} to {row['high']:.2f}" for row in rows],
            "predicted": [row["predicted"] for row in rows],
            "forecast": [row["forecast"] for row in rows],
        },
        digits=2,
    )
    return [
        f"{VERDICTS[trial.verdict]}: at its best, K = {best.draft_length}, a token comes "
        f"{best.speedup:.2f} times as fast ({low:.2f} to {high:.2f})",
        f"  texts                   {texts}",
        f"  plain decoding          {1 / trial.plain_seconds:.0f} tokens a second",
        f"  best draft length       K = {best.draft_length} by the clock, "
        f"K = {trial.best_forecast} by the forecast",
        "",
        repr(table),
        "",
        f"measured: plain over speculative time; all intervals cover with {trial.level:.0%} chance",
        "predicted: (1 - alpha^(K+1)) / (1 - alpha) / (Kc + v), with the row's own alpha, c and v",
        "forecast: the same with c and v from passes timed alone, before any round",
    ]


def _row(trial: Trial, place: int) -> dict[str, Any]:
    cell = trial.cells[place]
    low, high = trial.interval(cell)
    return {
        "draft_length": cell.draft_length,
        "acceptance_rate": cell.acceptance.rate,
        "cost_ratio": cell.cost_ratio,
        "verify_cost": cell.verify_cost,
        "tokens_per_round": cell.full.tokens_per_round,
        "speedup": cell.speedup,
        "low": low,
        "high": high,
        "predicted": cell.predicted.with_verify_cost,
        "forecast": trial.forecasts[place],
    }


def _told(trial: Trial) -> dict[str, Any]:
    return {
        "verdict": trial.verdict,
        "best_draft_length": trial.best.draft_length,
        "best_draft_length_forecast": trial.best_forecast,
        "plain_tokens_per_second": 1 / trial.plain_seconds,
        "level": trial.level,
        "lengths": [
            {**_row(trial, place), "residual": asdict(cell.residual)}
            for place, cell in enumerate(trial.cells)
        ],
    }


def _models(
    target: Path | None, draft: Path | None
) -> tuple[CachedModel, CachedModel, Callable[[str], list[int]]]:
    """Target, draft, and what turns text into their ids."""
    if (target is None) != (draft is None):
        raise ValueError("--target and --draft must be given together, or neither")
    if target is None or draft is None:
        from specmini.pair import load_pair

        pair = load_pair()
    elif target.is_dir() and draft.is_dir():
        from specmini.hugging_face.model import load_encoder, load_model

        return load_model(target), load_model(draft), load_encoder(target)
    elif target.is_file() and draft.is_file():
        from specmini.pair import load_files

        pair = load_files(target, draft)
    else:
        raise ValueError(
            f"--target and --draft must be two checkpoint files or two folders, got {target} and "
            f"{draft}"
        )
    return pair.target_model(), pair.draft_model(), pair.tokenizer.encode


def _lengths(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--draft-length must be whole numbers such as 1,2,4, got {text!r}"
        ) from None


def _prompts(given: argparse.Namespace, encode: Callable[[str], list[int]]) -> list[list[int]]:
    """The first prompts, encoded; those of the package cut to the same length."""
    if given.prompts is None:
        from specmini.recording.excerpts import frozen

        texts = [one.text for one in frozen(given.kind)][: given.count]
        return [encode(text)[:PROMPT_TOKENS] for text in texts]
    encoded = [encode(text) for text in _lines(given.prompts)[: given.count]]
    if not all(encoded):
        raise ValueError(f"--prompts must hold no empty prompt, and {given.prompts} does")
    return encoded


def _lines(path: Path) -> list[str]:
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {str(path)!r}: {error}") from None
    if path.suffix != ".jsonl":
        return lines
    with expected(path, "a JSON string a line"):
        texts = [parsed("each line", line) for line in lines]
    for text in texts:
        # half of a surrogate pair is JSON, and no text that can be encoded
        if not isinstance(text, str) or re.search(r"[\ud800-\udfff]", text):
            raise ValueError(f"{path} must hold a JSON string a line, got {shown(text)}")
    return texts
