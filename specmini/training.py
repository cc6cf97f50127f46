"""Train the tiny pair; ``python -m specmini.training --help`` is the way in.

The learning rates warm up, stay constant for as long as one likes, and fall to zero only when
asked (warm-up, stable, decay: Hu et al. 2024, arXiv:2404.06395). So a run is never finished: it
stops at any time, goes on another day from its folder, grows deeper on the way (``gpt.grow``), and
any stable state can be decayed into a final model.

A step draws its windows with a generator seeded by (seed, step), so a run that was interrupted
computes, bit for bit, what it would have computed without (same machine, same threads).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import torch
from torch import Tensor

from specmini import checkpoints
from specmini.checks import choice
from specmini.evaluation import bits_per_byte
from specmini.gpt import GPT, grow
from specmini.lessons import Objective, Student, loss_of, tokens_per_round
from specmini.mtp_module import MtpModule
from specmini.optimizer import Optimizer
from specmini.streams import Streams, draw_windows, even_windows

__all__ = ["Progress", "Run", "Settings", "resume"]

state_file: Final = "state.safetensors"
log_file: Final = "log.jsonl"
judged_windows: Final = 64  # of each kind: enough for a curve, 3 % of the time of training


@dataclass(frozen=True)
class Settings:
    """How a run trains; all may change when it is resumed, but for the seed with good reason.

    Attributes:
        batch: windows a step.
        length: tokens that a window predicts.
        prose_share: chance that a window is prose.
        matrix_rate: Muon's learning rate.
        other_rate: Adam's learning rate.
        warm_up: steps over which the rates rise.
        decay_from: step at which the rates start to fall; None while the run is stable.
        decay_steps: steps over which they fall to zero.
        seed: of the initial weights and of the windows.
        objective: what a student shall have with its teacher (see ``lessons``).
        passes: guesses of a round that a head learns, S.

    Raises:
        ValueError: a number is out of its range, or an unknown objective.
    """

    batch: int = 16
    length: int = 256
    prose_share: float = 0.35
    matrix_rate: float = 0.02
    other_rate: float = 0.003
    warm_up: int = 50
    decay_from: int | None = None
    decay_steps: int = 1
    seed: int = 0
    objective: Objective = "likelihood"
    passes: int = 1

    def __post_init__(self) -> None:
        choice("objective", self.objective, get_args(Objective))
        for name in ("batch", "length", "warm_up", "decay_steps", "passes"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("matrix_rate", "other_rate"):
            if not 0 < (rate := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {rate}")
        if not 0 <= self.prose_share <= 1:
            raise ValueError(f"prose_share must be in [0, 1], got {self.prose_share}")

    def rate(self, step: int) -> float:
        """Factor on both learning rates at a step, in [0, 1]."""
        rising = min(1.0, (step + 1) / self.warm_up)
        if self.decay_from is None or step < self.decay_from:
            return rising
        return rising * max(0.0, 1 - (step - self.decay_from) / self.decay_steps)


@dataclass(frozen=True)
class Progress:
    """Where a run stands: a line of its log.

    Attributes:
        step: steps taken.
        tokens: tokens predicted.
        loss: mean nats a token since the line before, on training windows.
        seconds: time spent in steps, over all sessions.
        cpu_seconds: processor time spent in steps.
        prose: on held-out prose, bits per byte, or tokens a round of a head; None where not
            measured.
        code: the same on held-out code.
    """

    step: int
    tokens: int
    loss: float
    seconds: float
    cpu_seconds: float
    prose: float | None = None
    code: float | None = None


class Run:
    """A training run; it lives in a folder and goes on from there with ``resume``.

    Args:
        folder: for ``state.safetensors`` and ``log.jsonl``; made if need be.
        streams: text to train on and to be judged by.
        model: weights to start from.
        settings: how to train.
        teacher: learn this model's distributions instead of the text's tokens (see ``lessons``);
            a head's is its target.
        teacher_name: for the record and the card; a file's name, for example.

    Attributes:
        stages: what it learned from, one entry for each change: from which step on, the corpus,
            the teacher (None for the text itself), and the hashes of both.

    Raises:
        ValueError: a window is longer than the context, a model has another vocabulary, or an MTP
            module another shape than its target.
    """

    def __init__(
        self,
        folder: Path,
        streams: Streams,
        model: Student,
        settings: Settings,
        teacher: GPT | None = None,
        teacher_name: str = "unnamed",
    ) -> None:
        for name, network in (("model", model), ("teacher", teacher)):
            if network is None:
                continue
            if network.config.vocabulary != streams.tokenizer.vocabulary:
                raise ValueError(
                    f"{name} must have the tokenizer's vocabulary of "
                    f"{streams.tokenizer.vocabulary}, got {network.config.vocabulary}"
                )
            if isinstance(network, GPT) and network.config.context < settings.length:
                raise ValueError(
                    f"length must be at most the {name}'s context of {network.config.context}, "
                    f"got {settings.length}"
                )
        if isinstance(model, MtpModule) and teacher is not None:
            model.lend(teacher)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.streams, self.model = folder, streams, model
        self.settings, self.teacher = settings, teacher
        self.optimizer = Optimizer(model, settings.matrix_rate, settings.other_rate)
        self.step, self.tokens, self.seconds, self.cpu_seconds = 0, 0, 0.0, 0.0
        self.stages = [_stage(0, streams, teacher, teacher_name, settings.objective)]
        window = settings.length + 1
        self._judges = (
            even_windows(streams.prose_held_out, window, judged_windows),
            even_windows(streams.code_held_out, window, judged_windows),
        )

    def train(
        self, steps: int, report_every: int = 10, judge_every: int = 200
    ) -> Iterator[Progress]:
        """Take steps; yields now and then, when the run may also be saved or left.

        Args:
            steps: how many steps to take.
            report_every: steps between lines of the log.
            judge_every: steps between measurements on held-out text; there is one at the end too.

        Raises:
            ValueError: the run has a teacher that ``resume`` was not given, or needs one and
                never had any.
        """
        name = self.stages[-1]["teacher"]
        if self.teacher is None and name is not None:
            raise ValueError(f"teacher must be {name} to go on with {self.folder}, got None")
        _forget_log_after(self.folder / log_file, self.step)
        losses: list[float] = []
        for left in reversed(range(steps)):
            started, cpu_started = time.perf_counter(), time.process_time()
            losses.append(self._take_step())
            self.seconds += time.perf_counter() - started
            self.cpu_seconds += time.process_time() - cpu_started
            judging = left == 0 or self.step % judge_every == 0
            if judging or self.step % report_every == 0:
                yield self._log(float(np.mean(losses)), judging)
                losses.clear()

    def judge(self) -> tuple[float, float]:
        """Bits per byte, or tokens a round of a head, on fixed windows of held-out prose and code.

        Raises:
            ValueError: a head without its teacher.
        """
        prose, code = map(self._judgement, self._judges)
        return prose, code

    def _judgement(self, windows: Tensor) -> float:
        if isinstance(self.model, GPT):
            return bits_per_byte(self.model, windows, self.streams.tokenizer)
        if self.teacher is None:
            raise ValueError("teacher must be the model whose features a head reads, got None")
        return tokens_per_round(self.model, self.teacher, windows[:, :-1], self.settings.passes)

    def save(self) -> None:
        """Store weights and optimizer in one file, so that they always fit each other."""
        weights = {f"model.{name}": weight for name, weight in self.model.state_dict().items()}
        state = {f"optimizer.{name}": value for name, value in self.optimizer.state.items()}
        record = {**self.record(), **checkpoints.described(self.model)}
        checkpoints.write(self.folder / state_file, weights | state, record)

    def record(self) -> checkpoints.Record:
        """What a checkpoint remembers of the run."""
        return {
            "settings": asdict(self.settings),
            "step": self.step,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "tokenizer_sha256": self.streams.tokenizer.sha256,
            "corpus": self.streams.corpus,
            "corpus_sha256": self.streams.corpus_sha256,
            "stages": self.stages,
        }

    def _take_step(self) -> float:
        """One update; returns the loss in nats a token."""
        settings = self.settings
        rng = np.random.default_rng([settings.seed, self.step])
        window = settings.length + 1
        rows = draw_windows(self.streams, settings.batch, window, settings.prose_share, rng)
        loss = loss_of(self.model, rows, self.teacher, settings.objective, settings.passes)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step(settings.rate(self.step))
        self.step += 1
        self.tokens += settings.batch * settings.length
        return loss.item()

    def _log(self, loss: float, judging: bool) -> Progress:
        seconds, cpu_seconds = round(self.seconds, 2), round(self.cpu_seconds, 2)
        line = Progress(self.step, self.tokens, loss, seconds, cpu_seconds)
        if judging:
            prose, code = self.judge()
            line = replace(line, prose=prose, code=code)
        with (self.folder / log_file).open("a", encoding="utf-8") as log:
            log.write(json.dumps(asdict(line)) + "\n")
        return line


def resume(
    folder: Path,
    streams: Streams,
    layers: int | None = None,
    change: Callable[[Settings, int], Settings] = lambda settings, step: settings,
    teacher: GPT | None = None,
    teacher_name: str = "unnamed",
    replaced: Collection[str] = (),
) -> Run:
    """Go on with the run that is stored in a folder.

    Args:
        folder: as ``Run``'s.
        streams: as ``Run``'s; tokenizer and corpus must be those of the stored run.
        layers: more layers than stored grow the model; as stored if None.
        change: gives the settings to go on with, from the stored ones and the step.
        teacher: as ``Run``'s; only its hash is stored. A run that has one may be resumed without
            it to be judged or exported, but not to be trained.
        teacher_name: as ``Run``'s.
        replaced: ``"corpus"``, ``"teacher"`` or both, if the run shall go on with another one
            (or, without ``teacher``, on the text); its stages then tell.

    Raises:
        ValueError: no run is stored there; it has another tokenizer or depth; it has another
            corpus or teacher that is not ``replaced``.
    """
    for name in replaced:
        choice("replaced", name, ("corpus", "teacher"))
    path = folder / state_file
    if not path.exists():
        raise ValueError(f"folder must hold {state_file}, got {folder}")
    state, record = checkpoints.read(path)
    # runs from before stages were stored do not know their teacher
    stages: list[dict[str, Any]] = record.get("stages", [])
    settings = change(Settings(**record["settings"]), record["step"])
    stage = _stage(record["step"], streams, teacher, teacher_name, settings.objective)
    teacher_before = stages[-1]["teacher_sha256"] if stages else None
    for name, then, now in (
        ("tokenizer", record["tokenizer_sha256"], streams.tokenizer.sha256),
        ("corpus", record["corpus_sha256"], streams.corpus_sha256),
        ("teacher", teacher_before, stage["teacher_sha256"]),
    ):
        is_missing = name == "teacher" and None in (then, now)
        if then != now and name not in replaced and not is_missing:
            raise ValueError(f"{path} was trained with the {name} {then}, got {now}")
    if teacher is None and teacher_before is not None and "teacher" not in replaced:
        stage |= {name: stages[-1][name] for name in ("teacher", "teacher_sha256")}
    model = checkpoints.new_model(path, record)
    weights = {n.removeprefix("model."): w for n, w in state.items() if n.startswith("model.")}
    checkpoints.check_weights(str(path), model, weights)
    model.load_state_dict(weights)
    if layers is not None and isinstance(model, GPT) and layers != model.config.layers:
        model = grow(model, layers, torch.Generator().manual_seed(settings.seed + layers))
    run = Run(folder, streams, model, settings, teacher, teacher_name)
    if not (stages and _same_lesson(stages[-1], stage)):
        stages = [*(one for one in stages if one["from_step"] < record["step"]), stage]
    run.stages = stages
    run.step, run.tokens = record["step"], record["tokens"]
    run.seconds, run.cpu_seconds = record["seconds"], record["cpu_seconds"]
    start = "optimizer."
    moments = {n.removeprefix(start): v for n, v in state.items() if n.startswith(start)}
    run.optimizer.load(moments, run.step)
    return run


def _stage(
    step: int, streams: Streams, teacher: GPT | None, name: str, objective: Objective
) -> dict[str, Any]:
    """What a run learns from, and what for, from a step on."""
    return {
        "from_step": step,
        "corpus": streams.corpus,
        "corpus_sha256": streams.corpus_sha256,
        "teacher": None if teacher is None else name,
        "teacher_sha256": None if teacher is None else checkpoints.digest(teacher.state_dict()),
        "objective": objective,
    }


def _same_lesson(one: dict[str, Any], other: dict[str, Any]) -> bool:
    # stages from before objectives were stored all wanted a likelihood
    aims = [stage.get("objective", "likelihood") for stage in (one, other)]
    sources = ("corpus_sha256", "teacher_sha256")
    return aims[0] == aims[1] and all(one[name] == other[name] for name in sources)


def _forget_log_after(path: Path, step: int) -> None:
    """Drop the lines of steps that were taken after the last save and are taken again.

    So is a line that a crash cut short.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if (logged := _logged_step(line)) is not None and logged <= step]
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    unfinished.replace(path)


def _logged_step(line: str) -> int | None:
    """The step of a line of the log, None if it is no whole line."""
    try:
        return int(json.loads(line)["step"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


if __name__ == "__main__":
    from specmini.training_command import main

    main()
