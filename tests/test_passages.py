"""The paragraphs to spot errors in: whole, linked to the book, and every number known."""

import re
from html import unescape

import pytest
from chapters import BOOK
from test_claims import labels
from test_prose import is_known, prose_numbers

from specmini.practice import passages as module
from specmini.practice.gather import chapter_titles
from specmini.practice.passages import TITLES, Answers, passage, passages
from specmini.record import claims
from specmini.widgets import SpotTheErrors
from specmini.widgets.spot import links

by_id = pytest.mark.parametrize("one", passages(), ids=lambda one: one.id)
NAMES = re.compile(r"\b(Llama-3\.\d|Opus \d\.\d|V\d\.\d)")  # of models; no results
LEDGER = {one.id: one for one in claims.claims()}
GOOD = {
    "id": "made-up",
    "title": "Made up",
    "text": "It is [right here](yes), K = 4, “[wrong there](no).” And so it {how:.1f}.",
    "numbers": {"how": "round_cost(0.1, 4)"},
    "spans": {
        "yes": {"verdict": "right", "why": "Because it is.", "shown": "speedup"},
        "no": {
            "verdict": "wrong",
            "why": "It is {yield:.2f}.",
            "numbers": {"yield": "tokens_per_round(0.8, 4)"},
            "shown": "tokens#thm-tokens",
            "claim": "yield-accepted",
        },
    },
}


def test_there_are_enough_and_each_has_errors_and_decoys():
    assert len(passages()) >= 14
    for one in passages():
        assert 3 <= len(one.errors) <= 5, one.id
        assert len(one.spans) - len(one.errors) >= 2, one.id
        assert 40 <= len(one.words) <= 90, one.id


def test_errors_stand_at_every_place_of_the_row():
    """A reader who learns that, say, the first phrase is always wrong would learn nothing else."""
    first = [one.spans[0].is_error for one in passages()]
    last = [one.spans[-1].is_error for one in passages()]
    assert 3 <= sum(first) <= len(first) - 3
    assert 3 <= sum(last) <= len(last) - 3


@by_id
def test_every_number_is_computed_or_stands_in_the_claim_that_is_named(one):
    texts = [(one.text, one.known, None), *((s.why, s.known, s.claim) for s in one.spans)]
    for text, known, claim in texts:
        for written, value, decimals, unit in prose_numbers(NAMES.sub(" ", text)):
            inputs = (*known, *one.known, *(number for s in one.spans for number in s.known))
            computed = is_known(value, decimals, unit, (list(inputs), []))
            entry = LEDGER.get(claim)
            told = entry is not None and written in f"{entry.claim} {entry.why}"
            assert computed or told, (text, written)


@by_id
def test_every_error_has_a_number_a_figure_or_a_source(one):
    for span in one.errors:
        assert span.known or span.claim or "#fig-" in span.shown, span.id


@by_id
def test_every_place_of_the_book_exists(one):
    for span in one.spans:
        page, _, label = span.shown.partition("#")
        assert (BOOK / f"{page}.ipynb").exists(), span.shown
        assert not label or label in labels(page), span.shown


@by_id
def test_what_is_undocumented_or_outdated_is_so_in_the_ledger(one):
    for span in one.spans:
        if span.verdict in ("undocumented", "outdated"):
            assert LEDGER[span.claim].verdict == span.verdict, span.id


def test_words_sentences_and_spans_of_a_made_up_paragraph():
    one = module.built(GOOD)
    assert one.words == (
        *("It", "is", "right", "here,", "K = 4,", "“wrong", "there.”", "And", "so", "it", "1.4."),
    )
    assert one.sentences == (0, 7)
    assert [(span.first, span.last) for span in one.spans] == [(2, 3), (5, 6)]
    assert [one.phrase(span) for span in one.spans] == ["right here", "wrong there"]
    assert one.known == (1.4, 0.1, 4.0)
    assert [span.id for span in one.errors] == ["no"]
    assert one.errors[0].why == "It is 3.36."


def changed(**change):
    return {**GOOD, **change}


def with_span(name, **change):
    return changed(spans={**GOOD["spans"], name: {**GOOD["spans"][name], **change}})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (changed(text="[a](no) b [c](yes)"), "spans must be those of the text in its order, no, "),
        (changed(text="[a](yes)-[b](no) {how}"), "a word must belong to one span, got two at 'no'"),
        (with_span("yes", verdict="wrong"), "must hold an error and a phrase that is right"),
        (with_span("no", verdict="right"), "must hold an error and a phrase that is right"),
        (with_span("no", claim="yield-x"), "claim of 'no' must be one of"),
        (with_span("no", numbers={"yield": "eval(1)"}), "'no': numbers must be calls"),
        (with_span("no", numbers={"yield": "speedup(2, 0, 1)"}), "acceptance_rate must be"),
        (with_span("no", numbers={}), "numbers must be calls that the text names: 'yield'"),
        (changed(text=GOOD["text"].replace("how", "{")), "numbers must be calls"),
    ],
)
def test_a_paragraph_that_is_not_whole_is_refused(item, message):
    with pytest.raises(ValueError, match="passage 'made-up'") as refused:
        module.built(item)
    assert message in str(refused.value)


def test_there_is_no_paragraph_of_another_name():
    with pytest.raises(ValueError, match="passage must be one of 'universal', 'k-times'"):
        passage("x")


def test_answers_show_every_span_with_its_verdict_and_links():
    text = Answers(passages())._repr_markdown_()
    for one in passages():
        assert f":::{{dropdown}} {one.title}\n:name: answers-{one.id}\n" in text
        for span in one.spans:
            assert f"“{one.phrase(span)}”. {span.why} See {{doc}}`" in text
    assert text.count("\n- ✗ *") == sum(len(one.errors) for one in passages())
    assert repr(Answers([passage("overlap")])).startswith("overlap: the draft writes its next")


# --- the widget ----------------------------------------------------------------------------------


def words_of(one, *names):
    return sorted(p for span in one.spans if span.id in names for p in span.positions)


def test_the_widget_reports_marks_and_score():
    one = passage("overlap")
    widget, seen = SpotTheErrors(passage="overlap"), []
    widget.observe(lambda change: seen.append(change["new"]), "score")
    assert widget.score is None
    widget.set_state({"marks": words_of(one, "during", "bet")})
    assert (widget.grade.found, widget.grade.wrongly) == (("during",), ("bet",))
    widget.set_state({"tries": 1})
    assert seen == [pytest.approx(2 / 5)]
    widget.set_state({"tries": 0})
    assert widget.score is None


def test_another_paragraph_starts_without_marks():
    one = passage("overlap")
    widget = SpotTheErrors(passage="overlap", marks=words_of(one, "during"))
    assert widget.marks == words_of(one, "during")
    widget.passage = "batch"
    assert (widget.marks, widget.tries) == ([], 0)
    assert widget.content["id"] == "batch"
    assert repr(widget) == "SpotTheErrors(passage='batch')"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"passage": "x"}, "passage must be one of universal, k-times"),
        ({"marks": [-1]}, "marks must be whole numbers in [0, "),
        ({"marks": [True]}, "marks must be whole numbers in [0, "),
        ({"marks": [1, 0]}, "marks must be in order and hold phrases whole"),
        ({"marks": [11]}, "marks must be in order and hold phrases whole"),
        ({"content": {}}, "content must be that of the passage 'k-times'"),
    ],
)
def test_a_wrong_setting_is_refused(setting, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        SpotTheErrors(**{"passage": "k-times", **setting})


def test_a_page_without_a_script_has_the_paragraph_and_says_where_the_reasons_are():
    html = SpotTheErrors(passage="formula").fallback_html()
    one = passage("formula")
    assert html.count('<span class="sm-w">') == len(one.words)
    assert "It holds 3 errors." in html
    assert 'href="#answers-formula"' in html
    assert f":name: answers-{one.id}" in Answers([one])._repr_markdown_()
    assert not any(span.why in unescape(html) for span in one.spans)


def test_links_of_a_reason_have_the_titles_of_pages():
    assert dict(chapter_titles()) == TITLES
    found = [row for one in passages() for span in one.spans for row in links(span)]
    assert ["tokens", "thm-tokens", "“Expected tokens”"] in found
    assert ["speedup", "red-flag-c-inverted", "“Speedup”"] in found
    assert ["ledger", "claim-cost-direction", "the claims ledger"] in found
