"""The corpus: what is in it, and that training text does not hold what is held out."""

import hashlib
from dataclasses import replace

import pytest

from specmini import corpus

docstring = "A sentence about {0} that is long enough to count as prose. " * 5


def library(count: int = 60) -> dict[str, bytes]:
    """Small modules, each with one long docstring of its own."""
    return {
        f"package/m{i}.py": f'def f():\n    """{docstring.format(i)}"""\n    return {i}\n'.encode()
        for i in range(count)
    }


def test_a_file_and_its_docstrings_fall_on_the_same_side():
    made = corpus.from_files("test", library())
    side = {d.name: d.held_out for d in made.documents if d.kind == "code"}
    prose = [d for d in made.documents if d.kind == "prose"]
    assert len(prose) == 60
    assert all(d.held_out == side[d.name.split(":")[0]] for d in prose)
    assert 1 <= sum(side.values()) <= 12


def test_no_held_out_docstring_stands_in_training_text():
    made = corpus.from_files("test", library())
    training = " ".join(" ".join(d.text.split()) for d in made.documents if not d.held_out)
    held_out = made.select("prose", held_out=True)
    assert held_out
    assert not any(" ".join(d.text.split()) in training for d in held_out)


def test_a_held_out_copy_of_training_prose_is_dropped_and_named():
    files = library()
    names = {d.name: d.held_out for d in corpus.from_files("test", files).documents}
    held_out = next(n for n, out in names.items() if out and ":" not in n)
    training = next(n for n, out in names.items() if not out and ":" not in n)
    # indented differently and wrapped: still the same text
    copied = files[training].decode().replace(". A", ".\n        A").replace("def f", "def g")
    made = corpus.from_files("test", {**files, held_out: copied.encode()})
    assert made.dropped == (f"{held_out}:2",)
    assert f"{held_out}:2" not in {d.name for d in made.documents}


def test_topics_that_share_a_paragraph_fall_on_the_same_side():
    shared = "This paragraph is quoted by both topics and is longer than eighty characters, surely."
    topics = {f"topic{i}": f"{docstring.format(i)}\n\nOnly {i}." for i in range(80)}
    for i in range(0, 80, 2):  # pairs (0, 1), (2, 3), ... quote the same paragraph
        topics[f"topic{i}"] += f"\n\n{shared} {i}"
        topics[f"topic{i + 1}"] += f"\n\n{shared} {i}"
    source = {"pydoc_data/topics.py": f"topics = {topics!r}\n".encode()}
    documents = {d.name.split(":")[1]: d for d in corpus.from_files("test", source).documents}
    assert len(documents) == 80
    assert all(
        documents[f"topic{i}"].held_out == documents[f"topic{i + 1}"].held_out
        for i in range(0, 80, 2)
    )
    assert len({d.held_out for d in documents.values()}) == 2


def test_the_hash_is_that_of_the_listing_sha256sum_prints():
    made = corpus.from_files("test", {"b.py": b"b = 1\n", "a.py": b"a = 1\n"})
    listing = "".join(
        f"{hashlib.sha256(text).hexdigest()}  {name}\n"
        for name, text in (("a.py", b"a = 1\n"), ("b.py", b"b = 1\n"))
    )
    assert made.sha256 == hashlib.sha256(listing.encode()).hexdigest()
    assert made.sha256 != corpus.from_files("test", {"a.py": b"a = 2\n", "b.py": b"b = 1\n"}).sha256


def test_the_order_of_the_files_does_not_matter():
    files = library()
    backwards = dict(reversed(files.items()))
    assert corpus.from_files("test", files) == corpus.from_files("test", backwards)


def test_copied_text_is_found_in_a_licence_repeated_on_both_sides():
    licence = (
        "# Permission is hereby granted to use this file for any purpose whatsoever, or none.\n"
    )
    files = {name: licence.encode() + b"\n" + text for name, text in library().items()}
    found = corpus.copied_text(corpus.from_files("test", files).documents, "code")
    assert found.examples[0][0].startswith("Permission is hereby")
    clean = corpus.copied_text(corpus.from_files("test", library()).documents, "code")
    assert clean.shared == 0 < clean.paragraphs
    assert found.shared == found.paragraphs - clean.paragraphs


def test_files_that_are_not_python_are_left_out():
    made = corpus.from_files(
        "test", {"a.py": b"a = 1\n", "latin.py": b"\xff", "two.py": b"print 1"}
    )
    assert list(made.files) == ["a.py"]


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match=r"at least one UTF-8 Python source.*latin\.py"):
        corpus.from_files("test", {"latin.py": b"\xff"})


def test_the_library_is_read_without_tests_and_generated_files(tmp_path):
    for name in (
        "json/decoder.py",
        "test/test_json.py",
        "site-packages/numpy/core.py",
        "encodings/cp437.py",
        "_sysconfigdata__linux_x86_64-linux-gnu.py",
        "config-3.11-x86_64-linux-gnu/python-config.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    made = corpus.standard_library(tmp_path)
    assert list(made.files) == ["json/decoder.py"]
    assert made.source.startswith("CPython 3.")


def test_an_empty_library_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="at least one"):
        corpus.standard_library(tmp_path)


def test_documents_know_their_side():
    made = corpus.from_files("test", library())
    assert made.select("code", held_out=False) + made.select("code", held_out=True)
    assert all(d == replace(d, held_out=True) for d in made.select("code", held_out=True))
