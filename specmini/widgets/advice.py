"""The advice calculator: the advisor's model on the page, with the command that says the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Any, ClassVar

import traitlets

from specmini import catalog
from specmini.advisor import Advice, advise
from specmini.checks import shown
from specmini.commands.advise import advice_lines, configuration_from
from specmini.configuration import Configuration
from specmini.widgets import advice_basis
from specmini.widgets.advice_basis import DRAFTS, ENGINES, OWN, OWN_MACHINES, WEIGHTS
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import DEVICES, KEPT_DIGITS, Choice, Number, SettingError

TOKENS = "tokens per round"
MACHINES = (*catalog.machines(), *OWN_MACHINES)
MODELS = (*catalog.models(), OWN)
DRAFT_MODELS = (
    *(key for key, model in catalog.models().items() if not model.experts and not model.positions),
    OWN,
)
METRICS = (TOKENS, *(f"{tool}: {metric}" for tool, metric, _ in advice_basis.convertible()))
SETTINGS = (
    *("machine", "bandwidth", "peak", "memory", "devices", "engine", "model", "billions"),
    *("active_billions", "weights", "drafter", "draft", "draft_billions", "draft_length"),
    *("concurrency", "context", "acceptance", "acceptance_is", "cost_ratio", "plain_times"),
)
PLAIN_NUMBER = r"(\d{1,9}(\.\d{0,9})?|\.\d{1,9})"
NUMBERS = re.compile(rf"\s*({PLAIN_NUMBER}\s*(,\s*{PLAIN_NUMBER}\s*)*)?")
MOST_COST = 10  # plain steps; a draft step that takes longer is a slip of the pen
MOST_TIMES = 12
SIMPLE_WORD = re.compile(r"[\w.:,/+-]+")


class Text(traitlets.TraitType[Any, Any]):
    """A trait that takes a string for which ``wrong`` has no objection, kept in the saved page."""

    def __init__(self, wrong: Callable[[str], str | None], default: str = "") -> None:
        super().__init__(default_value=default)
        self.wrong = wrong
        self.tag(sync=True, page=True)

    def validate(self, obj: Any, value: Any) -> str:
        """Return the text."""
        must = self.wrong(value) if isinstance(value, str) else "be a string"
        if must is None:
            return str(value)
        raise SettingError(f"{self.name} must {must}, got {shown(value)}")


def wrong_numbers(text: str) -> str | None:
    """What ``acceptance`` must be, if it is not."""
    return None if NUMBERS.fullmatch(text) else "be numbers separated by commas, or nothing"


def wrong_cost(text: str) -> str | None:
    """What ``cost_ratio`` must be, if it is not."""
    one = NUMBERS.fullmatch(text) and "," not in text
    right = one and (not text.strip() or float(text) <= MOST_COST)
    return None if right else f"be a number in [0, {MOST_COST}], or nothing"


def wrong_times(text: str) -> str | None:
    """What ``plain_times`` must be, if it is not."""
    pairs = [part.split(":") for part in text.split(",")] if text.strip() else []
    whole = re.compile(r"\s*[1-9]\d{0,5}\s*")
    right = all(
        len(pair) == 2
        and whole.fullmatch(pair[0])
        and re.fullmatch(rf"\s*{PLAIN_NUMBER}\s*", pair[1])
        and float(pair[1]) > 0
        for pair in pairs
    )
    if right and len({int(one) for one, _ in pairs}) == len(pairs) <= MOST_TIMES:
        return None
    return f"be up to {MOST_TIMES} pairs N:MS such as 1:28, 64:41, each N once, or nothing"


class AdviceCalculator(PageWidget):
    """Whether speculation pays for a setting, as ``specmini advise`` has it.

    Attributes:
        machine: a key of ``specmini.catalog.machines()``, or a kind of ``OWN_MACHINES``.
        bandwidth: of a machine of one's own, TB/s, 0.01 to 100.
        peak: of a machine of one's own, 16-bit TFLOP/s, 0.1 to 100,000.
        memory: of a machine of one's own, whole GB, 1 to 1,024.
        devices: 1, 2, 4 or 8; on a server they share every matrix, elsewhere the layers.
        engine: "server" or "local".
        model: a key of ``specmini.catalog.models()``, or "own".
        billions: parameters of a model of one's own, 0.1 to 2,000.
        active_billions: those that a token meets, 0 for all.
        weights: one of ``WEIGHTS``.
        drafter: one of ``specmini.configuration.wording.DRAFTERS``.
        draft: of a draft model, a key of the catalog or "own".
        draft_billions: parameters of a draft of one's own, 0.01 to 1,000.
        draft_length: K, 1 to 16.
        concurrency: requests in flight, 1 to 1,024.
        context: tokens in each request's cache, 0 to 131,072.
        acceptance: as printed, numbers separated by commas; "" if it is not known.
        acceptance_is: what that number is: "tokens per round" or "TOOL: METRIC".
        cost_ratio: c as measured, "" if it was not.
        plain_times: measured without speculation, "N:MS, N:MS", "" if nothing was.
        basis: what the script takes from the package.

    Raises:
        ValueError: a setting is not in its range (also a ``traitlets.TraitError``), or the settings
            together are no configuration.
    """

    script_name: ClassVar[str] = "advice"

    machine = Choice(MACHINES, "h100")
    bandwidth = Number("bandwidth", 1.0)
    peak = Number("peak", 100.0)
    memory = Number("memory", 24)
    devices = Choice(DEVICES, 1)
    engine = Choice(ENGINES, "server")
    model = Choice(MODELS, "qwen3-32b")
    billions = Number("billions", 8.0)
    active_billions = Number("active_billions", 0.0)
    weights = Choice(WEIGHTS, "bf16")
    drafter = Choice(DRAFTS, "eagle-3")
    draft = Choice(DRAFT_MODELS, "qwen3-0.6b")
    draft_billions = Number("draft_billions", 1.0)
    draft_length = Number("draft_length", 3)
    concurrency = Number("concurrency", 16)
    context = Number("context", 1024)
    acceptance = Text(wrong_numbers)
    acceptance_is = Choice(METRICS, TOKENS)
    cost_ratio = Text(wrong_cost)
    plain_times = Text(wrong_times)
    basis = traitlets.Dict(read_only=True).tag(sync=True, page=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _ = self.advice

    @traitlets.default("basis")
    def _of_the_package(self) -> dict[str, Any]:
        limits = {"most_cost": MOST_COST, "most_times": MOST_TIMES}
        return {**advice_basis.basis(), **limits, "options": _options()}

    @property
    def arguments(self) -> list[str]:
        """Words after ``specmini`` for the command that says the same."""
        own = OWN_MACHINES.get(self.machine)
        machine = f"{own.words} {self.memory}GB" if own else self.machine
        many = f"{self.devices}x " if self.devices > 1 else ""
        words = ["advise", "--target", self._target(), "--machine", many + machine]
        if own:
            words += ["--bandwidth", _text(self.bandwidth), "--peak", _text(self.peak)]
        drafter = DRAFTS[self.drafter]
        if self.drafter == "draft model":
            drafter += f" {_sized(self.draft, self.draft_billions)}"
        words += ["--engine", ENGINES[self.engine], "--weights", self.weights]
        words += ["--drafter", drafter, "--draft-length", str(self.draft_length)]
        words += ["--concurrency", str(self.concurrency), "--context", str(self.context)]
        acceptance, ratio, times = (
            re.sub(r"\s", "", text) for text in (self.acceptance, self.cost_ratio, self.plain_times)
        )
        if acceptance:
            words += ["--acceptance", acceptance]
        if acceptance and self.acceptance_is != TOKENS:
            words += ["--acceptance-is", self.acceptance_is]
        if ratio:
            words += ["--cost-ratio", ratio]
        return words + [word for pair in times.split(",") if pair for word in ("--plain", pair)]

    @property
    def command(self) -> str:
        """The command that says the same, as a shell takes it."""
        quoted = (word if SIMPLE_WORD.fullmatch(word) else f'"{word}"' for word in self.arguments)
        return " ".join(["specmini", *quoted])

    @property
    def configuration(self) -> Configuration:
        """The configuration that the command would answer for.

        Raises:
            ValueError: the settings exclude each other.
        """
        own, machine = self.machine in OWN_MACHINES, catalog.machines().get(self.machine)
        if self.model == OWN and self.active_billions > self.billions:
            raise SettingError(
                f"active_billions must be at most billions = {_text(self.billions)}, got "
                f"{_text(self.active_billions)}"
            )
        linked = machine is not None and machine.interconnect is not None
        if self.devices > 1 and (own or (self.engine == "server" and not linked)):
            name, why = (machine.name, "documented") if machine else (self.machine, "told")
            raise SettingError(
                f"devices must be 1 on {name}, whose interconnect is not {why}, got {self.devices}"
            )
        return configuration_from(self.arguments[1:])

    @property
    def advice(self) -> Advice:
        """What the command would say.

        Raises:
            ValueError: the settings exclude each other.
        """
        return advise(self.configuration)

    def __repr__(self) -> str:
        return f"AdviceCalculator({self.command})"

    def fallback_html(self) -> str:
        """Return the advice in words, and the command that gives it."""
        headline, *lines = advice_lines(self.advice)
        facts = [re.split(r" {2,}", line.strip(), maxsplit=1) for line in lines]
        rows = "".join(
            f'<tr><th scope="row">{escape(fact[0])}</th><td>{escape(fact[1])}</td></tr>'
            for fact in facts
            if len(fact) == 2
        )
        rest = "".join(f"<p>{escape(fact[0])}</p>" for fact in facts if len(fact) == 1)
        return (
            f'<div class="sm-fallback sm-fallback-advice"><p><strong>{escape(headline)}</strong>'
            f"</p><table><tbody>{rows}</tbody></table>{rest}<p>With JavaScript this is a "
            f"calculator with controls. On a terminal:</p>"
            f"<p><code>{escape(self.command)}</code></p></div>"
        )

    def _target(self) -> str:
        if self.model == OWN and (self.active_billions or self.billions) < 0.7 * self.billions:
            return f"{_text(self.billions)}B-A{_text(self.active_billions)}B"
        return _sized(self.model, self.billions)


def _sized(key: str, billions: float) -> str:
    return f"{_text(billions)}B" if key == OWN else key


def _text(number: float) -> str:
    return f"{number:.{KEPT_DIGITS}g}"


def _options() -> dict[str, list[Any]]:
    """What the choices are, for the script."""
    traits = AdviceCalculator.class_traits()
    return {
        name: list(trait.options) for name, trait in traits.items() if isinstance(trait, Choice)
    }
