"""Recordings: what each token adds to a text, and rounds as they happened."""

import json
from importlib import resources

import numpy as np
import pytest
import torch

from specmini import pair, tokenizer
from specmini.engine.table_model import TableModel
from specmini.generate import Generation, Round
from specmini.recording import rounds
from specmini.recording.rounds import pieces, record, record_both_kinds, stored
from specmini.sampling import greedy
from specmini.tokenizer import Tokenizer
from specmini.widgets import RoundPlayer

BYTES = Tokenizer([])
# 256 is the first two bytes of a quotation mark, 257 a word with its space
PAIRS = Tokenizer([(0xE2, 0x80), (ord(" "), ord("a"))])


def a_round(drafted, n_accepted, tokens, seconds=(0.001, 0.002, 0.0035)):
    return Round(drafted, n_accepted, tokens, *seconds)


def generation(*rounds):
    tokens = tuple(token for round in rounds for token in round.tokens)
    return Generation(tokens, rounds, "length", 0.0)


# --- pieces --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    with resources.as_file(resources.files("specmini") / "data" / "tokenizer.json") as path:
        return tokenizer.load(path)


@pytest.mark.parametrize(
    "text", ["def f(x):\n    return x\n", "It’s “naïve” — 中 🙂!", " a\n\n  b"]
)
@pytest.mark.parametrize("start", [0, 3])
def test_joined_pieces_are_the_text(trained, text, start):
    tokens = trained.encode(text)
    shown = pieces(trained, tokens[start:], tokens[:start])
    assert all(shown)
    whole = "".join(piece.split("‹")[0] for piece in shown)
    assert text.endswith(whole)
    assert start or whole == text


@pytest.mark.parametrize(
    ("tokens", "before", "shown"),
    [
        ([0xE2, 0x80, 0x99], [], ["‹E2›", "‹80›", "’"]),
        ([256, 0x99], [], ["‹E2 80›", "’"]),
        ([0x99, 257], [ord("x"), 256], ["’", " a"]),
        ([257, 256], [], [" a", "‹E2 80›"]),
        # a byte that continues nothing, and a character that is never finished
        ([0x99], [], ["�"]),
        ([256, ord("x")], [], ["‹E2 80›", "�x"]),
        # what would be invisible or move the line has a picture, but for breaks and tabs
        ([0, 13, 10, 9], [], ["␀", "␍", "\n", "\t"]),
        ([258, 257], [258], ["<|endoftext|>", " a"]),
    ],
)
def test_every_token_shows_what_it_adds(tokens, before, shown):
    assert pieces(PAIRS, tokens, before) == shown


def test_unknown_tokens_are_refused():
    with pytest.raises(ValueError, match=r"ids must be in \[0, 257\), got 257"):
        pieces(BYTES, [257])


# --- rounds --------------------------------------------------------------------------------------


def test_a_recording_tells_what_happened():
    made = generation(
        a_round((256, 0x98), 1, (256, 0x99)),  # ’ where ‘ was guessed
        a_round((257, 257), 2, (257, 257, 10)),
        a_round((), 0, (257,), (0.0, 0.002, 0.0021)),
    )
    text = record("code", "a test", list(b"x\n"), made, PAIRS, 0.0025)
    assert text == {
        "kind": "code",
        "about": "a test",
        "prompt": "x\n",
        "plain_ms": 2.5,
        "rounds": [
            {"drafted": ["‹E2 80›", "‘"], "accepted": 1, "next": "’", "ms": [1.0, 2.0, 3.5]},
            {"drafted": [" a", " a"], "accepted": 2, "next": "\n", "ms": [1.0, 2.0, 3.5]},
            {"drafted": [], "accepted": 0, "next": " a", "ms": [0.0, 2.0, 2.1]},
        ],
    }
    assert json.loads(json.dumps(text)) == text
    assert RoundPlayer(recording=[text]).expected_tokens_per_round == 2.0


def test_a_long_prompt_is_recorded_from_a_line_start():
    made = generation(a_round((), 0, (1,)))
    lines = ["first " * 20, "second " * 8, "third"]
    shown = record("prose", "", list("\n".join(lines).encode()), made, BYTES, 1.0)["prompt"]
    assert shown == f"…\n{lines[1]}\nthird"
    shown = record("prose", "", list(b"x" * 500), made, BYTES, 1.0)["prompt"]
    assert shown == "…" + "x" * 120


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_plain_step_takes_time(seconds):
    with pytest.raises(ValueError, match=r"plain_seconds must be in \(0, inf\), got"):
        record("prose", "", [1], generation(a_round((), 0, (1,))), BYTES, seconds)


def test_a_draft_cut_by_a_stop_token_is_refused():
    made = generation(a_round((), 0, (1,)), a_round((5, 6), 2, (5,)))
    with pytest.raises(ValueError, match="generation must have 3 tokens in round 1, got 1"):
        record("prose", "", [1], made, BYTES, 1.0)


# --- the making of them --------------------------------------------------------------------------


def always_next(vocabulary):
    """A model sure that each token is followed by the next id."""
    return TableModel(np.roll(np.eye(vocabulary), 1, axis=1))


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_both_kinds_are_recorded_with_their_times():
    texts = record_both_kinds(
        *(always_next(257), always_next(257), BYTES, greedy, 3, "a machine"),
        **{"new_tokens": 9, "prompts": 3, "repeats": 3},
    )
    assert [text["kind"] for text in texts] == ["prose", "code"]
    for text in texts:
        assert text["about"] == "greedy, K = 3, a machine"
        # a perfect draft: two full rounds, then one token that needs none
        assert [round["accepted"] for round in text["rounds"]] == [3, 3, 0]
        assert all(0 <= sum(round["ms"][:2]) <= round["ms"][2] + 0.01 for round in text["rounds"])
        assert text["plain_ms"] > 0
    RoundPlayer(recording=texts)


def test_clocks_run_on_one_core():
    class Watched(TableModel):
        def forward(self, tokens):
            threads.add(torch.get_num_threads())
            return super().forward(tokens)

    threads, before = set(), torch.get_num_threads()
    target = Watched(np.roll(np.eye(257), 1, axis=1))
    torch.set_num_threads(2)
    try:
        with np.errstate(divide="ignore"):
            record_both_kinds(
                *(target, always_next(257), BYTES, greedy, 2, ""),
                **{"new_tokens": 4, "prompts": 1, "repeats": 1},
            )
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert threads == {1}


@pytest.mark.parametrize(("setting", "value"), [("prompts", 0), ("prompts", 41), ("repeats", 0)])
def test_impossible_settings_are_refused(setting, value):
    models = (always_next(257), always_next(257))
    with pytest.raises(ValueError, match=rf"{setting} must be .*, got {value}"):
        record_both_kinds(*models, BYTES, greedy, 2, "", **{setting: value})


# --- the package's own ---------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["greedy", "temperature 1"])
def test_the_stored_recordings_are_prose_and_code_of_real_rounds(sampling):
    texts = stored(sampling)
    assert [text["kind"] for text in texts] == ["prose", "code"]
    RoundPlayer(recording=texts)
    for text in texts:
        assert text["about"].startswith(f"{sampling}, K = ")
        assert sum(round["accepted"] + 1 for round in text["rounds"]) == 64
        assert any(round["accepted"] for round in text["rounds"])
    size = len(json.dumps(RoundPlayer(recording=texts).page_state()))
    assert size < 16_000  # characters that a page with it carries


def test_the_stored_recordings_are_of_the_committed_checkpoints():
    """Who replaces a checkpoint records again: python -m specmini.recording.rounds FILE."""
    assert rounds.recorded_checkpoints() == pair.checkpoint_hashes()


def test_there_are_no_other_stored_recordings():
    with pytest.raises(ValueError, match="sampling must be one of greedy, temperature 1, got 'x'"):
        rounds.stored("x")
