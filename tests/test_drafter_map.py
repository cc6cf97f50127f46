"""The map of drafters: places, lines of equal speedup, and what was published."""

import tomllib
from importlib import resources

import numpy as np
import pytest

from specmini import theory
from specmini.record.published_drafters import published_drafters
from specmini.theory import hit_rate
from specmini.theory.drafter_map import (
    CHEAPEST,
    DrafterPoint,
    contour,
    equivalent_chain,
    nearest,
    speedup_at,
)

LENGTHS = np.arange(1, 17)


def point(name, alpha, cost, gain=2.0):
    return DrafterPoint(name, "head", alpha, cost, 3, gain, "here")


@pytest.mark.parametrize("tokens", [1.0, 1.7, 3.5, 5.0])
@pytest.mark.parametrize("steps", [0.9, 1.0, 1.8])
def test_the_equivalent_chain_has_the_speedup_of_the_round(tokens, steps):
    alpha, cost = equivalent_chain(tokens, steps, 4)
    assert float(theory.tokens_per_round(alpha, 4)) == pytest.approx(tokens, rel=1e-12)
    assert 1 + 4 * cost == pytest.approx(steps, rel=1e-12)


def test_a_chain_is_its_own_equivalent():
    tokens = float(theory.tokens_per_round(0.7, 5))
    assert equivalent_chain(tokens, 1 + 5 * 0.1, 5) == pytest.approx((0.7, 0.1))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((5.1, 1.0, 4), r"tokens_per_round must be in \[1, 5\], got 5.1"),
        ((0.9, 1.0, 4), r"tokens_per_round must be in \[1, 5\], got 0.9"),
        ((2.0, 0.0, 4), "steps_per_round must be"),
        ((2.0, 1.0, 0), "draft_length must be a whole number"),
    ],
)
def test_what_an_equivalent_chain_refuses(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        equivalent_chain(*arguments)


@pytest.mark.parametrize("level", [1.0, 1.3, 2.0, 4.0])
@pytest.mark.parametrize(("verify", "hit"), [(1.0, 1.0), (1.4, 1.0), (1.0, 0.3), (2.0, 0.6)])
def test_on_a_line_the_best_length_gains_its_level_and_no_less_will_do(level, verify, hit):
    costs = np.geomspace(CHEAPEST, 1, 30)
    rates = contour(level, costs, LENGTHS, verify, hit)

    def best(alpha, cost):
        return float(speedup_at(alpha, cost, LENGTHS, verify, hit).max())

    for alpha, cost in zip(rates, costs, strict=True):
        if np.isnan(alpha):
            assert best(1.0, cost) < level
        elif 0 < alpha < 1:
            assert best(alpha, cost) == pytest.approx(level, rel=1e-9)
            assert best(alpha - 1e-4, cost) < level


def test_with_free_checks_break_even_is_the_diagonal():
    costs = np.linspace(0.01, 0.9, 9)
    np.testing.assert_allclose(contour(1.0, costs, LENGTHS), costs, rtol=1e-12)


def test_speedups_are_those_of_the_theory():
    assert speedup_at(0.8, 0.1, 4) == theory.speedup(0.8, 0.1, 4)
    assert speedup_at(0.8, 0.1, 4, 1.3, 0.5) == hit_rate.speedup(0.5, 0.8, 0.1, 4, 1.3)
    assert speedup_at(0.8, 0.1, 0, 1.3).item() == 1.0


def test_near_is_near_on_the_logarithmic_map():
    points = [point("dear", 0.8, 0.2), point("cheap", 0.8, 0.02), point("worse", 0.5, 0.05)]
    assert [one.name for one in nearest(points, 0.8, 0.07)] == ["dear", "cheap", "worse"]
    assert [one.name for one in nearest(points, 0.8, 0.05, 1)] == ["cheap"]
    # what is cheaper than the axis shows stands at its end
    free = [point("free", 0.5, 0.0), point("below", 0.52, -0.1)]
    assert [one.name for one in nearest(free, 0.51, 0.001)] == ["free", "below"]
    with pytest.raises(ValueError, match="count must be a whole number"):
        nearest(points, 0.5, 0.5, 0)


# --- what was published -------------------------------------------------------------------------


def test_a_published_point_has_the_published_speedup():
    for one in published_drafters():
        assert one.source.startswith("https://"), one.name
        assert 0 < one.acceptance_rate < 1
        formula = float(
            theory.speedup(one.acceptance_rate, max(one.cost_ratio, 0), one.draft_length)
        )
        if "T5" in one.name:  # there c is printed, and the clock had its own opinion
            assert formula == pytest.approx(one.speedup, rel=0.5)
        else:
            assert formula == pytest.approx(one.speedup, rel=1e-9)


def test_published_numbers_are_taken_as_printed():
    by_name = {one.name: one for one in published_drafters()}
    assert len(by_name) == len(published_drafters()) >= 15
    small = by_name["T5-small for T5-XXL"]
    assert (small.acceptance_rate, small.cost_ratio, small.speedup) == (0.75, 0.02, 3.4)
    lookup = by_name["prompt lookup, Vicuna-7B"]
    assert float(theory.tokens_per_round(lookup.acceptance_rate, 10)) == pytest.approx(1.75)
    assert by_name["MTP-1, DeepSeek-V3"].acceptance_rate == pytest.approx(0.875)
    head = by_name["MTP, Qwen3.8-27B in 4 bits, RTX 5090"]
    assert (
        pytest.approx(float(theory.tokens_per_round(head.acceptance_rate, head.draft_length)))
        == 1 + 3 * 0.725
    )
    assert not by_name["Medusa-2, Vicuna-7B"].exact
    assert {one.rung for one in published_drafters()} >= {"lookup", "Medusa", "MTP", "draft model"}


def test_every_row_says_where_it_was_read():
    text = resources.files("specmini").joinpath("data/published_drafters.toml").read_text("utf-8")
    for row in tomllib.loads(text)["drafter"]:
        if "leviathan" not in row and "report" not in row:
            assert {"where", "url", "checked_on", "setting", "baseline"} <= set(row), row["map"]
