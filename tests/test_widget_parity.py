"""The script's formulas against Python's, on a generated grid, and its logic without a page."""

import dataclasses
import datetime
import itertools
import json
import math

import numpy as np
import pytest
import test_flash_cards

from specmini import catalog, roofline, theory
from specmini.exact.rules import RULES
from specmini.practice import schedule
from specmini.roofline.deployment import Deployment
from specmini.roofline.experts import Experts
from specmini.roofline.machine import Machine
from specmini.roofline.ridge import model_ridge_tokens
from specmini.roofline.shape import LatentAttention, Model
from specmini.theory.drafter_map import CHEAPEST, LEVELS, contour, speedup_at
from specmini.widgets import (
    DrafterExplorer,
    OverlapExplorer,
    RooflineExplorer,
    SpeedupExplorer,
    assemble,
    passage,
    recorded,
)
from specmini.widgets.load import MACHINES, peak_of
from specmini.widgets.settings import RANGES, SettingError

TOLERANCE = 1e-12
NEAR_TIE = 1e-13
ROUNDED_AWAY = 1e-15  # what differences of chances may keep of their last digits
EDGES = (0.0, 1e-9, 1e-4, 1 - 1e-4, 1 - 1e-9, 1.0)
ALPHAS = sorted({*EDGES, *np.linspace(0.05, 0.95, 19).round(12).tolist(), 1 / 3, 0.8333})
COSTS = (0.0, 1e-9, 0.005, 0.04, 0.1, 1 / 3, 0.7, 1.0)
LENGTHS = (0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 64)
VERIFY_COSTS = (1.0, 1.002, 1.6, 5.0)
TEMPERATURES = (0, 1e-3, 0.05, 0.3, 0.7, 1, 1.15, 2)
LOADS_EACH = 25
TODAY = datetime.date(2026, 12, 1)
# What the catalog may lack: a machine without gaps, and shapes that use every part of a pass.
WHOLE_MACHINE = Machine(
    *("whole", 1e15, 3e12, 1.5e11, "made up", TODAY),
    peak_flops_8bit=2e15,
    peak_flops_4bit=4e15,
    interconnect=4.5e11,
)
SHAPE = ("layers", "hidden", "intermediate", "heads", "kv_heads", "head_dim", "vocabulary")
SHAPES = {
    "windows and experts": (
        (36, 2880, 2880, 64, 8, 64, 201088),
        {
            "windowed_layers": 18,
            "window": 128,
            "biases": True,
            "sinks": True,
            "experts": Experts(128, 4, 2880, router_bias=True),
        },
    ),
    "latent, shared and dense": (
        (61, 7168, 18432, 128, 1, 192, 129280),
        {
            "latent": LatentAttention(512, 64, 128, 1536),
            "experts": Experts(256, 8, 2048, shared_width=2048, dense_layers=3),
        },
    ),
    "every expert": ((4, 64, 256, 8, 2, 8, 500), {"experts": Experts(4, 4, 32)}),
    "all windows": ((12, 768, 3072, 16, 16, 64, 50257), {"windowed_layers": 12, "window": 1}),
    "two matrices": (
        (12, 768, 3072, 16, 16, 64, 50257),
        {"gated_mlp": False, "biases": True, "norm_biases": True, "positions": 1024},
    ),
}


def made_up_models():
    for name, (sizes, more) in SHAPES.items():
        shape = dict(zip(SHAPE, sizes, strict=True))
        yield Model(name=name, **shape, tied_embeddings=False, source="", checked_on=TODAY, **more)


def pairs():
    """Machine and model, each as Python has it and as a call names it."""
    catalog_machines = [(key, catalog.machine(key)) for key in MACHINES]
    for key, machine in [*catalog_machines, (None, WHOLE_MACHINE)]:
        name = key or assemble.machine_entry(machine)
        for model_key, model in catalog.models().items():
            yield machine, model, name, model_key
        for model in made_up_models():
            yield machine, model, name, assemble.model_entry(model)


def random_runs(rng, machine, model):
    """A deployment of the pair with all that it allows, and the same as the script takes it."""
    devices = [1]
    if machine.interconnect is not None:
        devices = [count for count in (1, 2, 4, 8) if model.heads % count == 0]
    arithmetic = [bits for bits in (16, 8, 4) if peak_of(machine, bits) is not None]
    how = {
        "bits": int(rng.choice((16, 8, 4))),
        "arithmetic": int(rng.choice(arithmetic)),
        "devices": int(rng.choice(devices)),
        "overhead": dict(
            zip(
                ("perPass", "perLayer", "perSequence", "perToken", "transfer"),
                (rng.choice((0.0, 1e-5), 5) * rng.random(5)).tolist(),
                strict=True,
            )
        ),
    }
    deployment = Deployment(
        machine,
        model,
        bytes_per_weight=how["bits"] / 8,
        arithmetic_bits=how["arithmetic"],
        devices=how["devices"],
        overhead=roofline.Overhead(*how["overhead"].values()),
    )
    return deployment, how


def random_loads(rng):
    """Batches, new tokens and contexts, most of them small, some at the ends of their ranges."""
    batch = np.exp(rng.uniform(0, np.log(513), LOADS_EACH)).astype(int)
    new = rng.choice((1, 2, 3, 4, 5, 6, 9, 17, 65), LOADS_EACH)
    context = np.exp(rng.uniform(0, np.log(131073), LOADS_EACH)).astype(int) - 1
    context[:3] = (0, 127, 131072)
    return batch, new, context


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
    accepted = [(share * length, length) for share in ALPHAS for length in LENGTHS if length]
    needed, lengths = (np.array(column) for column in zip(*accepted, strict=True))
    rates = theory.break_even_acceptance(0.0, lengths, 1 + needed)
    yield "acceptance_for", [(1 + a - 1, b) for a, b in accepted], rates
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
    roofline_points = sum(1 for _ in pairs()) * LOADS_EACH
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


def test_passes_agree(javascript):
    rng = np.random.default_rng(4)
    points, expected = [], []
    for machine, model, *names in pairs():
        deployment, how = random_runs(rng, machine, model)
        loads = random_loads(rng)
        points += [[*names, how, *load] for load in zip(*(x.tolist() for x in loads), strict=True)]
        ours = deployment.pass_time(*loads)
        columns = (
            *(ours.time, ours.weights_time, ours.attention_time, ours.communication_time),
            *(ours.overhead_time, ours.weight_bytes, ours.kv_bytes, ours.linear_flops),
            *(ours.attention_flops, ours.experts_touched, ours.memory_needed),
            *(ours.bound == "compute", ours.attention_bound == "compute", ours.fits),
        )
        expected += zip(*columns, strict=True)
    assert_equal_numbers(javascript(pass_time=points), expected)


def test_verify_costs_agree(javascript):
    rng = np.random.default_rng(5)
    points, expected = [], []
    for machine, model, *names in pairs():
        deployment, how = random_runs(rng, machine, model)
        batch, new, context = random_loads(rng)
        loads = (batch, new - 1, context)
        points += [[*names, how, *load] for load in zip(*(x.tolist() for x in loads), strict=True)]
        expected += deployment.verify_cost(*loads).tolist()
    assert_equal_numbers(javascript(verify_cost=points), expected)


def test_ridges_agree(javascript):
    rng = np.random.default_rng(6)
    points, expected = [], []
    for machine, model, *names in pairs():
        deployment, how = random_runs(rng, machine, model)
        points.append([*names, how])
        expected.append(model_ridge_tokens(deployment))
    assert_equal_numbers(javascript(ridge_tokens=points), expected)


def test_the_roofline_explorer_agrees_with_its_python_side(javascript):
    rng = np.random.default_rng(7)
    settings, expected = [], []
    for machine, model in itertools.product(MACHINES, catalog.models()):
        _, how = random_runs(rng, catalog.machine(machine), catalog.model(model))
        setting = {
            "machine": machine,
            "model": model,
            "weight_bits": how["bits"],
            "arithmetic_bits": how["arithmetic"],
            "devices": how["devices"],
            "batch": int(rng.integers(1, 513)),
            "K": int(rng.integers(0, 17)),
            "context": int(rng.integers(0, 131073)),
            "overhead_ms": round(float(rng.random()), 3),
        }
        ours = RooflineExplorer(**setting)
        settings.append([setting])
        expected.append(
            (
                *(ours.step.time, ours.check.time, ours.verify_cost, ours.ridge_tokens),
                *(ours.largest_batch, ours.check.fits),
            )
        )
    assert_equal_numbers(javascript(roof=settings), expected)


def test_both_sides_refuse_the_same_combinations_in_the_same_words(javascript):
    ours = RooflineExplorer(machine="l4")
    now = {name: getattr(ours, name) for name in ("machine", "model", "arithmetic_bits", "devices")}
    asked, sentences = [], []
    for machine, model in itertools.product(MACHINES, catalog.models()):
        for bits, devices in itertools.product((16, 8, 4), (1, 2, 4, 8)):
            changed = {"machine": machine, "model": model}
            changed |= {"arithmetic_bits": bits, "devices": devices}
            try:
                sentence = ours.require_possible(**changed)
            except SettingError as refused:
                sentence = str(refused)
            asked.append([{**now, **changed}])
            sentences.append(sentence)
    assert javascript(impossible=asked) == sentences
    assert None in sentences
    assert len(set(sentences)) > 3


def test_the_explorer_agrees_with_its_python_side(javascript):
    settings, expected = [], []
    ours = SpeedupExplorer()
    choices = itertools.product(MACHINES, catalog.models(), (1, 48, 512))
    for number, (machine, model, batch) in enumerate(choices):
        setting = {
            "alpha": ALPHAS[number % len(ALPHAS)],
            "c": COSTS[number % len(COSTS)],
            "K": number % 17,
            "batch": batch,
            "machine": machine,
            "model": model,
            "context": (0, 1024, 8192)[number % 3],
            "weight_bits": (16, 8, 4)[number % 5 % 3],
            "devices": 1,
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
    calls = [[wrong, {**mild, "rule": "textbook"}]]
    calls += [[hand, {**mild, "rule": rule}] for rule in RULES[1:]]
    calls += [[wrong, {**cold, "rule": "textbook"}], [hand, {**cold, "rule": "textbook"}]]
    assert javascript(overlap_words=calls) == [
        [
            "Textbook: 13% accepted.",
            "That much the two share. Most often rejected: “gate”. Most often recovered: “door”.",
            "textbook",
            "“door” 0.44, “window” 0.25, the rest 0.31",
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


def drafter_settings():
    """Places on the map with every kind of cost, and K both best and not."""
    rates, costs = ALPHAS[::2], (0.0, 1e-4, 0.005, 0.04, 0.1, 1 / 3, 1.0)
    for number, (alpha, c, v, h) in enumerate(
        itertools.product(rates, costs, (1, 1.25, 3), (0, 0.3, 1))
    ):
        yield {"alpha": alpha, "c": c, "v": v, "h": h, "K": number % 17}


def test_the_drafter_explorer_agrees_with_its_python_side(javascript):
    calls, expected = [], []
    points = DrafterExplorer().points
    for setting in drafter_settings():
        ours = DrafterExplorer(**setting)
        calls.append([{name: getattr(ours, name) for name in setting}, points])
        expected.append(
            (
                [
                    *(ours.tokens_per_round, ours.round_cost, ours.speedup),
                    *(ours.best_speedup, ours.with_half_the_price, ours.with_half_the_misses),
                ],
                ours.best_draft_length,
                list(ours.near),
                [
                    float(speedup_at(ours.alpha, ours.c, K, ours.v, ours.h))
                    for K in range(RANGES["K"].high + 1)
                ],
            )
        )
    assert len(calls) >= 800
    answers = javascript(placed=calls)
    for (numbers, best, near), (ours, our_best, our_near, curve) in zip(
        answers, expected, strict=True
    ):
        assert numbers == pytest.approx(ours, rel=TOLERANCE, abs=0.0)
        assert near == our_near
        if best != our_best:  # only a difference below rounding may decide otherwise
            assert curve[best] == pytest.approx(curve[our_best], rel=NEAR_TIE, abs=0.0)


def test_lines_of_equal_speedup_agree(javascript):
    costs = np.geomspace(CHEAPEST, 1, 41)
    grid = list(itertools.product((1, *LEVELS), (1.0, 1.5, 4.0), (0.2, 0.75, 1.0)))
    calls = [[level, cost, v, h] for level, v, h in grid for cost in costs.tolist()]
    lengths = range(1, RANGES["K"].high + 1)
    expected = np.concatenate([contour(level, costs, lengths, v, h) for level, v, h in grid])
    assert_equal_numbers(javascript(iso_speedup=calls), expected)


def test_places_on_the_map_are_told_in_words(javascript):
    points = DrafterExplorer().points[3:6]
    still = {"alpha": 0.8, "c": 0.05, "v": 1, "h": 1}
    calls = [[{**still, "K": 8}, points], [{**still, "K": 2}, points], [{**still, "K": 0}, points]]
    calls.append([{**still, "alpha": 0.2, "c": 0.6, "K": 1}, points])
    near = (
        "2 Medusa-2, Vicuna-7B (2.83×); 3 EAGLE, Vicuna-7B (2.90×); "
        "1 prompt lookup, Vicuna-7B (1.66×)"
    )
    change = "half the price: 3.66×; half the misses: 4.67×; better guesses are worth more"
    round = "A round writes {} tokens for {} plain steps."
    best = " K = 8 would give 3.09×."
    answers = javascript(placed_words=calls)
    assert answers[:3] == [
        ["Wins, 3.09×", round.format("4.33", "1.40"), change, near],
        ["Wins, 2.22×", round.format("2.44", "1.10") + best, change, near],
        ["Plain decoding", "Nothing is drafted." + best, change, near],
    ]
    assert answers[3][:3] == [
        "Loses, 0.75×",
        round.format("1.20", "1.60") + " No K wins here.",
        "half the price: 1.00×; half the misses: 1.00×; both are worth the same",
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


def random_memory(rng):
    first, last = sorted(int(day) for day in rng.integers(19_000, 20_001, 2))
    return {
        "repetitions": int(rng.integers(0, 9)),
        "ease": int(rng.integers(130, 400)),
        "interval": int(np.exp(rng.uniform(0, 10.5))),
        "last": last,
        "first": first,
        "drill": bool(rng.integers(0, 2)),
    }


def test_reviews_agree_to_the_day(javascript):
    rng = np.random.default_rng(8)
    calls, expected = [], []
    for _ in range(5000):
        known = random_memory(rng) if rng.random() < 0.9 else None
        today = (known["last"] if known else 20_000) + int(rng.integers(0, 3))
        grade = str(rng.choice(schedule.grades))
        calls.append([known, grade, today])
        ours = schedule.review(known and schedule.Memory(**known), grade, today)
        expected.append(dataclasses.asdict(ours))
    assert javascript(review=calls) == expected
    assert {one["interval"] for one in expected} > {1, 6, 36_500}


def test_queues_agree(javascript):
    rng = np.random.default_rng(9)
    calls, expected = [], []
    deck = [f"card-{number}" for number in range(30)]
    for _ in range(1000):
        known = {str(card): random_memory(rng) for card in rng.permutation(deck)[:15]}
        for card in list(known)[:3]:  # seen today
            known[card] |= {"last": 20_000, "first": int(rng.choice((19_000, 20_000)))}
        shown = [str(card) for card in rng.permutation(deck)[:20]]
        call = [known, shown, 20_000, int(rng.integers(0, 12))]
        calls.append(call)
        memories = {card: schedule.Memory(**entry) for card, entry in known.items()}
        expected.append(schedule.queue(memories, *call[1:]))
    assert javascript(queue=calls) == expected
    assert len({len(ids) for ids in expected}) > 5


def test_progress_is_exported_and_refused_alike(javascript):
    rng = np.random.default_rng(10)
    known = {f"card-{number}": random_memory(rng) for number in range(40)}
    memories = {card: schedule.Memory(**entry) for card, entry in known.items()}
    assert javascript(exported=[[known]]) == [schedule.dumps(memories)]
    texts = [text for text, _ in test_flash_cards.REFUSED]
    texts += [
        json.dumps({"format": schedule.FORMAT, "memories": entries})
        for entries, _ in test_flash_cards.BAD_MEMORIES
    ]
    texts += [schedule.dumps(memories), schedule.dumps({})]
    # A whole number may have a point or an exponent, and one may be too long for a float.
    fields = json.dumps(test_flash_cards.FIELDS)
    for written in ("5.0", "5e0", "1e400", "-5", "9" * 400, "0.5"):
        entry = fields.replace('"last": 5', f'"last": {written}')
        texts.append(f'{{"format": "{schedule.FORMAT}", "memories": {{"a": {entry}}}}}')
    expected = []
    for text in texts:
        try:
            expected.append(len(schedule.loads(text)))
        except ValueError as error:
            expected.append(str(error))
    assert javascript(imported=[[text] for text in texts]) == expected
    assert {40, 0, 1} <= set(expected)


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
