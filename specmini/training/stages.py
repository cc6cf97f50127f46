"""What a run learned from, stage by stage: the corpus, the teacher, and what for."""

from __future__ import annotations

from typing import Any

from specmini import checkpoints
from specmini.gpt import GPT
from specmini.training.lessons import Objective
from specmini.training.streams import Streams

__all__ = ["same_lesson", "stage"]


def stage(
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


def same_lesson(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two stages learn from the same sources for the same aim."""
    # stages from before objectives were stored all wanted a likelihood
    aims = [stage.get("objective", "likelihood") for stage in (one, other)]
    sources = ("corpus_sha256", "teacher_sha256")
    return aims[0] == aims[1] and all(one[name] == other[name] for name in sources)
