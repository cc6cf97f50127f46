"""Spot the errors on the page: every paragraph answered by keyboard, right and wrong."""

import json
import re

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.widgets import Spot
from specmini.practice import marking
from specmini.practice.passages import passage, passages

STATE = re.compile(
    r'data-specmini="spot">.*?<script type="application/json">(.*?)</script>', re.DOTALL
)
# The theme keeps the reader's colors in the same store and needs it, so only ours is refused.
REFUSE = """for (const name of ["getItem", "setItem", "removeItem"]) {
  const known = Storage.prototype[name];
  Storage.prototype[name] = function (key, ...rest) {
    if (key.startsWith("specmini:")) throw new DOMException("refused", "SecurityError");
    return known.call(this, key, ...rest);
  };
}"""


def places():
    """Page, place on the page and id of each paragraph."""
    return [
        (page, index, json.loads(state)["state"]["content"]["id"])
        for page in {page for page, _ in built_site.widgets("spot")}
        for index, state in enumerate(STATE.findall(built_site.text_of(page)))
    ]


@pytest.fixture
def every(reader):
    """All paragraphs with what is on the page, opened once: sixteen stand on one page."""
    page, _, _ = known_place("overlap")
    tab = reader.open(page)
    return [(passage(key), Spot(tab, index)) for _, index, key in places()]


def known_place(key):
    return next(place for place in places() if place[2] == key)


@pytest.fixture
def overlap(reader):
    page, index, _ = known_place("overlap")
    return Spot(reader.open(page), index)


def test_every_paragraph_is_on_the_page():
    assert [key for _, _, key in places()] == [one.id for one in passages()]


def test_right_answers_by_keyboard_score_full_and_all_reasons_appear(every):
    for one, opened in every:
        answer_right(one, opened)
    assert every[0][1].stored() == {one.id: 1 for one in passages()}


def answer_right(one, opened):
    assert opened.words() == list(one.words)
    for span in one.errors:
        opened.mark(span.first)
    marks = [position for span in one.errors for position in span.positions]
    assert opened.marked() == marks
    opened.press("Check")
    assert opened.told() == str(marking.grade(one, marks))
    assert opened.said().startswith(opened.told())
    assert opened.focused() == "Start again"
    reasons = opened.reasons()
    for span, reason in zip(one.spans, reasons, strict=True):
        assert reason.startswith(f"{'✗' if span.is_error else '✓'} {span.verdict} (")
        assert f"“{one.phrase(span)}”. {span.why} See " in reason


def test_wrong_answers_by_keyboard_are_told_and_only_the_missed_are_left(every):
    for one, opened in every:
        answer_wrong_then_right(one, opened)


def answer_wrong_then_right(one, opened):
    decoys = [span for span in one.spans if not span.is_error]
    first = one.errors[0]
    for span in (*decoys, first):
        opened.mark(span.last)
    marks = sorted(position for span in (*decoys, first) for position in span.positions)
    opened.press("Check")
    grade = marking.grade(one, marks)
    assert opened.told().startswith(str(grade))
    assert opened.told().endswith(f"{len(grade.missed)} error{'s'[: len(grade.missed) > 1]} still"
                                  " to find.")  # fmt: skip
    assert len(opened.reasons()) == len(decoys) + 1
    # What is judged cannot be marked again.
    opened.mark(first.first)
    assert opened.marked() == marks
    for span in one.errors[1:]:
        opened.mark(span.first)
    opened.press("Check", key="Space")
    whole = sorted(position for span in one.spans for position in span.positions)
    assert opened.told() == str(marking.grade(one, whole))
    assert opened.stored()[one.id] == pytest.approx(marking.grade(one, whole).score)


def test_arrows_move_by_word_and_by_sentence_with_one_tab_stop(overlap):
    one = passage("overlap")
    stops = overlap.box.locator("[role=option][tabindex='0']")
    overlap.at(0)
    last = len(one.words) - 1
    second, third = one.sentences[1:3]
    for key, position in [
        *(("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last)),
        *(("ArrowRight", last), ("Home", 0), ("ArrowLeft", 0), ("ArrowDown", second)),
        *(("Control+ArrowRight", third), ("ArrowRight", third + 1), ("ArrowUp", third)),
        *(("Control+ArrowLeft", second), ("ArrowUp", 0), ("ArrowUp", 0)),
    ]:
        overlap.tab.keyboard.press(key)
        assert overlap.position() == position, key
        assert stops.count() == 1
    overlap.tab.keyboard.press("End")
    overlap.tab.keyboard.press("ArrowDown")
    assert overlap.position() == last


def test_marks_are_announced_and_taken_back(overlap):
    one = passage("overlap")
    span = one.errors[0]
    overlap.mark(span.first + 1)
    assert overlap.said() == f"Marked: {one.phrase(span)}. 1 mark."
    overlap.mark(span.last)
    assert overlap.said() == f"Unmarked: {one.phrase(span)}. 0 marks."
    assert overlap.marked() == []
    overlap.press("Check")
    assert overlap.said() == str(marking.grade(one, []))
    assert overlap.stored() == {}


def test_a_finger_marks_and_unmarks(overlap):
    one = passage("overlap")
    for _ in range(2):
        option = overlap.option(one.errors[1].last)
        option.click()
    assert overlap.marked() == []
    overlap.option(0).click()
    assert overlap.marked() == [0]


def test_hints_come_in_steps_and_follow_the_marks(overlap):
    one = passage("overlap")
    for step in (1, 2, 3, 3):
        overlap.press("Hint")
        assert overlap.told() == marking.hint(one, [], step)
    overlap.mark(one.errors[0].first)
    overlap.press("Hint")
    assert overlap.told() == marking.hint(one, one.errors[0].positions, 3)


def test_start_again_forgets_all_but_the_best_score(overlap):
    one = passage("overlap")
    overlap.mark(one.errors[0].first)
    overlap.press("Check")
    overlap.press("All reasons")
    assert len(overlap.reasons()) == len(one.spans)
    overlap.mark(0)
    assert overlap.said() == "All reasons are shown. Start again to mark."
    overlap.press("Start again")
    assert (overlap.marked(), overlap.reasons()) == ([], [])
    overlap.mark(0)
    assert overlap.marked() == [0]
    assert overlap.stored() == {"overlap": pytest.approx(0.5)}


def test_stray_marks_cost_and_are_named(overlap):
    overlap.mark(0)
    overlap.mark(1)
    overlap.press("Check")
    assert "1 mark outside the judged phrases: nothing is wrong there." in overlap.told()
    assert overlap.option(0).get_attribute("aria-label") == "In, right as it stands"


def test_refused_storage_changes_nothing_for_the_reader(reader):
    page, index, key = known_place("overlap")
    one, opened = passage(key), Spot(reader.open(page, before=REFUSE), index)
    for span in one.errors:
        opened.mark(span.first)
    opened.press("Check")
    assert len(opened.reasons()) == len(one.spans)


def test_two_paragraphs_do_not_share_marks(reader):
    page, _, _ = known_place("overlap")
    tab = reader.open(page)
    first, second = Spot(tab, 0), Spot(tab, 1)
    first.mark(0)
    assert second.marked() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_once_it_is_judged(reader, scheme):
    page, index, key = known_place("overlap")
    opened = Spot(reader.open(page, scheme=scheme, motion="reduce", width=PHONE), index)
    opened.mark(0)
    opened.mark(passage(key).errors[0].first)
    opened.press("Check")
    opened.press("All reasons")
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))
    nothing_wrong(opened.name, facts.sticking_out(opened.tab))


def test_words_are_large_enough_for_a_finger(reader):
    page, _, _ = known_place("overlap")
    tab = reader.open(page, width=PHONE)
    sizes = tab.locator("[data-specmini=spot] [role=option]").evaluate_all(
        """(words) => words.map((word) => word.getBoundingClientRect())
          .map(({ width, height }) => Math.min(width, height))"""
    )
    assert len(sizes) == sum(len(one.words) for one in passages())
    assert min(sizes) >= 24


@pytest.mark.parametrize("scripts", [True, False])
def test_on_paper_the_answers_come_at_the_end_and_only_there(reader, scripts):
    page, _, _ = known_place("overlap")
    tab = reader.open(page, scripts=scripts, width=DESK)
    tab.emulate_media(media="print")
    for one in passages():
        reasons = tab.locator(f"#answers-{one.id} li")
        assert reasons.count() == len(one.spans)
        assert all(reason.is_visible() for reason in reasons.all()), one.id
    for place in tab.locator("[data-specmini=spot]").all():
        assert not place.locator(".sm-reasons").is_visible()
        assert not place.locator(".sm-actions, summary").first.is_visible()


def as_typed(text: str) -> str:
    """Letters and digits alone: the page sets quotes, signs and code in its own way."""
    return re.sub(r"[\W_]", "", text)


def test_reader_without_scripts_gets_the_paragraph_and_a_way_to_its_reasons(reader):
    page, _, _ = known_place("overlap")
    tab = reader.open(page, scripts=False, width=PHONE)
    facts.unfold(tab)
    for _, index, key in places():
        box, one = tab.locator("[data-specmini=spot]").nth(index), passage(key)
        assert " ".join(box.locator(".sm-words").inner_text().split()) == one.text
        target = box.locator("a").first.get_attribute("href").partition("#")[2]
        assert target
        assert tab.locator(f"[id='{target}']").count() == 1
        reasons = tab.locator(f"#answers-{one.id} li").all_inner_texts()
        for span, reason in zip(one.spans, reasons, strict=True):
            assert as_typed(span.why) in as_typed(reason)
    nothing_wrong(page, facts.sticking_out(tab))
