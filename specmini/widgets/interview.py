"""The interview: derive it, be told what a wrong answer betrays, and try it against the clock."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, ClassVar

import traitlets

from specmini.practice.expression import parse, write
from specmini.practice.grader import Verdict, points
from specmini.practice.interview import grade, interview
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import MINUTES, Choice, Number, refuse


class Interview(PageWidget):
    """Steps of an interview, graded by mathematics, and a timed mock interview over some of them.

    Attributes:
        chosen: ids of the steps that are asked, in their order; all of them if not given.
        minutes: of the mock interview: 5, 10 or 20.
        seed: chooses its steps, a whole number from 0 to 2**32 - 1; the next interview adds 1.
        answers: what was last answered to each step, under its id: the typed text, ids of the
            ticked options, places of the ordered lines, or places of the ticked points.

    Raises:
        ValueError: a setting is not in its range, or there is no step of an id (also a
            ``traitlets.TraitError``); there is no setting of this name.
    """

    script_name: ClassVar[str] = "interview"

    chosen: Any = traitlets.List()
    content = traitlets.Dict(read_only=True).tag(sync=True, page=True)
    minutes = Choice(MINUTES, 10)
    seed = Number("seed", 1)
    answers = traitlets.Dict().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._gather()

    @traitlets.default("chosen")
    def _all_of_them(self) -> list[str]:
        return [step["id"] for step in interview().steps]

    @traitlets.validate("chosen")
    def _known_steps(self, proposal: Any) -> list[str]:
        chosen = list(proposal["value"])
        known = [step["id"] for step in interview().steps]
        if not chosen or len(set(map(repr, chosen))) < len(chosen) or not set(chosen) <= set(known):
            refuse("chosen", f"hold some of {', '.join(known)}, each once", chosen)
        return chosen

    @traitlets.validate("answers")
    def _of_known_steps(self, proposal: Any) -> dict[str, Any]:
        answers = dict(proposal["value"])
        for key, given in answers.items():
            step = _steps().get(key)
            if step is None:
                refuse("answers", f"be to some of {', '.join(_steps())}", key)
            try:
                grade(step, given)
            except ValueError as error:
                raise traitlets.TraitError(str(error)) from None
        return answers

    @traitlets.observe("chosen")
    def _gather(self, _: Any = None) -> None:
        whole, steps = interview(), [_steps()[key] for key in self.chosen]
        known = {one["misconception"] for step in steps for one in step.get("wrong", ())}
        known |= {"brackets"}
        content = {
            "steps": steps,
            "misconceptions": {key: whole.misconceptions[key] for key in sorted(known)},
            "chapters": dict(whole.chapters),
            "points": [dict(point) for point in points()],
        }
        self.set_trait("content", content)

    @property
    def scores(self) -> dict[str, float]:
        """The score of each answered step, 0 to 1, graded here and not taken from the page."""
        return {key: grade(_steps()[key], given)[0] for key, given in self.answers.items()}

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What is said about each typed answer."""
        graded = {key: grade(_steps()[key], given)[1] for key, given in self.answers.items()}
        return {key: verdict for key, verdict in graded.items() if verdict is not None}

    def __repr__(self) -> str:
        return (
            f"Interview({len(self.chosen)} steps, minutes={self.minutes}, "
            f"{len(self.answers)} answered)"
        )

    def fallback_html(self) -> str:
        """Return all questions, then their answers, each folded; paper shows them open."""
        steps = [_steps()[key] for key in self.chosen]
        asked = "".join(
            f"<li><p><strong>{escape(step['title'])}.</strong> {escape(step['prompt'])}</p>"
            f"{_choices(step)}</li>"
            for step in steps
        )
        answered = "".join(
            f"<details><summary>Answer to {number}</summary>{_answer(step)}</details>"
            for number, step in enumerate(steps, start=1)
        )
        return (
            f'<div class="sm-fallback sm-fallback-interview" role="region" tabindex="0" '
            f'aria-label="Interview"><p>With JavaScript your answers are graded here.</p>'
            f"<ol>{asked}</ol><p>Answers</p>{answered}</div>"
        )


def _steps() -> Mapping[str, dict[str, Any]]:
    return {step["id"]: step for step in interview().steps}


def _choices(step: Mapping[str, Any]) -> str:
    texts = [option["text"] for option in step.get("options", ())]
    # In another order than the right one, which is the answer.
    texts += sorted(step.get("lines", ()))
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def _answer(step: Mapping[str, Any]) -> str:
    right = step.get("right")
    shown = write(parse(right)) if isinstance(right, str) else right and f"{right:.4g}"
    formula = f"<p><code>{escape(shown)}</code></p>" if shown else ""
    listed = [
        f"{_mark(one['right'])} {one['text']} {one['says']}" for one in step.get("options", ())
    ]
    listed += [*step.get("lines", ()), *step.get("rubric", ())]
    items = "".join(f"<li>{escape(text)}</li>" for text in listed)
    return f"{formula}<p>{escape(step['answer'])}</p>{f'<ol>{items}</ol>' if items else ''}"


def _mark(right: bool) -> str:
    return "✓" if right else "✗"
