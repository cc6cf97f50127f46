"""The advice calculator on the page: it says what the command says, and why it cannot."""

import math

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import PHONE
from browser.test_access import violations
from browser.widgets import Calculator
from specmini.commands.advise import VERDICTS
from specmini.widgets import AdviceCalculator

DRAFTED = {"drafter": "draft model", "draft": "qwen3-4b", "weights": "FP8", "concurrency": 128}
OWN = {
    **{"machine": "own card", "bandwidth": 0.9, "peak": 140, "memory": 48, "engine": "local"},
    **{"model": "own", "billions": 35, "active_billions": 3, "weights": "Q4_K_M"},
}
SETTINGS = [
    DRAFTED,
    OWN,
    {"acceptance": "0.47", "acceptance_is": "vLLM: draft acceptance rate"},
    {"acceptance": "0.7, 0.5, 0.3", "acceptance_is": "vLLM: per-position acceptance rate"},
    {"acceptance": "2.4", "plain_times": "1:28, 64:41", "cost_ratio": "0.1"},
    {"machine": "m3-ultra", "engine": "local", "weights": "Q4_K_M", "concurrency": 1},
    {"drafter": "lookup", "draft_length": 16, "context": 0},
]
IMPOSSIBLE = {
    "acceptance=9": "acceptance must give 1 to 4 tokens a round, got 9",
    "plain_times=1:41,64:28": "plain_times must rise with concurrency",
    "model=own&billions=3&active_billions=4": "active_billions must be at most billions = 3",
    "machine=rtx-4090&devices=2": "devices must be 1 on NVIDIA GeForce RTX 4090",
}
REFUSED = {
    "draft_length=0": "[1, 16], got 0",
    "acceptance=high": "acceptance must be numbers separated by commas, or nothing, got high",
    "plain_times=28": "plain_times must be up to 12 pairs",
    "machine=__proto__": "machine must be one of",
    "alpha=0.5": "no setting “alpha”",
}


def python_side(opened):
    """The calculator in Python at what the link holds, each text read as its trait's kind."""
    defaults = AdviceCalculator().page_state()
    found = {}
    for name, text in opened.setting().items():
        number = not isinstance(defaults[name], str)
        found[name] = (float(text) if "." in text else int(text)) if number else text
    return AdviceCalculator(**found)


def assert_says_what_the_command_says(opened):
    ours, terms = python_side(opened), opened.terms()
    advice, where = ours.advice, f"{opened.name} at {ours.command}"
    verdict = opened.verdict().replace("\xa0", " ")
    assert opened.command() == ours.command
    assert verdict.startswith(f"{VERDICTS[advice.verdict]}: "), where
    interval = f"(80 % interval {advice.low:.2f} to {advice.high:.2f})"
    assert f"{advice.speedup:.2f} times as fast {interval}" in verdict, where
    assert f"{advice.throughput:.2f} times" in terms["Output of the server"], where
    assert f"E = {advice.tokens_per_round:.2f}" in terms["Tokens a round"], where
    assert f"{advice.round_cost:.2f} plain steps" in terms["Tokens a round"], where
    best = f"{advice.best_length}, {advice.best_speedup:.2f} times as fast"
    assert terms["Best K"] == (best if advice.best_length else terms["Best K"]), where
    rate, load = advice.break_even_acceptance, advice.break_even_concurrency
    assert math.isnan(rate) or f"α = {rate:.2f}" in terms["Break-even acceptance"], where
    shown = "none up to" if load is None else f"from {load:,} request" if load > 1 else "every load"
    assert shown in terms["Break-even load"], where
    assert terms["A check is bound by"] == advice.bound, where
    assert terms["Matters most"].removeprefix("the ").startswith(advice.matters_most), where
    warnings = [line for line in opened.warnings() if not line.startswith("assumed: ")]
    assert warnings == list(advice.warnings), where
    drawn = opened.box.locator("svg title").text_content().replace("\xa0", " ")
    assert verdict in drawn, where


@pytest.fixture
def opened(reader, calculator):
    page, index = calculator
    return Calculator(reader.open(page), index)


def test_it_says_what_the_command_says(opened):
    assert_says_what_the_command_says(opened)
    for setting in SETTINGS:
        opened.press("Reset")
        opened.set(**setting)
        assert_says_what_the_command_says(opened)


LABELS = """(svg) => {
  const line = svg.querySelector("path.sm-interval").getBoundingClientRect();
  const whole = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text.sm-strong")].map((text) => {
    const box = text.getBoundingClientRect();
    const apart = box.right < line.left || box.left > line.right || box.bottom < line.top
      || box.top > line.bottom;
    return [text.textContent, apart, box.left >= whole.left && box.right <= whole.right];
  });
}"""


def test_labels_stay_out_of_the_interval_and_in_the_picture(reader, calculator):
    page, index = calculator
    opened = Calculator(reader.open(page, width=PHONE), index)
    for length in (1, 3, 4, 5, 6, 7, 8, 12, 16):
        opened.set(draft_length=length)
        labels = opened.box.locator("svg").evaluate(LABELS)
        assert labels
        assert [words for words, apart, inside in labels if not (apart and inside)] == [], length


def test_typed_measurements_narrow_the_interval(opened):
    def width():
        advice = python_side(opened).advice
        return advice.high / advice.low

    before = width()
    opened.type_text("Acceptance", "2.4")
    assert_says_what_the_command_says(opened)
    assert width() < before
    opened.type_text("Plain times", "1:28, 64:41")
    assert_says_what_the_command_says(opened)
    assert "your plain times" in opened.terms()["Rests on"]
    assert "none" not in opened.terms()["Break-even load"]


def test_a_refused_text_says_why_and_leaves_the_last_good_result(opened):
    opened.type_text("Acceptance", "2.4")
    before = opened.result()
    field = opened.type_text("Acceptance", "2,4x")
    assert field.get_attribute("aria-invalid") == "true"
    error = opened.box.get_by_text("Acceptance must be numbers separated by commas")
    assert "got 2,4x. Still using 2.4." in error.inner_text()
    assert opened.result() == before
    opened.press("Reset")
    assert field.get_attribute("aria-invalid") is None
    assert field.input_value() == ""


def test_what_cannot_be_is_said_instead_of_a_result(opened):
    for query, words in IMPOSSIBLE.items():
        opened.press("Reset")
        opened.tab.evaluate("(hash) => { location.hash = hash; }", f"advice?{query}")
        opened.box.locator(".sm-verdict", has_text=words).wait_for()
        assert opened.verdict().startswith("That cannot be: "), query
        for part in opened.box.locator(".sm-outcome").all():
            assert not part.is_visible(), query
        opened.press("Copy command")
        opened.box.get_by_text("Nothing to copy").first.wait_for()
    opened.press("Reset")
    assert_says_what_the_command_says(opened)


def test_a_link_with_a_bad_value_says_so(opened):
    before = opened.result()
    for query, words in REFUSED.items():
        opened.tab.evaluate("(hash) => { location.hash = hash; }", f"advice?{query}")
        opened.box.get_by_text(words).wait_for()
        assert opened.result() == before, query


@pytest.mark.parametrize("by", ["http", "file"])
def test_link_restores_the_setting_elsewhere(reader, calculator, by):
    page, index = calculator
    first = Calculator(reader.open(page, by=by), index)
    first.set(**OWN)
    first.set(acceptance="0.7, 0.5, 0.3", acceptance_is="vLLM: per-position acceptance rate")
    fragment = first.box.locator("a.sm-link").evaluate("(link) => link.href").split("#")[1]
    second = Calculator(reader.open(page, by=by, fragment=fragment), index)
    assert second.setting() == first.setting()
    assert second.result() == first.result()


def test_fields_for_ones_own_numbers_come_and_go(opened):
    for label, owner, choice in (
        ("Bandwidth (TB/s)", "Machine", "own card"),
        ("Parameters (billions)", "Model", "own"),
    ):
        assert opened.number(label).count() == 0
        opened.box.get_by_label(owner, exact=True).select_option(choice)
        assert opened.number(label).is_visible()
    opened.box.get_by_label("Drafter").select_option("eagle-3")
    assert opened.box.get_by_label("Draft model").count() == 0
    opened.box.get_by_label("Drafter").select_option("draft model")
    opened.box.get_by_label("Draft model").select_option("own")
    assert opened.number("Its parameters (billions)").is_visible()
    assert_says_what_the_command_says(opened)


def test_devices_go_back_where_nothing_links_them(opened):
    opened.set(devices=8)
    opened.box.get_by_label("Machine").select_option("rtx-4090")
    assert opened.setting()["devices"] == "1"
    assert "Back to one device" in opened.notice()
    assert opened.box.get_by_label("Devices").is_disabled()
    opened.box.get_by_label("Engine").select_option("local")
    opened.box.get_by_label("Devices").select_option("2")  # the layers are split
    assert_says_what_the_command_says(opened)


def test_the_command_is_copied(opened):
    opened.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.set(**DRAFTED)
    opened.press("Copy command")
    opened.box.get_by_text("Copied.").first.wait_for()
    assert opened.tab.evaluate("navigator.clipboard.readText()") == python_side(opened).command


def test_it_speaks_politely_and_once_after_a_burst(opened):
    opened.listen()
    opened.slider("Draft length").focus()
    for _ in range(12):
        opened.tab.keyboard.press("ArrowRight")
    assert opened.said().startswith(opened.verdict().rstrip("."))
    assert len(opened.heard()) == 1, opened.heard()


def test_axe_finds_nothing_while_it_complains_on_a_phone(reader, calculator):
    page, index = calculator
    opened = Calculator(reader.open(page, motion="reduce", width=PHONE), index)
    opened.set(**OWN, drafter="draft model", draft="own", plain_times="1:28, 8:30, 64:41")
    opened.type_text("Cost ratio c", "11")
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))
    nothing_wrong(opened.name, facts.sticking_out(opened.tab))
    nothing_wrong(opened.name, facts.small_targets(opened.tab, ".specmini-host"))


def test_without_script_the_advice_and_its_command_are_there(reader, calculator):
    page, _ = calculator
    tab = reader.open(page, scripts=False)
    words = tab.locator(".sm-fallback-advice").inner_text()
    for said in ("times as fast (80 % interval", "best draft length", "specmini advise --target"):
        assert said in words


def test_some_chapter_has_one(site):
    assert built_site.widgets("advice")
