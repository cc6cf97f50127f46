"""The measure command: a verdict, numbers and predictions for this machine, or one line of why not.

The clock is the machine's, so nothing here asserts a speedup; what follows from the counts is
compared with the theory.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

from specmini import theory
from specmini.command import main
from specmini.commands.measure import trial_lines
from specmini.engine.table_model import TableModel, random_table
from specmini.measure.cell import Cell
from specmini.measure.tallies import Acceptance, Tally
from specmini.measure.trial import Trial, try_pair
from specmini.sampling import Sampling

QUICK = ("measure", "--count", "3", "--new-tokens", "24", "--draft-length")


def told(capsys, *arguments):
    code = main([*map(str, arguments)])
    out = capsys.readouterr()
    return code, out.out, out.err


def cell(length, speedup, spread=0.0):
    """A cell of four prompts whose speculative side takes 1 / speedup as long."""
    plain = tuple(Tally(10, 10, 0, 0, 0.0, 0.9, 1.0) for _ in range(4))
    factors = 1 + spread * np.array([-1, 1, -1, 1])
    speculative = tuple(
        Tally(5, 10, 5 * length, 5, 0.1, 0.5, float(factor) / speedup) for factor in factors
    )
    full = Tally(20, 40, 20 * length, 20, 0.4, 2.0, 4.0)
    offered = (20, *[10] * (length - 1))
    return Cell(length, plain, speculative, full, Acceptance(offered, offered), (1,), 0.0)


def trial(*cells):
    return Trial(cells, tuple(1.0 + 0.1 * one.draft_length for one in cells), 0.95)


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ([cell(1, 1.3), cell(2, 0.8)], "win"),
        ([cell(1, 0.9), cell(2, 0.8)], "lose"),
        ([cell(1, 1.05, spread=0.2), cell(2, 0.8)], "too close to call"),
    ],
)
def test_a_verdict_needs_its_interval(cells, verdict):
    found = trial(*cells)
    assert found.verdict == verdict
    assert found.best is cells[0]
    assert found.best_forecast == 2


def test_intervals_allow_for_the_choice_of_the_best():
    alone, many = trial(cell(1, 1.1, 0.1)), trial(*[cell(k, 1.1, 0.1) for k in (1, 2, 3)])
    low, high = alone.interval(alone.best)
    wider = many.interval(many.cells[0])
    assert wider[0] < low < 1.1 < high < wider[1]
    assert (low, high) == alone.best.interval(0.95)


def test_a_pair_of_tables_on_trial():
    rng = np.random.default_rng(1)
    table = random_table(vocabulary=20, order=1, rng=rng)
    turns = []
    found = try_pair(
        TableModel(table),
        TableModel(0.6 * table + 0.4 / 20),
        [[1], [2], [3]],
        draft_lengths=(1, 3),
        sampling=Sampling(1.0),
        new_tokens=200,
        rng=rng,
        passes=3,
        progress=lambda done, of: turns.append((done, of)),
    )
    assert [one.draft_length for one in found.cells] == [1, 3]
    assert turns == [(1, 3), (2, 3), (3, 3)]
    for one, foretold in zip(found.cells, found.forecasts, strict=True):
        # E from rounds beside E from alpha; a fair share of both is luck, with this seed 3 %
        expected = theory.tokens_per_round(one.acceptance.rate, one.draft_length)
        assert one.full.tokens_per_round == pytest.approx(expected, rel=0.1)
        assert foretold > 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompts": [[1]]}, "prompts must hold at least 2"),
        ({"draft": TableModel(np.full((5, 5), 0.2))}, "one vocabulary, got 4 and 5 ids"),
        ({"new_tokens": 10**9}, "must fit the context of"),
        ({"level": 1.0}, r"level must be in \(0, 1\), got 1.0"),
        ({"draft_lengths": (0,)}, "draft_lengths must be different"),
    ],
)
def test_what_cannot_be_tried_is_said(changed, message):
    model = TableModel(np.full((4, 4), 0.25), context=1000)
    given = {"target": model, "draft": model, "prompts": [[1], [2]], "draft_lengths": (1,),
             "sampling": Sampling(), "new_tokens": 5, "rng": np.random.default_rng(0)}  # fmt: skip
    given |= changed
    target, draft, prompts = (given.pop(name) for name in ("target", "draft", "prompts"))
    with pytest.raises(ValueError, match=message):
        try_pair(target, draft, prompts, **given)


def test_lines_name_the_numbers_and_what_they_are():
    lines = trial_lines(trial(cell(1, 1.3), cell(2, 0.8)), "on tables")
    assert lines[0].startswith(
        "Speculation wins on this machine: at its best, K = 1, a token comes"
    )
    assert "1.30 times as fast (1.30 to 1.30)" in lines[0]
    table = "\n".join(lines)
    for word in ("alpha", "c", "v", "E", "measured", "predicted", "forecast", "K = 2 by the forec"):
        assert word in table


def test_the_pair_is_measured_by_default(capsys):
    code, out, err = told(capsys, *QUICK, "2", "--kind", "code")
    assert (code, err) == (0, "")
    assert "on this machine: at its best, K = 2" in out
    assert "3 prompts, 24 new tokens each, temperature 0" in out


def test_json_has_the_same_counts_for_the_same_seed(capsys, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('"def f(x):"\n\n"The list\\nis"\n"A"\n')
    words = (*QUICK, "1,2", "--prompts", prompts, "--temperature", "1", "--json")
    one, other = (json.loads(told(capsys, *words)[1]) for _ in range(2))
    assert [row["draft_length"] for row in one["lengths"]] == [1, 2]
    assert one["verdict"] in ("win", "lose", "too close to call")
    for row, again in zip(one["lengths"], other["lengths"], strict=True):
        for count in ("acceptance_rate", "tokens_per_round"):
            assert row[count] == again[count]
        tokens = theory.tokens_per_round(row["acceptance_rate"], row["draft_length"])
        cost = row["draft_length"] * row["cost_ratio"] + row["verify_cost"]
        assert row["predicted"] == pytest.approx(float(tokens) / cost)
        product = np.prod(list(row["residual"].values()))
        assert product == pytest.approx(row["speedup"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--draft-length", "many"), "--draft-length must be whole numbers"),
        (("--draft-length", "0"), "draft_lengths must be different numbers of at least 1"),
        (("--temperature", "-1"), "temperature must be 0 or in"),
        (("--count", "0"), "--count must be at least 1"),
        (("--count", "1"), "prompts must hold at least 2"),
        (("--new-tokens", "500"), "must fit the context of 256, got 564"),
        (("--target", "x"), "--target and --draft must be given together"),
        (("--target", "x", "--draft", "y"), "must be two checkpoint files or two folders, got x"),
        (("--prompts", "no such file"), "cannot read 'no such file'"),
    ],
)
def test_errors_are_one_line_that_names_the_option(capsys, words, message):
    code, out, err = told(capsys, "measure", *words)
    assert (code, out) == (2, "")
    assert err.startswith("specmini measure: ")
    assert err.count("\n") == 1
    assert message in err


def test_prompts_that_are_none(capsys, tmp_path):
    path = tmp_path / "prompts.jsonl"
    for content in ("no JSON", "1\n2", "{}"):
        path.write_text(content)
        code, _, err = told(capsys, "measure", "--prompts", path)
        assert code == 2
        assert "must hold a JSON string a line" in err


def test_a_folder_that_is_no_model(capsys, tmp_path):
    code, _, err = told(capsys, "measure", "--target", tmp_path, "--draft", tmp_path)
    assert code == 2
    assert "needs transformers" in err or "folder must hold config.json" in err


def test_best_of_equals_is_the_first():
    one = cell(1, 1.2)
    assert trial(one, replace(one, draft_length=2)).best.draft_length == 1
