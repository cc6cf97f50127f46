"""What tools print, against the numbers of public logs and against the theory."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from specmini import conversions, theory

tolerance = 1e-12


# --- inverse formulas -----------------------------------------------------------------------


def accepted_reference(rate: mpf, length: int) -> mpf:
    return mpf(length) if rate == 1 else rate * (1 - rate**length) / (1 - rate)


def relative_miss(rate: float, accepted: mpf, length: int) -> float:
    """Relative distance of ``rate`` from the root, by one Newton step in 80 digits."""
    a = mpf(rate)
    if a == 1:
        slope = mpf(length) * (length + 1) / 2
    else:
        falling = (length + 1) * a**length * (1 - a)
        slope = (1 - a ** (length + 1) - falling) / (1 - a) ** 2
    return float(abs((accepted_reference(a, length) - accepted) / slope / a))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 16, 100, 1000, 10**4, 10**6, 10**9])
def test_inverses_match_80_digits(length: int) -> None:
    tiny = [1e-300, 1e-100, 1e-12, 1e-4, 0.01]
    shares = [*tiny, 0.3, 0.5, 0.59, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, float(np.nextafter(1, 0))]
    with mpmath.workdps(80):
        for share in shares:
            rate = conversions.acceptance_rate_from_share(share, length)
            assert relative_miss(float(rate), mpf(share) * length, length) < tolerance
        spread = [1 + 2.0**-52, 1 + 1e-9, 1.01, 1.5, 1.999, 1 + 0.7 * length, 1 + 0.9999 * length]
        for tokens in spread:
            if tokens <= length + 1:
                rate = conversions.acceptance_rate_from_tokens(tokens, length)
                assert relative_miss(float(rate), mpf(tokens) - 1, length) < tolerance


def test_inverse_edges_are_exact() -> None:
    length = np.array([1, 2, 5, 10**6])
    assert np.array_equal(conversions.acceptance_rate_from_tokens(1.0, length), np.zeros(4))
    assert np.array_equal(conversions.acceptance_rate_from_tokens(length + 1, length), np.ones(4))
    assert np.array_equal(conversions.acceptance_rate_from_share(0.0, length), np.zeros(4))
    assert np.array_equal(conversions.acceptance_rate_from_share(1.0, length), np.ones(4))
    assert conversions.acceptance_rate_from_tokens(1.8, 1) == 1.8 - 1.0
    assert conversions.acceptance_rate_from_share(0.3, 1) == 0.3


def test_forward_and_back_on_a_grid() -> None:
    rate = np.linspace(0.0, 1.0, 101)[:, None]
    length = np.arange(1, 33)
    tokens = theory.tokens_per_round(rate, length)
    share = theory.accepted_share(rate, length)
    for back in (
        conversions.acceptance_rate_from_tokens(tokens, length),
        conversions.acceptance_rate_from_share(share, length),
    ):
        np.testing.assert_allclose(back, np.broadcast_to(rate, (101, 32)), rtol=1e-13)
    np.testing.assert_allclose(conversions.tokens_from_share(share, length), tokens, rtol=1e-15)
    np.testing.assert_allclose(
        conversions.share_from_tokens(tokens, length), share, rtol=1e-13, atol=0.0
    )


def test_scalars_and_shapes() -> None:
    for function, value in (
        (conversions.acceptance_rate_from_tokens, 2.0),
        (conversions.acceptance_rate_from_share, 0.5),
        (conversions.tokens_from_share, 0.5),
        (conversions.share_from_tokens, 2.0),
    ):
        assert type(function(value, 4)) is np.float64
        assert function(np.full((3, 1), value), np.full(4, 4)).shape == (3, 4)
        assert function(np.full((0,), value), 4).shape == (0,)
    assert type(conversions.tokens_from_counts(10, 4)) is np.float64
    assert type(conversions.tokens_from_survival([0.5, 0.2])) is np.float64
    assert conversions.tokens_from_survival(np.full((3, 2, 5), 0.5)).shape == (3, 2)
    assert conversions.tokens_from_survival([]) == 1.0


def test_chen_speedups_imply_their_acceptance() -> None:
    # Chen et al. 2023, Table 1: 1.92x, 2.01x, 2.46x at K = 4 with c = 1.8 / 14.1.
    tokens = np.array([1.92, 2.01, 2.46]) * theory.round_cost(1.8 / 14.1, 4)
    rate = conversions.acceptance_rate_from_tokens(tokens, 4)
    assert np.round(rate, 2).tolist() == [0.72, 0.75, 0.85]


# --- convert --------------------------------------------------------------------------------


def test_every_metric_has_a_definition_and_a_source() -> None:
    table = conversions.metrics()
    names = [(entry.tool.casefold(), entry.metric.casefold()) for entry in table]
    assert len(set(names)) == len(names) >= 20
    for entry in table:
        assert len(entry.definition) > 20
        assert re.search(r"github\.com|arXiv \d{4}\.\d{5}|identity|pull request", entry.source)


examples: dict[str, Any] = {
    "tokens": 2.5,
    "tokens_plus_one": 3.5,
    "accepted": 1.5,
    "filled": 0.5,
    "share": 0.375,
    "output_share": 0.6,
}


@pytest.mark.parametrize("entry", conversions.metrics(), ids=lambda e: f"{e.tool}-{e.metric}")
def test_one_round_of_two_and_a_half_tokens_in_every_dialect(entry: conversions.Metric) -> None:
    rate = float(conversions.acceptance_rate_from_tokens(2.5, 4))
    alive = theory.survival(np.full(4, rate))
    dialect = {**examples, "survival": alive, "conditional": [rate] * 4, "alpha": rate}
    if entry.kind == "unknown":
        with pytest.raises(ValueError, match="cannot be converted") as caught:
            conversions.convert(entry.tool, entry.metric, 0.5, 4)
        assert entry.definition in str(caught.value)
        return
    result = conversions.convert(entry.tool.upper(), entry.metric, dialect[entry.kind], 4)
    assert result.metric is entry
    assert result.draft_length == 4
    assert result.tokens_per_round == pytest.approx(2.5, rel=1e-14)
    assert result.accepted_share == pytest.approx(0.375, rel=1e-14)
    assert result.acceptance_rate == pytest.approx(rate, rel=1e-13)
    if entry.kind in ("survival", "conditional", "alpha"):
        assert result.conditional_rates == pytest.approx([rate] * 4, rel=1e-14)
        assert not result.unknown
    else:
        assert result.conditional_rates is None
        assert list(result.unknown) == ["conditional_rates"]


@pytest.mark.parametrize(
    ("survival", "tokens"),
    [
        # Products of the conditional rates listed for public logs; E as the logs print it.
        ([0.72, 0.69, 0.74, 0.73], 2.85),
        ([0.64, 0.56, 0.52], 2.18),
        ([0.74, 0.64, 0.65, 0.60, 0.53, 0.58], 2.87),
        ([0.83, 0.89, 0.87, 0.91, 0.93, 0.91, 0.95, 0.95], 5.74),
        ([0.76, 0.79, 0.83, 0.83, 0.86, 0.84, 0.87, 0.86], 4.40),
    ],
)
def test_public_per_position_rates_sum_to_their_length(
    survival: list[float], tokens: float
) -> None:
    # The conditional rates are rounded to 0.005; E may move by its derivative times that.
    alive = theory.survival(survival)
    tails = np.cumsum(alive[::-1])[::-1]
    slack = 0.005 + float((tails / np.asarray(survival) * 0.005).sum())
    reported = conversions.convert("vLLM", "per-position acceptance rate", alive)
    assert abs(reported.tokens_per_round - tokens) < slack
    assert reported.conditional_rates == pytest.approx(survival, rel=1e-14)


def test_llama_cpp_log_line_agrees_with_itself() -> None:
    # ggml-org/llama.cpp pull request 24536: draft acceptance = 0.64479 (167 accepted / 259
    # generated), mean acceptance length = 2.92, acceptance rate per position = (0.805, 0.632,
    # 0.483), 87 drafts, at most 3 tokens each.
    length = conversions.convert("llama.cpp", "mean acceptance length", 2.92, 3)
    by_position = conversions.convert(
        "llama.cpp", "acceptance rate per position", (0.805, 0.632, 0.483)
    )
    early_stop = conversions.convert(
        "llama.cpp", "draft acceptance", 167 / 259, 3, drafted_per_round=259 / 87
    )
    assert by_position.tokens_per_round == pytest.approx(length.tokens_per_round, abs=0.002)
    assert round(early_stop.tokens_per_round, 2) == 2.92
    assert early_stop.accepted_share == pytest.approx(167 / 259)
    # Taking every round for three drafts gives a number that the log contradicts.
    assert (
        round(
            conversions.convert("llama.cpp", "draft acceptance", 167 / 259, 3).tokens_per_round, 2
        )
        == 2.93
    )
    assert conversions.tokens_from_counts(167 + 87, 167) == pytest.approx(254 / 87)


def test_what_was_taken_for_granted_is_said() -> None:
    given = ("llama.cpp", "draft acceptance", 0.8)
    assumed = conversions.convert(*given, draft_length=4)
    assert assumed.assumption.startswith("every round drafts 4 tokens; where rounds stop early")
    assert conversions.convert(*given, 4, drafted_per_round=4.0).assumption == ""
    assert conversions.convert(*given, drafted_per_round=3.0).assumption == ""
    assert conversions.convert("llama.cpp", "mean acceptance length", 2.9).assumption == ""


def test_a_kind_that_nothing_converts_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kind must be one of 'tokens', .*got 'rate'"):
        conversions.Metric("tool", "metric", "rate", "definition", "source")  # type: ignore[arg-type]


def test_early_stop_leaves_alpha_unknown_and_says_why() -> None:
    result = conversions.convert("llama.cpp", "draft acceptance", 0.8, drafted_per_round=1.5)
    assert result.tokens_per_round == pytest.approx(2.2)
    assert result.accepted_share == pytest.approx(0.8)
    assert result.acceptance_rate is None
    assert result.conditional_rates is None
    assert "different numbers of tokens" in result.unknown["acceptance_rate"]
    with_positions = conversions.convert(
        "vLLM", "per-position acceptance rate", [0.6, 0.3], drafted_per_round=1.2
    )
    assert with_positions.tokens_per_round == pytest.approx(1.9)
    assert with_positions.accepted_share == pytest.approx(0.75)
    assert with_positions.conditional_rates is None
    assert "stop early" in with_positions.unknown["conditional_rates"]
    same = conversions.convert("llama.cpp", "draft acceptance", 0.8, 3, drafted_per_round=3.0)
    assert same.acceptance_rate is not None


def test_length_alone_leaves_share_and_alpha_unknown() -> None:
    result = conversions.convert("TensorRT-LLM", "[AR], 2025", 1.81)
    assert result.tokens_per_round == 1.81
    assert result.draft_length is None
    assert set(result.unknown) == {"accepted_share", "acceptance_rate", "conditional_rates"}
    assert "draft_length" in result.unknown["acceptance_rate"]


def test_sglang_rate_changed_its_meaning() -> None:
    # sgl-project/sglang issue 11948: accept length 2.17, 1.95, 1.57 with 4 draft tokens
    # (3 steps) printed as 0.54, 0.49, 0.39; pull request 23530 made it accepted over proposed.
    for length, printed in ((2.17, 0.54), (1.95, 0.49), (1.57, 0.39)):
        old = conversions.convert("SGLang", "accept rate, before April 2026", printed, 3)
        assert old.tokens_per_round == pytest.approx(length, abs=4 * 0.005 + 0.005)
    new = conversions.convert("SGLang", "accept rate, since April 2026", (2.17 - 1) / 3, 3)
    assert new.tokens_per_round == pytest.approx(2.17)


def test_xinfer_counts_one_too_many() -> None:
    with pytest.raises(ValueError, match=r"between 1 and 3\.0 tokens per round.*got 3\.31"):
        conversions.convert("vLLM", "mean acceptance length", 3.31, 2)
    assert conversions.convert("xinfer", "avg_tokens/step", 3.31, 2).tokens_per_round == (
        pytest.approx(2.31)
    )


def test_moesd_sigma_gives_its_speedup() -> None:
    # MoESD, gamma 4, sigma .90, 15.96 -> 6.96 (ms per token): E = 4.5 at a round cost of 1.96.
    tokens = conversions.convert("MoESD", "sigma", 0.90, 4).tokens_per_round
    assert tokens == pytest.approx(4.5)
    assert 1.9 < tokens / (15.96 / 6.96) < 2.0


def test_unreached_positions_are_nan() -> None:
    result = conversions.convert("vLLM", "per-position acceptance rate", [0.8, 0.0, 0.0])
    assert result.conditional_rates is not None
    assert result.conditional_rates[:2] == (0.8, 0.0)
    assert math.isnan(result.conditional_rates[2])


def test_rounding_does_not_refuse_what_is_possible() -> None:
    for length, tenths in itertools.product(range(1, 60), range(1, 11)):
        drafted = tenths / 10 * length
        full = conversions.convert("llama.cpp", "draft acceptance", 1.0, drafted_per_round=drafted)
        assert full.accepted_share is not None
        assert 1.0 - 1e-15 <= full.accepted_share <= 1.0
        empty = conversions.convert("MoESD", "sigma", 1.0 / (length + 1), length)
        assert empty.tokens_per_round == pytest.approx(1.0, rel=1e-15)


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("llm", "alpha", 0.5), r"tool must be one of 'vLLM', 'SGLang'.*got 'llm'"),
        (("SGLang", "accept rate", 0.5), r"metric of SGLang must be one of 'accept length'.*since"),
        ((None, "alpha", 0.5), r"tool must be one of .* got None"),
        (("vLLM", 3, 0.5), r"metric of vLLM must be one of .* got 3"),
        (
            ("vLLM", "draft acceptance rate", 0.6),
            r"draft_length or, .*drafted_per_round must be given .*, got None; .* accepted",
        ),
        (("MoESD", "sigma", 0.6), r"draft_length must be given .*, got None"),
        (("Leviathan", "alpha", 0.6), r"draft_length must be given .*, got None"),
        (("vLLM", "draft acceptance rate", 60, 4), r"value must be in \[0\.0, 1\.0\].*got 60\.0"),
        (("MoESD", "sigma", 0.1, 4), r"value must be in \[0\.2, 1\.0\].*got 0\.1"),
        (("any", "share of output drafted", 1.0), r"value must be in \[0\.0, 0\.99.*got 1\.0"),
        (("vLLM", "mean acceptance length", 0.9), r"value .* between 1 and inf .*got 0\.9"),
        (("vLLM", "mean acceptance length", 5.2, 4), r"value .* between 1 and 5.*got 5\.2"),
        (("vLLM", "mean acceptance length", math.nan), r"value must be a finite number, got nan"),
        (("vLLM", "mean acceptance length", "2"), r"value must be a finite number, got '2'"),
        (("vLLM", "mean acceptance length", True), r"value must be a finite number, got True"),
        (("vLLM", "mean acceptance length", [2.0, 3.0]), r"value must be a single number.*\(2,\)"),
        (("vLLM", "mean acceptance length", 2.0, 0), r"draft_length must be .*\[1, .*got 0"),
        (("vLLM", "mean acceptance length", 2.0, 2.5), r"draft_length must be .*got 2\.5"),
        (("vLLM", "mean acceptance length", 2.0, [4]), r"draft_length must be a single .*\(1,\)"),
        (
            ("vLLM", "mean acceptance length", 2.0, 4, 5.0),
            r"drafted_per_round must be in \(0, draft_length = 4\], got 5\.0",
        ),
        (
            ("vLLM", "mean acceptance length", 2.0, 4, 0.0),
            r"drafted_per_round must be .*\(0, inf\), got 0\.0",
        ),
        (
            ("vLLM", "mean acceptance length", 3.5, 4, 2.0),
            r"value must give between 1 and 3\.0 tokens per round .*got 3\.5",
        ),
        (
            ("vLLM", "per-position acceptance rate", [0.9, 0.8], None, 1.2),
            r"drafted_per_round must be in \[1\.7.*, inf\).*got 1\.2",
        ),
        (
            ("vLLM", "per-position acceptance rate", [0.7, 0.5, 0.6]),
            r"value must not rise .*got 0\.6 after 0\.5 at position 3; allowed here: \[0, 0\.5\]",
        ),
        (
            ("vLLM", "per-position acceptance rate", [0.7, 1.5]),
            r"value must be a number in \[0, 1\], got 1\.5 at index 1",
        ),
        (("vLLM", "per-position acceptance rate", 0.7), r"value must be a list of K >= 1 numbers"),
        (("vLLM", "per-position acceptance rate", []), r"value must be a list .*shape \(0,\)"),
        (
            ("vLLM", "per-position acceptance rate", [0.7, 0.5], 3),
            r"draft_length must equal the number of positions in value, 2, got 3",
        ),
        (("vLLM", "V0 draft acceptance rate", 0.5, 4), r"V0 also counted matches after"),
        (("MLX", "accepted %", 55, 4), r"cannot be converted: .*without saying"),
    ],
)
def test_convert_refuses_and_says_why(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conversions.convert(*arguments)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            conversions.acceptance_rate_from_tokens,
            (0.5, 4),
            r"tokens_per_round .*\[1\.0, inf\), got 0\.5",
        ),
        (
            conversions.acceptance_rate_from_tokens,
            ([2.0, 5.5], 4),
            r"tokens_per_round must be at most draft_length \+ 1 = 5, got 5\.5",
        ),
        (conversions.acceptance_rate_from_tokens, (1.0, 0), r"draft_length .*\[1, .*got 0"),
        (conversions.share_from_tokens, (5.5, 4), r"tokens_per_round .*= 5, got 5\.5"),
        (conversions.share_from_tokens, (math.nan, 4), r"tokens_per_round .*got nan"),
        (conversions.share_from_tokens, (math.inf, 4), r"tokens_per_round .*got inf"),
        (conversions.tokens_from_share, (1.1, 4), r"accepted_share .*\[0, 1\], got 1\.1"),
        (conversions.tokens_from_share, (0.5, 0), r"draft_length .*\[1, .*got 0"),
        (conversions.acceptance_rate_from_share, (-0.1, 4), r"accepted_share .*got -0\.1"),
        (conversions.acceptance_rate_from_share, (True, 4), r"accepted_share .*got True"),
        (
            conversions.acceptance_rate_from_share,
            ([0.1, 0.2], [1, 2, 3]),
            r"broadcast.*accepted_share \(2,\), draft_length \(3,\)",
        ),
        (conversions.tokens_from_survival, ([0.2, 0.3],), r"survival must not rise"),
        (conversions.tokens_from_survival, (0.2,), r"survival must have an axis of positions"),
        (
            conversions.tokens_from_counts,
            (10, 10),
            r"accepted_drafts must be at most .*= 9, got 10",
        ),
        (conversions.tokens_from_counts, (0, 0), r"output_tokens .*\[1, .*got 0"),
        (conversions.tokens_from_counts, (10, 2.5), r"accepted_drafts .*got 2\.5"),
    ],
)
def test_formulas_refuse_and_say_why(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_reports_cannot_be_changed() -> None:
    result = conversions.convert("vLLM", "mean acceptance length", 2.0, 4)
    with pytest.raises(AttributeError):
        result.tokens_per_round = 3.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        result.unknown["metric"] = "x"  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Leviathan", "alpha", [0.8, 0.6], 2), r"value must be a single number.* shape \(2,\)"),
        (("Leviathan", "alpha", 0.7, 4, 2.0), r"drafted_per_round must be 4 or left out.*got 2\.0"),
        (("EAGLE", "n-alpha", [0.8, 0.6], None, 1.5), r"drafted_per_round must be 2 or left out"),
    ],
)
def test_tokens_that_do_not_follow_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conversions.convert(*arguments)
