"""Files that are broken: a value or an error that names the file, never another error or no end."""

import json
import re
import struct
from contextlib import contextmanager
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specmini import checkpoints, json_files, notebooks, tokenizer
from specmini.batch import results as batch_results
from specmini.commands.measure import _lines
from specmini.gpt import GPT, Config
from specmini.ladder import results as ladder_results
from specmini.measure import engine_runs, results
from specmini.practice import source, unicode_math
from specmini.tokenizer import Tokenizer
from specmini.training import log

DEEP = "[" * 100_000
LOADERS = {
    "measured_speedup.json": results.load,
    "measured_ladder.json": ladder_results.load_ladder,
    "measured_engines.json": engine_runs.load,
    "measured_batch.json": batch_results.load_batches,
    "tokenizer.json": tokenizer.load,
}
quick = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@contextmanager
def named(thing):
    """Let a ValueError pass that names the thing."""
    try:
        yield
    except ValueError as error:
        if thing not in str(error):
            raise AssertionError(f"no {thing} in {error}") from error


def refused(load, path):
    with pytest.raises(ValueError, match=re.escape(path.name)) as caught:
        load(path)
    assert str(caught.value)


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS.keys())
@pytest.mark.parametrize("content", ["", "[]", "3", "{", DEEP, "\ud800"], ids=range(6))
def test_what_is_no_such_json_is_named(tmp_path, load, content):
    path = tmp_path / "file.json"
    path.write_bytes(content.encode(errors="surrogatepass"))
    refused(load, path)


@cache
def shortened(name):
    """A file of the package with the first of its rows, which is like the others."""
    content = json.loads((results.data / name).read_text(encoding="utf-8"))
    rows = content.keys() & {"settings", "rows", "runs", "merges"}
    return json.dumps(content | {key: content[key][:1] for key in rows})


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@quick
@given(data=st.data())
@pytest.mark.parametrize("name", LOADERS)
def test_a_changed_field_gives_a_value_or_names_the_file(tmp_path, name, data):
    here = content = json.loads(shortened(name))
    for _ in range(data.draw(st.integers(0, 5), label="depth")):
        keys = sorted(here) if isinstance(here, dict) else range(min(len(here), 3))
        inside = [key for key in keys if isinstance(here[key], (dict, list)) and here[key]]
        if not inside:
            break
        here = here[data.draw(st.sampled_from(inside))]
    key = data.draw(st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
    if data.draw(st.booleans()):
        del here[key]
    else:
        here[key] = data.draw(values)
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    with named(name):
        LOADERS[name](path)


def test_forty_merges_that_double_a_token_do_not_fill_the_memory(tmp_path):
    merges = [[255 + place] * 2 if place else [0, 0] for place in range(60)]
    path = tmp_path / "bomb.json"
    path.write_text(json.dumps({"merges": merges, "sha256": ""}))
    with pytest.raises(ValueError, match=r"bomb.*at most 67108864 bytes together"):
        tokenizer.load(path)


@pytest.mark.parametrize("merge", [(True, 2), (0.0, 1), ("a", "b"), (-1, 0)])
def test_merges_are_ids(merge):
    with pytest.raises(ValueError, match=r"merges\[0\] must use ids in \[0, 256\), got"):
        Tokenizer([merge])


def killed(*_):
    raise KeyboardInterrupt


def test_a_write_that_is_stopped_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    json_files.write(path, "1")
    monkeypatch.setattr("specmini.files.os.replace", killed)
    measured = results.measured_speedups()
    for write in (
        lambda: tokenizer.save(Tokenizer([]), path),
        lambda: results.store(path, measured),
        lambda: json_files.write(path, "2"),
        lambda: checkpoints.write(path, {"x": torch.ones(2)}, {}),
        lambda: log.forget_after(path, 0),
    ):
        with pytest.raises(KeyboardInterrupt):
            write()
        assert [one.name for one in tmp_path.iterdir()] == ["file.json"]
        assert path.read_text() == "1"
    with pytest.raises(UnicodeEncodeError):
        json_files.write(path, "\ud800")
    assert path.read_text() == "1"


# --- checkpoints ----------------------------------------------------------------------------

SHAPE = {"vocabulary": 5, "context": 4, "layers": 1, "width": 2, "heads": 1}
HUGE = 10**13


def written(path, record, tensors=None):
    weights = GPT(Config(**SHAPE)).state_dict() if tensors is None else tensors
    checkpoints.write(path, weights, record)
    return path


@pytest.mark.parametrize("record", [[1], "x", None, 5])
def test_a_record_is_an_object(tmp_path, record):
    refused(checkpoints.load_model, written(tmp_path / "model", record))


@pytest.mark.parametrize("kind", ["GPT", "FeatureHead", "MedusaHeads", "MtpModule"])
@pytest.mark.parametrize(
    "change",
    [
        *({name: size} for name in SHAPE for size in (HUGE, 10**30, 10**7)),
        *({name: other} for name in SHAPE for other in ("5", None, 1.5, [])),
        {"width": HUGE, "heads": HUGE},
    ],
    ids=str,
)
def test_a_record_that_asks_for_more_than_there_is_takes_no_memory(tmp_path, kind, change):
    shape = {**SHAPE, **change}
    config = {
        "GPT": shape,
        "MtpModule": shape,
        "FeatureHead": {"draft": shape, "feature_width": 2},
        "MedusaHeads": {name: shape.get(name, 2) for name in ("vocabulary", "heads")}
        | {"feature_width": shape["width"]},
    }[kind]
    load = checkpoints.load_model if kind == "GPT" else checkpoints.load_head
    refused(load, written(tmp_path / "model", {"config": config, "kind": kind}))


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        (torch.int8, None),
        (torch.int8, torch.ones(3, 7)),
        (torch.int8, torch.ones(1, 1)),
        (torch.float32, torch.ones(5, 1)),
        (torch.complex64, None),
        (torch.bool, None),
        (torch.int64, None),
    ],
)
def test_weights_are_floats_or_scaled(tmp_path, dtype, scale):
    weights = GPT(Config(**SHAPE)).state_dict()
    weights["wte.weight"] = weights["wte.weight"].to(dtype)
    if scale is not None:
        weights["wte.weight.scale"] = scale
    path = written(tmp_path / "model", {"config": SHAPE}, weights)
    with pytest.raises(ValueError, match=r"model: wte.weight must be stored in floats, or in int8"):
        checkpoints.load_model(path)


def headed(metadata):
    header = json.dumps({"__metadata__": metadata}).encode()
    return struct.pack("<Q", len(header)) + header


NO_TENSORS = checkpoints.digest({})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04.",
        b"\xff" * 8,
        (2**62).to_bytes(8, "little"),
        (10**8).to_bytes(8, "little") + b"{" * 100,
        headed({}),
        headed({"record": "{", "sha256": NO_TENSORS}),
        headed({"record": DEEP, "sha256": NO_TENSORS}),
    ],
    ids=range(8),
)
def test_what_is_no_checkpoint_is_named(tmp_path, content):
    path = tmp_path / "model"
    path.write_bytes(content)
    refused(checkpoints.read, path)


def test_a_folder_is_no_checkpoint(tmp_path):
    refused(checkpoints.read, tmp_path)


@quick
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_any_flipped_bit_and_any_cut_is_noticed(tmp_path, place, bit, cut):
    path = written(tmp_path / "model", {"config": SHAPE})
    content = bytearray(path.read_bytes())
    at = int(place * len(content))
    if cut:
        content = content[:at]
    else:
        content[at] ^= 1 << bit
    path.write_bytes(content)
    with named(path.name):
        model, _ = checkpoints.load_model(path)
        assert model.config == Config(**SHAPE)  # not all of a header has part in a hash


# --- texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff", b'{"nbformat": 4}', b'{"nbformat": 99, "cells": []}',
     b'{"nbformat": 4, "nbformat_minor": 5, "cells": [{}], "metadata": {}}',
     b'{"nbformat": 4, "nbformat_minor": 5, "cells": 1, "metadata": 1}', DEEP.encode()],
    ids=range(9),
)  # fmt: skip
def test_what_is_no_notebook_is_named(tmp_path, content):
    path = tmp_path / "chapter.ipynb"
    path.write_bytes(content)
    refused(notebooks.read, path)


SCHEMA = "type: object\nrequired: [id]\nproperties: {id: {type: string}}\n"
ALIASES = "- &a0 [x]\n" + "".join(
    f"- &a{step} [{', '.join([f'*a{step - 1}'] * 9)}]\n" for step in range(1, 10)
)


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"- &a [*a]", b"- &a {id: *a}", ALIASES.encode(), b"- {id: 2020-99-99}",
     b"- !!timestamp x", b"- !!int x", b"- {id: " + b"9" * 5000 + b"}", b"[" * 1000, b"- \x01"],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_yaml_is_named(tmp_path, content):
    (tmp_path / "cards.schema.yaml").write_text(SCHEMA)
    path = tmp_path / "cards.yaml"
    path.write_bytes(content)
    refused(lambda path: source.read("cards", path.parent), path)


@pytest.mark.parametrize("tex", ["{" * 3000, "a^{" * 1000, "^" * 3000, r"\frac" * 2000])
def test_a_formula_that_is_nested_too_deep_is_refused(tex):
    with pytest.raises(ValueError, match="formula must not be nested so deep"):
        unicode_math.as_text(tex)


@quick
@given(st.text(st.sampled_from("{}^_\\ a1+") | st.characters(), max_size=40))
def test_any_tex_is_a_line_of_text_or_an_error_about_the_formula(tex):
    with named("formula"):
        assert "\n" not in unicode_math.as_text(tex)


@pytest.mark.parametrize("line", ["3", DEEP, '"\\ud800"', "{", '["a"]'], ids=range(5))
def test_prompts_are_texts(tmp_path, line):
    path = tmp_path / "prompts.jsonl"
    path.write_text(f'"a prompt"\n{line}\n')
    refused(_lines, path)


@pytest.mark.parametrize("line", ["", "{", "3", "{}", '{"step": null}', '{"step": [1]}', DEEP])
def test_a_line_of_a_log_that_is_none_has_no_step(line):
    assert log._logged_step(line) is None
