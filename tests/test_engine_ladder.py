"""Which engine ships which rung, against the data file."""

import pytest

from specmini.record import engine_ladder, engines
from specmini.record.engine_ladder import RUNGS, shipped_rungs


def test_every_method_stands_on_one_rung():
    found = {one.rung: one for one in shipped_rungs()}
    assert list(found) == list(RUNGS)
    for row in engines.methods():
        if row.family != "custom":
            [rung] = [name for name, names in RUNGS.items() if row.method in names]
            assert row.engine in found[rung].engines


def test_absent_is_known_to_be_absent():
    for one in shipped_rungs():
        assert not set(one.engines) & set(one.absent)
        for name in one.absent:
            assert set(RUNGS[one.rung]) & set(engines.engine(name).absent)
    medusa = next(one for one in shipped_rungs() if one.rung == "Medusa")
    assert medusa.engines == ()
    assert "vLLM" in medusa.absent


def test_a_new_method_must_get_a_rung(monkeypatch):
    fewer = {name: names for name, names in RUNGS.items() if name != "MTP"}
    monkeypatch.setattr(engine_ladder, "RUNGS", fewer)
    with pytest.raises(ValueError, match="RUNGS must hold every method, got MTP"):
        shipped_rungs()
