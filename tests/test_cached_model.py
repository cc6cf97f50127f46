"""Every model keeps the promises of ``CachedModel``: the engine relies on nothing else."""

import numpy as np
import pytest

from specmini.engine.table_model import TableModel, random_table


def table_model():
    return TableModel(random_table(7, 2, np.random.default_rng(1)), context=12)


def gpt():
    torch = pytest.importorskip("torch")
    from specmini.gpt import GPT, Config

    config = Config(vocabulary=7, context=12, layers=2, width=8, heads=2)
    return GPT(config, torch.Generator().manual_seed(1))


def torch_model():
    model = gpt().double()
    from specmini.engine.torch_model import TorchModel

    return TorchModel(model)


def numpy_model():
    model = gpt()
    from specmini.engine.numpy_model import NumpyModel

    return NumpyModel(model)


def fast_model():
    model = gpt()
    from specmini.engine.fast_model import Choice, FastModel

    # which of them is the fastest varies; that all agree is tested elsewhere
    return FastModel(model, Choice("NumPy", "torch", {}))


makers = [table_model, torch_model, numpy_model, fast_model]


@pytest.fixture(params=makers, ids=lambda make: make.__name__)
def model(request):
    return request.param()


text = [3, 1, 6, 0, 2, 2, 5, 4, 1, 3, 0, 6]
close = {"rtol": 1e-6, "atol": 1e-6}  # logits come in single precision


def test_logits_are_the_same_however_the_text_is_cut(model):
    whole = model.forward(text)
    assert whole.shape == (12, 7)
    for pieces in ([1] * 12, [5, 7], [1, 10, 1]):
        model.truncate(0)
        cut = [model.forward(text[model.length :][:piece]) for piece in pieces]
        np.testing.assert_allclose(np.concatenate(cut), whole, **close)
        assert model.length == 12


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int16, np.uint8])
def test_arrays_of_any_integers_are_tokens(model, kind):
    expected = model.forward(text)
    model.truncate(0)
    found = [model.forward(np.array(part, dtype=kind)) for part in (text[:11], text[11:])]
    np.testing.assert_allclose(np.concatenate(found), expected, **close)


@pytest.mark.parametrize("keep", [0, 1, 5, 8])
def test_what_was_truncated_leaves_no_trace(model, keep):
    model.forward(text[:8])
    model.truncate(keep)
    assert model.length == keep
    after = model.forward([4, 4, 1])
    model.truncate(0)
    np.testing.assert_allclose(model.forward([*text[:keep], 4, 4, 1])[keep:], after, **close)


def test_logits_given_out_earlier_stay_as_they_were(model):
    first = model.forward(text[:3])
    copy = first.copy()
    model.forward(text[3:6])
    model.truncate(1)
    model.forward(text[:5])
    np.testing.assert_array_equal(first, copy)


def test_a_full_context_can_be_emptied(model):
    model.forward(text)
    with pytest.raises(ValueError, match=r"tokens must have length in \[1, 0\] after 12 of 12"):
        model.forward([0])
    model.truncate(11)
    model.forward([0])
    assert model.length == 12


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], r"tokens must have length in \[1, 9\] after 3 of 12, got 0"),
        ([0] * 10, r"tokens must have length in \[1, 9\] after 3 of 12, got 10"),
        ([0, 7], r"tokens must be in \[0, 7\), got 7 at 1"),
        ([-1], r"tokens must be in \[0, 7\), got -1 at 0"),
        ([1.5], r"tokens must be integers of shape \(T,\), got float64"),
    ],
)
def test_tokens_that_cannot_be_seen_are_refused_and_change_nothing(model, tokens, message):
    model.forward(text[:3])
    with pytest.raises(ValueError, match=message):
        model.forward(tokens)
    assert model.length == 3


@pytest.mark.parametrize("length", [-1, 4])
def test_a_length_that_was_never_seen_is_refused(model, length):
    model.forward(text[:3])
    with pytest.raises(ValueError, match=rf"length must be in \[0, 3\], got {length}"):
        model.truncate(length)
    assert model.length == 3
