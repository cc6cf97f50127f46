"""Going on with a stored run: with the same text and teacher, or with others that are told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import torch

from specmini import checkpoints
from specmini.checks import choice
from specmini.gpt import GPT, grow
from specmini.training.run import Run, state_file
from specmini.training.settings import Settings
from specmini.training.stages import same_lesson, stage
from specmini.training.streams import Streams

__all__ = ["resume"]


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
    lesson = stage(record["step"], streams, teacher, teacher_name, settings.objective)
    teacher_before = stages[-1]["teacher_sha256"] if stages else None
    for name, then, now in (
        ("tokenizer", record["tokenizer_sha256"], streams.tokenizer.sha256),
        ("corpus", record["corpus_sha256"], streams.corpus_sha256),
        ("teacher", teacher_before, lesson["teacher_sha256"]),
    ):
        is_missing = name == "teacher" and None in (then, now)
        if then != now and name not in replaced and not is_missing:
            raise ValueError(f"{path} was trained with the {name} {then}, got {now}")
    if teacher is None and teacher_before is not None and "teacher" not in replaced:
        lesson |= {name: stages[-1][name] for name in ("teacher", "teacher_sha256")}
    model = checkpoints.new_model(path, record)
    weights = {n.removeprefix("model."): w for n, w in state.items() if n.startswith("model.")}
    checkpoints.check_weights(str(path), model, weights)
    model.load_state_dict(weights)
    if layers is not None and isinstance(model, GPT) and layers != model.config.layers:
        model = grow(model, layers, torch.Generator().manual_seed(settings.seed + layers))
    run = Run(folder, streams, model, settings, teacher, teacher_name)
    if not (stages and same_lesson(stages[-1], lesson)):
        stages = [*(one for one in stages if one["from_step"] < record["step"]), lesson]
    run.stages = stages
    run.step, run.tokens = record["step"], record["tokens"]
    run.seconds, run.cpu_seconds = record["seconds"], record["cpu_seconds"]
    start = "optimizer."
    moments = {n.removeprefix(start): v for n, v in state.items() if n.startswith(start)}
    run.optimizer.load(moments, run.step)
    return run
