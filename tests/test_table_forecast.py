"""Published tables against roofline and plain curve: what is taken, what is foretold, how wrong."""

import numpy as np
import pytest

from specmini import catalog
from specmini.record import batch_tables
from specmini.record.table_forecast import catalog_verify_cost, curve_verify_cost, forecast_table

DFLASH = [one for one in batch_tables.batch_series() if one.source.startswith("DFlash")]
CONTEXT = 512


def found(name):
    return batch_tables.find_series(name)


def test_the_first_row_is_taken_and_the_rest_follows_from_the_verify_cost():
    series = found("EAGLE-3 60 tokens, GSM8K")
    forecast = forecast_table(series, [1.0, 1.5, 2.0, 4.0, 8.0])
    # 4.55 / 1.9 = 2.3947 plain steps a round at batch 1, so drafting takes 1.3947
    assert forecast.taken == "drafting"
    np.testing.assert_allclose(forecast.drafting, 1.3947, atol=1e-4)
    np.testing.assert_allclose(
        forecast.speedup, 4.55 / (1.3947 + np.array([1, 1.5, 2, 4, 8])), rtol=1e-4
    )
    assert forecast.speedup[0] == pytest.approx(1.9)
    assert forecast.errors.shape == (4,)
    assert forecast.first_loss == 16


def test_without_tokens_per_round_they_come_from_the_first_row():
    series = found("EAGLE-3, SGLang")
    forecast = forecast_table(series, 1.0, cost_ratio=0.05)
    assert forecast.taken == "tokens_per_round"
    assert forecast.tokens_per_round == pytest.approx(1.81 * 1.15)
    np.testing.assert_allclose(forecast.speedup, 1.81)
    assert forecast.first_loss is None


def test_eagle_tables_decline_far_below_the_ridge():
    # 64 sequences of 4 tokens are 256 in a pass; an H100 has its ridge at 295
    series = found("EAGLE-3, SGLang")
    verify = catalog_verify_cost(series, CONTEXT)
    assert np.all(verify < 1.01)
    forecast = forecast_table(series, verify, cost_ratio=0.05)
    assert np.median(np.abs(forecast.errors)) == pytest.approx(0.32, abs=0.02)
    assert np.all(forecast.errors[1:] > 0.1)


def test_wide_trees_lose_where_the_roofline_says():
    for dataset in ("GSM8K", "HumanEval", "Alpaca"):
        series = found(f"EAGLE-3 60 tokens, {dataset}")
        forecast = forecast_table(series, catalog_verify_cost(series, CONTEXT))
        crossing = series.crossing
        assert (crossing.last_win, crossing.first_loss) == (8, 16)
        # one step of the printed batches at most
        assert forecast.first_loss in (16, 32)
        assert np.abs(forecast.errors).max() < 0.22


def test_roofline_and_plain_curve_miss_on_opposite_sides():
    assert len(DFLASH) == 9
    roof, curve = (
        np.concatenate([forecast_table(one, verify(one)).errors for one in DFLASH])
        for verify in (lambda one: catalog_verify_cost(one, CONTEXT), curve_verify_cost)
    )
    assert np.median(roof) > 0.1
    assert np.all(curve < -0.05)
    assert np.median(np.abs(curve)) == pytest.approx(0.295, abs=0.02)
    assert curve.min() < -0.6  # so this table refutes the plain curve, which fits the vLLM grid


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forecast_table(found("EAGLE-3, SGLang"), 1.0), r"cost_ratio must be a number"),
        (lambda: forecast_table(DFLASH[0], 1.0, 0.1), r"cost_ratio must be None, since .*got 0\.1"),
        (lambda: forecast_table(DFLASH[0], 3.0), r"verify_cost must be at most 2\.18 .*got 3"),
        (lambda: forecast_table(DFLASH[0], [1.0, -1.0, 1, 1, 1]), r"verify_cost must be .*got -1"),
        (
            lambda: forecast_table(found("EAGLE, Vicuna-7B"), 1.0),
            r"must have a draft length, 'EAGLE, Vicuna-7B' has none",
        ),
        (
            lambda: catalog_verify_cost(found("EAGLE, Vicuna-7B"), 1),
            r"must name its machine and target",
        ),
        (lambda: curve_verify_cost(found("EAGLE-3, SGLang")), r"must have plain rates"),
        (lambda: catalog_verify_cost(DFLASH[0], -1), r"context must be"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_machine_outside_the_catalog_is_refused():
    series = found("EAGLE-3, vLLM")
    if series.machine.lower() not in catalog.machines():
        with pytest.raises(ValueError, match="machine must be one of"):
            catalog_verify_cost(series, CONTEXT)
