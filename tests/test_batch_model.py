"""Many sequences at once: every pass gives each slot the logits it would get alone."""

import copy

import numpy as np
import pytest
import torch
from half_exact import half_exact_gpt

from specmini.batch import fast
from specmini.batch.fast import BatchChoice, FastBatch, batch_candidates, fast_batch
from specmini.batch.side_by_side import SideBySide
from specmini.batch.steps import StepBatch
from specmini.engine.fast_model import FastModel
from specmini.engine.table_model import TableModel, random_table
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.gpt import Config

config = Config(vocabulary=50, context=24, layers=2, width=32, heads=4)
generator = torch.Generator().manual_seed(1)


@pytest.fixture(autouse=True)
def one_thread():
    with single_thread():
        yield


gpt = half_exact_gpt(config, generator)
in_doubles = copy.deepcopy(gpt).double()
names = list(batch_candidates(gpt))
slots = 5


def one_way(name):
    return BatchChoice({1: name}, {})


def expected(text):
    """(T, V) in double precision, without any cache."""
    return in_doubles(torch.tensor([text]))[0].numpy()


@pytest.mark.parametrize("name", names)
def test_each_slot_gets_the_logits_it_would_get_alone(name):
    """40 passes over random slots with random numbers of tokens; lengths are cut back at random."""
    rng = np.random.default_rng(0)
    model = FastBatch(gpt, slots, one_way(name))
    texts = [[] for _ in range(slots)]
    for turn in range(40):
        for slot in range(slots):
            if rng.random() < 0.3 or len(texts[slot]) > config.context - 4:
                keep = int(rng.integers(len(texts[slot]) // 2 + 1))
                model.truncate(slot, keep)
                texts[slot] = texts[slot][:keep]
        chosen = rng.permutation(slots)[: rng.integers(1, slots + 1)].tolist()
        new = [rng.integers(50, size=rng.integers(1, 5)).tolist() for _ in chosen]
        last_only = turn % 3 == 0
        logits = model.forward(chosen, new, last_only=last_only)
        right = []
        for slot, tokens in zip(chosen, new, strict=True):
            texts[slot] += tokens
            right.append(expected(texts[slot])[-1 if last_only else -len(tokens) :])
        right = np.concatenate(right)
        assert logits.shape == right.shape
        # float32 rounds at 6e-8; a forgotten gain, a wrong slot or place would show at 1e-2
        assert np.abs(logits - right).max() < 1e-5 * np.abs(right).max()
        assert list(model.lengths) == [len(text) for text in texts]


def test_steps_for_few_and_many_tokens_share_a_cache():
    model = FastBatch(gpt, 2, BatchChoice({1: names[0], 2: names[-1], 8: names[1]}, {}))
    text = np.random.default_rng(1).integers(50, size=20).tolist()
    parts = []
    for start, stop in ((0, 1), (1, 9), (9, 11), (11, 12), (12, 20)):
        logits = model.forward([1, 0], [text[start:stop]] * 2)
        parts.append(logits[: stop - start])
        np.testing.assert_allclose(logits[stop - start :], parts[-1], rtol=0, atol=1e-4)
    right = expected(text)
    assert np.abs(np.concatenate(parts) - right).max() < 1e-5 * np.abs(right).max()


def test_what_a_pass_runs_is_the_step_measured_at_the_nearest_number_of_tokens(monkeypatch):
    ran = []

    def recorded(model, name):
        return lambda tokens, cache, places, last_only, joined: (
            ran.append(name),
            (np.zeros((len(tokens), 50), np.float32), np.zeros((len(tokens), 32), np.float32)),
        )[1]

    monkeypatch.setattr(fast, "_step", recorded)
    model = FastBatch(gpt, 4, BatchChoice({1: "a", 2: "b", 8: "c"}, {}))
    # measured at 4, 8 and 32 tokens; nearest by ratio
    for tokens in ([1], [1, 1, 1, 1], [2, 2, 1, 1], [3, 3, 3, 3], [4, 4, 4, 4], [5, 5, 4, 4]):
        model.forward(list(range(len(tokens))), [[0] * n for n in tokens])
    assert ran == ["a", "a", "b", "b", "b", "c"]


def test_the_choice_is_the_fastest_of_what_was_measured():
    choice = FastBatch(gpt, 3).choice
    assert choice.seconds.keys() == set(names)
    assert list(choice.steps) == [1, 2, 3, 5, 9]
    for tokens, chosen in choice.steps.items():
        measured = {name: seconds[tokens] for name, seconds in choice.seconds.items()}
        assert 0 < measured[chosen] == min(measured.values())
    assert FastBatch(half_exact_gpt(config, generator), 3).choice is choice


def test_weights_that_changed_are_seen_by_the_next_engine():
    changing = half_exact_gpt(config, generator)
    choice = one_way("NumPy")
    before = FastBatch(changing, 2, choice).forward([0], [[1, 2]])
    changing.wte.weight.mul_(2.0)
    after = FastBatch(changing, 2, choice).forward([0], [[1, 2]])
    assert np.abs(after - before).max() > 0.1


def test_one_slot_is_the_engine_of_one_sequence_and_other_types_are_portable():
    one = fast_batch(gpt, 1)
    assert isinstance(one, SideBySide)
    assert isinstance(one._models[0], FastModel)
    assert isinstance(fast_batch(gpt, 3), FastBatch)
    portable = fast_batch(half_exact_gpt(config, generator).double(), 2)
    assert isinstance(portable, SideBySide)
    assert isinstance(portable._models[0], TorchModel)


def tables(count=3, context=8):
    return SideBySide(
        [TableModel(random_table(4, 1, np.random.default_rng(5)), context) for _ in range(count)]
    )


def test_side_by_side_packs_what_its_models_say():
    batch, alone = tables(), [TableModel(random_table(4, 1, np.random.default_rng(5)), 8)] * 1
    logits = batch.forward([2, 0], [[1, 2, 3], [0]])
    np.testing.assert_array_equal(logits[:3], alone[0].forward([1, 2, 3]))
    alone[0].truncate(0)
    np.testing.assert_array_equal(logits[3:], alone[0].forward([0]))
    assert batch.lengths == (1, 0, 3)
    batch.truncate(2, 1)
    assert batch.lengths == (1, 0, 1)
    assert (batch.vocabulary, batch.context) == (4, 8)
    assert batch.forward([2, 1], [[0, 0], [1]], last_only=True).shape == (2, 4)


@pytest.mark.parametrize("make", [tables, lambda: StepBatch(config, 3, None)])
@pytest.mark.parametrize(
    ("chosen", "tokens", "message"),
    [
        ([], [], r"slots must be different numbers in \[0, 3\), at least one, got \[\]"),
        ([0, 0], [[1], [1]], r"got \[0, 0\]"),
        ([3], [[1]], r"got \[3\]"),
        ([-1], [[1]], r"got \[-1\]"),
        ([0, 1], [[1]], "tokens must have a row for each of 2 slots, got 1"),
        ([0, 1], [[1], []], "in slot 1 after 0 of .*, got 0"),
        ([2], [[1] * 25], "in slot 2 after 0 of .*, got 25"),
        ([0], [[99]], "tokens must be in .*got 99 at 0"),
    ],
)
def test_a_pass_that_cannot_be_is_refused_and_changes_nothing(make, chosen, tokens, message):
    model = make()
    with pytest.raises(ValueError, match=message):
        model.forward(chosen, tokens)
    assert model.lengths == (0, 0, 0)


@pytest.mark.parametrize(
    ("slot", "length", "message"),
    [
        (3, 0, r"slot must be in \[0, 3\), got 3"),
        (0, 1, r"length must be in \[0, 0\] in slot 0, got 1"),
        (0, -1, "got -1"),
    ],
)
def test_a_length_that_cannot_be_is_refused(slot, length, message):
    with pytest.raises(ValueError, match=message):
        tables().truncate(slot, length)


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match="models must share one vocabulary and context"):
        SideBySide([TableModel(np.eye(2)), TableModel(np.eye(3))])
    with pytest.raises(ValueError, match="of 0 models"):
        SideBySide([])
    with pytest.raises(ValueError, match=r"slots must be a whole number in \[1"):
        fast_batch(gpt, 0)
    with pytest.raises(ValueError, match=r"choice must name steps out of \[.*\], got 'gpu'"):
        FastBatch(gpt, 2, one_way("gpu"))
