"""Checkpoints: what is stored comes back, and a broken file is named, with what is wrong."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file

from specmini import checkpoints
from specmini.gpt import GPT, Config

config = Config(vocabulary=40, context=16, layers=2, width=16, heads=2)
record = {"tokens": 12, "tokenizer_sha256": "abc"}


@pytest.fixture
def model():
    return GPT(config, torch.Generator().manual_seed(0)).eval().requires_grad_(False)


@pytest.fixture
def tokens():
    return torch.arange(32).view(2, 16)


def test_float32_comes_back_exactly(tmp_path, model, tokens):
    checkpoints.save_model(tmp_path / "m", model, record)
    loaded, found = checkpoints.load_model(tmp_path / "m")
    assert torch.equal(loaded(tokens), model(tokens))
    assert found["tokens"] == 12
    assert found["config"] == vars(config)


@pytest.mark.parametrize(("storage", "bytes_a_weight"), [("int8", 1.4), ("float16", 2.3)])
def test_small_storage_is_small_and_near(tmp_path, model, storage, bytes_a_weight):
    checkpoints.save_model(tmp_path / "m", model, record, storage)
    loaded, _ = checkpoints.load_model(tmp_path / "m")
    for name, weight in model.state_dict().items():
        # half of a row's step in 8 bits, which is rounded up by at most 1/8; 11 bits in float16
        share = 0.51 * 9 / 8 / 127 if storage == "int8" else 1e-3
        step = weight.abs().amax(-1, keepdim=True) * share
        assert ((loaded.state_dict()[name] - weight).abs() <= step + 1e-7).all(), name
    overhead = 4000  # names, shapes and the record
    assert (tmp_path / "m").stat().st_size < bytes_a_weight * config.parameters + overhead


@pytest.mark.parametrize("storage", ["int8", "float16"])
def test_what_is_loaded_is_the_model(tmp_path, model, tokens, storage):
    """The rounded weights define it, and float16 holds them: a kernel that reads half the bytes
    computes with the same numbers."""
    checkpoints.save_model(tmp_path / "once", model, record, storage)
    once, _ = checkpoints.load_model(tmp_path / "once")
    checkpoints.save_model(tmp_path / "half", once, record, "float16")
    half, _ = checkpoints.load_model(tmp_path / "half")
    assert torch.equal(once(tokens), half(tokens))


@pytest.mark.parametrize("size", [100.0, 1.0, 0.02, 1e-4, 1e-6, 0.0])
def test_int8_weights_of_any_size_are_float16_numbers(tmp_path, model, size):
    matrix = size * torch.randn(64, 48, generator=torch.Generator().manual_seed(1))
    rounded, scale = checkpoints._to_int8(matrix)
    weights = rounded.float() * scale.float()
    assert torch.equal(weights.half().float(), weights)
    assert ((weights - matrix).abs() <= scale.float() * 0.501).all()


def test_a_flipped_bit_is_noticed(tmp_path, model):
    path = tmp_path / "m"
    checkpoints.save_model(path, model, record)
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="m is corrupted: its tensors hash to"):
        checkpoints.load_model(path)


def test_a_changed_record_is_noticed(tmp_path, model):
    """Another number of heads has the same tensors, and computes something else."""
    path = tmp_path / "m"
    checkpoints.save_model(path, model, record)
    content = path.read_bytes()
    changed = content.replace(b'\\"heads\\": 2', b'\\"heads\\": 4')
    assert changed != content
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="m is corrupted: its record hash to"):
        checkpoints.load_model(path)


def test_a_file_from_before_records_were_hashed_is_read(tmp_path):
    tensors = {"x": torch.ones(2)}
    metadata = {"record": json.dumps(record), "sha256": checkpoints.digest(tensors)}
    save_file(tensors, tmp_path / "m", metadata)
    assert checkpoints.read(tmp_path / "m")[1] == record


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        checkpoints.load_model(tmp_path / "nothing")


@pytest.mark.parametrize(("name", "value"), [("haeds", 2), ("heads", 3)])
def test_a_configuration_that_is_none(tmp_path, name, value):
    wrong = {"config": {**vars(config), name: value}}
    checkpoints.write(tmp_path / "m", {"x": torch.ones(2)}, wrong)
    with pytest.raises(ValueError, match=rf"m holds no model: configuration .*{name}"):
        checkpoints.load_model(tmp_path / "m")


def test_tensors_of_any_shape_come_back(tmp_path):
    tensors = {"number": torch.tensor(1.5), "nothing": torch.ones(0, 3), "turned": torch.eye(3).T}
    checkpoints.write(tmp_path / "m", tensors, record)
    read, _ = checkpoints.read(tmp_path / "m")
    assert {name: tensor.shape for name, tensor in read.items()} == {
        name: tensor.shape for name, tensor in tensors.items()
    }


def test_nothing_that_was_read_needs_the_file_any_more(tmp_path):
    """A mapped file shows what is written into it, and Windows lets nobody replace it."""
    path = tmp_path / "m"
    checkpoints.write(path, {"x": torch.ones(2)}, record)
    tensors, _ = checkpoints.read(path)
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.write(b"\0" * len(content))
    assert torch.equal(tensors["x"], torch.ones(2))


def test_what_is_flushed_may_be_written(tmp_path, monkeypatch):
    """Windows refuses to flush a file that is open for reading only."""

    def flush(descriptor):
        assert os.write(descriptor, b"") == 0

    monkeypatch.setattr(checkpoints.os, "fsync", flush)
    checkpoints.write(tmp_path / "m", {"x": torch.ones(2)}, record)


def test_a_file_cut_short_is_noticed(tmp_path, model):
    path = tmp_path / "m"
    checkpoints.save_model(path, model, record)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="m is not a complete safetensors file"):
        checkpoints.load_model(path)


def test_a_file_of_someone_else(tmp_path):
    save_file({"x": torch.ones(2)}, tmp_path / "m")
    with pytest.raises(ValueError, match="m has no record and hash"):
        checkpoints.read(tmp_path / "m")


def test_tensors_that_are_no_model(tmp_path):
    checkpoints.write(tmp_path / "m", {"x": torch.ones(2)}, record)
    with pytest.raises(ValueError, match=r"m holds no model: its record has \['tokenizer_sha256'"):
        checkpoints.load_model(tmp_path / "m")


def edit(path, change):
    """Change the tensors of a checkpoint and store them with a hash that fits."""
    tensors = load_file(path)
    _, stored = checkpoints.read(path)
    change(tensors)
    checkpoints.write(path, tensors, stored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("wpe.weight"), "lacks 1 weights, the first is wpe.weight"),
        (lambda t: t.update(extra=torch.ones(1)), "has 1 unknown weights, the first is extra"),
        (
            lambda t: t.update({"ln_f.bias": torch.ones(3)}),
            r"ln_f.bias must have shape \(16,\), got \(3,\)",
        ),
    ],
)
def test_weights_that_do_not_fit_the_configuration(tmp_path, model, change, message):
    checkpoints.save_model(tmp_path / "m", model, record)
    edit(tmp_path / "m", change)
    with pytest.raises(ValueError, match=message):
        checkpoints.load_model(tmp_path / "m")


def test_an_interrupted_write_leaves_the_old_file(tmp_path, model, monkeypatch):
    path = tmp_path / "m"
    checkpoints.save_model(path, model, record)
    before = path.read_bytes()

    def fail(content, target, metadata):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(checkpoints, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        checkpoints.save_model(path, model, {"tokens": 13})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_record_is_plain_json_in_the_header(tmp_path, model):
    """Other tools can read it without this package."""
    checkpoints.save_model(tmp_path / "m", model, record, "int8")
    content = (tmp_path / "m").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert json.loads(header["__metadata__"]["record"])["storage"] == "int8"
