"""The grid from data sheets: optimistic everywhere, and late with the end of the win."""

import numpy as np
import pytest

from specmini import catalog
from specmini.record.grid_forecast import forecast_grid
from specmini.record.grid_roofline import (
    formula_crossings,
    grid_drafts,
    roofline_grid_speedup,
)
from specmini.record.vllm_grid import cache_pool, plain_cells, speculative_cells, tokens_held
from specmini.roofline.deployment import Deployment

CELLS = speculative_cells()
MEASURED = np.array([cell.tpot_speedup for cell in CELLS])


def test_drafters_take_the_cache_that_the_log_says():
    target = Deployment(catalog.machine("h100-94"), catalog.model("qwen3-32b"))
    plain = cache_pool().bytes_per_token
    for draft, cost in grid_drafts(target).items():
        own = cost.memory_needed(2, 1) - cost.memory_needed(1, 1)
        assert own == pytest.approx(cache_pool(draft).bytes_per_token - plain, rel=0.05)


def test_data_sheets_promise_too_much():
    errors = roofline_grid_speedup() / MEASURED - 1
    assert np.median(errors) == pytest.approx(0.199, abs=0.01)
    assert (errors > 0).all()


def test_half_of_the_optimism_is_the_draft():
    ratios = forecast_grid().cost_ratio
    errors = roofline_grid_speedup(cost_ratios=ratios) / MEASURED - 1
    assert np.median(errors) == pytest.approx(0.088, abs=0.01)
    small = np.array([cell.concurrency == 1 for cell in CELLS])
    assert np.abs(errors[small]).max() < 0.06


def test_a_cell_worked_out_by_hand():
    # batch 1, K = 1: bytes over bandwidth; the head's and the cache's parts cancel to 0.1 %
    target, ratios = catalog.model("qwen3-32b"), {"EAGLE-3 head": 0.0, "Qwen3-1.7B": 0.5}
    cache = 2 * target.kv_values_per_token
    weights = 2 * target.matmul_parameters
    one, two = (weights + cache * (round(tokens_held()) + new) for new in (1, 2))
    found = roofline_grid_speedup(cost_ratios={**ratios, "Qwen3-4B": 0.0})
    at = {
        (cell.draft, cell.draft_length, cell.concurrency): s
        for cell, s in zip(CELLS, found, strict=True)
    }
    assert at["EAGLE-3 head", 1, 1] == pytest.approx(1.64 * one / two, rel=1e-6)
    assert at["Qwen3-1.7B", 1, 1] == pytest.approx(1.72 * one / (two + 0.5 * one), rel=1e-6)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="machine must be one of"):
        roofline_grid_speedup("abacus")
    with pytest.raises(ValueError, match=r"cost_ratios must have 'EAGLE-3 head', got \['x'\]"):
        roofline_grid_speedup(cost_ratios={"x": 0.1})
    with pytest.raises(ValueError, match=r"cost_ratios must be .*got -1"):
        roofline_grid_speedup(cost_ratios={"EAGLE-3 head": -1.0})


def test_the_formula_names_the_end_of_the_win_late():
    forecast = forecast_grid()
    told = formula_crossings(forecast)
    assert told[:6] == pytest.approx([333, 270, 216, 179, 150, 128], abs=1)  # EAGLE-3, K = 1 to 6
    doublings = np.ceil(np.log2(told))  # the first load of the grid that is not below
    late = doublings - np.log2([one.measured for one in forecast.crossings()])
    assert np.unique_counts(late).counts.tolist() == [4, 12, 2]  # by 0, 1 and 2 doublings


def test_the_plain_step_reaches_four_fifths_of_the_peaks():
    step = Deployment(catalog.machine("h100-94"), catalog.model("qwen3-32b")).pass_time(1, 1, 246)
    assert 1e3 * float(step.time) / plain_cells()[0].mean_tpot_ms == pytest.approx(0.79, abs=0.01)


def test_formula_crossings_name_an_unknown_machine():
    with pytest.raises(ValueError, match="machine must be one of"):
        formula_crossings(forecast_grid(), "abacus")
