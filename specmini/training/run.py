"""A training run: steps over windows of text, a log, and a folder in which it waits.

The learning rates warm up, stay constant for as long as one likes, and fall to zero only when
asked (warm-up, stable, decay: Hu et al. 2024, arXiv:2404.06395). So a run is never finished: it
stops at any time, goes on another day from its folder, grows deeper on the way (``gpt.grow``), and
any stable state can be decayed into a final model.

A step draws its windows with a generator seeded by (seed, step), so a run that was interrupted
computes, bit for bit, what it would have computed without (same machine, same threads).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from specmini import checkpoints
from specmini.gpt import GPT
from specmini.heads.mtp_module import MtpModule
from specmini.training import log
from specmini.training.evaluation import bits_per_byte
from specmini.training.lessons import Student, loss_of, tokens_per_round
from specmini.training.log import Progress
from specmini.training.optimizer import Optimizer
from specmini.training.settings import Settings
from specmini.training.stages import stage
from specmini.training.streams import Streams, draw_windows, even_windows

__all__ = ["Run", "log_file", "state_file"]

state_file: Final = "state.safetensors"
log_file: Final = "log.jsonl"
judged_windows: Final = 64  # of each kind: enough for a curve, 3 % of the time of training


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
        self.stages = [stage(0, streams, teacher, teacher_name, settings.objective)]
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
        log.forget_after(self.folder / log_file, self.step)
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
        log.append(self.folder / log_file, line)
        return line
