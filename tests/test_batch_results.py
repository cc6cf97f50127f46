"""Measured batches: what is stored comes back, and predictions follow from it."""

import datetime
import importlib.util
import sys
from pathlib import Path

import pytest

from specmini import theory
from specmini.batch.calibration import Calibration
from specmini.batch.results import (
    BatchResults,
    BatchSetting,
    first_losing,
    load_batches,
    store_batches,
)
from specmini.gpt import Config
from specmini.measure.cell import Cell
from specmini.measure.latency import PassTimes
from specmini.measure.rehearsal import Rehearsal
from specmini.measure.tallies import Acceptance, Tally
from specmini.roofline.machine import Machine


def cell(draft_length, speedup, accepted=60):
    """Plain tokens take a second; of 100 offers so many were accepted."""
    plain = Tally(10, 10, 0, 0, 0.0, 8.0, 10.0)
    spec = Tally(5, 10, 5 * draft_length, 5, 1.0, 8.0, 10.0 / speedup)
    offered = (100,) + (0,) * (draft_length - 1)
    counts = Acceptance(offered, (accepted,) + (0,) * (draft_length - 1))
    return Cell(draft_length, (plain, plain), (spec, spec), spec, counts, (0, 5), 0.25)


def alone(tokens, seconds):
    return PassTimes(tokens, seconds, seconds, seconds)


passes = {
    1: (alone((1, 3), (1.0, 1.5)), alone((1,), (0.1,))),
    8: (alone((1, 3), (4.0, 10.0)), alone((1,), (0.4,))),
}
rehearsals = {
    1: Rehearsal(1.0, {2: 0.2}, {2: 0.3}, {2: 1.5}),
    8: Rehearsal(4.0, {2: 0.8}, {2: 1.0}, {2: 10.0}),
}
results = BatchResults(
    about={"past": 112, "date": "2026-01-02"},
    settings=(
        BatchSetting(1, "code", 1.0, cell(2, 1.25)),
        BatchSetting(8, "code", 1.0, cell(2, 0.8, accepted=90)),
        BatchSetting(1, "code", 0.0, cell(2, 1.6)),
    ),
    passes=passes,
    rehearsals=rehearsals,
    calibration=Calibration(
        Machine("mine", 25e9, 10e9, 1e10, "here", datetime.date(2026, 1, 2)),
        5e9, 2e-4, 1e-4, 2e-5, 3e-6, 0.05, 0.06,
    ),
    configs={"target": Config(1024, 256, 6, 256, 4), "draft": Config(1024, 256, 1, 128, 4)},
    static={(8, 4): 0.625},
)  # fmt: skip


def test_what_is_stored_comes_back(tmp_path):
    store_batches(tmp_path / "batch.json", results)
    assert load_batches(tmp_path / "batch.json") == results
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match="must hold an object with"):
        load_batches(tmp_path / "other.json")


def test_the_forecast_is_the_formula_with_alpha_of_the_smallest_batch():
    # not the larger batch's 0.9
    assert results.acceptance_rate("code", 1.0) == pytest.approx(0.6)
    curve = results.curve("code", 1.0, 2)
    assert curve.batches == (1, 8)
    assert curve.measured == pytest.approx((1.25, 0.8))
    expected = [theory.speedup(0.6, 0.1, 2, 1.5), theory.speedup(0.6, 0.1, 2, 2.5)]
    assert curve.forecast == pytest.approx(expected)


def test_the_rehearsal_has_the_same_alpha_and_times_of_its_own():
    expected = [rehearsals[batch].speedup(0.6, 2) for batch in (1, 8)]
    assert results.curve("code", 1.0, 2).rehearsed == pytest.approx(expected)


def test_the_calibrated_roofline_sees_the_win_shrink():
    first, last = results.curve("code", 1.0, 2).roofline
    # E = 1.96; at batch 1 a check is almost free and the draft's step about a sixth
    assert 1.1 < first < 1.96
    assert last < first


def test_what_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="kind and temperature must be among"):
        results.acceptance_rate("prose", 1.0)
    with pytest.raises(ValueError, match="draft_length must be one that was measured, got 9"):
        results.curve("code", 1.0, 9)


@pytest.mark.parametrize(
    ("speedups", "losing"),
    [
        ((1.5, 1.2, 0.9, 0.8), 4),
        ((1.5, 0.9, 1.1, 0.8), 8),
        ((0.9, 0.8, 0.7, 0.6), 1),
        ((0.9, 0.8, 0.7, 1.0), None),
        ((2.0, 2.0, 2.0, 2.0), None),
    ],
)
def test_where_the_win_dies_for_good(speedups, losing):
    assert first_losing((1, 2, 4, 8), speedups) == losing


def test_the_benchmark_s_conclusions_count_steps_of_the_grid(monkeypatch):
    folder = Path(__file__).parent / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("batch_benchmark", folder / "batch_speedup.py")
    benchmark = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, benchmark)  # dataclasses look there
    spec.loader.exec_module(benchmark)
    settings = tuple(one for one in results.settings if one.temperature == 1)
    found = benchmark.conclusions(
        BatchResults(
            **{**vars(results), "settings": settings, "static": {},
               "about": {**results.about, "greedy_texts_as_alone": [3, 4]}}
        )
    )  # fmt: skip
    assert "measured 8, forecast 8, rehearsed 8" in found
    assert "crossover within one step in 1 of 1" in found
    assert "3 of 4" in found
    assert len(list(benchmark.rows(results))) == 3
