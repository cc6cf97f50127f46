"""Figures of the public record draw its numbers and claim what these show."""

import numpy as np
import pytest

from specmini.figures import public
from specmini.record import batch_tables, vllm_grid
from specmini.record.grid_forecast import forecast_grid
from specmini.record.table_forecast import catalog_verify_cost, curve_verify_cost, forecast_table


@pytest.fixture(scope="module")
def forecast():
    return forecast_grid()


def lines(axes):
    return {
        one.get_label(): one.get_xydata()
        for one in axes.lines
        if not one.get_label().startswith("_")
    }


def test_grid_speedups_draw_the_cells_of_one_length(forecast):
    figure = public.grid_speedups(forecast, 3)
    [axes] = figure.drawing.axes
    drawn = lines(axes)
    assert list(drawn) == list(vllm_grid.drafters())
    for draft, points in drawn.items():
        cells = [one for one in vllm_grid.speculative_cells(draft) if one.draft_length == 3]
        expected = [[one.concurrency, one.tpot_speedup] for one in cells]
        np.testing.assert_allclose(points, expected)
        assert axes.get_ylim()[1] > points[:, 1].max()
    assert "21 of 27 speedups at K = 3 are within 10 %" in figure.claim
    assert "EAGLE-3 head: 1: 1.98, 2.00" in figure.description


def test_grid_speedups_count_what_is_close(forecast):
    for length in (1, 6):
        errors = [
            abs(told / cell.tpot_speedup - 1)
            for cell, told in zip(forecast.cells, forecast.tpot_speedup, strict=True)
            if cell.draft_length == length
        ]
        close = sum(error <= 0.1 for error in errors)
        assert f": {close} of 27 " in public.grid_speedups(forecast, length).claim


def test_grid_errors_draw_medians_by_tokens(forecast):
    figure = public.grid_errors({"asked": forecast, "memory": forecast_grid("memory")})
    drawn = lines(figure.drawing.axes[0])
    medians = [100 * one.median for one in forecast.by_tokens().values()]
    np.testing.assert_allclose(drawn["asked"][:, 1], medians)
    assert list(drawn) == ["asked", "memory"]
    assert "2.9% over all 162 cells, 30% where a check holds over 512 tokens" in figure.claim


def test_tokens_and_throughput_tell_both_stories_and_the_batch():
    figure = public.tokens_and_throughput("Qwen3-4B", 4)
    assert "At concurrency 256 a token comes 1.58 times as fast" in figure.claim
    assert "puts out 0.57 times as much" in figure.claim
    ratio, batch = figure.drawing.axes
    last = [one for one in vllm_grid.speculative_cells("Qwen3-4B") if one.draft_length == 4][-1]
    assert lines(ratio)["a token"][-1].tolist() == [256, last.tpot_speedup]
    assert lines(ratio)["the server"][-1].tolist() == [256, last.throughput_speedup]
    assert lines(batch)["with drafts"][-1].tolist() == [256, last.running]
    assert batch.get_ylim()[1] > lines(batch)["plain"][-1][1] > 200
    assert "room for 76 requests" in figure.description


def overlay(name):
    series = batch_tables.find_series(name)
    return {
        "roofline": forecast_table(series, catalog_verify_cost(series, 512)),
        "plain curve": forecast_table(series, curve_verify_cost(series)),
    }


def test_table_overlay_draws_printed_and_foretold():
    narrow, wide = overlay("EAGLE-3 10 tokens, GSM8K"), overlay("EAGLE-3 60 tokens, GSM8K")
    figure = public.table_overlay("dflash-overlay", {"10 tokens": narrow, "60 tokens": wide})
    first, second = figure.drawing.axes
    for axes, panel in ((first, narrow), (second, wide)):
        drawn = lines(axes)
        series = panel["roofline"].series
        np.testing.assert_allclose(drawn["as printed"][:, 1], series.speedup)
        for label, one in panel.items():
            np.testing.assert_allclose(drawn[label][:, 1], one.speedup)
    roof = np.median([*narrow["roofline"].errors, *wide["roofline"].errors])
    assert f"roofline {100 * roof:+.0f} %, plain curve -" in figure.claim
    with pytest.raises(ValueError, match="must hold 1 or 2 panels, got 0"):
        public.table_overlay("none", {})
    mixed = {"a": narrow["roofline"], "b": wide["roofline"]}
    with pytest.raises(ValueError, match="a panel must hold one series, 'mixed' has several"):
        public.table_overlay("none", {"mixed": mixed})
    with pytest.raises(ValueError, match="a panel must hold 1 to 3 forecasts, got 0"):
        public.table_overlay("none", {"empty": {}})


def test_figures_refuse_what_they_cannot_draw(forecast):
    with pytest.raises(
        ValueError, match=r"draft_length must be one of \[1, 2, 3, 4, 5, 6\], got 7"
    ):
        public.grid_speedups(forecast, 7)
    with pytest.raises(ValueError, match=r"draft_length must be one of .*got 0"):
        public.tokens_and_throughput("Qwen3-4B", 0)
    with pytest.raises(ValueError, match="forecasts must hold 1 to 4 series, got 0"):
        public.grid_errors({})
