"""What the widgets' script keeps of a reader's progress: stored, exported, imported, refused."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specmini.practice.passages import passages
from specmini.widgets import ProgressPanel
from specmini.widgets.page import MIME
from specmini.widgets.progress import read_mark

STORED = '{"version":1,"pages":{"spot":{"universal":0.5,"k-times":1},"tokens":{"read":1}}}'
NOTHING = '{"version":1,"pages":{}}'


@pytest.fixture
def progress(javascript):
    """A function of how storage behaves, what it holds and calls; the answers come back."""
    return lambda *calls, how="works", content=None: javascript(progress=[[how, content, calls]])[0]


def test_what_is_recorded_is_stored_and_the_best_score_stays(progress):
    answers = progress(
        ["recordDone", "spot", "universal", 0.5],
        ["recordDone", "spot", "universal", 0.25],
        ["recordDone", "spot", "k-times", 1],
        ["progressOf", "spot"],
        ["recordDone", "tokens", "read"],
        ["exportProgress"],
        ["progressIsKept"],
        ["recordUndone", "tokens", "read"],
        ["progressOf", "tokens"],
        ["progressPages"],
    )
    assert answers[3] == {"scores": {"universal": 0.5, "k-times": 1}, "done": 2, "mean": 0.75}
    assert answers[5] == STORED
    assert answers[6] is True
    assert answers[8] == {"scores": {}, "done": 0, "mean": 0}
    assert answers[9] == ["spot", "tokens"]


def test_a_later_visit_finds_it_and_reset_forgets_it(progress):
    assert progress(["exportProgress"], content=STORED) == [STORED]
    assert progress(["resetProgress"], ["exportProgress"], content=STORED)[1] == NOTHING


@pytest.mark.parametrize("how", ["refused", "full", "none"])
def test_refused_storage_is_silent_and_lasts_until_the_page_is_left(progress, how):
    answers = progress(
        ["progressOf", "spot"],
        ["recordDone", "spot", "universal", 0.5],
        ["recordDone", "spot", "k-times", 1],
        ["progressOf", "spot"],
        ["progressIsKept"],
        ["importProgress", STORED],
        ["exportProgress"],
        ["resetProgress"],
        ["exportProgress"],
        how=how,
    )
    assert not any(isinstance(answer, dict) and "error" in answer for answer in answers)
    assert answers[3]["done"] == 2
    assert answers[4] is False
    assert answers[6] == STORED
    assert answers[8] == NOTHING


@pytest.mark.parametrize("content", ["x", "[]", '{"version":2,"pages":{}}', '{"pages":1}', "null"])
def test_what_something_else_stored_is_as_if_nothing_were(progress, content):
    answers = progress(["exportProgress"], ["recordDone", "a", "b"], ["exportProgress"],
                       content=content)  # fmt: skip
    assert answers == [NOTHING, None, '{"version":1,"pages":{"a":{"b":1}}}']


def test_import_keeps_the_better_score_of_both(progress):
    mine = '{"version":1,"pages":{"spot":{"universal":0.75,"k-times":0.5,"moe":0.1}}}'
    taken, after = progress(["importProgress", mine], ["exportProgress"], content=STORED)
    assert taken == 3
    assert json.loads(after)["pages"] == {
        "spot": {"universal": 0.75, "k-times": 1, "moe": 0.1},
        "tokens": {"read": 1},
    }


def page_of(items):
    return json.dumps({"version": 1, "pages": items})


HOSTILE = {
    "": None,
    "{": "must be JSON",
    "[1]": 'must have "version": 1',
    "null": 'must have "version": 1',
    '{"version":"1","pages":{}}': 'must have "version": 1',
    '{"version":1,"pages":[]}': 'must have "version": 1',
    '{"version":1,"pages":{"__proto__":{"read":1}}}': "a page must be named by small letters",
    '{"version":1,"pages":{"constructor":{"__proto__":1}}}': "an item of constructor must be named",
    '{"version":1,"pages":{"a":{"b":1e999}}}': "the score of a, b must be a number in [0, 1]",
    '{"version":1,"pages":{"a":{"b":-0.1}}}': "the score of a, b must be a number in [0, 1]",
    '{"version":1,"pages":{"a":{"b":"1"}}}': "the score of a, b must be a number in [0, 1]",
    '{"version":1,"pages":{"a":{"b":null}}}': "the score of a, b must be a number in [0, 1]",
    '{"version":1,"pages":{"a":[1]}}': "page a must hold items with scores",
    '{"version":1,"pages":{"<img src=x onerror=alert(1)>":{}}}': "a page must be named by small",
    page_of({"a" * 65: {}}): "a page must be named by small letters",
    page_of({"a": {f"i{n}": 0 for n in range(2001)}}): "at most 2000 items",
    page_of({"a": {"b": 1}}) + " " * 500_000: "at most 500000 characters",
    "[" * 100_000: "must be JSON",
}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:40])
def test_a_hostile_file_is_refused_and_changes_nothing(progress, text):
    answer, after, clean = progress(
        ["importProgress", text], ["exportProgress"], ["progressOf", "x"], content=STORED
    )
    assert after == STORED
    assert clean["scores"] == {}
    if HOSTILE[text] is None:
        assert answer == 0
    else:
        assert HOSTILE[text] in answer["error"]
        assert len(answer["error"]) < 200


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["recordDone", "Spot", "a"], "pageId must be small letters"),
        (["recordDone", "__proto__", "a"], "pageId must be small letters"),
        (["recordDone", "spot", ""], "itemId must be small letters, digits and hyphens, got noth"),
        (["recordDone", "spot", "a", 1.5], "score must be a number in [0, 1], got 1.5"),
        (["recordDone", "spot", "a", None], "score must be a number in [0, 1], got null"),
        (["importProgress", 3], "progress must be text"),
    ],
)
def test_a_wrong_argument_is_refused(progress, call, words):
    assert words in progress(call)[0]["error"]


ids = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,4})?", fullmatch=True)
scores = st.floats(0, 1, allow_nan=False)
records = st.lists(st.tuples(ids, ids, scores), max_size=12)


@settings(max_examples=20, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(mine=records, theirs=records)
def test_import_is_the_best_of_both_whatever_they_are(progress, mine, theirs):
    exported = progress(*[["recordDone", *one] for one in theirs], ["exportProgress"])[-1]
    answers = progress(
        *[["recordDone", *one] for one in mine], ["importProgress", exported], ["exportProgress"]
    )
    expected = {}
    for page, item, score in [*mine, *theirs]:
        items = expected.setdefault(page, {})
        items[item] = max(score, items.get(item, 0))
    assert json.loads(answers[-1])["pages"] == expected


# --- the panel and the button ---------------------------------------------------------------------


def test_the_panel_knows_the_exercises_of_the_book():
    spot, interview = ProgressPanel().pages
    assert (interview["id"], len(interview["items"])) == ("interview", 19)
    assert spot == {
        "id": "spot",
        "title": "Spot the errors",
        "items": [one.id for one in passages()],
    }
    assert repr(ProgressPanel()) == "ProgressPanel(pages=['spot', 'interview'])"
    html = ProgressPanel().fallback_html()
    assert f'<th scope="row">Spot the errors</th><td>{len(passages())} exercises</td>' in html


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ({}, "pages[0] must be a dict with the keys id, title, items"),
        (
            {"id": "A", "title": "a", "items": ["a"]},
            "ids of pages[0] must be made of small letters",
        ),
        (
            {"id": "a", "title": "a", "items": ["_"]},
            "ids of pages[0] must be made of small letters",
        ),
        ({"id": "a", "title": "a", "items": []}, "pages[0]['items'] must be a list of at least"),
        ({"id": "a", "title": "", "items": ["a"]}, "pages[0]['title'] must be a string with"),
    ],
)
def test_a_malformed_page_is_refused(page, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        ProgressPanel(pages=[page])


def test_the_button_of_a_chapter_is_an_output_like_a_widgets():
    output = read_mark("speedup", "progress.html")
    assert output["state"] == {"page": "speedup", "progress": "progress.html"}
    assert set(output) == set(ProgressPanel()._repr_mimebundle_()[0][MIME])
    with pytest.raises(ValueError, match="page must be made of small letters, digits"):
        read_mark("Speed up", "")
