"""The interview: right answers are accepted, wrong ones are refused and, if known, named."""

import math
import random
import re
import time

import pytest
from chapters import BOOK, load, markdown
from formulas import hostile, known_right, rewritten
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini import theory
from specmini.practice import expression
from specmini.practice.evaluation import evaluate, holds
from specmini.practice.expression import Node, names, parse, write
from specmini.practice.grader import figure, grade_formula, points, reading
from specmini.practice.interview import (
    check_step,
    grade,
    grade_typed,
    interview,
    picked,
)
from specmini.practice.symbols import FormulaError, symbols
from specmini.record.vllm_grid import plain_cells

POINT = {"α": 0.8, "K": 4, "c": 0.1, "v": 1.2, "j": 2, "E": 3.0}
STEPS = {step["id"]: step for step in interview().steps}
TYPED = [step for step in interview().steps if step["kind"] in ("formula", "condition", "number")]
by_step = pytest.mark.parametrize("step", TYPED, ids=lambda step: step["id"])


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2K", 8),
        ("Kc+1", 1.4),
        ("1/2K", 2),  # from the left, as every language does
        ("-a^2", -0.64),
        ("2^-1^2", 0.5),
        ("a**2", 0.64),
        ("(1-a)(1+K)", 1.0),
        ("[1−α]·{K}", 0.8),
        ("alphaK", 3.2),
        (r"\frac{1-\alpha^{\gamma+1}}{1-\alpha}", 3.3616),
        (r"\left(1+K\right) \cdot c", 0.5),
        ("sum_{i=0}^{K} a^i + 1", 4.3616),  # the body ends at the plus
        ("sum_{i=0}^K a^i (1-a)", 0.67232),
        ("Σ_(i=1)^K i", 10),
        ("sum(sum(1, j, 1, i), i, 1, K)", 10),
        ("sum(1, i, 3, 2)", 0),
        ("min(K, 2, 3) max(c, v)", 2.4),
        ("exp(ln(K)) log(exp(1))", 4),
        ("E = .5e1", 5),
        ("a K c", 0.32),
    ],
)
def test_formulas_are_read_as_written(text, value):
    assert evaluate(parse(text), POINT) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("(1-a^(K+1)", "I expected ) after column 10, but it ends there.", 10),
        ("(1-a]", "I expected ) after column 4, but found “]”.", 4),
        ("a+*c", "I expected a number, a name or ( after column 2, but found “*”.", 2),
        (")", "I expected a number, a name or ( at the beginning, but found “)”.", 0),
        ("K2", "I expected a sign such as + or * after column 1, but found “2”.", 1),
        ("0,8", "I expected a sign such as + or * after column 1, but found “,”.", 1),
        ("a > c > 1", "I expected a sign such as + or * after column 5, but found “>”.", 5),
        ("1+x", "I do not know the name “x” at column 3.", 3),
        ("ac&K", "I cannot read “&” at column 3.", 3),
        ("1 + … + a^K", "the dots at column 5; write sum_{i=0}^{K} α^i.", 5),
        ("3·1e999", "The number at column 3 is too large.", 3),
        ("min(a)", "min at column 1 takes 2 or more values, got 1.", 1),
        ("sum_{c=0}^K", "I expected an index such as i after column 5, but found “c”.", 5),
        ("sum i", "I expected ( after column 3, but found “i”.", 3),
        (r"\frac12", "I expected { after column 5, but found “12”.", 5),
        ("(" * 60 + "a", "More than 40 brackets stand inside each other at column 41.", 41),
        ("a^" * 60 + "a", "powers stand above each other", 80),
        ("a" * 201, "This is longer than 200 characters.", 0),
        (" ", "There is nothing to read yet.", 0),
    ],
)
def test_an_unreadable_formula_says_where_and_what_was_expected(text, message, column):
    with pytest.raises(FormulaError, match=re.escape(message)) as caught:
        parse(text)
    assert caught.value.column == column


def test_names_are_those_from_outside():
    node = parse("sum(a^i c, i, 0, K) + i")
    assert [(name.text, name.column) for name in names(node)] == [
        *(("α", 5), ("c", 9), ("K", 18), ("i", 23))
    ]
    assert [symbol.text for symbol in symbols("gamma K")] == ["K", "K", ""]


@pytest.mark.parametrize("text", ["1/(1-1)", "0^-1", "(-1)^(1/2)", "9^9^9^9", "log(0)", "exp(1e9)",
                                  "1e308·10", "sum(1,i,0,1/2)", "sum(1,i,0,1e9)",
                                  "sum(sum(1,i,0,9999),j,0,9999)"])  # fmt: skip
def test_what_has_no_value_is_nan(text):
    assert math.isnan(evaluate(parse(text), POINT))


def test_a_relation_holds_or_does_not_or_has_no_value():
    assert holds(parse("a > c"), POINT) is True
    assert holds(parse("a ≤ c"), POINT) is False
    assert holds(parse("a > 1/0"), POINT) is None


def trees(leaves):
    binary = st.sampled_from("+-*/^")
    node = st.builds(lambda kind, *parts: Node(kind, "", parts, 1), binary, leaves, leaves)
    negative = st.builds(lambda part: Node("negative", "", (part,), 1), leaves)
    call = st.builds(lambda *parts: Node("call", "max", parts, 1), leaves, leaves)
    return st.one_of(node, negative, call)


LEAVES = st.one_of(
    st.sampled_from(["α", "K", "c", "v"]).map(lambda name: Node("name", name, (), 1)),
    st.integers(0, 9).map(lambda number: Node("number", str(number), (), 1)),
)
TREES = st.recursive(LEAVES, trees, max_leaves=8)


def shape(node):
    return (node.kind, node.text, *map(shape, node.parts))


@given(TREES)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_what_is_written_is_read_as_the_same_tree(node):
    assert shape(parse(write(node))) == shape(node)


@given(TREES, st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_equivalent_rewrites_are_accepted(node, seed):
    """Unless the formula has no value somewhere: then it is never right, however it is written."""
    text = write(node)
    other = rewritten(text, random.Random(seed))
    verdict = grade_formula(other, text, allowed=["α", "K", "c", "v"])
    values = [evaluate(node, point) for point in points()]
    wild = any(math.isnan(value) or abs(value) > 1e8 for value in values)
    assert verdict.kind == "right" or wild, (text, other)
    if any(map(math.isnan, values)):
        assert verdict.kind != "right"


@given(TREES, st.sampled_from(["+ 1/1000", "· 1.001", "+ c/100", "− (α − 1/2)/100", "· (K + v)"]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_perturbed_formulas_are_refused(node, change):
    text = write(node)
    values = [evaluate(node, point) for point in points()]
    if any(math.isnan(value) or abs(value) > 1e4 for value in values) or not any(values):
        return
    verdict = grade_formula(f"({text}) {change}", text, allowed=["α", "K", "c", "v"])
    assert verdict.kind == "wrong", text


@given(st.text(max_size=220))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_any_text_is_harmless(text):
    verdict = grade_typed(STEPS["expected-tokens"], text)
    assert verdict.kind in ("unreadable", "wrong", "known", "right")
    assert verdict.note or verdict.kind != "unreadable"
    assert reading(text)


@pytest.mark.parametrize("text", hostile(), ids=lambda text: repr(text[:24]))
def test_hostile_input_is_harmless_and_quick(text):
    for step in (STEPS["expected-tokens"], STEPS["break-even"], STEPS["best-k"]):
        taken = []
        for _ in range(2):  # the lesser counts: other work on the machine only ever adds
            start = time.process_time()
            verdict = grade_typed(step, text)
            taken.append(time.process_time() - start)
        assert min(taken) < 0.5
        assert verdict.kind != "right" or text in ("sum_i=0^K a^i", "α≥c")
    assert len(reading(text)) < 2000


# --- verdicts ------------------------------------------------------------------------------------


@by_step
def test_right_is_right_and_every_known_wrong_form_is_named(step):
    right = step["right"] if isinstance(step["right"], str) else repr(step["right"])
    assert grade_typed(step, right).kind == "right"
    for one in step["wrong"]:
        verdict = grade_typed(step, one["formula"])
        assert (verdict.kind, verdict.misconception) == ("known", one["misconception"]), one


@by_step
def test_rewritten_answers_get_the_same_verdict(step):
    rng = random.Random(4)
    forms = [one["formula"] for one in step["wrong"]]
    forms += [step["right"]] if isinstance(step["right"], str) else []
    for form in forms:
        for _ in range(4):
            other = rewritten(form, rng)
            assert grade_typed(step, other).misconception == grade_typed(step, form).misconception
            assert grade_typed(step, other).kind == grade_typed(step, form).kind, other


def test_many_misconceptions_are_known():
    used = {one["misconception"] for step in TYPED for one in step["wrong"]}
    assert used == set(interview().misconceptions)
    assert len(used) >= 30


@pytest.mark.parametrize(
    ("step", "text", "misconception"),
    [
        ("expected-tokens", "(1-a^K)/(1-a)", "exponent-k"),
        ("expected-tokens", "sum_{i=0}^{K-1} a^i", "exponent-k"),
        ("expected-tokens", "sum_{i=1}^{K} a^i", "own-token-forgotten"),
        ("expected-tokens", "1-a^{K+1}/(1-a)", "brackets"),
        ("speedup", "(1-a^(K+1))/(1-a)(Kc+1)", "brackets"),
        ("speedup", "K", "flat-k"),
        ("speedup-number", "1.687", "own-token-forgotten"),
        ("speedup-number", "3.36", "cost-not-counted"),
        ("speedup-number", "0.42", "ratio-inverted"),
        ("round-cost", "1+K/c", "c-upside-down"),
        ("measured-check", "E/(1+Kc)", "v-forgotten"),
        ("best-k", "4", "k-nearly-as-good"),
        ("break-even", "c > a", "reversed"),
        ("break-even-measured", "ρ > c", "v-forgotten"),
    ],
)
def test_the_misconception_is_told(step, text, misconception):
    assert grade_typed(STEPS[step], text).misconception == misconception


@pytest.mark.parametrize(
    ("step", "text", "note"),
    [
        ("expected-tokens", "K+2", "At α = 0.8, K = 4 yours gives 6; it should be 3.3616."),
        ("expected-tokens", "1/(a-0.8)", "At α = 0.8, K = 4 yours has no value."),
        ("expected-tokens", "a > c", "c at column 5 has no place here; use K, α."),
        ("expected-tokens", "a > K", "This step asks for a formula without > or <."),
        ("break-even", "c", "This step asks for a condition, with > or <."),
        ("best-k", "a > 3", "This step asks for a number."),
        ("best-k", "17.5", "I read 17.5; that is not it."),
        ("best-k", "1/0", "This has no value: it divides by 0, or is too large."),
        ("best-k", "K", "K at column 1 has no place here; use c, α."),
        ("expected-tokens", "(1-α^(γ+1))/(1-α)",
         "γ is the paper's name for the draft length; I read it as K."),
    ],
)  # fmt: skip
def test_other_verdicts_say_why(step, text, note):
    assert grade_typed(STEPS[step], text).note == note


def test_a_wrong_condition_is_answered_with_a_case():
    verdict = grade_typed(STEPS["break-even"], "a > 2c")
    case = re.fullmatch(
        r"At α = ([\d.]+), c = ([\d.]+) your condition does not hold, but the round wins\.",
        verdict.note,
    )
    rate, cost = float(case[1]), float(case[2])
    assert rate < 2 * cost
    assert theory.speedup(rate, cost, 1) > 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (3.3616, "3.3616"), (-2.0, "−2"), (1e-7, "1·10^−7"), (1.25e20, "1.25·10^20")],
)
def test_figures(value, text):
    assert figure(value) == text


def test_the_points_reach_both_ends_and_both_sides():
    rates = sorted(point["α"] for point in points())
    assert rates[0] < 1e-5
    assert rates[-1] > 1 - 1e-5
    for step in ("break-even", "break-even-measured"):
        sides = [holds(parse(STEPS[step]["right"]), point) for point in points()]
        assert 10 < sum(sides) < 30
    assert all(point["j"] < point["K"] for point in points())
    assert len({tuple(point.values()) for point in points()}) == len(points()) == 40


def test_right_forms_are_the_theory():
    """The formulas of the file, against the package that the book rests on."""
    for point in points():
        a, c, v, length = point["α"], point["c"], point["v"], int(point["K"])
        expected = {
            "all-accepted": theory.tokens_distribution(a, length)[-1],
            "expected-tokens": theory.tokens_per_round(a, length),
            "accepted-drafts": theory.tokens_per_round(a, length) - 1,
            "round-cost": theory.round_cost(c, length),
            "speedup": theory.speedup(a, c, length),
            "ceiling": theory.speedup_bound(a),
            "measured-check": theory.speedup(a, c, length, v),
        }
        place = {**point, "E": theory.tokens_per_round(a, length)}
        for name, value in expected.items():
            found = evaluate(parse(STEPS[name]["right"]), place)
            assert found == pytest.approx(float(value), rel=1e-8, abs=1e-9), name
        exactly = evaluate(parse(STEPS["exactly-j"]["right"]), place)
        stops_there = theory.tokens_distribution(a, length)[int(point["j"])]
        assert exactly == pytest.approx(stops_there, rel=1e-8, abs=1e-12)
        wins = point["ρ"] > theory.overhead_per_draft(c, length, v)
        assert holds(parse(STEPS["break-even-measured"]["right"]), point) == wins
        assert holds(parse(STEPS["break-even"]["right"]), point) == (theory.speedup(a, c, 1) > 1)
    assert STEPS["best-k"]["right"] == theory.best_draft_length(0.8, 0.1)
    assert theory.longest_winning_draft(0.8, 0.1) == 39  # the misconception's number
    times = {cell.concurrency: cell.mean_tpot_ms for cell in plain_cells()}
    check = STEPS["check-from-plain-times"]
    assert check["right"] == pytest.approx(times[128] / times[32], rel=1e-12)
    assert all(f"{times[users]:.2f} ms" in check["prompt"] for users in (1, 32, 128))


# --- the other kinds -----------------------------------------------------------------------------


def test_choices_orders_and_rubrics_are_scored():
    loses = STEPS["loses"]
    right = [option["id"] for option in loses["options"] if option["right"]]
    assert grade(loses, right) == (1.0, None)
    assert grade(loses, []) == (0.5, None)
    assert grade(loses, right[:2])[0] == pytest.approx(5 / 6)
    proof = STEPS["lossless-proof"]
    lines = list(range(len(proof["lines"])))
    assert grade(proof, lines)[0] == 1
    assert grade(proof, [0, 1, 3, 2, *lines[4:]])[0] == 2 / 7
    assert grade(STEPS["one-minute"], [0, 5])[0] == 2 / 7


@pytest.mark.parametrize(
    ("step", "given", "message"),
    [
        ("speedup", 3, "answer to 'speedup' must be a string, got 3"),
        ("loses", "dear-draft", "must be a list of different items"),
        ("loses", ["dear-draft", "dear-draft"], "must be a list of different items"),
        ("loses", ["x"], "must hold some of"),
        ("one-minute", [9], "must hold some of [0, 1, 2, 3, 4, 5, 6], got 9"),
        ("one-minute", [True], "must hold some of"),
        ("lossless-proof", [0, 1], "must hold each place once"),
    ],
)
def test_an_answer_of_another_form_is_refused(step, given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        grade(STEPS[step], given)


def test_a_mock_interview_is_chosen_by_its_seed():
    assert picked(5, 6, 18) == picked(5, 6, 18) != picked(6, 6, 18)
    assert sorted(picked(1, 18, 18)) == list(range(18))
    counts = [0] * 18
    for seed in range(600):
        for place in picked(seed, 6, 18):
            counts[place] += 1
    # Seeds are fixed, so nothing here is left to chance; each step is expected 200 times.
    assert 140 < min(counts) <= max(counts) < 260
    with pytest.raises(ValueError, match=r"count must be a whole number in \[0, 18\], got 19"):
        picked(1, 19, 18)


# --- the file ------------------------------------------------------------------------------------


GOOD = {
    **{"id": "a-b", "kind": "formula", "title": "T", "prompt": "P", "hints": ["h"]},
    **{"answer": "A", "chapter": "tokens", "names": ["α"], "right": "a"},
    "wrong": [{"formula": "1-a", "misconception": "m"}],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "riddle"}, "kind of step 'a-b' must be one of 'formula', 'condition'"),
        ({"id": "A b"}, "id of step 'A b' must be lower-case words with hyphens"),
        ({"chapter": "toks"}, "chapter of step 'a-b' must be one of 'tokens', got 'toks'"),
        ({"hints": []}, "hints of step 'a-b' must be texts, at least 1, got []"),
        ({"title": ""}, "title of step 'a-b' must be texts"),
        ({"names": "α"}, "names of step 'a-b' must be texts"),
        ({"right": "a+"}, "I expected a number"),
        ({"wrong": []}, "wrong of step 'a-b' must be a list of at least one, got []"),
        ({"wrong": [{"formula": "a", "misconception": "x"}]}, "misconception of step 'a-b'"),
        ({"colour": 1}, "step 'a-b' must have the fields id, kind"),
        ({"kind": "choice"}, "step 'a-b' must have the fields"),
    ],
)
def test_a_malformed_step_is_refused(change, message):
    assert check_step(GOOD, ("tokens",), ("m",)) == GOOD
    with pytest.raises(ValueError, match=re.escape(message)):
        check_step({**GOOD, **change}, ("tokens",), ("m",))
    with pytest.raises(ValueError, match="kind of step must be one of"):
        check_step(["x"], ("tokens",), ("m",))


def test_chapters_are_named_as_the_book_names_them():
    for page, title in interview().chapters.items():
        assert markdown(load(BOOK / f"{page}.ipynb"))[0].startswith(f"# {title}\n")


def test_the_grammar_of_the_docstring_is_complete():
    for kind in ("relation", "sum", "product", "power", "atom"):
        assert f"- {kind}: " in expression.__doc__
    assert len(known_right()) >= 25
