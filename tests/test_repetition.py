"""Repetition: the share of runs that stood before."""

import pytest

from specmini.measure.repetition import repetition


def test_repetition_counts_runs_that_stood_before():
    assert repetition(list(range(20))) == 0.0
    assert repetition([1, 2] * 20, length=2) == pytest.approx(1 - 2 / 39)
    assert repetition([1], length=8) == 0.0
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        repetition([1], length=0)
