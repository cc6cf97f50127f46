"""The script's parser and grader against Python's, on thousands of generated inputs."""

import dataclasses
import random

import pytest
from formulas import hostile, known_right, rewritten, scribbles

from specmini.practice import grader
from specmini.practice.evaluation import evaluate, is_relation
from specmini.practice.expression import names, parse, write
from specmini.practice.interview import grade, grade_typed, interview, picked
from specmini.practice.symbols import FormulaError

POINT = {"α": 0.7, "K": 5, "c": 0.2, "v": 1.3, "j": 2, "i": 1, "n": 3, "m": 2, "ρ": 0.4}
POINT |= {"E": 2.9, "r": 2.3, "S": 1.2}


def inputs():
    """Right forms, rewritten ones, wrong ones, hostile ones, and scribbles near all of them."""
    rng = random.Random(1)
    forms = [*known_right(), *(w["formula"] for s in interview().steps for w in s.get("wrong", ()))]
    forms += [rewritten(form, rng) for form in forms for _ in range(5)]
    return [*forms, *hostile(), *scribbles(forms, rng, 2500)]


def plain(node):
    return {**vars(node), "parts": [plain(part) for part in node.parts]}


def parsed(text, tight):
    try:
        node = parse(text, tight=tight)
    except FormulaError as error:
        return [str(error), error.column]
    free = [name.text for name in names(node)]
    return [plain(node), write(node), free]


def test_both_read_every_input_alike(javascript):
    calls = [(text, tight) for text in inputs() for tight in (False, True)]
    read = 0
    for call, theirs in zip(calls, javascript(parsed=calls), strict=True):
        ours = parsed(*call)
        assert ours == theirs, call
        read += len(ours) == 3
    assert len(calls) > 6000
    assert 0.2 < read / len(calls) < 0.8  # neither side of the comparison is empty


def test_both_find_the_same_values(javascript):
    calls = []
    for text in inputs():
        try:
            if not is_relation(parse(text)):
                calls.append((text, POINT))
        except FormulaError:
            pass
    undefined = 0
    for (text, _), theirs in zip(calls, javascript(evaluated=calls), strict=True):
        ours = evaluate(parse(text), POINT)
        if ours != ours:
            undefined += 1
            assert theirs == "NaN", text
        else:
            assert theirs == pytest.approx(ours, rel=1e-9, abs=1e-300), text
    assert undefined >= 15


def typed_steps():
    return [
        step for step in interview().steps if step["kind"] in ("formula", "condition", "number")
    ]


def test_both_give_the_same_verdict(javascript):
    rng = random.Random(2)
    points = [dict(point) for point in grader.points()]
    everything = inputs()
    calls, kinds = [], {}
    for step in typed_steps():
        right = step["right"] if isinstance(step["right"], str) else repr(step["right"])
        own = [right, *(one["formula"] for one in step["wrong"])]
        own += [rewritten(form, rng) for form in own for _ in range(3)]
        calls += [(text, step, points) for text in (*own, *rng.sample(everything, 150))]
    for (text, step, _), theirs in zip(calls, javascript(graded=calls), strict=True):
        ours = dataclasses.asdict(grade_typed(step, text))
        assert ours == theirs, (step["id"], text)
        kinds[ours["kind"]] = kinds.get(ours["kind"], 0) + 1
    assert set(kinds) == {"right", "known", "wrong", "unreadable"}
    assert min(kinds.values()) >= 50


def test_both_score_other_answers_alike(javascript):
    rng = random.Random(3)
    calls = []
    for step in interview().steps:
        if step["kind"] == "choice":
            known = [option["id"] for option in step["options"]]
        elif step["kind"] == "text":
            known = list(range(len(step["rubric"])))
        elif step["kind"] == "order":
            known = list(range(len(step["lines"])))
        else:
            continue
        for _ in range(60):
            size = len(known) if step["kind"] == "order" else rng.randrange(len(known) + 1)
            calls.append((step, rng.sample(known, size), []))
        if step["kind"] == "order":
            calls.append((step, known, []))
    answers = javascript(answered=calls)
    assert {0, 1} < set(answers)
    for (step, given, _), theirs in zip(calls, answers, strict=True):
        assert grade(step, given)[0] == theirs, (step["id"], given)


def test_both_pick_the_same_steps(javascript):
    calls = [(seed, count, 18) for seed in (0, 1, 77, 2**31, 2**32 - 1) for count in (0, 4, 8, 18)]
    assert javascript(picked=calls) == [picked(*call) for call in calls]


def test_both_say_how_they_read(javascript):
    texts = [*known_right(), *hostile()]
    assert javascript(reading=[[text] for text in texts]) == [grader.reading(t) for t in texts]
