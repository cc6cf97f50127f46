"""Follow-ups and the practice files: schema, places that exist, and numbers that are computed."""

import re

import pytest
import yaml
from chapters import code_cells, load
from hypothesis import given
from hypothesis import strategies as st
from test_claims import PAGES, headings, labels
from test_prose import CITED, prose_numbers, sentences

from specmini.practice import cards, gather, source, stated
from specmini.practice.followups import ChapterQuestions, FollowUps, followups, topics
from specmini.record import claims

by_id = pytest.mark.parametrize("one", followups(), ids=lambda one: one.id)
written = pytest.mark.parametrize("card", cards.written(), ids=lambda card: card.id)


def uncomputed(texts, checks):
    """Numbers in texts that no check computes or takes in, and that have no source beside them."""
    found = [stated.check(check) for check in checks]
    # What goes in counts, too, and so do the numbers in the names of models.
    known = [one.stated for one in found]
    known += [float(number) for check in checks for number in re.findall(r"\d+(?:\.\d+)?", check)]
    return [
        number
        for text in texts
        for sentence in sentences(text)
        if not CITED.search(sentence)
        for number, value, _, _ in prose_numbers(sentence)
        if value not in known
    ]


def test_there_are_enough_of_every_topic():
    assert len(followups()) >= 26
    assert {one.topic for one in followups()} == set(topics)
    assert sum(one.heard == "interview card" for one in followups()) == 6
    assert len({one.question for one in followups()}) == len(followups())


@by_id
def test_every_number_of_an_answer_is_computed_or_has_a_source(one):
    texts = (one.question, one.one_line, one.one_minute, one.whiteboard)
    assert uncomputed(texts, one.checks) == []


@by_id
def test_every_check_holds(one):
    for text in one.checks:
        found = stated.check(text)
        assert found.holds, f"{text}: it is {found.computed}"


@by_id
def test_every_answer_deepens(one):
    assert len(one.one_line.split()) <= 30
    assert 50 <= len(one.one_minute.split()) <= 160  # a minute is some 150 spoken words
    assert "$" in one.whiteboard or "|" in one.whiteboard or "\n- " in one.whiteboard


@by_id
def test_every_place_exists(one):
    for place in one.shown:
        page, label, heading = claims.place_form.fullmatch(place).groups()
        assert page in gather.chapters(), place
        assert label is None or label in labels(page), place
        assert heading is None or heading in headings(page), place


@written
def test_every_number_of_a_card_is_computed(card):
    assert uncomputed((card.question, card.answer), card.checks) == []
    for text in card.checks:
        assert stated.check(text).holds, text


def test_the_page_shows_every_question_once_with_an_anchor():
    shown = "".join(
        output.data.get("text/markdown", "")
        for cell in code_cells(load(PAGES["followups"]))
        for output in cell.outputs
        if "data" in output
    )
    for one in followups():
        assert shown.count(f":name: ask-{one.id}\n") == 1
    assert shown.count(":::{dropdown} In one minute") == len(followups())


def test_a_question_is_folded_three_times_and_says_where_it_is_shown():
    one = next(one for one in followups() if one.id == "exponent")
    text = FollowUps([one])._repr_markdown_()
    assert text.startswith(f"::::{{dropdown}} {one.question}\n:name: ask-exponent\n\nBecause")
    assert "\n:::{dropdown} In one minute\n" in text
    assert "\n:::{dropdown} At the whiteboard\n" in text
    assert "*Shown in* {doc}`tokens`, {prf:ref}`thm-tokens`" in text
    assert "*Heard:* interview card." in text
    assert repr(FollowUps([one])) == f"{one.question}\n{one.one_line}"


def test_the_chapters_questions_are_links_to_their_places():
    html = ChapterQuestions()._repr_html_()
    for block in gather.blocks("followup"):
        assert f'href="{block.chapter}.html#{block.id}"' in html
    assert "Speedup:" in repr(ChapterQuestions())


# --- the files and their schema ----------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "topic"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z]+$"},
        "topic": {"enum": ["cost", "batch"]},
        "shown": {"type": "array", "minItems": 1},
    },
}
GOOD = {"id": "a", "topic": "cost"}


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ({"id": "a"}, "x.yaml must be a list of at least one item, got {'id': 'a'}"),
        ([], "x.yaml must be a list of at least one item"),
        (["a"], "x.yaml, item 1: field item must be of type object, got 'a'"),
        ([{"id": "a"}], "x.yaml, item a: field topic is missing; required are id, topic"),
        (
            [GOOD | {"topic": "price"}],
            "x.yaml, item a: field topic must be one of cost, batch, got 'price'",
        ),
        ([GOOD | {"id": 7}], "x.yaml, item 1: field id must be of type string, got 7"),
        ([GOOD | {"id": "A"}], r"field id must have the form \^\[a-z\]\+\$, got 'A'"),
        ([GOOD | {"wy": 1}], "field wy is unknown; allowed are id, topic, shown"),
        ([GOOD | {"shown": []}], r"field shown must have minItems 1, got \[\]"),
        ([GOOD, GOOD], "x.yaml: ids must differ, got 'a' twice"),
    ],
)
def test_what_breaks_the_schema_is_refused_with_file_item_and_field(items, message):
    with pytest.raises(ValueError, match=message):
        source.checked("x.yaml", items, SCHEMA)


def test_files_are_read_from_a_folder_and_bad_yaml_is_refused(tmp_path):
    (tmp_path / "x.schema.yaml").write_text(yaml.safe_dump(SCHEMA))
    (tmp_path / "x.yaml").write_text("- {id: a, topic: cost}\n")
    assert source.read("x", tmp_path) == [GOOD]
    for text, message in (
        ("- {id: a, topic: cost, id: b}\n", "x.yaml must be YAML: key 'id' stands twice"),
        ("- {id: [", "x.yaml must be YAML"),
        ("- !!python/object/apply:os.getcwd []\n", "x.yaml must be YAML"),
    ):
        (tmp_path / "x.yaml").write_text(text)
        with pytest.raises(ValueError, match=message):
            source.read("x", tmp_path)


# --- stated numbers ----------------------------------------------------------------------------


def test_a_check_is_worked_out():
    found = stated.check("over(speedup(0.8, 0.1, 4), 2) = 1.20")
    assert (found.stated, found.decimals, found.inputs) == (1.2, 2, (0.8, 0.1, 4.0, 2.0))
    assert found.holds
    assert stated.check("power(0.8, 4) = 41%").holds
    assert stated.check("ridge_tokens(h100) = 295").holds
    assert not stated.check("speedup(0.8, 0.1, 4) = 2.41").holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speedup(0.8, 0.1, 4)", "check must have the form"),
        ("fast(0.8) = 1", "function of a check must be one of 'tokens_per_round'"),
        ("__import__(os) = 1", "check must go on with a number, a name or a call"),
        ("speedup(0.8 0.1) = 1", "check must go on with , or \\)"),
        ("speedup(0.8) = 1", "check speedup does not take these arguments"),
        ("speedup(2, 0.1, 4) = 1", "acceptance_rate must be a number in"),
        ("over(1, 0) = 1", "check over does not take these arguments"),
        ("times(a, 3) = 1", "check times does not take these arguments"),
        ("power(10, 9999) = 1", "check power does not take these arguments"),
        ("plus(" * 30 + "1" + ", 1)" * 30 + " = 31", "check must go on with"),
        ("speedup(0.8, 0.1, 4) speedup(1, 0, 1) = 1", "check must be one call"),
    ],
)
def test_a_check_that_is_none_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        stated.check(text)


@given(st.text(alphabet="speduptimesver01.,()-= e", max_size=60))
def test_any_text_is_a_number_or_a_value_error(text):
    try:
        found = stated.check(text)
    except ValueError:
        return
    assert isinstance(found.computed, float)
