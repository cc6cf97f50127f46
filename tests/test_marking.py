"""Grading of marks: by hand, by properties that any grade must have, and in JavaScript."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini.practice import marking
from specmini.practice.passages import built, passage, passages
from specmini.widgets.spot import as_content

SMALL = built(
    {
        "id": "small",
        "title": "Small",
        "text": "One [two three](a) four [five](b). Six seven [eight](c) nine [ten eleven](d).",
        "spans": {
            name: {"verdict": verdict, "why": "It is so.", "shown": "speedup"}
            for name, verdict in zip("abcd", ("wrong", "right", "outdated", "right"), strict=True)
        },
    }
)
# positions: One 0, two three 1-2 (a), four 3, five 4 (b), six seven 5-6, eight 7 (c), nine 8, ten
# eleven 9-10 (d)


@pytest.mark.parametrize(
    ("marks", "found", "wrongly", "strays"),
    [
        ((), "", "", 0),
        ((1,), "a", "", 0),
        ((2, 7), "ac", "", 0),
        ((4,), "", "b", 0),
        ((5, 6), "", "", 1),
        ((0, 3), "", "", 2),
        ((6, 8), "", "", 2),
        (range(11), "ac", "bd", 4),
    ],
)
def test_grades_by_hand(marks, found, wrongly, strays):
    grade = marking.grade(SMALL, marks)
    assert grade.found == tuple(found)
    assert grade.wrongly == tuple(wrongly)
    assert grade.strays == strays
    assert grade.marks == len(found) + len(wrongly) + strays


def test_precision_recall_and_score_in_words():
    grade = marking.grade(SMALL, [1, 4, 5])
    assert (grade.precision, grade.recall, grade.score) == (1 / 3, 1 / 2, 2 / 5)
    assert str(grade) == (
        "1 of 2 errors found with 3 marks. Precision 1/3: the marks that are errors. "
        "Recall 1/2: the errors that are marked. "
        "Score 40%: twice the errors found over marks plus errors."
    )
    assert str(marking.grade(SMALL, [])) == "Nothing is marked yet; 2 errors to find."
    assert marking.grade(SMALL, []).precision == 0


def test_hints_by_hand():
    hints = [marking.hint(SMALL, [], step) for step in (1, 2, 3)]
    assert hints == [
        "There are 2 errors in this paragraph.",
        "Errors not yet marked: sentence 1: 1; sentence 2: 1.",
        "The next error begins with “two”.",
    ]
    assert marking.hint(SMALL, [1], 3) == "The next error begins with “eight”."
    assert marking.hint(SMALL, [1, 7], 2) == "All errors are marked."
    with pytest.raises(ValueError, match=r"step must be a whole number in \[1, 3\], got 4"):
        marking.hint(SMALL, [], 4)


@pytest.mark.parametrize("mark", [-1, 11, 1.0, True, "1", None])
def test_a_mark_outside_the_paragraph_is_refused(mark):
    with pytest.raises(ValueError, match=r"marks must be whole numbers in \[0, 10\], got"):
        marking.grade(SMALL, [mark])


paragraphs = st.sampled_from(passages())


@st.composite
def marked_paragraphs(draw):
    one = draw(paragraphs)
    return one, draw(st.sets(st.integers(0, len(one.words) - 1)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(marked_paragraphs())
def test_any_grade_is_consistent(case):
    one, marks = case
    grade = marking.grade(one, marks)
    assert set(grade.found) | set(grade.missed) == {span.id for span in one.errors}
    assert not set(grade.found) & set(grade.missed)
    assert all(0 <= part <= 1 for part in (grade.precision, grade.recall, grade.score))
    if grade.found:  # the score is the harmonic mean of the other two
        mean = 2 * grade.precision * grade.recall / (grade.precision + grade.recall)
        assert grade.score == pytest.approx(mean)
    else:
        assert grade.score == 0
    whole = marking.completed(one, marks)
    assert marking.grade(one, whole) == grade
    assert marking.completed(one, whole) == whole
    assert set(marks) <= set(whole)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(marked_paragraphs())
def test_only_the_errors_and_nothing_else_score_one(case):
    one, marks = case
    exact = {position for span in one.errors for position in span.positions}
    assert marking.grade(one, exact).score == 1
    grade = marking.grade(one, marks)
    assert (grade.score == 1) == (set(marking.completed(one, marks)) == exact)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(marked_paragraphs(), st.randoms(use_true_random=False))
def test_finding_one_more_helps_and_one_wrong_mark_hurts(case, rng):
    one, marks = case
    before = marking.grade(one, marks)
    if before.missed:
        chosen = rng.choice(before.missed)
        more = next(span for span in one.spans if span.id == chosen)
        assert marking.grade(one, {*marks, more.first}).score > before.score
    unmarked = [span for span in one.spans if not span.is_error and span.id not in before.wrongly]
    if unmarked and before.found:
        assert marking.grade(one, {*marks, rng.choice(unmarked).first}).score < before.score


@pytest.mark.parametrize("one", passages(), ids=lambda one: one.id)
def test_marking_everything_does_not_pay(one):
    grade = marking.grade(one, range(len(one.words)))
    assert grade.recall == 1
    assert grade.score < 0.75


def cases():
    """Every set of marks of the small paragraph, and random ones of all others."""
    rng = random.Random(20)
    for size in range(len(SMALL.words) + 1):
        for marks in itertools.combinations(range(len(SMALL.words)), size):
            if marking.completed(SMALL, marks) == marks:
                yield SMALL, list(marks)
    for one in passages():
        for chance in (0, 0.05, 0.2, 0.5, 1):
            for _ in range(12):
                marks = [n for n in range(len(one.words)) if rng.random() < chance]
                yield one, list(marking.completed(one, marks))
        chosen = [span for span in one.errors if rng.random() < 0.6]
        yield one, [position for span in chosen for position in span.positions]


def test_javascript_grades_and_hints_alike(javascript):
    known = list(cases())
    contents = {one.id: as_content(one) for one, _ in known}
    assert len(known) > 1000
    # One call with all contents, so that they travel once.
    answers = javascript(marking=[[contents, [[one.id, marks] for one, marks in known]]])[0]
    for (one, marks), answer in zip(known, answers, strict=True):
        grade = marking.grade(one, marks)
        for name in ("found", "missed", "wrongly"):
            assert answer[name] == list(getattr(grade, name)), (one.id, marks)
        for name in ("strays", "marks", "errors", "precision", "recall", "score"):
            assert answer[name] == getattr(grade, name), (one.id, marks)
        assert answer["words"] == str(grade)
        assert answer["hints"] == [marking.hint(one, marks, step) for step in (1, 2, 3)]


def test_javascript_marks_a_phrase_as_a_whole_and_unmarks_it(javascript):
    one = passage("batch")
    rng = random.Random(4)
    steps = [rng.randrange(len(one.words)) for _ in range(300)]
    answers = javascript(toggling=[[as_content(one), steps]])[0]
    marks = set()
    for step, answer in zip(steps, answers, strict=True):
        phrase = next((set(s.positions) for s in one.spans if step in s.positions), {step})
        marks = marks - phrase if step in marks else marks | phrase
        assert answer == sorted(marks)
        assert list(marking.completed(one, answer)) == answer
