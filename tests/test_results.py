"""The committed measurements belong to the committed checkpoints, and are complete."""

import re
import statistics

import pytest

from specmini.measure.results import data, measured_hugging_face, measured_speedups
from specmini.pair import checkpoint_hashes

KINDS, TEMPERATURES, LENGTHS = ("prose", "code"), (0.0, 1.0), (1, 2, 3, 4, 5, 6, 8)

pytestmark = pytest.mark.skipif(
    not (data / "measured_speedup.json").exists(), reason="nothing is measured yet"
)


@pytest.fixture(scope="module")
def measured():
    return measured_speedups()


def test_results_belong_to_the_committed_checkpoints(measured):
    """Who replaces a checkpoint measures again: python tests/benchmarks/speedup.py --write FILE."""
    hashes = checkpoint_hashes()
    assert {name: measured.about["sha256"][name] for name in hashes} == hashes
    assert measured_hugging_face()["about"]["sha256"] == hashes


def test_the_grid_is_complete(measured):
    grid = {
        (one.kind, one.temperature, one.cell.draft_length): one
        for one in measured.select("distilled")
    }
    for kind in KINDS:
        for temperature in TEMPERATURES:
            for length in LENGTHS:
                one = grid[kind, temperature, length]
                assert min(one.speedups) <= one.cell.speedup * 1.001
                assert max(one.speedups) >= one.cell.speedup * 0.999
                assert len(one.cell.plain) == 40
                assert one.cell.residual.measured == pytest.approx(one.cell.speedup)


def test_losing_cases_are_among_them(measured):
    losing = {one.draft for one in measured.settings if one.cell.speedup < 1}
    assert "the target itself" in losing
    assert any(one.kind == "random bytes" for one in measured.settings)
    assert max(one.cell.draft_length for one in measured.select("distilled")) >= 16


def test_the_formula_agrees_with_the_clock(measured):
    ratios = [
        one.cell.speedup / one.cell.predicted.with_verify_cost
        for one in measured.select("distilled")
        if one.kind in KINDS and one.cell.draft_length in LENGTHS
    ]
    assert 0.95 <= statistics.median(ratios) <= 1.05


def test_nobody_is_named(measured):
    """What is stored tells about a processor, not about whose it is."""
    for about in (measured.about, measured_hugging_face()["about"]):
        assert not re.search(r"/(home|root|Users|tmp|work)\b", str(about))
