"""Published batch tables: complete, sourced, and read as printed."""

import re

import pytest

from specmini.record import batch_tables
from specmini.record.batch_tables import Crossing


def test_every_series_is_complete_and_sourced():
    series = batch_tables.batch_series()
    assert len({one.name for one in series}) == len(series) >= 20
    for one in series:
        assert len(one.batch) == len(one.speedup) >= 2, one.name
        assert list(one.batch) == sorted(set(one.batch)), one.name
        assert all(0.3 < value < 5 for value in one.speedup), one.name
        assert one.url.startswith("https://"), one.name
        assert re.fullmatch(r"\d{4}-\d{2}", one.read), one.name
        assert one.tier in batch_tables.TIERS, one.name
        assert one.measure in (None, "throughput", "latency"), one.name
        assert one.drafts in (None, "chain", "tree", "block"), one.name
        if one.plain_tokens_per_second is not None:
            assert len(one.plain_tokens_per_second) == len(one.batch)


def test_tokens_per_round_fit_the_drafts():
    for one in batch_tables.batch_series():
        if one.tokens_per_round is not None:
            assert 1 < one.tokens_per_round <= one.draft_length + 1
            assert one.speedup[0] < one.tokens_per_round  # a round never costs less than a step


def test_tiers_part_the_series():
    counts = {tier: len(batch_tables.batch_series(tier)) for tier in batch_tables.TIERS}
    assert sum(counts.values()) == len(batch_tables.batch_series())
    assert all(one.note for one in batch_tables.batch_series("second-hand"))
    with pytest.raises(ValueError, match=r"tier must be one of 'primary'.*got 'rumour'"):
        batch_tables.batch_series("rumour")


@pytest.mark.parametrize(
    ("name", "crossing"),
    [
        ("EAGLE, SGLang", Crossing(16, 24)),
        ("EAGLE-3, SGLang", None),
        ("EAGLE, vLLM", Crossing(24, 32)),
        ("EAGLE-3, vLLM", None),
        ("EAGLE-3 60 tokens, GSM8K", Crossing(8, 16)),
        ("self-speculation with a sparse cache, short texts", Crossing(0, 32)),
    ],
)
def test_crossings(name, crossing):
    assert batch_tables.find_series(name).crossing == crossing


def test_a_wide_tree_wins_more_alone_and_loses_first():
    for dataset in ("GSM8K", "HumanEval", "Alpaca"):
        narrow, wide = (
            batch_tables.find_series(f"EAGLE-3 {tokens} tokens, {dataset}") for tokens in (10, 60)
        )
        assert wide.tokens_per_round > narrow.tokens_per_round
        assert wide.speedup[0] >= narrow.speedup[0]
        assert wide.speedup[-1] < narrow.speedup[-1]


def test_unknown_series_is_named():
    with pytest.raises(ValueError, match=r"name must be one of 'EAGLE, SGLang'.*got 'EAGLE-9'"):
        batch_tables.find_series("EAGLE-9")
