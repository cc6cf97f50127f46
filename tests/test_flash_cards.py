"""Flash cards: SM-2 as its source describes it, the cards, the widget, and the Anki package."""

import datetime
import json
import os
import re
import sqlite3
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmini.practice import anki, gather, schedule, site
from specmini.practice.cards import Card, cards
from specmini.practice.schedule import Memory, grades, queue, review
from specmini.widgets import FlashCards
from specmini.widgets.settings import SettingError

TODAY = 20_000
MEMORY = Memory(repetitions=3, ease=250, interval=15, last=TODAY - 15, first=100, drill=False)
FIELDS = {"repetitions": 3, "ease": 250, "interval": 15, "last": 5, "first": 4, "drill": False}


# --- the algorithm ------------------------------------------------------------------------------


def sm2(ease, intervals, qualities):
    """The published description in floating point: ease and interval after each quality."""
    repetitions, interval = 0, 0
    for quality in qualities:
        if quality < 3:
            repetitions, interval = 0, 1
        else:
            ease = max(1.3, ease + 0.1 - (5 - quality) * (0.08 + (5 - quality) * 0.02))
            repetitions += 1
            interval = {1: 1, 2: 6}.get(repetitions) or interval * ease
        intervals.append(interval)
    return ease


@given(st.lists(st.sampled_from(grades), min_size=1, max_size=12))
def test_it_is_sm_2_up_to_rounding(answers):
    intervals = []
    ease = sm2(2.5, intervals, [schedule.QUALITY[grade] for grade in answers])
    memory, day, rounded_up = None, TODAY, 0.0
    for grade, exact in zip(answers, intervals, strict=True):
        memory = review(memory, grade, day)
        day = memory.due
        # Each rounding adds less than a day, and the next ease multiplies it.
        rounded_up = rounded_up * memory.ease / 100 + 1 if memory.repetitions > 2 else 1.0
        assert exact - 1e-6 <= memory.interval <= exact + rounded_up or memory.interval == 36_500
    assert memory.ease / 100 == pytest.approx(ease)


@pytest.mark.parametrize(
    ("grade", "after"),
    [
        ("again", Memory(0, 250, 1, TODAY, 100, True)),
        ("hard", Memory(4, 236, 36, TODAY, 100, True)),  # 15 × 2.36 = 35.4, rounded up
        ("good", Memory(4, 250, 38, TODAY, 100, False)),
        ("easy", Memory(4, 260, 39, TODAY, 100, False)),
    ],
)
def test_a_known_card_moves_as_the_source_says(grade, after):
    assert review(MEMORY, grade, TODAY) == after
    assert after.due == TODAY + after.interval


def test_a_card_that_comes_back_on_its_day_only_leaves_the_drill():
    failed = review(MEMORY, "again", TODAY)
    assert review(failed, "hard", TODAY) == failed
    assert review(failed, "easy", TODAY) == Memory(0, 250, 1, TODAY, 100, False)


def test_numbers_stay_in_their_ranges():
    memory = MEMORY
    for _ in range(12):
        memory = review(memory, "hard", memory.due)
    assert memory.ease == 130
    for _ in range(15):
        memory = review(memory, "easy", memory.due)
    assert memory.interval == 36_500
    assert schedule.memories_from({"a": json.loads(schedule.dumps({"a": memory}))["memories"]["a"]})


def test_bad_reviews_are_refused():
    with pytest.raises(ValueError, match="grade must be one of 'again', 'hard', 'good', 'easy'"):
        review(None, "fine", TODAY)
    with pytest.raises(ValueError, match=f"today must be at least the last review, {TODAY - 15}"):
        review(MEMORY, "good", TODAY - 16)


def test_the_queue_is_due_then_new_then_drill():
    memories = {
        "late": Memory(1, 250, 1, TODAY - 9, 1, False),
        "due": Memory(1, 250, 1, TODAY - 1, 1, False),
        "future": Memory(2, 250, 6, TODAY - 1, 1, False),
        "drilled": Memory(0, 250, 1, TODAY, 1, True),
        "begun": Memory(1, 250, 1, TODAY, TODAY, False),
    }
    deck = ["new-1", "due", "drilled", "late", "future", "new-2", "begun", "new-3"]
    assert queue(memories, deck, TODAY, 3) == ["late", "due", "new-1", "new-2", "drilled"]
    assert queue(memories, deck, TODAY, 0) == ["late", "due", "drilled"]
    assert queue({}, deck, TODAY, 2) == ["new-1", "due"]
    assert queue(memories, ["future"], TODAY, 9) == []


def test_progress_is_written_and_read_back():
    memories = {"b": MEMORY, "a-1": review(None, "hard", TODAY)}
    text = schedule.dumps(memories)
    assert schedule.loads(text) == memories
    assert list(json.loads(text)["memories"]) == ["a-1", "b"]


REFUSED = [
    ("", "progress must be JSON, as the export writes it"),
    ("[" * 100_000, "progress must be JSON, as the export writes it"),
    ("NaN", "progress must be JSON, as the export writes it"),
    ("[]", 'progress must have the format "specmini cards 1"'),
    ('{"format":"specmini cards 2","memories":{}}', 'progress must have the format "specmini'),
]
BAD_MEMORIES = [
    (None, "memories must be an object of cards"),
    ([], "memories must be an object of cards"),
    ({"__proto__": FIELDS}, "memories must have ids of small letters, digits and hyphens"),
    ({"A b": FIELDS}, "memories must have ids of small letters, digits and hyphens"),
    ({"a" * 121: FIELDS}, "memories must have ids of small letters, digits and hyphens"),
    ({"a": 1}, "memory of a must have the fields repetitions, ease, interval, last, first, drill"),
    ({"a": FIELDS | {"more": 1}}, "memory of a must have the fields repetitions"),
    ({"a": {"ease": 250}}, "memory of a must have the fields repetitions"),
    ({"a": FIELDS | {"ease": 129}}, r"ease of a must be a whole number in \[130, 100000\]"),
    ({"a": FIELDS | {"interval": 0}}, r"interval of a must be a whole number in \[1, 36500\]"),
    ({"a": FIELDS | {"interval": 1.5}}, r"interval of a must be a whole number in \[1, 36500\]"),
    ({"a": FIELDS | {"last": "5"}}, r"last of a must be a whole number in \[0, 1000000\]"),
    ({"a": FIELDS | {"repetitions": True}}, "repetitions of a must be a whole number"),
    ({"a": FIELDS | {"drill": 0}}, "drill of a must be true or false"),
    ({"a": FIELDS | {"first": 6}}, "first of a must be at most its last, 5"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_file_that_is_no_export_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        schedule.loads(text)


@pytest.mark.parametrize(("entries", "message"), BAD_MEMORIES)
def test_memories_that_nobody_could_have_are_refused(entries, message):
    with pytest.raises(ValueError, match=message):
        schedule.memories_from(entries)
    text = json.dumps({"format": schedule.FORMAT, "memories": entries})
    with pytest.raises(ValueError, match=message):
        schedule.loads(text)


# --- the cards ----------------------------------------------------------------------------------


def test_there_are_cards_for_every_chapter_each_with_its_memory_aid():
    every = cards()
    assert len(every) >= 60
    assert len({card.id for card in every}) == len({card.question for card in every}) == len(every)
    for chapter in gather.chapters():
        ours = [card for card in every if card.chapter == chapter]
        assert len(ours) >= 3, chapter
        assert sum(card.id.startswith("memory-") for card in ours) == 1


def test_gathered_cards_say_what_the_chapters_say():
    blocks = {block.id: block for block in gather.blocks()}
    gathered = [card for card in cards() if card.anchor]
    assert len(gathered) > 30
    for card in gathered:
        assert card.answer == blocks[card.id].text
        assert not re.search(r"\babove\b|\bthe table\b", card.answer)


# --- the widget ---------------------------------------------------------------------------------


def test_the_widget_gives_and_takes_what_was_learned():
    widget = FlashCards(new_per_day=2)
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=TODAY)
    first, second = widget.due(day)
    widget.memories = {first: dict(FIELDS, last=TODAY, first=TODAY, interval=1)}
    assert widget.due(day) == [second]
    assert widget.due(day + datetime.timedelta(days=1))[0] == first
    heard = []
    widget.observe(lambda change: heard.append(change["new"]), "answers")
    widget.answers = [{"card": first, "grade": "good", "day": TODAY}]
    assert heard == [[{"card": first, "grade": "good", "day": TODAY}]]


def test_the_widget_shows_one_deck():
    ids = FlashCards(deck="speedup").due(datetime.date(2026, 12, 1))
    assert {card.chapter for card in cards() if card.id in ids} == {"speedup"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"deck": "spedup"}, "deck must be one of ''"),
        ({"new_per_day": 101}, r"new_per_day must be a whole number in \[1, 100\], got 101"),
        ({"memories": {"a": 1}}, "memory of a must have the fields"),
        ({"answers": [{"card": "a", "grade": "fine", "day": 1}]}, "be one of again, hard, good"),
        ({"answers": [1]}, r"answers\[0\] must be a dict with the keys card, grade, day"),
        ({"cards": []}, "cards must be at least one, with ids that differ"),
        ({"cards": [{"id": "a"}]}, r"cards\[0\] must be a dict with the keys id, deck"),
        ({"decks": "x"}, "settings of FlashCards must be some of"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        FlashCards(**settings)


def test_without_a_script_every_question_has_its_answer_folded():
    html = FlashCards().fallback_html()
    assert html.count("<details><summary>") == html.count("</summary><p>") == len(cards())
    assert "$" not in html
    assert "<math>" in html


def test_the_page_gets_cards_and_settings_and_no_memory():
    assert set(FlashCards().page_state()) == {"cards", "deck", "new_per_day"}


# --- Anki ---------------------------------------------------------------------------------------


def notes(path):
    """Identity, fields and tags of the notes in a package, as SQLite has them."""
    with zipfile.ZipFile(path) as package:
        database = package.read("collection.anki2")
    connection = sqlite3.connect(":memory:")
    connection.deserialize(database)
    rows = connection.execute("select guid, flds, tags from notes").fetchall()
    [(count,)] = connection.execute("select count(*) from cards").fetchall()
    connection.close()
    assert count == len(rows)
    return {guid: (fields.split("\x1f"), tags.split()) for guid, fields, tags in rows}


def test_the_anki_package_holds_every_card_with_formulas_that_anki_reads(tmp_path):
    path = tmp_path / "cards.apkg"
    assert anki.write(path) == len(cards())
    found = notes(path)
    assert set(found) == {anki.note_id(card.id) for card in cards()}
    titles = gather.chapter_titles()
    for card in cards():
        (question, answer, chapter, known), tags = found[anki.note_id(card.id)]
        assert (chapter, known, tags) == (titles[card.chapter], card.id, [card.chapter])
        assert question
        assert answer
        assert not re.search(r'\$|<math|href="(?!https)', question + answer), card.id
    assert any(r"\(" in fields[1] for fields, _ in found.values())
    assert [one.name for one in tmp_path.iterdir()] == ["cards.apkg"]


def test_the_same_cards_at_the_same_moment_make_the_same_bytes(tmp_path):
    one, again, later = (tmp_path / name for name in ("1.apkg", "2.apkg", "3.apkg"))
    anki.write(one, cards()[:5], moment=1.7e9)
    os.utime(one, (1e9, 1e9))
    anki.write(again, cards()[:5], moment=1.7e9)
    anki.write(later, cards()[:5], moment=1.8e9)
    assert one.read_bytes() == again.read_bytes() != later.read_bytes()
    assert notes(one) == notes(later)


def test_a_build_is_told_the_time_or_looks_at_the_clock(tmp_path, monkeypatch):
    moments = []
    monkeypatch.setattr(site.anki, "write", lambda _, moment: moments.append(moment))
    monkeypatch.setattr(site.sheet_pdf, "write", lambda *_: None)
    for told in ("1700000000", ""):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", told)
        site.write_files(tmp_path)
    assert moments == [1_700_000_000, None]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ValueError, match=r"SOURCE_DATE_EPOCH must be .*, got 'yesterday'"):
        site.write_files(tmp_path)


def test_a_note_keeps_its_identity(tmp_path):
    assert anki.note_id("speedup-formula") == "km3ixt-Ajo"
    one, other = tmp_path / "1.apkg", tmp_path / "2.apkg"
    anki.write(one, cards()[:5])
    anki.write(other, reversed(cards()[:9]))
    assert set(notes(one)) < set(notes(other))


def test_a_package_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "cards.apkg"
    path.write_text("old")
    with pytest.raises(ValueError, match="role must be one of doc, eq"):
        anki.write(path, [Card("x", "speedup", "{video}`x`", "y")])
    assert path.read_text() == "old"
