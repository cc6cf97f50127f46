"""The flash cards on the page: by keyboard, kept in the browser, on paper, without a script."""

import datetime
import json
import re

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.widgets import Cards
from specmini.practice import schedule
from specmini.practice.cards import cards

NOON = datetime.datetime(2026, 12, 1, 12)
TODAY = (NOON.date() - datetime.date(1970, 1, 1)).days
REFUSING = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
)


@pytest.fixture(params=built_site.widgets("cards") or [None], ids=str)
def place(request):
    if request.param is None:
        pytest.fail("no page of the book has flash cards")
    return request.param


@pytest.fixture
def opened(reader, place):
    page, index = place
    return Cards(reader.open(page, prepare=lambda tab: tab.clock.set_fixed_time(NOON)), index)


def focused(widget):
    return widget.tab.evaluate("document.activeElement.textContent")


def begin(widget):
    widget.box.get_by_role("button", name="Show answer").focus()


def turn_and_rate(widget, key):
    """Turn the card and say how it went, by keys; the focus is where the last card left it."""
    widget.tab.keyboard.press("Enter")
    widget.tab.keyboard.press(key)


def test_a_card_is_turned_and_rated_by_keyboard(opened):
    assert opened.counts() == [0, 10, 0]
    assert opened.answer() == ""
    first = opened.question()
    begin(opened)
    opened.tab.keyboard.press("Enter")
    assert len(opened.answer()) > 10
    assert focused(opened).startswith("3 Good")
    promised = {"Again": "today", "Hard": "today", "Good": "tomorrow", "Easy": "tomorrow"}
    assert opened.grades() == promised
    opened.tab.keyboard.press("Enter")  # good, the button in focus
    assert opened.question() != first
    assert opened.answer() == ""
    assert focused(opened) == "Show answer"
    assert opened.counts() == [0, 9, 0]


def test_every_grade_does_what_python_says(opened):
    begin(opened)
    expected = {}
    ids = [card.id for card in cards()]
    for key, grade in zip("1234", schedule.grades, strict=True):
        todo = schedule.queue(expected, ids, TODAY, 10)
        turn_and_rate(opened, key)
        # The card that was just failed waits if another is left.
        card = next(one for one in todo if one not in expected)
        expected[card] = schedule.review(None, grade, TODAY)
    assert schedule.loads(opened.kept()) == expected
    assert opened.counts() == [0, 6, 2]


def test_what_was_learned_is_there_tomorrow(reader, place):
    page, index = place
    later = NOON + datetime.timedelta(days=1)
    tab = reader.open(page, prepare=lambda tab: tab.clock.set_fixed_time(NOON))
    opened = Cards(tab, index)
    begin(opened)
    for key in "334":
        turn_and_rate(opened, key)
    learned = opened.kept()
    tab.reload()
    opened = Cards(tab, index)
    assert opened.counts() == [0, 7, 0]
    tab.clock.set_fixed_time(later)
    tab.reload()
    opened = Cards(tab, index)
    assert opened.counts() == [3, 10, 0]
    assert "last seen 1 day ago" in opened.box.locator(".sm-card").inner_text()
    assert opened.kept() == learned


def test_a_day_ends_and_more_can_be_begun(opened):
    opened.type_number("New cards a day", "2")
    begin(opened)
    turn_and_rate(opened, "3")
    turn_and_rate(opened, "1")
    assert opened.counts() == [0, 0, 1]
    turn_and_rate(opened, "4")
    assert opened.question() == "Done for today. The next card is due tomorrow."
    assert focused(opened) == "Begin ten more"
    opened.tab.keyboard.press("Enter")
    assert opened.counts() == [0, 10, 0]
    assert focused(opened) == "Show answer"


def test_a_deck_shows_its_own_cards(opened):
    opened.type_number("New cards a day", "100")
    deck = opened.box.get_by_label("Deck")
    for chapter in deck.locator("option").evaluate_all("(all) => all.map((one) => one.value)")[1:]:
        deck.select_option(chapter)
        begin(opened)
        opened.tab.keyboard.press("Enter")
        link = opened.box.locator(".sm-answer a").last
        assert link.get_attribute("href").startswith(f"{chapter}.html")
        opened.tab.keyboard.press("4")


def test_links_of_all_cards_lead_somewhere(site, place):
    page, index = place
    state = re.findall(
        r'data-specmini="cards">.*?<script type="application/json">(.*?)</script>',
        built_site.text_of(page),
        re.DOTALL,
    )[index]
    for card in json.loads(state)["state"]["cards"]:
        for address in [card["place"], *re.findall(r'href="(?!https?:)([^"]+)"', card["answer"])]:
            file, _, anchor = address.partition("#")
            target = built_site.text_of(f"book/{file}")
            assert not anchor or f'id="{anchor}"' in target, f"{card['id']}: {address}"


def test_progress_moves_as_text(opened):
    begin(opened)
    for key in "134":
        turn_and_rate(opened, key)
    before = opened.kept()
    opened.box.locator("summary").press("Enter")
    opened.press("Export")
    field = opened.box.get_by_label("Progress as text")
    assert field.input_value() == before
    with opened.tab.expect_download() as download:
        opened.box.get_by_role("link", name="Save as a file").press("Enter")
    assert download.value.suggested_filename == "specmini-cards.json"
    assert download.value.path().read_text(encoding="utf-8") == before

    opened.press("Reset")
    assert opened.kept() == before, "one press must not forget everything"
    opened.press("Really forget everything?")
    assert schedule.loads(opened.kept()) == {}
    assert opened.counts() == [0, 10, 0]

    field.fill(before)
    opened.press("Import")
    assert opened.kept() == before
    assert opened.counts() == [0, 7, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "progress must be JSON"),
        ("<img src=x onerror=alert(1)>", "progress must be JSON"),
        ('{"format":"other"}', "progress must have the format"),
        (
            '{"format":"specmini cards 1","memories":{"__proto__":{"ease":1}}}',
            "memories must have ids",
        ),
        (
            '{"format":"specmini cards 1","memories":{"a":{"repetitions":1,"ease":1,"interval":1,'
            '"last":1,"first":1,"drill":false}}}',
            "ease of a must be a whole number in [130, 100000]",
        ),
    ],
)
def test_a_hostile_import_changes_nothing_and_says_why(opened, text, words):
    begin(opened)
    turn_and_rate(opened, "3")
    before = opened.kept(), opened.question()
    opened.box.locator("summary").press("Enter")
    opened.box.get_by_label("Progress as text").fill(text)
    opened.press("Import")
    assert words in opened.box.locator("details .sm-error").inner_text()
    assert (opened.kept(), opened.question()) == before
    assert opened.tab.evaluate("({}).ease") is None


def test_what_was_stored_by_something_else_is_not_trusted(reader, place):
    page, index = place
    before = "localStorage.setItem('specmini:cards', '{\"a\":')"
    opened = Cards(reader.open(page, before=before), index)
    assert opened.counts() == [0, 10, 0]


@pytest.mark.parametrize("by", ["http", "file"])
def test_it_works_where_storage_is_refused(reader, place, by):
    page, index = place
    # The theme of the book asks for storage, too, and complains; only ours must be silent.
    opened = Cards(reader.open(page, by=by, before=REFUSING), index)
    reader.complaints[:] = [text for text in reader.complaints if "specmini" in text]
    begin(opened)
    turn_and_rate(opened, "3")
    turn_and_rate(opened, "1")
    assert opened.counts() == [0, 8, 1]
    reader.complaints[:] = [text for text in reader.complaints if "refused" not in text]


def test_it_speaks_answers_and_the_next_question(opened):
    begin(opened)
    opened.listen()
    opened.tab.keyboard.press("Enter")
    said = opened.said()
    assert said.startswith("Answer: ")
    opened.tab.keyboard.press("3")
    assert opened.said().startswith("Good. Next question: ")
    assert len(opened.heard()) == 2, opened.heard()


def test_keys_for_grades_leave_typing_alone(opened):
    begin(opened)
    opened.tab.keyboard.press("Enter")
    question = opened.question()
    opened.type_number("New cards a day", "12")
    opened.box.locator("summary").press("Enter")
    opened.box.get_by_label("Progress as text").press("1")
    assert opened.question() == question or opened.kept() is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_an_open_card(reader, place, scheme):
    page, index = place
    opened = Cards(reader.open(page, scheme=scheme, width=PHONE, motion="reduce"), index)
    opened.box.locator("summary").press("Enter")
    opened.press("Import")
    begin(opened)
    opened.tab.keyboard.press("Enter")
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))
    nothing_wrong(opened.name, facts.sticking_out(opened.tab))
    nothing_wrong(opened.name, facts.small_targets(opened.tab, ".specmini-host"))


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_no_card_is_wider_than_the_page(opened, width):
    opened.tab.set_viewport_size({"width": width, "height": 900})
    opened.type_number("New cards a day", "100")
    begin(opened)
    for _ in range(len(cards())):
        opened.tab.keyboard.press("Enter")
        inside = opened.box.locator(".sm-card").evaluate(
            "(box) => box.scrollWidth <= box.clientWidth"
        )
        assert inside, f"{opened.question()!r} at {width} px"
        opened.tab.keyboard.press("4")
    assert "Done for today" in opened.question()


def test_paper_shows_every_card_with_its_answer(opened):
    opened.tab.emulate_media(media="print")
    printed = opened.box.locator(".sm-printed")
    assert printed.is_visible()
    assert printed.locator("dt").count() == printed.locator("dd").count() == len(cards())
    assert not opened.box.locator(".sm-card").is_visible()


def test_reader_without_scripts_unfolds_every_answer(reader, place):
    page, index = place
    tab = reader.open(page, scripts=False, width=PHONE)
    box = tab.locator("[data-specmini=cards]").nth(index)
    folded = box.locator("details")
    assert folded.count() == len(cards())
    assert not folded.first.locator("p").is_visible()
    folded.first.locator("summary").click()
    assert folded.first.locator("p").first.is_visible()
    nothing_wrong(page, facts.sticking_out(tab))
