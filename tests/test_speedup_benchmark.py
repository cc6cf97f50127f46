"""The benchmark of the whole grid keeps what it has measured, and nothing that is out of date."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from specmini.measure.cell import Cell
from specmini.measure.results import Setting
from specmini.measure.tallies import Acceptance, Tally

ABOUT = {"sha256": {"target": "a"}, "torch": "2", "new_tokens": 96, "date": "2026-01-01"}
ONE = Tally(1, 1, 0, 0, 0.0, 1.0, 1.0)
CELL = Cell(1, (ONE,), (ONE,), replace(ONE, drafted=1), Acceptance((1,), (0,)), (1, 0), 0.0)
SETTINGS = (Setting("distilled", "prose", 0.0, CELL, (1.0,), 1.0),)


@pytest.fixture(scope="module")
def speedup():
    path = Path(__file__).parent / "benchmarks" / "speedup.py"
    spec = importlib.util.spec_from_file_location("speedup_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look there
        spec.loader.exec_module(module)
    return module


def test_a_pass_is_found_again_on_another_day(speedup, tmp_path):
    speedup.Passes(tmp_path / "part", ABOUT).put("a", SETTINGS)
    later = speedup.Passes(tmp_path / "part", ABOUT | {"date": "2026-01-02"})
    assert later.get("a") == SETTINGS
    assert later.get("b") is None


@pytest.mark.parametrize(
    "changed", [{"torch": "3"}, {"new_tokens": 32}, {"sha256": {"target": "b"}}, {"kernels": {}}]
)
def test_a_pass_under_other_conditions_is_not(speedup, tmp_path, changed):
    speedup.Passes(tmp_path / "part", ABOUT).put("a", SETTINGS)
    assert speedup.Passes(tmp_path / "part", ABOUT | changed).get("a") is None


def test_nothing_is_left_behind(speedup, tmp_path):
    passes = speedup.Passes(tmp_path / "part", ABOUT)
    passes.put("a", SETTINGS)
    passes.forget()
    assert list(tmp_path.iterdir()) == []


def test_plans_that_differ_have_passes_of_their_own(speedup):
    """In lengths (with the same longest one), in prompts, or by the number of the pass."""

    class Names(list):
        def get(self, name):
            self.append(name)
            return SETTINGS

    names, plan = Names(), speedup.Plan("distilled", "prose", 1.0, (2, 4), 6, 2)
    for one in (plan, replace(plan, lengths=(4,)), replace(plan, prompts=7)):
        speedup.repeated(one, None, None, names)
    assert len(set(names)) == 6
