"""The steps of the interview, read from ``specmini/data/practice/interview.yaml`` and checked.

Every kind of step has its fields:

- ``formula``, ``condition``: ``names``, ``right``, ``wrong``, if need be ``given``
- ``number``: ``at``, ``tolerance``, ``right`` (computed by a named function), ``wrong``
- ``choice``: ``options``, one or several of them right
- ``order``: ``lines``, in the right order
- ``text``: ``rubric``, which the reader ticks

All have ``id``, ``kind``, ``title``, ``prompt``, ``hints``, ``answer`` and ``chapter``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from specmini import checks, theory
from specmini.checks import shown
from specmini.practice.expression import parse
from specmini.practice.grader import Verdict, grade_formula, grade_number
from specmini.record.vllm_grid import check_from_plain_times

__all__ = ["Interview", "check_step", "grade", "interview", "picked"]

KINDS: Final = ("formula", "condition", "number", "choice", "order", "text")
COMMON: Final = ("id", "kind", "title", "prompt", "hints", "answer", "chapter")
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "formula": ("names", "right", "wrong"),
    "condition": ("names", "right", "wrong"),
    "number": ("at", "tolerance", "right", "wrong"),
    "choice": ("options",),
    "order": ("lines",),
    "text": ("rubric",),
}
OPTION: Final = ("id", "text", "right", "says")
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "speedup": theory.speedup,
    "check_from_plain_times": check_from_plain_times,
    "best_draft_length": theory.best_draft_length,
}
ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Interview:
    """What the file holds.

    Attributes:
        chapters: title of each page that a step or misconception names.
        misconceptions: under its id, what is ``says``-d and the ``chapter`` that shows it.
        steps: in the order of the interview; the right answer of a number is computed.
    """

    chapters: Mapping[str, str]
    misconceptions: Mapping[str, Mapping[str, str]]
    steps: tuple[dict[str, Any], ...]


@cache
def interview() -> Interview:
    """Read the interview.

    Raises:
        ValueError: names the step, the field and what is allowed there.
    """
    path = resources.files("specmini") / "data" / "practice" / "interview.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    chapters, known = content["chapters"], content["misconceptions"]
    for key, one in known.items():
        _must_have(f"misconception {key!r}", one, ("says", "chapter"))
        checks.choice(f"chapter of misconception {key!r}", one["chapter"], tuple(chapters))
    steps = tuple(check_step(step, tuple(chapters), tuple(known)) for step in content["steps"])
    if len({step["id"] for step in steps}) < len(steps):
        raise ValueError(f"ids of steps must differ, got {[step['id'] for step in steps]}")
    return Interview(chapters, known, steps)


def check_step(
    step: Any, chapters: tuple[str, ...], misconceptions: tuple[str, ...]
) -> dict[str, Any]:
    """Return a copy of a step, the right answer of a number computed.

    Args:
        step: a mapping with the fields of its kind.
        chapters: pages it may name.
        misconceptions: ids its wrong forms may name.

    Raises:
        ValueError: names the step, the field and what is allowed there.
    """
    where = f"step {step.get('id')!r}" if isinstance(step, dict) else "step"
    kind = step.get("kind") if isinstance(step, dict) else None
    checks.choice(f"kind of {where}", kind, KINDS)
    _must_have(where, step, (*COMMON, *FIELDS[str(kind)]), ("given",) if kind == "formula" else ())
    if not ID.fullmatch(str(step["id"])):
        raise ValueError(f"id of {where} must be lower-case words with hyphens")
    checks.choice(f"chapter of {where}", step["chapter"], chapters)
    _texts(f"hints of {where}", step["hints"], fewest=1)
    for name in ("title", "prompt", "answer"):
        _texts(f"{name} of {where}", [step[name]])
    checked = dict(step)
    if kind == "choice":
        for option in _listed(f"options of {where}", step["options"]):
            _must_have(f"option of {where}", option, OPTION)
            checks.switch(f"right of an option of {where}", option["right"])
        if not any(option["right"] for option in step["options"]):
            raise ValueError(f"options of {where} must have a right one")
    elif kind == "order":
        _texts(f"lines of {where}", step["lines"], fewest=3)
    elif kind == "text":
        _texts(f"rubric of {where}", step["rubric"], fewest=2)
    else:
        for one in _listed(f"wrong of {where}", step["wrong"]):
            _must_have(f"wrong form of {where}", one, ("formula", "misconception"))
            checks.choice(f"misconception of {where}", one["misconception"], misconceptions)
            parse(one["formula"])
        if kind == "number":
            checked["right"] = _computed(where, step["right"])
        else:
            _texts(f"names of {where}", step["names"], fewest=1)
            for formula in (step["right"], *step.get("given", {}).values()):
                parse(formula)
    return checked


def grade(step: Mapping[str, Any], given: Any) -> tuple[float, Verdict | None]:
    """Grade the answer to a step.

    Args:
        step: as ``interview().steps`` holds it.
        given: the typed text of a formula, condition or number; ids of the ticked options; places
            of the lines in the reader's order; places of the ticked points of a rubric.

    Returns:
        Score from 0 to 1, and for a typed text what is said about it.

    Raises:
        ValueError: ``given`` is of another form.
    """
    kind, where = step["kind"], f"answer to {step['id']!r}"
    if kind in ("formula", "condition", "number"):
        if not isinstance(given, str):
            raise ValueError(f"{where} must be a string, got {shown(given)}")
        verdict = grade_typed(step, given)
        return float(verdict.kind == "right"), verdict
    if not isinstance(given, (list, tuple)) or len({*map(repr, given)}) < len(given):
        raise ValueError(f"{where} must be a list of different items, got {shown(given)}")
    if kind == "choice":
        known = [option["id"] for option in step["options"]]
        _among(where, given, known)
        return _share(
            option["right"] == (option["id"] in given) for option in step["options"]
        ), None
    if kind == "text":
        _among(where, given, list(range(len(step["rubric"]))))
        return len(given) / len(step["rubric"]), None
    if sorted(map(str, given)) != sorted(map(str, range(len(step["lines"])))):
        raise ValueError(f"{where} must hold each place once, got {shown(given)}")
    return standing(given) / len(given), None


def standing(order: Sequence[int]) -> int:
    """How many lines from the first on stand where they belong."""
    return next((place for place, line in enumerate(order) if place != line), len(order))


def grade_typed(step: Mapping[str, Any], text: str) -> Verdict:
    """Grade what was typed as the answer to a formula, condition or number."""
    wrong = [(one["formula"], one["misconception"]) for one in step["wrong"]]
    if step["kind"] == "number":
        return grade_number(text, step["right"], wrong, at=step["at"], tolerance=step["tolerance"])
    return grade_formula(text, step["right"], wrong, allowed=step["names"], given=step.get("given"))


def picked(seed: int, count: int, steps: int) -> list[int]:
    """Return the places of the steps of a mock interview, in the order of the interview.

    Args:
        seed: a whole number in [0, 2**32).
        count: how many, at most ``steps``.
        steps: how many there are.

    Raises:
        ValueError: an argument is out of range.
    """
    seed = checks.single("seed", checks.whole_number("seed", seed)) % 2**32
    if not 0 <= count <= steps:
        raise ValueError(f"count must be a whole number in [0, {steps}], got {count}")
    places = list(range(steps))
    for last in range(steps - 1, 0, -1):
        # Numerical Recipes' linear congruential generator: the page's script has the same.
        seed = (1664525 * seed + 1013904223) % 2**32
        other = seed * (last + 1) // 2**32
        places[last], places[other] = places[other], places[last]
    return sorted(places[:count])


def _computed(where: str, right: Any) -> float:
    _must_have(f"right of {where}", right, ("function", "arguments"))
    checks.choice(f"function of {where}", right["function"], tuple(FUNCTIONS))
    return float(FUNCTIONS[right["function"]](**right["arguments"]))


def _must_have(
    where: str, given: Any, fields: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    if not isinstance(given, dict) or not set(fields) <= set(given) <= {*fields, *optional}:
        got = sorted(map(str, given)) if isinstance(given, dict) else shown(given)
        raise ValueError(f"{where} must have the fields {', '.join(fields)}, got {got}")


def _listed(where: str, given: Any) -> list[Any]:
    if not isinstance(given, list) or not given:
        raise ValueError(f"{where} must be a list of at least one, got {shown(given)}")
    return given


def _texts(where: str, given: Any, fewest: int = 1) -> None:
    full = isinstance(given, list) and all(isinstance(one, str) and one for one in given)
    if not full or len(given) < fewest:
        raise ValueError(f"{where} must be texts, at least {fewest}, got {shown(given)}")


def _among(where: str, given: Sequence[Any], known: Sequence[Any]) -> None:
    for one in given:
        if one not in known or isinstance(one, bool):
            raise ValueError(f"{where} must hold some of {known}, got {shown(one)}")


def _share(rights: Iterable[bool]) -> float:
    listed = [bool(right) for right in rights]
    return sum(listed) / len(listed)
