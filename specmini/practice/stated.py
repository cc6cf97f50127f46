"""Numbers that practice answers state, computed: ``tokens_per_round(0.8, 4) = 3.36``.

A check names a function of the list below, gives it numbers, names or further calls, and says what
comes out, rounded as the answer writes it. It is read by the small parser here; nothing is
evaluated as Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from specmini import catalog, checks, roofline, theory
from specmini.roofline.batch_speedup import best_draft_by_batch
from specmini.roofline.crossover import (
    crossover_batch,
    never_losing_context,
    short_context_crossover,
)
from specmini.roofline.deployment import Deployment
from specmini.roofline.experts import experts_touched
from specmini.theory.shares import acceptance_rate_from_share

__all__ = ["FUNCTIONS", "Stated", "check", "parse"]

DEEPEST: Final = 20  # calls within calls


def _deployment(machine: str, model: str, bits: float) -> Deployment:
    return Deployment(catalog.machine(machine), catalog.model(model), bytes_per_weight=bits / 8)


def _verify_cost(
    machine: str, model: str, batch: float, length: float, context: float, bits: float = 16
) -> Any:
    return _deployment(machine, model, bits).verify_cost(batch, length, context)


def _step_ms(
    machine: str, model: str, batch: float, tokens: float, context: float, bits: float = 16
) -> Any:
    return 1e3 * _deployment(machine, model, bits).pass_time(batch, tokens, context).time


def _best_length_at_batch(
    machine: str, model: str, cost: float, rate: float, batch: float, context: float
) -> Any:
    target = _deployment(machine, model, 16)
    return best_draft_by_batch(target, cost, rate, batch, context).draft_length


def _losing_batch(
    machine: str, model: str, cost: float, rate: float, length: float, context: float
) -> Any:
    target = _deployment(machine, model, 16)
    return crossover_batch(target, cost, rate, int(length), int(context)).batch


def _never_losing_context(machine: str, model: str, cost: float, rate: float, length: float) -> Any:
    return never_losing_context(_deployment(machine, model, 16), cost, rate, int(length))


def _experts_touched(model: str, tokens: float) -> Any:
    experts = catalog.model(model).experts
    if experts is None:
        raise ValueError(f"model must have experts, got {model!r}")
    return experts_touched(experts, tokens)


def _ridge(machine: str, bits: float = 16) -> Any:
    return roofline.ridge_tokens(catalog.machine(machine), bits / 8)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "tokens_per_round": theory.tokens_per_round,
    "accepted_drafts": theory.accepted_drafts,
    "accepted_share": theory.accepted_share,
    "round_cost": theory.round_cost,
    "overhead_per_draft": theory.overhead_per_draft,
    "speedup": theory.speedup,
    "best_draft_length": theory.best_draft_length,
    "break_even_acceptance": theory.break_even_acceptance,
    "break_even_cost": theory.break_even_cost,
    "longest_winning_draft": theory.longest_winning_draft,
    "tokens_variance": theory.tokens_variance,
    "arithmetic_growth": theory.arithmetic_growth,
    "acceptance_rate_from_share": acceptance_rate_from_share,
    "short_context_crossover": short_context_crossover,
    "losing_batch": _losing_batch,
    "never_losing_context": _never_losing_context,
    "best_length_at_batch": _best_length_at_batch,
    "experts_touched": _experts_touched,
    "ridge_tokens": _ridge,
    "verify_cost": _verify_cost,
    "step_ms": _step_ms,
    "plus": lambda left, right: left + right,
    "minus": lambda left, right: left - right,
    "times": lambda left, right: left * right,
    "over": lambda above, below: above / below,
    "power": lambda base, exponent: base**exponent,
    "smaller": min,
}

token = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]))|(?P<word>[a-z][\w.-]*)|(?P<sign>[(),]))"
)
form = re.compile(r"(?P<call>.+\)) = (?P<result>-?\d+(?:\.\d+)?)(?P<unit>%?)")


@dataclass(frozen=True)
class Stated:
    """A check, worked out.

    Attributes:
        text: the check as it was written.
        stated: the number after the equals sign.
        decimals: how many it has.
        computed: what the call comes to, times 100 if the check says ``%``.
        inputs: every number that went in.
    """

    text: str
    stated: float
    decimals: int
    computed: float
    inputs: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether the computed number rounds to the stated one."""
        return abs(round(self.computed, self.decimals) - self.stated) < 1e-9


def check(text: str) -> Stated:
    """Work a check out.

    Raises:
        ValueError: it is not of the form ``name(argument, ...) = number``, the function is not on
            the list, or it refuses its arguments.
    """
    match = form.fullmatch(text)
    if match is None:
        raise ValueError(f"check must have the form name(argument, ...) = number, got {text!r}")
    value, inputs = parse(match["call"])
    result = match["result"]
    return Stated(
        text,
        float(result),
        len(result.partition(".")[2]),
        value * 100 if match["unit"] else value,
        inputs,
    )


def parse(call: str) -> tuple[float, tuple[float, ...]]:
    """Return the value of a call, and the numbers that stand in it.

    Raises:
        ValueError: as ``check`` does.
    """
    inputs: list[float] = []
    value, rest = _argument(call, inputs, 0)
    if rest.strip() or isinstance(value, str):
        raise ValueError(f"check must be one call, got {call!r}")
    return float(value), tuple(inputs)


def _argument(text: str, inputs: list[float], depth: int) -> tuple[float | str, str]:
    found = token.match(text)
    if found is None or found["sign"] or depth > DEEPEST:
        raise ValueError(f"check must go on with a number, a name or a call, got {text[:60]!r}")
    rest = text[found.end() :]
    if found["number"]:
        inputs.append(float(found["number"]))
        return inputs[-1], rest
    if not rest.startswith("("):
        return str(found["word"]), rest
    function = FUNCTIONS[checks.choice("function of a check", found["word"], tuple(FUNCTIONS))]
    arguments: list[float | str] = []
    while not rest.startswith(")"):
        argument, rest = _argument(rest[1:], inputs, depth + 1)
        arguments.append(argument)
        rest = rest.lstrip()
        if not rest.startswith((",", ")")):
            raise ValueError(f"check must go on with , or ), got {rest[:60]!r}")
    try:
        result = checks.real(f"result of {found['word']}", function(*arguments))
        return float(checks.single("result of a check", result)), rest[1:]
    except (TypeError, OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"check {found['word']} does not take these arguments: {error}") from None
