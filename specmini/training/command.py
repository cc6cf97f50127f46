"""The command line of ``specmini.training``; with its reports, all of the lab that prints.

::

    python -m specmini.training target RUN --data DATA --minutes 60      start, or go on
    python -m specmini.training target RUN --data DATA --layers 4        grow, and go on
    python -m specmini.training target FINAL --data DATA --from RUN --decay-steps 500
    python -m specmini.training draft RUN --data DATA --steps 2000
    python -m specmini.training distil RUN --data DATA --teacher target.safetensors
    python -m specmini.training head RUN --data DATA --teacher target.safetensors --draft D
    python -m specmini.training medusa RUN --data DATA --teacher target.safetensors
    python -m specmini.training mtp RUN --data DATA --teacher target.safetensors
    python -m specmini.training export RUN target.safetensors --storage int8 --data DATA
    python -m specmini.training card target.safetensors target.md --data DATA
    python -m specmini.training card HEAD HEAD.md --data DATA --target target.safetensors
    python -m specmini.training accept target.safetensors draft.safetensors --data DATA
    python -m specmini.training imitate target.safetensors MORE --data DATA --count 2000

It makes itself as nice as it can. Interrupt it at will: it saves, and the same line goes on.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import torch

from specmini import checkpoints, training
from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.heads.mtp_module import MtpModule
from specmini.training import reports, streams
from specmini.training.lessons import Objective, Student
from specmini.training.run import log_file, state_file

__all__ = ["main"]

# layers, width and heads of a new run; None where the target's shape leaves no choice
shapes = {
    "target": (2, 256, 4),
    "draft": (1, 128, 4),
    "distil": (1, 128, 4),
    "head": (1, 128, 4),
    "medusa": None,
    "mtp": None,
}
of_a_target = ("head", "medusa", "mtp")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name."""
    given = _parser().parse_args(arguments)
    if hasattr(os, "nice"):
        os.nice(19)
    torch.set_num_threads(given.threads)
    given.run(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m specmini.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--data", type=Path, required=True, help="folder for tokenizer and streams")
    common.add_argument("--threads", type=int, default=2)
    common.add_argument("--seed", type=int, default=0)
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, shape in shapes.items():
        command = commands.add_parser(name, parents=[common], help=f"train a {name} model")
        command.set_defaults(
            run=_train, kind=name, layers=None, teacher=None, objective=None, passes=None
        )
        command.add_argument("folder", type=Path, help="where the run lives")
        command.add_argument("--from", dest="origin", type=Path, help="copy this run first")
        if shape is not None:
            layers, width, heads = shape
            command.set_defaults(default_layers=layers)
            command.add_argument("--layers", type=int, help="more than before grows the model")
            command.add_argument("--width", type=int, default=width, help="of a new run")
            command.add_argument("--heads", type=int, default=heads, help="of a new run")
            command.add_argument("--context", type=int, default=256, help="of a new run")
        command.add_argument("--batch", type=int)
        command.add_argument("--prose-share", type=float)
        command.add_argument("--matrix-rate", type=float)
        command.add_argument("--other-rate", type=float)
        command.add_argument("--steps", type=int, help="steps to take now")
        command.add_argument("--minutes", type=float, default=math.inf, help="time to take now")
        command.add_argument("--decay-steps", type=int, help="lower the rates to zero, then stop")
        command.add_argument("--save-minutes", type=float, default=3.0)
        if name in ("distil", *of_a_target):
            command.add_argument("--teacher", type=Path, required=True, help="or a head's target")
            objectives = get_args(Objective)
            command.add_argument("--objective", choices=objectives, default=objectives[0])
        if name in of_a_target:
            command.add_argument("--passes", type=int, default=4, help="guesses of a round")
        if name == "mtp":
            # at a new model's rates the block it starts from is soon forgotten
            command.set_defaults(matrix_rate=0.006, other_rate=0.0009)
        if name == "head":
            command.add_argument("--draft", type=Path, help="a draft to start from")
            # a tenth of a new model's rates, or the draft it starts from is soon forgotten
            command.set_defaults(matrix_rate=0.003, other_rate=0.0006)
        command.add_argument(
            "--replace",
            nargs="+",
            default=(),
            choices=("corpus", "teacher"),
            help="go on with another one than before",
        )
    export = commands.add_parser("export", parents=[common], help="store a run's model")
    export.set_defaults(run=reports.export)
    export.add_argument("folder", type=Path)
    export.add_argument("model", type=Path)
    export.add_argument("--storage", choices=("float32", "float16", "int8"), default="int8")
    card = commands.add_parser("card", parents=[common], help="judge a model, and let it write")
    card.set_defaults(run=reports.card)
    card.add_argument("model", type=Path)
    card.add_argument("card", type=Path, help="the Markdown file to write")
    card.add_argument("--target", type=Path, help="of a head, which is judged on it")
    card.add_argument("--history", help="how it was trained, where its record does not say")
    accept = commands.add_parser("accept", parents=[common], help="measure a pair's acceptance")
    accept.set_defaults(run=reports.accept)
    accept.add_argument("target", type=Path)
    accept.add_argument("draft", type=Path)
    imitate = commands.add_parser("imitate", parents=[common], help="let a model write streams")
    imitate.set_defaults(run=reports.imitate)
    imitate.add_argument("model", type=Path)
    imitate.add_argument("folder", type=Path)
    imitate.add_argument("--count", type=int, default=2000, help="continuations of each kind")
    return parser


def _train(given: argparse.Namespace) -> None:
    run = _open(given)
    settings = run.settings
    weights = sum(weight.numel() for weight in run.model.parameters())
    print(f"{run.model.config}: {weights / 1e6:.2f}M weights")
    last = run.step + (given.steps or 10**9)
    if settings.decay_from is not None:
        last = min(last, settings.decay_from + settings.decay_steps)
    measure = "bits per byte" if isinstance(run.model, GPT) else "tokens a round"
    asked_to_stop = _stop_signal()
    first_step, first_tokens = run.step, run.tokens
    started = saved = time.monotonic()
    for line in run.train(last - run.step):
        now = time.monotonic()
        spent = now - started
        a_step = spent / (line.step - first_step)
        left = min(a_step * (last - line.step), given.minutes * 60 - spent)
        rate = (line.tokens - first_tokens) / spent
        print(_progress_line(line, rate, spent, left, measure), flush=True)
        if now - saved > given.save_minutes * 60:
            run.save()
            saved = now
        if left <= 0 or asked_to_stop.is_set():
            break
    run.save()
    print(f"saved in {run.folder}; the same command goes on")


def _stop_signal() -> threading.Event:
    """Set by Ctrl-C or a kill; a step is never cut in two. A second signal kills at once."""
    asked = threading.Event()

    def ask(number: int, frame: object) -> None:
        asked.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return asked


def _open(given: argparse.Namespace) -> training.Run:
    """The run that the arguments describe: stored, copied or new."""
    data = streams.prepare(given.data)
    teacher = None if given.teacher is None else checkpoints.load_model(given.teacher)[0]
    name = "" if given.teacher is None else given.teacher.name
    state = given.folder / state_file
    is_copied = given.origin is not None and not state.exists()
    if is_copied:
        given.folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(given.origin / state_file, state)
        shutil.copyfile(given.origin / log_file, given.folder / log_file)

    wanted = {
        name: value
        for name in ("batch", "prose_share", "matrix_rate", "other_rate", "objective", "passes")
        if (value := getattr(given, name)) is not None
    }

    def change(settings: training.Settings, step: int) -> training.Settings:
        changed = replace(settings, **wanted)
        is_under_way = settings.decay_from is not None and not is_copied
        if given.decay_steps is None or is_under_way:
            return changed
        return replace(changed, decay_from=step, decay_steps=given.decay_steps)

    if state.exists():
        return training.resume(
            given.folder, data, given.layers, change, teacher, name, given.replace
        )
    settings = change(training.Settings(seed=given.seed), 0)
    model = _new_model(given, data.tokenizer.vocabulary, teacher)
    return training.Run(given.folder, data, model, settings, teacher, name)


def _new_model(given: argparse.Namespace, vocabulary: int, teacher: GPT | None) -> Student:
    """Untrained weights of the kind and shape that the arguments describe."""
    if given.kind in ("medusa", "mtp"):
        assert teacher is not None  # the command line asks for one
        if given.kind == "mtp":
            return MtpModule.on_top_of(teacher)
        matrix = teacher.wte.weight.detach()
        return MedusaHeads(MedusaConfig(vocabulary, teacher.config.width, given.passes), matrix)
    generator = torch.Generator().manual_seed(given.seed)
    layers = given.layers or given.default_layers
    shape = Config(vocabulary, given.context, layers, given.width, given.heads)
    if teacher is None or given.kind == "distil":
        return GPT(shape, generator)
    draft = None if given.draft is None else checkpoints.load_model(given.draft)[0]
    shape = shape if draft is None else draft.config
    return FeatureHead(FeatureHeadConfig(shape, teacher.config.width), draft, generator)


def _progress_line(
    line: training.Progress, rate: float, spent: float, left: float, measure: str
) -> str:
    """A bar, what was reached, tokens a second, and the time left."""
    ends = left < 1e7  # without --steps or --minutes it goes on until it is told to stop
    done = spent / (spent + max(left, 0.0)) if ends else 0.0
    bar = ("#" * round(20 * done)).ljust(20, ".")
    judged = ""
    if line.prose is not None and line.code is not None:
        judged = f" | held-out prose {line.prose:.3f}, code {line.code:.3f} {measure}"
    remaining = f"{max(left, 0.0) / 60:.0f} min left" if ends else "until you stop it"
    return (
        f"[{bar}] step {line.step}, {line.tokens / 1e6:.2f}M tokens, loss {line.loss:.3f}"
        f"{judged} | {rate:.0f} tokens/s, {remaining}"
    )


if __name__ == "__main__":
    main()
