"""The pair in Hugging Face's layout: what is written, and what their libraries make of it.

Without those libraries the files are checked against their own description; with them, ids, logits
and texts must be ours.
"""

import json
import re

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from specmini import tokenizer as tokenizers
from specmini.command import main
from specmini.gpt import GPT, Config, from_hugging_face
from specmini.hugging_face.folder import write_model, write_pair
from specmini.hugging_face.tokenizer import _pattern, tokenizer_json
from specmini.pair import load_pair
from specmini.recording.excerpts import frozen

STRANGE = (
    "naïve café\u00a0— 日本語 🙂\n\n\n   x\u2003y\t\n  z  ",
    "def f(x_1):\r\n\treturn  x**2 \x0b\x0c # Σ 42!?\x00\x1c\x7f",
    "",
    "   ",
)


@pytest.fixture(scope="module")
def pair():
    return load_pair()


@pytest.fixture(scope="module")
def folders(pair, tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("pair") / "new", pair)


def texts():
    return [*STRANGE, *(one.text for kind in ("prose", "code") for one in frozen(kind))]


def test_a_folder_holds_a_shape_weights_and_a_tokenizer(pair, folders):
    for folder, model in zip(folders, (pair.target, pair.draft), strict=True):
        config = json.loads((folder / "config.json").read_text("utf-8"))
        assert (config["n_layer"], config["n_embd"]) == (model.config.layers, model.config.width)
        assert (config["vocab_size"], config["eos_token_id"]) == (1024, 1023)
        weights = load_file(folder / "model.safetensors")
        assert "lm_head.weight" not in weights
        stored = from_hugging_face(weights)
        assert stored.keys() == model.state_dict().keys()
        assert all(torch.equal(stored[name], w) for name, w in model.state_dict().items())
        assert sorted(path.name for path in folder.iterdir()) == [
            *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
        ]


def test_a_write_that_is_stopped_leaves_no_part_that_a_loader_could_take(
    pair, tmp_path, monkeypatch
):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("specmini.files.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_model(tmp_path, pair.draft, pair.tokenizer)
    assert list(tmp_path.iterdir()) == []


def test_text_is_cut_where_our_tokenizer_cuts_it():
    for text in texts():
        pieces = [piece.encode() for piece in re.findall(_pattern, text)]
        assert pieces == tokenizers.words(text.encode()), text


def test_every_id_has_a_name_and_every_merge_makes_the_next(pair):
    content = tokenizer_json(pair.tokenizer)
    names = {token: name for name, token in content["model"]["vocab"].items()}
    assert sorted(names) == list(range(1023))
    for token, merge in enumerate(content["model"]["merges"], start=256):
        left, right = merge.split(" ")
        assert left + right == names[token]


def test_what_cannot_be_exported_is_said(pair, tmp_path):
    small = GPT(Config(300, 16, 1, 8, 2))
    with pytest.raises(ValueError, match="tokenizer's vocabulary of 1024, got 300"):
        write_model(tmp_path / "no", small, pair.tokenizer)
    assert not (tmp_path / "no").exists()
    twice = tokenizers.Tokenizer([(97, 98), (98, 99), (256, 99), (97, 257)])
    with pytest.raises(ValueError, match="different bytes for each id"):
        tokenizer_json(twice)


def test_their_tokenizer_gives_our_ids(pair, folders):
    theirs = pytest.importorskip("tokenizers").Tokenizer.from_file(
        str(folders[0] / "tokenizer.json")
    )
    for text in texts():
        ids = theirs.encode(text).ids
        assert ids == pair.tokenizer.encode(text), text
        assert theirs.decode(ids) == text
    assert theirs.encode("a<|endoftext|>").ids[-1] == pair.tokenizer.end_of_text


def test_their_model_gives_our_logits(pair, folders):
    transformers = pytest.importorskip("transformers")
    rng = np.random.default_rng(0)
    ids = torch.from_numpy(rng.integers(1024, size=(1, 200)))
    for folder, model in zip(folders, (pair.target, pair.draft), strict=True):
        theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
        with torch.inference_mode():
            torch.testing.assert_close(theirs(ids).logits, model(ids), atol=1e-4, rtol=0)


def test_their_auto_tokenizer_gives_our_ids(pair, folders):
    theirs = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(folders[0])
    for text in texts():
        assert theirs.encode(text) == pair.tokenizer.encode(text), text
    assert theirs.eos_token_id == pair.tokenizer.end_of_text


@pytest.fixture(scope="module")
def their_draft(folders):
    pytest.importorskip("transformers")
    from specmini.hugging_face.model import load_model

    return load_model(folders[1])


def test_their_model_behind_our_interface(pair, their_draft):
    ours, tokens = pair.draft_model(), list(range(40))
    assert (their_draft.vocabulary, their_draft.context) == (1024, 256)
    their_draft.truncate(0)
    for model in (ours, their_draft):
        model.forward(tokens)
        model.truncate(25)
        model.truncate(25)
    np.testing.assert_allclose(their_draft.forward([7, 8, 9]), ours.forward([7, 8, 9]), atol=1e-3)
    assert their_draft.length == 28
    with pytest.raises(ValueError, match=r"length must be in \[0, 28\], got 29"):
        their_draft.truncate(29)
    with pytest.raises(ValueError, match="tokens must"):
        their_draft.forward([1024])


def test_a_folder_is_measured_as_our_checkpoint_is(folders, capsys):
    pytest.importorskip("transformers")
    words = ("measure", "--count", "2", "--new-tokens", "24", "--draft-length", "2", "--json")
    answers = []
    for chosen in ((), ("--target", folders[0], "--draft", folders[1])):
        assert main([*map(str, (*words, *chosen))]) == 0
        answers.append(json.loads(capsys.readouterr().out)["lengths"][0])
    for count in ("acceptance_rate", "tokens_per_round"):
        assert answers[0][count] == answers[1][count]


def test_the_command_writes_both_folders(capsys, tmp_path):
    assert main(["export", str(tmp_path / "pair")]) == 0
    told = capsys.readouterr().out.split()
    assert told == ["target", str(tmp_path / "pair/target"), "draft", str(tmp_path / "pair/draft")]
    assert (tmp_path / "pair/draft/config.json").is_file()
    (tmp_path / "file").write_text("")
    assert main(["export", str(tmp_path / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err
