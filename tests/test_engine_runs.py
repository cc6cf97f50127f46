"""Runs of the pair in other engines: stored, read, tabled and drawn; and the committed ones."""

import re
from dataclasses import replace

import pytest

from specmini.figures.engines import survival_by_position
from specmini.measure import engine_runs
from specmini.measure.engine_runs import EngineRun, EngineRuns, clock_table, count_table, named
from specmini.measure.speedup_interval import Timed, pooled_speedup, speedup_interval
from specmini.metrics import DraftCounts
from specmini.pair import checkpoint_hashes

PLAIN = EngineRun("vLLM", "plain", "prose", 0.0, "", False, 1.0, (10, 30), (1.0, 3.0), None)
COUNTS = DraftCounts("vLLM", 20, 18, 40, (12, 6))
DRAFTED = replace(PLAIN, decoding="draft model", seconds=(0.5, 1.5), counts=COUNTS)
SAMPLED = replace(DRAFTED, temperature=1.0, rule="greedy draft", seconds=(), same_output=None)
RUNS = EngineRuns({"vllm": "0"}, (PLAIN, DRAFTED, SAMPLED, replace(SAMPLED, mended=True)))


def test_what_is_stored_is_read(tmp_path):
    engine_runs.store(tmp_path / "runs.json", RUNS)
    assert engine_runs.load(tmp_path / "runs.json") == RUNS
    assert [path.name for path in tmp_path.iterdir()] == ["runs.json"]
    (tmp_path / "runs.json").write_text("[]")
    with pytest.raises(ValueError, match="must hold an object with about and runs"):
        engine_runs.load(tmp_path / "runs.json")


def test_speedups_are_over_the_same_engine():
    assert RUNS.speedup(DRAFTED) == 2.0
    assert RUNS.interval(DRAFTED) == (2.0, 2.0)  # both prompts gain alike
    assert DRAFTED.tokens_per_second == 20.0
    with pytest.raises(ValueError, match=r"runs must have some with .*'llama.cpp'"):
        RUNS.select(engine="llama.cpp")
    with pytest.raises(ValueError, match="vLLM, draft model, was not timed"):
        SAMPLED.tokens_per_second  # noqa: B018


def test_silent_steps_count_in_e_and_not_in_e_k():
    # 40 tokens: 20 rounds wrote 20 + 18, so two steps were silent
    assert DRAFTED.hit_rate == pytest.approx(20 / 22)
    assert DRAFTED.tokens_per_step == pytest.approx(40 / 22)
    mixture = 1 + DRAFTED.hit_rate * (COUNTS.tokens_per_round - 1)
    assert DRAFTED.tokens_per_step == pytest.approx(mixture)
    # what is accepted beyond the end of a text makes no step negative
    beyond = replace(DRAFTED, tokens=(10, 25))
    assert (beyond.hit_rate, beyond.tokens_per_step) == (1.0, 35 / 20)
    with pytest.raises(ValueError, match="vLLM, plain, counted no drafts"):
        PLAIN.tokens_per_step  # noqa: B018


def test_an_interval_needs_prompts():
    one = [Timed(10, 1.0)]
    with pytest.raises(ValueError, match="at least 2 prompts, got 1"):
        speedup_interval(one, one)
    with pytest.raises(ValueError, match="the 2 prompts of plain, got 1"):
        speedup_interval(one * 2, one)
    with pytest.raises(ValueError, match="speculative must hold at least one prompt"):
        pooled_speedup(one, [])
    low, high = speedup_interval([Timed(10, 1.0), Timed(10, 1.2)], [Timed(10, 0.5), Timed(10, 0.7)])
    assert low < 2.2 / 1.2 < high


def test_tables_leave_out_what_was_not_measured():
    counted = str(count_table(RUNS.runs, "counted"))
    assert counted.splitlines()[0] == "counted"
    assert len(counted.splitlines()) == 2 + 3
    assert "12 6" in counted
    assert "0.60 0.50" in counted  # 12 of 20, then 6 of 12
    assert "1.90  0.91  1.82" in counted  # E_K, h, E
    clocks = str(clock_table(RUNS))
    assert len(clocks.splitlines()) == 1 + 2
    assert "2.00 to 2.00" in clocks


def test_a_defect_is_said_and_a_fading_draft_is_not():
    stopped = replace(SAMPLED, counts=DraftCounts("vLLM", 100, 30, 400, (30, 0, 0, 0)))
    figure = survival_by_position([stopped, SAMPLED])
    assert figure.claim.startswith("vLLM, greedy draft: no second draft survives")
    assert "30%, 0%, 0%, 0%" in figure.description
    assert "further than the first" in survival_by_position([SAMPLED]).claim
    with pytest.raises(ValueError, match="one kind of prompts"):
        survival_by_position([SAMPLED, replace(SAMPLED, kind="code")])
    with pytest.raises(ValueError, match="vLLM has none"):
        survival_by_position([PLAIN])
    assert named(replace(stopped, mended=True)) == "vLLM mended, greedy draft"


@pytest.fixture(scope="module")
def measured():
    return engine_runs.measured_engines()


def test_results_belong_to_the_committed_checkpoints(measured):
    """Who replaces a checkpoint measures again: make engines WRITE=FILE."""
    assert measured.about["sha256"] == checkpoint_hashes()
    assert not re.search(r"/(home|root|Users|tmp|work)\b", str(measured.about))


def test_every_engine_ran_both_kinds_at_both_temperatures(measured):
    for engine in ("specmini", "transformers", "vLLM"):
        for kind in ("prose", "code"):
            for temperature in (0.0, 1.0):
                found = measured.select(engine=engine, kind=kind, temperature=temperature)
                assert "draft model" in {run.decoding for run in found}


def test_greedy_acceptance_is_the_pairs_not_the_engines(measured):
    """Same rounds but for near ties and each text's end: E within a twentieth of ours."""
    for kind in ("prose", "code"):
        runs = measured.select(decoding="draft model", kind=kind, temperature=0.0)
        ours, *others = [run.counts.tokens_per_round for run in runs]
        assert len(others) == 2
        for theirs in others:
            assert theirs == pytest.approx(ours, rel=0.05)


def test_the_defect_shows_in_the_counts_and_mended_it_is_gone(measured):
    for kind in ("prose", "code"):
        vllm = {"engine": "vLLM", "decoding": "draft model", "kind": kind, "temperature": 1.0}
        [broken] = measured.select(**vllm, mended=False)
        [mended] = measured.select(**vllm, mended=True)
        assert any("a defect, not a bad drafter" in remark for remark in broken.counts.remarks)
        assert broken.counts.by_position[1] == 0
        assert mended.counts.by_position[1] > 10
