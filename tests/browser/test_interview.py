"""The interview on the page: every step right and wrong, from the keyboard; the mock interview."""

import re

import pytest

from browser import built_site, facts, test_controls
from browser.facts import nothing_wrong
from browser.reader import DESK, PHONE
from browser.test_access import violations
from browser.widgets import InterviewBox
from specmini.practice.interview import grade_typed, interview, picked

STEPS = interview().steps
NUMBERS = {step["id"]: number for number, step in enumerate(STEPS)}
BY_KIND = {
    kind: [step for step in STEPS if step["kind"] in kind.split()]
    for kind in ("formula condition number", "choice", "order", "text")
}
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"
REFUSING = "navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"


@pytest.fixture(params=built_site.widgets("interview") or [None], ids=str)
def place(request):
    if request.param is None:
        pytest.fail("no page of the book has an interview")
    return request.param


@pytest.fixture
def opened(reader, place):
    page, index = place
    return InterviewBox(reader.open(page), index)


def right_answer(step):
    return step["right"] if isinstance(step["right"], str) else f"{step['right']:.4g}"


def test_every_typed_step_is_answered_right_and_wrong(opened):
    for step in BY_KIND["formula condition number"]:
        opened.go(NUMBERS[step["id"]])
        assert opened.title() == f"{NUMBERS[step['id']] + 1}. {step['title']}"
        for one in step["wrong"][::3]:  # the rest is compared without a browser
            opened.write(one["formula"])
            opened.tab.keyboard.press("Enter")
            says = interview().misconceptions[one["misconception"]]["says"]
            assert opened.feedback().startswith(f"Not yet. {says}"), one
        unheard_of = f"{step['names'][0]} > c/2 + 0.2" if step["kind"] == "condition" else "7.77"
        opened.write(unheard_of)
        opened.tab.keyboard.press("Enter")
        note = grade_typed(step, unheard_of).note
        assert opened.feedback() == f"Not yet. {note}"
        opened.write(right_answer(step))
        opened.press("Check")
        assert opened.feedback().startswith("Right.")
        assert step["answer"] in opened.feedback()
    ticked = opened.box.get_by_label("Step").locator("option", has_text="✓")
    assert ticked.count() == len(BY_KIND["formula condition number"])


def test_every_choice_is_answered_right_and_wrong(opened):
    for step in BY_KIND["choice"]:
        opened.go(NUMBERS[step["id"]])
        opened.press("Check")
        assert opened.feedback() == "Tick at least one."
        wrong = next(option for option in step["options"] if not option["right"])
        opened.tick(wrong["text"])
        opened.press("Check")
        assert opened.feedback().startswith("Not yet.")
        says = re.sub(r"^No\. ", "", wrong["says"])
        assert f"✗ Does not belong here. {says}" in opened.stage.inner_text()
        opened.tick(*(option["text"] for option in step["options"] if option["right"]))
        opened.press("Check")
        assert opened.feedback().startswith("Right.")
        # Once it is right, every option has its reason.
        assert opened.stage.locator(".sm-ticks .sm-note:not(:empty)").count() == len(
            step["options"]
        )


def test_the_proof_is_put_in_order_with_the_keyboard(opened):
    [step] = BY_KIND["order"]
    opened.go(NUMBERS[step["id"]])
    assert sorted(opened.lines()) == sorted(step["lines"]) != opened.lines() != step["lines"]
    opened.press("Check")
    assert opened.feedback().startswith("Not yet.")
    for place, line in enumerate(step["lines"]):
        at = opened.lines().index(line)
        opened.stage.locator(".sm-lines li").nth(at).get_by_role("button", name="up").focus()
        for _ in range(at - place):
            # The button moves with its line and keeps the focus.
            opened.tab.keyboard.press("Enter")
    assert opened.lines() == step["lines"]
    assert re.fullmatch(r"Line is now \d of 7\.", opened.said())
    opened.press("Check")
    assert opened.feedback().startswith("Right.")


def test_a_spoken_answer_is_held_against_its_rubric(opened):
    for step in BY_KIND["text"]:
        opened.go(NUMBERS[step["id"]])
        opened.write("It wins when checking is free and drafts are right.")
        assert opened.stage.get_by_role("checkbox").count() == 0
        opened.press("Compare with the rubric")
        assert opened.feedback().startswith(f"0 of {len(step['rubric'])} points ticked.")
        assert step["answer"] in opened.feedback()
        opened.tick(*step["rubric"][:2])
        assert opened.feedback().startswith(f"2 of {len(step['rubric'])} points ticked.")


def test_an_unreadable_formula_puts_the_caret_where_reading_stopped(opened):
    opened.go(NUMBERS["expected-tokens"])
    field = opened.write("(1−a^(K+1)/(1-a)")
    reading = opened.stage.locator(".sm-reading").inner_text()
    assert reading == "I expected ) after column 16, but it ends there."
    field = opened.write("1 + *a")
    opened.tab.keyboard.press("Enter")
    assert "after column 3" in opened.feedback()
    assert field.evaluate("(node) => [node.selectionStart, document.activeElement === node]") == [
        *(3, True)
    ]
    opened.write("(1-a^(K+1))/(1-a)")
    shown = opened.stage.locator(".sm-reading").inner_text()
    assert shown == "I read: (1 − α^(K + 1)) / (1 − α)"


def test_hostile_input_is_harmless(opened):
    opened.go(NUMBERS["expected-tokens"])
    for text in ("(" * 100_000, "1e999", "NaN", "9^9^9^9", "sum(sum(1,i,0,9999),j,0,9999)"):
        field = opened.stage.get_by_role("textbox")
        field.evaluate(
            "(node, text) => { node.value = text; node.dispatchEvent(new Event('input')); }", text
        )
        field.press("Enter")
        assert opened.feedback(), text
        assert not opened.feedback().startswith("Right"), text


def test_hints_come_one_by_one_and_the_answer_is_shown(opened):
    step = STEPS[NUMBERS["expected-tokens"]]
    opened.go(NUMBERS["expected-tokens"])
    for number in range(1, len(step["hints"]) + 1):
        opened.press(f"Hint {number} of {len(step['hints'])}")
        assert opened.stage.locator(".sm-hints li").all_inner_texts() == step["hints"][:number]
    assert opened.button("No more hints").is_disabled()
    opened.press("Show the answer")
    assert step["answer"] in opened.feedback()
    link = opened.stage.locator(".sm-feedback a").get_attribute("href")
    assert link == "tokens.html"


def test_answers_survive_a_look_at_another_step(opened):
    opened.go(NUMBERS["speedup"])
    opened.write("E/(")
    opened.press("Next")
    assert opened.title().startswith(f"{NUMBERS['speedup'] + 2}.")
    opened.press("Previous")
    assert opened.stage.get_by_role("textbox").input_value() == "E/("


def test_a_prompt_is_copied(opened):
    opened.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    step = BY_KIND["text"][0]
    opened.go(NUMBERS[step["id"]])
    opened.write("Drafts are cheap.")
    opened.press("Copy a prompt for an assistant")
    opened.stage.get_by_text("Copied.").wait_for()
    copied = opened.tab.evaluate("navigator.clipboard.readText()")
    assert step["prompt"] in copied
    assert "Drafts are cheap." in copied
    assert all(point in copied for point in step["rubric"])


@pytest.mark.parametrize("before", [NO_CLIPBOARD, REFUSING], ids=["missing", "refused"])
def test_without_a_clipboard_the_prompt_is_selected(reader, place, before):
    page, index = place
    opened = InterviewBox(reader.open(page, before=before), index)
    step = BY_KIND["text"][0]
    opened.go(NUMBERS[step["id"]])
    opened.press("Copy a prompt for an assistant")
    area = opened.stage.get_by_label("Prompt to copy")
    area.wait_for()
    selected = area.evaluate("(node) => node.value.slice(node.selectionStart, node.selectionEnd)")
    assert step["prompt"] in selected
    assert step["answer"] in selected


@pytest.fixture
def timed(reader, place):
    """An open interview whose clock the test winds."""
    page, index = place
    return InterviewBox(reader.open(page, prepare=lambda tab: tab.clock.install()), index)


def clock(opened):
    return opened.box.get_by_role("timer").inner_text()


def settle(opened, milliseconds):
    opened.tab.clock.run_for(milliseconds)


def test_a_mock_interview_runs_pauses_and_ends_with_a_summary(timed):
    timed.listen()
    timed.box.get_by_label("Mock interview of").select_option("5")
    timed.press("Start")
    numbers = picked(1, 4, len(STEPS))
    options = timed.box.get_by_label("Step").locator("option").all_inner_texts()
    assert options == [f"{at}. {STEPS[place]['title']}" for at, place in enumerate(numbers, 1)]
    assert timed.button("Show the answer").count() == 0
    assert timed.stage.get_by_role("button", name="Hint").count() == 0
    settle(timed, 30_500)
    assert clock(timed) in ("4:29", "4:30")
    timed.press("Pause")
    settle(timed, 60_000)
    assert clock(timed) in ("4:29", "4:30")
    assert not timed.stage.is_visible()  # nobody thinks while the clock stands
    timed.press("Resume")
    settle(timed, 125_000)
    assert "Half of the time is left." in timed.heard()
    settle(timed, 100_000)
    assert "One minute is left." in timed.heard()
    settle(timed, 60_000)
    assert clock(timed) == "0:00, time is up"
    assert timed.stage.is_visible()  # the last thought may be finished
    assert len(timed.heard()) < 12
    typed = next(n for n, place in enumerate(numbers) if "wrong" in STEPS[place])
    timed.go(typed)
    step = STEPS[numbers[typed]]
    timed.write(right_answer(step))
    timed.press("Check")
    timed.press("End the interview")
    assert timed.title() == "1 of 4 right at the first answer, in 5:00."
    rows = timed.stage.locator(".sm-summary li").all_inner_texts()
    assert f"{step['title']} ✓ right" in rows
    assert sum("not answered" in row for row in rows) == 3
    assert timed.stage.locator("a").count() >= 1
    timed.press("Back to practice")
    assert timed.title().startswith("1. ")


def test_the_first_answer_of_a_mock_interview_counts(timed):
    timed.press("Start")
    numbers = picked(1, 8, len(STEPS))
    typed = next(n for n, place in enumerate(numbers) if "wrong" in STEPS[place])
    step = STEPS[numbers[typed]]
    timed.go(typed)
    for text in (step["wrong"][0]["formula"], right_answer(step)):
        timed.write(text)
        timed.press("Check")
    timed.press("End the interview")
    assert timed.title().startswith("0 of 8 right at the first answer")
    says = interview().misconceptions[step["wrong"][0]["misconception"]]["says"]
    assert f"{step['title']} ✗ wrong: {says}" in timed.stage.inner_text()
    timed.press("Another mock interview")
    options = timed.box.get_by_label("Step").locator("option").all_inner_texts()
    assert len(options) == 8
    assert [STEPS[place]["title"] for place in picked(2, 8, len(STEPS))] == [
        option.split(". ", 1)[1] for option in options
    ]


def test_tab_reaches_every_control(opened):
    test_controls.test_tab_reaches_every_control_and_each_has_a_name(opened)


def test_it_takes_the_room_of_its_fallback(reader, place):
    test_controls.test_it_takes_the_room_that_its_fallback_kept(reader, ("interview", *place))


@pytest.mark.parametrize(("width", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_every_step_is_accessible_and_fits(reader, place, width, scheme):
    page, index = place
    tab = reader.open(page, width=width, scheme=scheme, motion="reduce")
    opened = InterviewBox(tab, index)
    for number in range(len(STEPS)):
        opened.go(number)
        if "wrong" in STEPS[number]:
            opened.write(STEPS[number]["wrong"][0]["formula"])
            opened.press("Check")
        opened.press("Show the answer")
        nothing_wrong(opened.title(), facts.small_targets(tab, ".specmini-host"))
        nothing_wrong(opened.title(), facts.sticking_out(tab))
        nothing_wrong(opened.title(), violations(tab, ".specmini-host"))


def test_from_a_file_it_works_too(reader, place):
    page, index = place
    opened = InterviewBox(reader.open(page, by="file"), index)
    opened.go(NUMBERS["round-cost"])
    opened.write("1 + K c")
    opened.press("Check")
    assert opened.feedback().startswith("Right.")


def test_without_a_script_the_answers_are_folded(reader, place):
    page, _ = place
    tab = reader.open(page, scripts=False)
    box = tab.locator(".sm-fallback-interview")
    assert box.locator("details").count() == len(STEPS)
    assert STEPS[3]["prompt"] in box.inner_text()
    answer = box.locator("details").nth(3)
    assert not answer.get_by_text(STEPS[3]["answer"]).is_visible()
    answer.locator("summary").click()
    assert answer.get_by_text(STEPS[3]["answer"]).is_visible()
    assert box.evaluate("(node) => node.scrollHeight <= node.clientHeight + 2")


@pytest.mark.parametrize("scripts", [True, False])
def test_on_paper_all_answers_come_last(reader, place, scripts):
    page, _ = place
    tab = reader.open(page, scripts=scripts)
    tab.emulate_media(media="print")
    paper = tab.locator(".sm-paper" if scripts else ".sm-fallback-interview")
    assert paper.is_visible()
    hidden = ".sm-interview, .sm-fallback-interview" if scripts else ".sm-interview, .sm-paper"
    assert tab.locator(hidden).filter(visible=True).count() == 0
    text = paper.inner_text()
    for step in STEPS:
        assert text.index(step["prompt"]) < text.index("Answers") < text.index(step["answer"])
    answers = text[text.index("Answers") :]
    for details in ("2.401", "(1 − α^(K + 1)) / (1 − α)", "✗ p itself.", STEPS[-1]["rubric"][0]):
        assert details in answers, details
