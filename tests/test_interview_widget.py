"""The Python side of the interview: its settings, what it reports, and its fallback."""

import re
from html import unescape

import pytest
import traitlets

from specmini.practice.interview import interview
from specmini.widgets import Interview
from specmini.widgets.page import MIME

ALL = [step["id"] for step in interview().steps]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"chosen": ["speedup", "x"]}, "chosen must hold some of define-alpha, exactly-j"),
        ({"chosen": ["speedup", "speedup"]}, "each once, got ['speedup', 'speedup']"),
        ({"chosen": []}, "chosen must hold some of"),
        ({"minutes": 7}, "minutes must be one of 5, 10, 20, got 7"),
        ({"seed": -1}, "seed must be a whole number in [0, 4294967295], got -1"),
        ({"step": "speedup"}, "settings of Interview must be some of content, minutes, seed"),
        ({"answers": {"x": "K"}}, "answers must be to some of define-alpha"),
        ({"answers": {"speedup": 3}}, "answer to 'speedup' must be a string, got 3"),
        ({"answers": {"loses": ["x"]}}, "answer to 'loses' must hold some of"),
    ],
)
def test_a_refused_setting_says_why(setting, sentence):
    with pytest.raises((ValueError, traitlets.TraitError), match=re.escape(sentence)):
        Interview(**setting)


def test_answers_are_graded_here():
    widget = Interview()
    widget.set_state({"answers": {"speedup": "(1-a^(K+1))/((1-a)(1+Kc))", "best-k": "4"}})
    assert widget.scores == {"speedup": 1.0, "best-k": 0.0}
    assert widget.verdicts["best-k"].misconception == "k-nearly-as-good"
    widget.set_state({"answers": {"one-minute": [0, 1, 2], "speedup": "1 +"}})
    assert widget.scores == {"one-minute": 3 / 7, "speedup": 0.0}
    assert widget.verdicts["speedup"].column == 3
    assert repr(widget) == "Interview(19 steps, minutes=10, 2 answered)"


def test_the_content_follows_the_chosen_steps():
    widget = Interview(chosen=["best-k", "speedup"])
    assert [step["id"] for step in widget.content["steps"]] == ["best-k", "speedup"]
    assert "v-forgotten" not in widget.content["misconceptions"]
    assert "brackets" in widget.content["misconceptions"]
    widget.chosen = ["measured-check"]
    assert "v-forgotten" in widget.content["misconceptions"]
    state = widget.page_state()
    assert set(state) == {"content", "minutes", "seed"}
    with pytest.raises(traitlets.TraitError):
        widget.content = {}


def test_without_a_script_all_questions_come_first_and_each_answer_once():
    html = unescape(Interview()._repr_mimebundle_()[0][MIME]["fallback"])
    screen, answers = html.split("<p>Answers</p>")
    assert answers.count("<details><summary>Answer to ") == len(ALL)
    for step in interview().steps:
        assert screen.count(step["prompt"]) == 1
        assert answers.count(f"<p>{step['answer']}</p>") == 1
        assert step["answer"] not in screen
        # The proof's lines are not given in their right order before the answer.
        if step["kind"] == "order":
            question = screen[screen.index(step["prompt"]) :]
            places = [question.index(line) for line in step["lines"]]
            assert places != sorted(places)
    assert "(1 − α^(K + 1)) / ((1 − α) · (K · c + 1))" in answers
