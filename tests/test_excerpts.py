"""The frozen prompts: held-out text, cut at line starts, there without any corpus."""

import json
from importlib import resources

import pytest

from specmini import corpus, tokenizer
from specmini.recording import excerpts


@pytest.fixture(scope="module")
def library():
    files = {}
    for i in range(80):
        prose = "".join(f"    Sentence {n} about {i}, of some length.\n" for n in range(60))
        lines = "".join(f"    x{n} = {i} + {n}  # a comment on line {n}\n" for n in range(100))
        files[f"m{i}.py"] = f'def f():\n    """Say it.\n\n{prose}    """\n{lines}'.encode()
    return corpus.from_files("test", files)


@pytest.mark.parametrize("kind", ["code", "prose"])
def test_excerpts_are_held_out_and_start_lines(library, kind):
    texts = {d.name: d.text for d in library.select(kind, held_out=True)}
    made = excerpts.cut(library, kind, len(texts) + 1)
    for excerpt in made:
        before, found, _ = texts[excerpt.name].partition(excerpt.text)
        assert found
        assert before == "" or before.endswith("\n")
        assert len(excerpt.text) == excerpts.excerpt_length
    assert {e.name for e in made[:-1]} == set(texts), "each document once before any twice"


def test_code_starts_past_the_head_of_the_file(library):
    texts = {d.name: d.text for d in library.select("code", held_out=True)}
    for excerpt in excerpts.cut(library, "code", 3):
        assert texts[excerpt.name].index(excerpt.text) >= len(texts[excerpt.name]) // 2


@pytest.mark.parametrize("count", [0, 10_000])
def test_more_than_there_is(library, count):
    with pytest.raises(ValueError, match=rf"count must be in \[1, \d+\] for prose, got {count}"):
        excerpts.cut(library, "prose", count)


def test_what_is_stored_says_where_it_is_from(library, tmp_path):
    made = excerpts.cut(library, "code", 2)
    excerpts.store(tmp_path / "e.json", library, made)
    content = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    assert content["corpus_sha256"] == library.sha256
    assert [excerpts.Excerpt(**e) for e in content["excerpts"]] == list(made)


@pytest.mark.parametrize("kind", ["code", "prose"])
def test_the_frozen_excerpts_fill_a_context(kind):
    data = resources.files("specmini") / "data"
    bpe = tokenizer.load(data / "tokenizer.json")
    made = excerpts.frozen(kind)
    assert len({e.name for e in made}) > 10
    assert all(e.kind == kind for e in made)
    assert min(len(bpe.encode(e.text)) for e in made) >= 128
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in (data / "PSF-LICENSE.txt").read_text()


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of 'code', 'prose', got 'Prose'"):
        excerpts.frozen("Prose")
