"""Schedules of draft lengths: by hand, at their limits, and against the public grid."""

import numpy as np
import pytest

from specmini.cost.plain_curve import fit_plain_curve
from specmini.cost.schedule import best_lengths, output_gain, ranges
from specmini.record.schedule_check import check_schedule, yields_alone
from specmini.record.vllm_grid import drafters

CURVE = fit_plain_curve([1, 8, 64, 256], [10.0, 11.0, 16.0, 40.0])


def test_output_is_the_speedup_while_all_fit():
    found = output_gain(CURVE, [1, 32], 0.1, [1, 1.7, 2.2])
    assert found.shape == (2, 3)
    assert found[:, 0].tolist() == [1, 1]
    assert found[:, 1:] == pytest.approx(
        CURVE.speedup(np.array([[1], [32]]), [1, 2], 0.1, [1.7, 2.2])
    )


def test_memory_counts_by_hand():
    # 60 of 100 run: 60 E tokens in a round of K c t(60) + t(120), plainly 100 in t(100)
    [[_, found]] = output_gain(CURVE, [100], 0.2, [1, 1.8], fits=60, plain_fits=100)
    speculative = 60 * 1.8 / (0.2 * CURVE.seconds(60) + CURVE.seconds(120))
    assert found == pytest.approx(speculative / (100 / CURVE.seconds(100)))


def test_lengths_fall_with_the_load_and_end_where_memory_does():
    loads = np.arange(1, 257)
    lengths = best_lengths(CURVE, loads, 0.1, [1, 1.7, 2.2, 2.5], fits=100, plain_fits=256)
    assert np.all(np.diff(lengths) <= 0)
    assert lengths[0] == 3
    assert lengths[-1] == 0
    first, last, longest = ranges(loads, lengths)[0]
    assert (first, longest) == (1, 3)
    assert lengths[last - 1] == 3 > lengths[last]


def test_ranges_cover_every_load_once():
    assert ranges([1, 2, 4, 8], [3, 3, 1, 0]) == [[1, 2, 3], [4, 4, 1], [8, 8, 0]]
    with pytest.raises(ValueError, match="requests must rise"):
        ranges([2, 1], [3, 3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"requests": [0.5]}, "requests must"),
        ({"tokens_per_round": [1.5, 2.0]}, "first entry of 1"),
        ({"fits": 0}, "fits must be at least 1, got 0"),
        ({"fits": 9, "plain_fits": 8}, "fits must be at most plain_fits, 8, got 9"),
    ],
)
def test_bad_schedules_are_refused(change, message):
    given = {"requests": [1], "cost_ratio": 0.1, "tokens_per_round": [1, 1.5]} | change
    with pytest.raises(ValueError, match=message):
        output_gain(CURVE, **given)


@pytest.mark.parametrize("draft", drafters())
def test_the_schedule_is_near_the_best_at_every_load_of_the_grid(draft):
    found = check_schedule(draft)
    assert len(found) == 9
    for one in found:
        assert one.output >= 0.96 * one.best_output, one
    assert (found[-1].concurrency, found[-1].draft_length) == (256, 0)


@pytest.mark.parametrize("draft", drafters())
def test_a_curve_alone_does_not_know_when_to_stop(draft):
    last = check_schedule(draft, memory=False)[-1]
    assert last.draft_length == 1
    assert last.output < last.best_output == 1


def test_yields_are_those_of_one_request():
    assert yields_alone("EAGLE-3 head")[:3] == (1.0, 1.64, 2.02)
    with pytest.raises(ValueError, match="draft must be one of"):
        yields_alone("nobody")
