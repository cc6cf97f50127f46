"""The public grid: complete, consistent with itself, and with the shapes of its models."""

import numpy as np
import pytest

from specmini import catalog
from specmini.record import vllm_grid

CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ALL = (*vllm_grid.plain_cells(), *vllm_grid.speculative_cells())


def cell(draft, length, concurrency):
    [found] = [
        one
        for one in vllm_grid.speculative_cells(draft)
        if (one.draft_length, one.concurrency) == (length, concurrency)
    ]
    return found


def test_grid_is_complete():
    assert [one.concurrency for one in vllm_grid.plain_cells()] == list(CONCURRENCIES)
    assert vllm_grid.drafters() == ("EAGLE-3 head", "Qwen3-1.7B", "Qwen3-4B")
    for draft in vllm_grid.drafters():
        places = [(one.draft_length, one.concurrency) for one in vllm_grid.speculative_cells(draft)]
        assert places == [(length, at) for length in range(1, 7) for at in CONCURRENCIES]
    assert len(vllm_grid.speculative_cells()) == 162


def test_what_is_not_there_stays_blank():
    assert all(one.accepted_percent is None for one in vllm_grid.plain_cells())
    assert all(one.survival_percent == () for one in vllm_grid.plain_cells())
    assert all(one.tokens_per_round == 1 for one in vllm_grid.plain_cells())


def test_every_row_names_its_log():
    for one in ALL:
        assert one.log.startswith("results/logs-2026-01-23/vllm-throughput-InstructCoder-")
        assert one.log.endswith("/0_out.logs")
        assert f"-k{one.draft_length}-" in one.log or not one.draft
        assert one.draft.split(" ")[0].replace("-3", "3").lower() in one.log.lower()
    assert len({one.log for one in ALL}) == 19
    assert vllm_grid.grid_source().endswith("at commit d94d714")


def test_acceptance_columns_agree_with_each_other():
    for one in vllm_grid.speculative_cells():
        assert len(one.survival_percent) == one.draft_length
        drafts = sum(one.survival_percent) / 100
        assert one.tokens_per_round == pytest.approx(1 + drafts, abs=0.006)
        assert one.accepted_percent == pytest.approx(100 * drafts / one.draft_length, abs=0.02)


def test_a_round_is_the_time_between_messages():
    ratio = [
        one.mean_itl_ms / (one.tokens_per_round * one.mean_tpot_ms)
        for one in vllm_grid.speculative_cells()
    ]
    assert 0.985 < min(ratio) < max(ratio) < 1.002


@pytest.mark.parametrize(
    ("place", "tpot", "throughput"),
    [
        # as the notes on these logs print them, worked out elsewhere
        (("Qwen3-1.7B", 4, 1), 2.001, 1.974),
        (("Qwen3-1.7B", 4, 32), 1.725, 1.631),
        (("Qwen3-1.7B", 4, 64), 1.399, 1.359),
        (("Qwen3-1.7B", 4, 128), 0.962, 0.951),
        (("Qwen3-4B", 4, 256), 1.582, 0.568),
        (("EAGLE-3 head", 3, 256), 0.931, 0.842),
    ],
)
def test_speedups_are_those_of_the_notes(place, tpot, throughput):
    assert round(cell(*place).tpot_speedup, 3) == tpot
    assert round(cell(*place).throughput_speedup, 3) == throughput


def test_a_token_of_cache_takes_what_the_shapes_of_the_models_say():
    target = catalog.model("qwen3-32b").kv_values_per_token
    extra = {
        "": 0,
        "Qwen3-1.7B": catalog.model("qwen3-1.7b").kv_values_per_token,
        "Qwen3-4B": catalog.model("qwen3-4b").kv_values_per_token,
        "EAGLE-3 head": target // 64,  # one more layer like the target's 64
    }
    for draft, values in extra.items():
        pool = vllm_grid.cache_pool(draft)
        # the log prints GiB with two decimals, 0.07 % of the smallest pool
        assert pool.bytes_per_token == pytest.approx(2 * (target + values), rel=1e-3)


def test_running_requests_fill_the_pool_where_it_is_full():
    for draft in vllm_grid.drafters():
        fitting = vllm_grid.cache_pool(draft).sequences
        full = [one for one in vllm_grid.speculative_cells(draft) if one.concurrency > fitting]
        assert len(full) == (12 if draft == "Qwen3-4B" else 6)
        for one in full:
            assert one.running == pytest.approx(fitting, rel=0.16)
    for one in ALL:
        assert one.running < 1.01 * one.concurrency


def test_requests_hold_their_prompt_and_half_an_answer():
    assert vllm_grid.prompt_share() == pytest.approx(373233 / 511933)
    assert vllm_grid.tokens_held() == pytest.approx(373233 / 2560 + 511933 / 2560 / 2)


def test_unknown_drafters_are_named():
    with pytest.raises(ValueError, match=r"draft must be one of 'EAGLE-3 head'.*got 'GPT-2'"):
        vllm_grid.speculative_cells("GPT-2")
    with pytest.raises(ValueError, match=r"draft must be one of ''.*got 'GPT-2'"):
        vllm_grid.cache_pool("GPT-2")


def test_cells_cannot_be_changed():
    with pytest.raises(AttributeError):
        vllm_grid.plain_cells()[0].draft_length = 1
    assert np.isfinite([one.running for one in ALL]).all()


def test_two_plain_runs_foretell_a_check():
    times = {cell.concurrency: cell.mean_tpot_ms for cell in vllm_grid.plain_cells()}
    assert vllm_grid.check_from_plain_times(32, 3) == times[128] / times[32]
    assert vllm_grid.check_from_plain_times(64, 0) == 1
    with pytest.raises(ValueError, match=r"B \(K \+ 1\) must be among \[1, .*got \(128, 384\)"):
        vllm_grid.check_from_plain_times(128, 2)
