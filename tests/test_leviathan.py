"""The paper's own tables against the closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from specmini import theory
from specmini.record import papers


@pytest.mark.parametrize("row", papers.leviathan_table_1(), ids=lambda r: str(r.speedup))
def test_table_1_reproduces_digit_by_digit(row: papers.FreeDraftRow) -> None:
    speedup = theory.speedup(row.acceptance_rate, 0.0, row.draft_length)
    operations = theory.arithmetic_growth(row.acceptance_rate, 0.0, row.draft_length)
    assert f"{speedup:.2f}" == f"{row.speedup:.2f}"
    assert f"{operations:.2f}" == f"{row.operations:.2f}"


@pytest.mark.parametrize(
    "row",
    papers.leviathan_table_4(),
    ids=lambda r: f"{r.task[:3]}-{r.draft_model}-T{r.temperature:g}",
)
def test_table_4_predictions_lie_within_the_rounding_of_their_inputs(
    row: papers.MeasuredRow,
) -> None:
    # The paper computed "Exp" from unrounded alpha and c. Speedup rises with alpha and falls
    # with c, so over the box of inputs that print as these two-decimal numbers it spans
    # [lowest, highest]. That span must meet the span of numbers that print as this Exp.
    lowest = theory.speedup(row.acceptance_rate - 0.005, row.cost_ratio + 0.005, row.draft_length)
    highest = theory.speedup(row.acceptance_rate + 0.005, row.cost_ratio - 0.005, row.draft_length)
    assert lowest < row.expected_speedup + 0.05
    assert highest > row.expected_speedup - 0.05


def test_table_4_three_rows_need_the_rounding_of_their_inputs() -> None:
    rows = papers.leviathan_table_4()
    needing = [
        (row.draft_model, row.temperature, row.expected_speedup)
        for row in rows
        if f"{theory.speedup(row.acceptance_rate, row.cost_ratio, row.draft_length):.1f}"
        != f"{row.expected_speedup:.1f}"
    ]
    assert needing == [
        ("T5-base", 1.0, 2.4),
        ("T5-large", 1.0, 2.0),
        ("T5-large", 1.0, 1.6),
    ]


def test_table_4_measured_over_predicted() -> None:
    rows = papers.leviathan_table_4()
    assert len(rows) == 12
    ratio = np.array(
        [
            row.measured_speedup
            / theory.speedup(row.acceptance_rate, row.cost_ratio, row.draft_length)
            for row in rows
        ]
    )
    assert round(ratio.min(), 2) == 0.68
    assert round(ratio.max(), 2) == 1.29
    assert round(float(np.abs(ratio - 1.0).mean()), 2) == 0.17
    assert round(float(np.exp(np.log(ratio).mean())) - 1.0, 2) == 0.03  # geometric
    assert round(ratio.mean() - 1.0, 2) == 0.05  # arithmetic


def test_bigram_example_of_the_paper() -> None:
    # Section on trivial drafts: alpha about 0.2, gamma = 3, c = 0 gives 1.25.
    assert f"{theory.speedup(0.2, 0.0, 3):.2f}" == "1.25"


def test_corollary_3_9_one_draft_wins_when_alpha_exceeds_c() -> None:
    cost, rate = np.meshgrid(np.linspace(0.0, 1.0, 101), np.linspace(0.0, 1.0, 101))
    single = theory.speedup(rate, cost, 1)
    np.testing.assert_allclose(single, (1.0 + rate) / (1.0 + cost), rtol=4e-16)
    # Exactly on the diagonal K = 1 breaks even; nothing longer wins there either.
    assert np.array_equal(theory.best_draft_length(rate, cost) > 0, rate > cost)


def test_table_rows_cannot_be_changed() -> None:
    row = papers.leviathan_table_1()[0]
    with pytest.raises(AttributeError):
        row.speedup = 2.0  # type: ignore[misc]
