"""``specmini audit``: servers, the pair, one's own engines, and the exit code."""

import json

import pytest
from test_endpoint import serve  # noqa: F401

from specmini.command import main


def told(capsys, *arguments):
    code = main(["audit", *map(str, arguments)])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture
def own_engines(monkeypatch, tmp_path):
    """A module of a reader's, in the folder where the command is called."""
    (tmp_path / "own.py").write_text(
        "class Coin:\n"
        "    def __init__(self, rng, p): self.rng, self.p = rng, p\n"
        "    def write(self, prompt, new_tokens, count):\n"
        "        return self.rng.binomial(1, self.p, (count, new_tokens)).tolist()\n"
        "def coins(p=0.5):\n"
        "    import numpy as np\n"
        "    rng = np.random.default_rng(1)\n"
        "    return Coin(rng, 0.5), Coin(rng, p)\n"
        "def bent(): return coins(0.8)\n"
        "def lonely(): return 3\n"
        "def late(): raise RuntimeError('no\\nweights')\n"
        "def strangers(): return 1, 2\n"
        "class Numbers:\n"
        "    def write(self, prompt, new_tokens, count): return [7] * count\n"
        "def numbers(): return Numbers(), Numbers()\n"
    )
    monkeypatch.chdir(tmp_path)


def test_servers_in_words(capsys, serve):  # noqa: F811
    address, other = serve().address, serve().address
    code, out, err = told(
        capsys, address, "--plain", other, "--tokens", 2, "--samples", 120, "--catch", 0.5,
        "--seed", 1,
    )  # fmt: skip
    assert code == 0
    assert out.startswith("No difference found\n")
    assert "120 a prompt with speculation, as many without" in out
    assert "1 % chance, over all 3 comparisons together" in out
    assert "tokens 1 and 2" in out
    assert err.splitlines() == [
        f"sends the prompt, to {one}/completions, with temperature 1, top-p 1"
        for one in (other, address)
    ]


def test_one_server_can_be_both(capsys, serve):  # noqa: F811
    server = serve()
    code, _, _ = told(
        capsys, server.address, "--plain-fields", '{"speculate": false}', "--samples", 8,
        "--seconds", 0,
    )  # fmt: skip
    assert code == 0
    assert {body.get("speculate") for _, body in server.asked} == {None, False}


@pytest.mark.usefixtures("own_engines")
def test_own_engines_and_the_exit_code(capsys):
    code, out, _ = told(capsys, "own:coins", "--samples", 300, "--seed", 1)
    assert (code, out.splitlines()[0]) == (0, "Too few samples to tell")
    assert "for a distance of 0.1" in out
    code, out, _ = told(capsys, "own:bent", "--samples", 300, "--seed", 1)
    assert code == 1
    assert out.startswith("Not lossless: ")
    assert "token 1" in out
    assert " differs" in out
    code, out, _ = told(capsys, "own:bent", "--samples", 300, "--seed", 1, "--json")
    assert code == 1
    answer = json.loads(out)
    assert answer["finding"] == "differs"
    assert answer["places"][0]["adjusted"] <= 0.01


@pytest.mark.usefixtures("own_engines")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["http://localhost:1/v1"], "--plain must be the address"),
        (["http://example.org/v1", "--plain", "http://localhost/v1"], "must be of this computer"),
        (["http://localhost/v1", "--plain-fields", "[1]"], "--plain-fields must be a JSON object"),
        (["pear"], "engine must be an address, 'pair' or MODULE:NAME, got 'pear'"),
        (["own:nothing"], "own:nothing must return two engines"),
        (["own:lonely"], "own:lonely must return two engines"),
        (["own:late"], "own:late must return two engines: RuntimeError: no weights"),
        (["own:strangers"], "an engine of own:strangers must write lists of tokens: Attribute"),
        (["own:numbers"], "an engine of own:numbers must write lists of tokens: TypeError"),
        (["http://localhost:1/v1", "--plain", "http://localhost:x/v1"], "address must be such as"),
        (["nowhere:coins"], "nowhere:coins must return two engines"),
        (["own:coins", "--temperature", "0.5"], "--temperature must be left to own:coins"),
        (["own:coins", "--seed", "-1"], "--seed must be a whole number from 0 on, got -1"),
        (["own:coins", "--samples", "1"], "samples must be"),
        (["own:coins", "--level", "0.9"], "level must be in"),
    ],
)
def test_what_is_refused(capsys, words, message):
    code, out, err = told(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("specmini audit: ")
    assert err.count("\n") == 1
    assert message in err


def test_the_faulty_pair_is_caught(capsys):
    """60 texts each; the sound pair has a false alarm with chance 1e-4."""
    words = ["--samples", 60, "--tokens", 3, "--temperature", 0.6, "--seed", 1, "--level", 1e-4]
    pytest.importorskip("torch")
    assert told(capsys, "pair", "--faulty", *words)[0] == 1
    code, out, _ = told(capsys, "pair", *words)
    assert code == 0
    assert out.startswith("Too few samples to tell")
