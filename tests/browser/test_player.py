"""The round player on the page: its tally adds up, and its mean goes where the formula says."""

import json
import math
import re

import pytest

from browser import built_site
from browser.widgets import Player, last_number, shows, with_first_widget_twice
from specmini import theory

ALPHA, LENGTH = "Acceptance rate α", "Draft length K"
RECORDED = [
    {"drafted": ["a", "b", "c"], "accepted": 3, "next": "d"},
    {"drafted": ["e", "x", "y"], "accepted": 1, "next": "f"},
    {"drafted": ["z", "x", "y"], "accepted": 0, "next": "g"},
    {"drafted": [], "accepted": 0, "next": "h"},
]
ROUND = re.compile(r"drafted (\d+), accepted (\d+)|drafted nothing")


@pytest.fixture
def first_player(site):
    found = built_site.widgets("player")
    assert found, "no page of the book has a round player"
    return found[0]


@pytest.fixture
def player(reader, first_player):
    page, index = first_player
    return Player(reader.open(page), index)


def accepted_in(line):
    """Drafted and accepted words of one line of the history."""
    drafted, accepted = ROUND.search(line).groups(default="0")
    return int(drafted), int(accepted)


def assert_adds_up(player):
    rounds, words, saved = player.counts()
    assert saved == words - rounds, player.tally()
    if rounds:
        assert shows(player.tally()[3], words / rounds), player.tally()


def test_step_shows_one_small_thing_at_a_time(player):
    player.press("Restart")
    assert player.counts() == (0, 0, 0)
    length = int(player.number(LENGTH).input_value())
    for number in range(1, length + 1):
        player.press("Step", "Space")
        assert player.words_shown() == number
        assert player.status().startswith("The junior drafts")
    player.press("Step")
    assert player.status().startswith("One pass checks")
    assert player.words_shown() == length
    assert player.counts() == (0, 0, 0), "a round counts before the target has written"
    player.press("Step")
    assert player.words_shown() == length + 1
    assert player.counts()[0] == 1
    assert_adds_up(player)


def test_every_round_writes_what_was_accepted_and_one_word_more(player):
    player.press("Restart")
    expected = 0
    for number in range(1, 13):
        player.press("Finish round")
        drafted, accepted = accepted_in(player.history()[0])
        assert drafted == 4
        expected += accepted + 1
        assert player.counts() == (number, expected, expected - number)
        assert_adds_up(player)


def test_history_names_the_last_rounds(player):
    rounds = player.counts()[0]
    first = player.box.locator("ol.sm-history li").first
    assert first.evaluate("(item) => item.value") == rounds
    player.press("Finish round")
    assert first.evaluate("(item) => item.value") == rounds + 1


@pytest.mark.parametrize(
    ("alpha", "length"),
    [("0.8", "4"), ("0.3", "8"), ("0.95", "16"), ("0", "4"), ("1", "3"), ("0.5", "0")],
)
def test_mean_of_many_rounds_approaches_the_formula(player, alpha, length):
    """2000 rounds of a fixed seed; with an honest coin one of 16 000 runs would be this far off."""
    player.type_number(ALPHA, alpha)
    player.type_number(LENGTH, length)
    player.press("Restart")
    player.button("Run 100 rounds").focus()
    for _ in range(20):
        player.tab.keyboard.press("Enter")
    rounds, words, _ = player.counts()
    assert rounds == 2000
    assert_adds_up(player)
    expected = float(theory.tokens_per_round(float(alpha), int(length)))
    variance = float(theory.tokens_variance(float(alpha), int(length)))
    room = 4 * math.sqrt(variance / rounds) + 1e-12
    assert abs(words / rounds - expected) <= room, f"{words / rounds} instead of {expected}"
    assert shows(player.tally()[4], expected)
    title = player.box.locator("svg title").text_content()
    assert f"after 2,000 rounds: {player.tally()[3]}" in title


def test_expected_value_follows_the_sliders(player):
    moves = [(ALPHA, "ArrowLeft"), (LENGTH, "ArrowRight"), (ALPHA, "End"), (LENGTH, "Home")]
    for label, key in moves:
        player.slider(label).press(key)
        alpha = float(player.number(ALPHA).input_value())
        length = int(player.number(LENGTH).input_value())
        assert shows(player.tally()[4], float(theory.tokens_per_round(alpha, length)))


def test_same_luck_replays_and_new_luck_does_not(player):
    def text_of_20_rounds():
        player.press("Restart")
        for _ in range(20):
            player.press("Finish round")
        return player.box.locator(".sm-text").inner_text(), player.tally()

    first = text_of_20_rounds()
    assert text_of_20_rounds() == first
    player.press("New luck")
    assert text_of_20_rounds() != first


def test_play_goes_on_until_pause(player):
    player.box.get_by_label("Speed").select_option("fast")
    before = player.evidence()
    player.press("Play")
    assert player.button("Pause").count() == 1
    player.tab.wait_for_timeout(500)
    assert player.evidence() != before
    player.press("Pause")
    stopped = player.evidence()
    player.tab.wait_for_timeout(500)
    assert player.evidence() == stopped
    assert player.button("Play").count() == 1
    assert_adds_up(player)


def test_stepping_by_hand_stops_the_playing(player):
    player.press("Play")
    player.press("Step")
    assert player.button("Play").count() == 1


def test_speed_changes_how_often_something_happens(player):
    def changes_in_two_seconds(speed):
        player.box.get_by_label("Speed").select_option(speed)
        player.box.locator(".sm-status").evaluate(
            """(node) => {
              window.changes = 0;
              window.watching = new MutationObserver(() => { changes += 1; });
              watching.observe(node, { childList: true });
            }"""
        )
        player.tab.wait_for_timeout(2000)
        return player.tab.evaluate("(watching.disconnect(), changes)")

    player.press("Play")
    slow, fast = changes_in_two_seconds("slow"), changes_in_two_seconds("fast")
    assert slow >= 1
    assert fast > 2 * slow, f"{fast} changes when fast, {slow} when slow"


def test_it_speaks_politely_and_once_after_a_burst(player):
    region = player.box.locator("[role=status]")
    assert region.get_attribute("aria-live") in (None, "polite")
    player.listen()
    player.button("Finish round").focus()
    for _ in range(8):
        player.tab.keyboard.press("Enter")
    said = player.said()
    assert said == player.status()
    assert player.heard() == [said]


def with_recording(html):
    """The page with a recording in place of its first player's simulation."""
    return html.replace('"rounds": []', f'"rounds": {json.dumps(RECORDED)}', 1)


def test_recording_plays_to_its_end_and_stops(reader, first_player):
    page, index = first_player
    player = Player(reader.open(page, edit=with_recording), index)
    assert not player.box.locator("input[type=range]").count()
    player.press("Restart")
    for count, (number, written) in enumerate(zip(RECORDED, (4, 6, 7, 8), strict=True), start=1):
        player.press("Finish round")
        assert player.counts() == (count, written, written - count), number
    player.press("Step")
    assert "ends here" in player.status()
    assert player.button("Step").is_disabled()
    assert last_number(player.tally()[4]) == "2.00"
    player.press("Restart")
    player.press("Run to the end")
    assert player.counts() == (4, 8, 4)
    assert "2.00 tokens per round" in player.status()


def test_two_players_on_a_page_do_not_share_their_rounds(reader, first_player):
    page, _ = first_player
    tab = reader.open(page, edit=with_first_widget_twice)
    first, second = Player(tab, 0), Player(tab, 1)
    before = second.evidence()
    first.press("Finish round")
    first.slider(ALPHA).press("Home")
    assert second.evidence() == before
    assert first.evidence() != before
