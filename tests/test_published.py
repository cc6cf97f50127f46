"""Benchmark logs as data: complete, consistent with themselves, and with a source."""

import numpy as np

from specmini import theory
from specmini.record import papers


def test_survival_never_rises_and_names_its_log():
    rows = papers.acceptance_by_position()
    assert [row.draft_length for row in rows] == [8, 4, 3]
    for row in rows:
        assert np.all(np.diff(row.survival) <= 0)
        assert row.log.endswith((".log", ".logs"))
        assert "→" in row.name


def test_the_three_pairs_rise_stay_and_fall():
    ends = [
        theory.conditional_rates_from_survival(row.survival)[[0, -1]]
        for row in papers.acceptance_by_position()
    ]
    change = [float(last - first) for first, last in ends]
    assert change[0] > 0.08
    assert abs(change[1]) < 0.04
    assert change[2] < -0.08


def test_sweep_is_one_row_a_draft_length():
    sweep = papers.draft_length_sweep()
    assert sweep.draft_length == tuple(range(1, 9))
    assert len(sweep.tokens_per_round) == len(sweep.speedup) == 8
    assert round(sweep.cost_ratio, 3) == 0.096
    cost = np.array(sweep.tokens_per_round) / np.array(sweep.speedup)
    assert np.all(np.diff(cost) > 0)  # each further draft makes the round dearer


def test_source_names_a_commit():
    assert papers.benchmark_log_source().endswith("at commit d94d714")
