"""The round player on the page: its tally adds up, and its mean goes where the formula says."""

import itertools
import math
import re

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import PHONE
from browser.test_access import violations
from browser.widgets import HOST, Player, shows, with_first_widget_twice
from specmini import theory
from specmini.sphinxext import _mount_point
from specmini.widgets import RoundPlayer
from specmini.widgets.page import MIME

ALPHA, LENGTH = "Acceptance rate α", "Draft length K"
RECORDED = [
    {"drafted": ["a", " b", "c"], "accepted": 3, "next": " d", "ms": [3.0, 4.0, 7.5]},
    {"drafted": ["\n    ", "x", "y"], "accepted": 1, "next": "‹E2 80›", "ms": [3.0, 4.0, 7.5]},
    {"drafted": ["‹99›", " ", "y"], "accepted": 0, "next": "’", "ms": [3.0, 4.0, 7.5]},
    {"drafted": [], "accepted": 0, "next": "\n", "ms": [0.0, 4.0, 4.5]},
]
# milliseconds after which each step of the first round is over
MOMENTS = ["1.0 ms", "2.0 ms", "3.0 ms", "7.0 ms", "7.5 ms"]
WRITTEN = "a bc d\n    ‹E2 80›’\n"
PROSE = {"kind": "prose", "about": "a test", "prompt": "It’s\n", "plain_ms": 3.5}
RECORDING = [{**PROSE, "rounds": RECORDED}, {**PROSE, "kind": "code", "rounds": RECORDED[1:]}]
ROUND = re.compile(r"drafted (\d+), accepted (\d+)|drafted nothing")


@pytest.fixture
def first_player(site):
    found = built_site.simulated_players()
    assert found, "no page of the book has a round player that simulates"
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
    """The page with a recording in place of its first player that simulates."""
    data, _ = RoundPlayer(recording=RECORDING)._repr_mimebundle_()
    mounted, fresh = _mount_point(data[MIME]), itertools.count()

    def replace(host):
        simulated = '"recording": []' in host.group()
        return mounted if simulated and next(fresh) == 0 else host.group()

    return HOST.sub(replace, html)


@pytest.fixture
def replayed(reader, first_player):
    page, index = first_player
    return Player(reader.open(page, edit=with_recording), index)


@pytest.mark.parametrize("by", ["http", "file"])
def test_recording_plays_to_its_end_and_stops(reader, first_player, by):
    page, index = first_player
    player = Player(reader.open(page, edit=with_recording, by=by), index)
    assert not player.box.locator("input[type=range]").count()
    player.press("Restart")
    for count, (number, written) in enumerate(zip(RECORDED, (4, 6, 7, 8), strict=True), start=1):
        player.press("Finish round")
        assert player.counts() == (count, written, written - count), number
    player.press("Step")
    assert "ends here: 8 tokens in 27.0 ms, plain decoding takes 28.0 ms" in player.status()
    assert player.button("Step").is_disabled()
    assert player.tally()[4] == "1.04×"
    player.press("Restart")
    player.press("Run to the end")
    assert player.counts() == (4, 8, 4)
    assert "2.00 tokens per round" in player.status()
    assert player.race() == ("28.0 ms", "8 tokens", "8 tokens")
    assert player.button("Play").is_disabled()
    assert player.said() == player.status()


def test_every_step_of_a_recording_has_its_time(replayed):
    replayed.press("Restart")
    assert replayed.race() == ("0.0 ms", "0 tokens", "0 tokens")
    assert replayed.tally()[3:] == ["–", "–"]
    for moment, plainly in zip(MOMENTS, (0, 0, 0, 2, 2), strict=True):
        replayed.press("Step")
        clock, _, plain = replayed.race()
        assert (clock, plain) == (moment, f"{plainly} tokens")
    assert replayed.race()[1] == "4 tokens"
    assert replayed.history() == ["drafted 3, accepted 3, bonus “d”, 7.5 ms"]
    assert (
        "After 7.5 ms: 4 with a draft, 2 by plain" in replayed.box.locator("title").text_content()
    )
    # 20 seconds are nice to watch; 28 ms come closest to it a thousand times slower
    assert replayed.box.get_by_label("Speed").locator("option:checked").inner_text() == (
        "1000× slower"
    )


def test_a_recording_runs_on_its_clock(replayed):
    replayed.box.get_by_label("Speed").select_option("300× slower")
    replayed.press("Restart")
    started = replayed.tab.evaluate("performance.now()")
    replayed.press("Play")
    replayed.tab.wait_for_timeout(3000)
    replayed.press("Pause")
    watched = (replayed.tab.evaluate("performance.now()") - started) / 300
    clock = float(replayed.race()[0].removesuffix(" ms"))
    # pressing keys takes time that the clock does not see
    assert 0.6 * watched < clock <= watched + 0.05
    done = replayed.counts()[0]
    assert done == sum(clock >= end for end in (7.5, 15, 22.5, 27))
    replayed.box.get_by_label("Speed").select_option("true speed")
    replayed.press("Play")
    replayed.box.get_by_text("The recording ends here").wait_for()
    replayed.button("Play").wait_for()
    assert replayed.race() == ("28.0 ms", "8 tokens", "8 tokens")


def test_reader_who_wants_no_motion_sees_the_clock_jump(reader, first_player):
    page, index = first_player

    def looks_in_three_seconds(motion):
        player = Player(reader.open(page, edit=with_recording, motion=motion), index)
        player.press("Restart")
        player.press("Play")
        seen = set()
        for _ in range(30):
            seen.add(player.race()[0])
            player.tab.wait_for_timeout(100)
        return len(seen)

    assert 2 <= looks_in_three_seconds("reduce") <= 5
    assert looks_in_three_seconds("no-preference") >= 10


def test_tokens_of_a_recording_join_as_they_are(replayed):
    replayed.press("Run to the end")
    drafted, plain = replayed.box.locator(".sm-text").all()
    assert plain.text_content() == PROSE["prompt"] + WRITTEN
    marks = drafted.locator(".sm-word").all_text_contents()
    # the leading blank of a word stays outside its mark, a line break has one of its own
    assert marks == ["a", "b", "c", "d", "⏎", "‹E2 80›", "’", "⏎"]
    assert drafted.text_content().replace("⏎", "") == PROSE["prompt"] + WRITTEN
    kinds = drafted.locator(".sm-word").evaluate_all("(all) => all.map((one) => one.className)")
    own = [kind == "sm-word sm-own" for kind in kinds]
    assert own == [False, False, False, True, False, True, True, True]


def test_reader_chooses_between_prose_and_code(replayed):
    choice = replayed.box.get_by_label("Text", exact=True)
    assert choice.locator("option").all_inner_texts() == ["prose", "code"]
    choice.select_option("code")
    assert replayed.counts() == (1, 2, 1)
    assert "code" in replayed.status()
    font = "(node) => getComputedStyle(node).fontFamily"
    assert "mono" in replayed.box.locator(".sm-text").first.evaluate(font)
    replayed.press("Run to the end")
    assert replayed.counts() == (3, 4, 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_recording_at_work(reader, first_player, scheme):
    page, index = first_player
    tab = reader.open(page, edit=with_recording, scheme=scheme, motion="reduce", width=PHONE)
    player = Player(tab, index)
    for _ in range(4):
        player.press("Step")
    assert player.box.locator(".sm-rejected").count() == 2  # one in the text, one in the key
    nothing_wrong(player.name, violations(tab, ".specmini-host"))
    nothing_wrong(player.name, facts.sticking_out(tab))


def test_reader_without_scripts_gets_the_rounds_as_a_table(reader, first_player):
    page, index = first_player
    tab = reader.open(page, edit=with_recording, scripts=False, width=PHONE)
    box = tab.locator("[data-specmini=player]").nth(index)
    assert "8 tokens in 4 rounds" in box.inner_text()
    assert box.locator("tbody tr").count() == 4
    assert box.locator("del").first.inner_text() == "xy"
    nothing_wrong(page, facts.sticking_out(tab))


def test_two_players_on_a_page_do_not_share_their_rounds(reader, first_player):
    page, _ = first_player
    tab = reader.open(page, edit=with_first_widget_twice)
    first, second = Player(tab, 0), Player(tab, 1)
    before = second.evidence()
    first.press("Finish round")
    first.slider(ALPHA).press("Home")
    assert second.evidence() == before
    assert first.evidence() != before
