"""The surface from the plain curve: what is claimed of it, and what it does not say."""

import numpy as np
import pytest

from specmini.record import papers, vllm_grid
from specmini.record.grid_forecast import BATCHES, forecast_grid


@pytest.fixture(scope="module")
def simple():
    return forecast_grid()


def everything(forecast):
    return forecast.summary(np.ones(len(forecast.cells), dtype=bool))


def test_forecast_is_plain_curve_plus_drafts(simple):
    for cell, foretold in zip(simple.cells, simple.round_ms, strict=True):
        tokens = cell.concurrency * (cell.draft_length + 1)
        drafting = cell.draft_length * simple.cost_ratio[cell.draft]
        expected = simple.curve.seconds(tokens) + drafting * simple.curve.seconds(cell.concurrency)
        assert foretold == pytest.approx(expected)


def test_curve_goes_through_the_plain_runs(simple):
    for cell in vllm_grid.plain_cells():
        assert simple.curve.seconds(cell.concurrency) == pytest.approx(cell.mean_tpot_ms, rel=0.02)


def test_median_error_is_below_four_percent_with_and_without_the_cells_that_gave_c(simple):
    assert everything(simple).cells == 162
    assert everything(simple).median == pytest.approx(0.029, abs=0.001)
    others = simple.summary(~simple.calibrated)
    assert others.cells == 144
    assert others.median == pytest.approx(0.037, abs=0.001)


def test_the_median_hides_the_large_checks(simple):
    groups = simple.by_tokens()
    assert [one.cells for one in groups.values()] == [48, 36, 36, 24]  # 18 gave c
    medians = [one.median for one in groups.values()]
    assert medians == pytest.approx([0.013, 0.028, 0.096, 0.301], abs=0.001)
    assert everything(simple).largest == pytest.approx(1.29, abs=0.01)
    worst = simple.cells[int(np.argmax(simple.errors))]
    assert (worst.draft, worst.draft_length, worst.concurrency) == ("Qwen3-4B", 6, 256)


def test_memory_explains_the_worst_cells(simple):
    limited = forecast_grid("memory")
    assert everything(limited).mean < 0.65 * everything(simple).mean
    assert abs(everything(limited).largest) < 0.36
    short = limited.batch < [cell.concurrency for cell in limited.cells]
    assert short.sum() == 24  # 4B at 128 and 256, 1.7B and the head at 256, six K each
    np.testing.assert_allclose(limited.errors[~short], simple.errors[~short])


def test_with_the_batch_known_prompts_in_the_pass_matter():
    known, mixed = forecast_grid("running"), forecast_grid("running", prompts=True)
    assert everything(mixed).mean == pytest.approx(0.046, abs=0.001)
    assert everything(known).mean == pytest.approx(0.077, abs=0.001)
    assert everything(mixed).within_ten_percent > 0.85


def test_cost_ratio_agrees_with_a_draft_timed_alone(simple):
    alone = papers.draft_length_sweep()
    assert (alone.draft, alone.target) == ("Qwen3-1.7B", "Qwen3-32B")
    for batch in BATCHES:
        for prompts in (False, True):
            ratio = forecast_grid(batch, prompts).cost_ratio["Qwen3-1.7B"]
            assert ratio == pytest.approx(alone.cost_ratio, rel=0.03)
    assert simple.cost_ratio["EAGLE-3 head"] < 0.03 < 0.17 < simple.cost_ratio["Qwen3-4B"]


def test_memory_foretells_that_tokens_are_faster_and_the_server_slower():
    forecast = forecast_grid("memory")
    places = [
        place
        for place, cell in enumerate(forecast.cells)
        if (cell.draft, cell.concurrency) == ("Qwen3-4B", 256)
    ]
    for place in places:
        cell = forecast.cells[place]
        assert cell.tpot_speedup > 1.3 > 0.6 > cell.throughput_speedup
        assert forecast.tpot_speedup[place] > 1.3
        assert forecast.throughput_speedup[place] == pytest.approx(
            cell.throughput_speedup, rel=0.35
        )
        assert forecast.throughput_speedup[place] < 0.75


def test_crossings_of_output_are_foretold_within_one_step_of_the_grid():
    crossings = forecast_grid("memory").crossings()
    assert len(crossings) == 18
    for one in crossings:
        cells = [
            cell
            for cell in vllm_grid.speculative_cells(one.draft)
            if cell.draft_length == one.draft_length
        ]
        losing = [cell.concurrency for cell in cells if cell.throughput_speedup < 1]
        assert one.measured == losing[0]
        assert one.foretold in (one.measured, one.measured / 2, one.measured * 2)
    assert sum(one.measured == one.foretold for one in crossings) == 15
    assert {one.measured for one in crossings if one.draft == "Qwen3-4B"} == {128}


def test_without_memory_the_crossings_of_the_large_draft_come_late(simple):
    pairs = [(one.measured, one.foretold) for one in simple.crossings() if one.draft == "Qwen3-4B"]
    assert pairs == [(128, None), (128, 256), (128, 256), (128, 128), (128, 128), (128, 128)]


def test_groups_by_drafter_cover_all(simple):
    assert {draft: one.cells for draft, one in simple.by_draft().items()} == {
        "EAGLE-3 head": 54,
        "Qwen3-1.7B": 54,
        "Qwen3-4B": 54,
    }


def test_bad_input_is_named(simple):
    with pytest.raises(ValueError, match=r"batch must be one of 'concurrency'.*got 'guess'"):
        forecast_grid("guess")
    with pytest.raises(ValueError, match=r"must choose some of 162 cells, got 0"):
        simple.summary([False] * 162)
    with pytest.raises(ValueError, match=r"edges must be positive and rise, got \[4, 2\]"):
        simple.by_tokens([4, 2])
