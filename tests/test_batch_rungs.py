"""Every rung of the ladder in a batch: it writes the target's text, whoever drafts."""

import functools
import itertools

import numpy as np
import pytest
import torch
from test_batch_heads import CONTEXT, D, V, head, medusa, randomized
from test_batch_serving import models, requests, tables, without_times
from test_ladder_results import Listening

from specmini.batch.drafter import BatchModelDrafter, SideBySideDrafter
from specmini.batch.fast import BatchChoice, FastBatch
from specmini.batch.gate import BatchGate
from specmini.batch.serving import Server, requests_for
from specmini.batch.verdicts import one_by_one
from specmini.drafters import Gate, ModelDrafter, NgramTables, SuffixDrafter
from specmini.drafters.confidence import likely_whole
from specmini.engine.table_model import TableModel
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.generate import generate
from specmini.gpt import GPT, Config
from specmini.heads.mtp_module import MtpModule
from specmini.heads.trained import Heads
from specmini.ladder.rungs import ChainRung, RoundCosts, chain_rungs, head_rungs, tree_rungs
from specmini.measure.tallies import tally
from specmini.pair import Pair
from specmini.sampling import Sampling, greedy, plain
from specmini.verify.block import verify_block

SLOTS = 3
costs = RoundCosts(0.1, dict.fromkeys(range(1, 5), 1.2))
rng = np.random.default_rng(0)
written = rng.integers(V, size=300)
shape = Config(V, CONTEXT, 3, D, 4)  # early exit keeps two blocks of it
target, draft = (
    randomized(GPT(shape, torch.Generator().manual_seed(3)), scale, 1) for scale in (0.3, 0.25)
)
module = randomized(MtpModule.on_top_of(target), 0.02, 4)
pair = Pair(target, draft, None, {})
rungs = (
    *chain_rungs(pair, NgramTables(written, V, 3), [written], {1: costs, SLOTS: costs}),
    *head_rungs(Heads(head, medusa, module, {})),
    *tree_rungs(pair, [-1, 0, 1, -1, 0]),
)


@pytest.fixture
def quickly(monkeypatch):
    """Engines that need no measurement."""
    one = BatchChoice({1: "NumPy"}, {})
    quick = functools.partial(FastBatch, choice=one)
    monkeypatch.setattr("specmini.ladder.rungs.fast_batch", quick)
    monkeypatch.setattr(
        "specmini.batch.heads.FastBatch", lambda model, slots, _: quick(model, slots)
    )
    with single_thread():
        yield quick


@pytest.mark.parametrize("rung", rungs, ids=lambda rung: rung.name)
def test_a_rung_in_a_batch_writes_the_target_s_greedy_text(rung, quickly):
    """Prompts repeat themselves, so that lookups find something."""
    rng = np.random.default_rng(1)
    prompts = [2 * rng.integers(V, size=rng.integers(2, 5)).tolist() for _ in range(8)]
    right = [generate(TorchModel(target), one, 14, rng, sampling=greedy).tokens for one in prompts]
    drafted = 0
    for most in rung.batch_lengths:
        server = rung.serve(quickly(target, SLOTS), requests_for(prompts, 14, rng), greedy, most)
        found = server.run()
        assert [text.tokens for text in found.texts] == right
        rows = [row for round in found.rounds for row in round.rows]
        assert max(len(row.drafted) for row in rows) <= most
        assert {row.parents is None for row in rows} == {isinstance(rung, ChainRung)}
        drafted += tally(rows).drafted
    assert drafted > 0


def test_every_rung_is_measured_in_a_batch_and_with_few_drafts():
    lengths = {rung.name: rung.batch_lengths for rung in rungs}
    assert lengths["feature head"] == (1, 2, 4)
    assert lengths["prompt lookup"] == (2, 4)
    assert lengths["draft model, stops when unsure"] == (4,)
    assert lengths["draft model, gated"] == (4,)
    assert lengths["draft model, static tree"] == (3, 5)
    assert min(map(len, lengths.values())) > 0


alone = {
    "unsure": lambda of: ModelDrafter(of, plain, keep_going=likely_whole(0.4)),
    "block": lambda of: ModelDrafter(of, plain),
}


@pytest.mark.parametrize("kind", alone)
@pytest.mark.parametrize(("slots", "draft_length"), [(1, 3), (4, 6), (16, 2)])
def test_a_text_is_that_of_the_single_sequence(kind, slots, draft_length):
    """Stopping when unsure and block verification: token for token, round for round."""
    stops = likely_whole(0.4) if kind == "unsure" else None
    rule = {"verify": one_by_one(verify_block)} if kind == "block" else {}
    drafter = BatchModelDrafter(models(tables[1], slots, 30), plain, keep_going=stops)
    found = Server(
        models(tables[0], slots), requests(20), sampling=plain, drafter=drafter,
        draft_length=draft_length, **rule,
    ).run()  # fmt: skip
    rule = {"verify": verify_block} if kind == "block" else {}
    lengths = set()
    for text, request in zip(found.texts, requests(20), strict=True):
        single = generate(
            TableModel(tables[0], 64), request.prompt, request.new_tokens, request.rng,
            sampling=plain, drafter=alone[kind](TableModel(tables[1], 30)),
            draft_length=draft_length, **rule,
        )  # fmt: skip
        assert without_times(text) == without_times(single)
        lengths |= {len(round.drafted) for round in text.rounds}
    assert len(lengths) > 2


def test_a_gate_of_a_batch_decides_for_each_slot_as_it_would_alone():
    """Each slot gets one text; the drafts of a slot's gate stop when they stop paying."""
    slots = 5
    prices = {length: 1 + 0.15 * length for length in range(1, 9)}
    drafter = BatchModelDrafter(models(tables[1], slots), plain)
    gate = BatchGate(drafter, 0.1, prices.__getitem__)
    wanted = requests(slots, seed=3, longest=60)
    found = Server(
        models(tables[0], slots), wanted, sampling=plain, drafter=gate, draft_length=8
    ).run()
    lengths = set()
    for text, request in zip(found.texts, requests(slots, seed=3, longest=60), strict=True):
        single = generate(
            TableModel(tables[0], 64), request.prompt, request.new_tokens, request.rng,
            sampling=plain, draft_length=8,
            drafter=Gate(ModelDrafter(TableModel(tables[1]), plain), 0.1, prices.__getitem__),
        )  # fmt: skip
        assert without_times(text) == without_times(single)
        lengths |= {len(round.drafted) for round in text.rounds}
    assert len(lengths) > 2


def test_a_gate_s_drafter_hears_the_verdicts_and_its_cost_is_checked():
    inner = [Listening(), Listening()]
    gate = BatchGate(SideBySideDrafter(inner), 0.0, lambda length: 1.0)
    Server(
        models(tables[0], 2), requests(2), sampling=Sampling(1.0), drafter=gate, draft_length=2
    ).run()
    assert min(len(one.heard) for one in inner) > 0
    with pytest.raises(ValueError, match="cost_ratio must be"):
        BatchGate(gate, -0.1, lambda length: 1.0)


def test_fellows_match_the_same_earlier_texts_and_each_its_own():
    earlier = [5, 6, 7, 8]
    first = SuffixDrafter([earlier], factor=2.0)
    fellow = first.fellow()
    for drafter, text in itertools.product((first, fellow), ([1, 5, 6], [3, 4, 3], [2, 5, 6, 7])):
        right = SuffixDrafter([earlier], factor=2.0).propose(text, 3, rng).tokens.tolist()
        assert drafter.propose(text, 3, rng).tokens.tolist() == right
    assert fellow.factor == 2.0
