"""The cost of a round for somebody who measured time per token without speculation.

Two or more concurrencies give the plain curve (``plain_curve``): the check of K drafts
at B sequences is a pass over B (K + 1) tokens of it, and nothing about kernels has to be known.
Four or more also give its bend; with two or three it is taken as 1.3, between those of a public
grid. One measurement gives the scale: what data sheets say of differences is kept and divided by
the measured step.

c is the measured one, or the drafter's time by the data sheet over the measured step.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.configuration import Configuration, PlainTime
from specmini.cost.plain_curve import PlainCurve, fit_plain_curve
from specmini.cost.round_cost import BEND, RoundCost, round_cost, sequences_running

__all__ = ["calibrated_cost", "fitted_curve"]

ENOUGH_FOR_BEND = 4


def fitted_curve(configuration: Configuration) -> PlainCurve:
    """The plain curve of the measured times, over tokens a pass with prompts counted.

    Args:
        configuration: with at least two ``plain_times``.

    Raises:
        ValueError: fewer than two, or times that do not rise with concurrency.
    """
    times = configuration.plain_times
    if len(times) < 2:
        raise ValueError(f"plain_times must hold at least 2 concurrencies, got {len(times)}")
    return _curve(times, configuration.prompt_share, _cache_seconds(configuration))


@cache
def _curve(times: tuple[PlainTime, ...], prompt_share: float, cache_seconds: float) -> PlainCurve:
    running = np.array([one.running or one.concurrency for one in times])
    tokens = running * (1 + prompt_share)
    bend = None if len(times) >= ENOUGH_FOR_BEND else BEND
    try:
        return fit_plain_curve(
            tokens, np.array([one.seconds for one in times]) - cache_seconds * running, bend
        )
    except ValueError:
        listed = ", ".join(f"{one.concurrency}: {one.seconds:g} s" for one in times)
        message = f"plain_times must rise with concurrency, got {listed}"
        rising = sorted(times, key=lambda one: one.concurrency)
        if all(one.seconds < more.seconds for one, more in pairwise(rising)):
            message += (
                f", of which the cache takes {1e3 * cache_seconds:.2g} ms a request: "
                "is the context what a request holds?"
            )
        raise ValueError(message) from None


def calibrated_cost(
    configuration: Configuration, tokens_per_round: ArrayLike, concurrency: ArrayLike | None = None
) -> RoundCost:
    """The parts of a round on the scale of the measured plain step.

    Args:
        configuration: with at least one of ``plain_times``.
        tokens_per_round: E, which says how many prompt tokens a round makes room for, any shape
            that broadcasts.
        concurrency: requests in flight, any shape; the configuration's own if not given.

    Returns:
        Check and drafting over the plain step at that concurrency, as measured if it was.

    Raises:
        ValueError: nothing was measured, or times do not rise with concurrency.
    """
    asked = checks.whole_number(
        "concurrency", configuration.concurrency if concurrency is None else concurrency, minimum=1
    )
    if not configuration.plain_times:
        raise ValueError("plain_times must hold at least 1 measured time, got none")
    sheet = round_cost(configuration, asked)
    if len(configuration.plain_times) == 1:
        return _scaled(configuration, sheet)
    curve, share = fitted_curve(configuration), configuration.prompt_share
    cached = _cache_seconds(configuration)
    decoding = _decoding(configuration, asked.astype(np.float64))
    running = np.minimum(decoding, sequences_running(configuration, asked)[1])
    step = curve.seconds(decoding * (1 + share)) + cached * decoding
    for one in configuration.plain_times:
        step = np.where(asked == one.concurrency, one.seconds, step)
    own_step = curve.seconds(running * (1 + share)) + cached * running
    tokens = running * (configuration.tokens_checked + share * np.asarray(tokens_per_round))
    if configuration.cost_ratio is None:
        scale = 1.0 if configuration.engine == "local" else sheet.plain_seconds / own_step
        drafting = sheet.drafting * scale * own_step / step
    else:
        drafting = configuration.drafting_steps * configuration.cost_ratio * own_step / step
    return RoundCost(
        check=np.asarray(curve.seconds(tokens) + cached * running) / step,
        drafting=np.asarray(drafting),
        plain_seconds=step,
        plain_running=decoding,
        running=running,
        largest_part=sheet.largest_part,
    )


def _cache_seconds(configuration: Configuration) -> float:
    """Time to read the cache of one sequence, at the pace at which the weights are read.

    A cost of a sequence, not of a token: a check pays it once for all its tokens.
    """
    model, bits = configuration.target, configuration.bits
    cache = 16 * model.kv_values_per_token * configuration.context
    share = cache / (bits * model.matmul_parameters)
    return share * min(one.seconds for one in configuration.plain_times)


def _scaled(configuration: Configuration, sheet: RoundCost) -> RoundCost:
    """The data sheet's seconds over one measured step; ratios stay where kernels have a term."""
    measured = configuration.plain_times[0]
    if configuration.engine == "local":
        seconds = np.full_like(sheet.plain_seconds, measured.seconds)
        return RoundCost(
            sheet.check, sheet.drafting, seconds, sheet.plain_running, sheet.running,
            sheet.largest_part,
        )  # fmt: skip
    at = round_cost(configuration, measured.concurrency)
    # what the engine adds beyond the sheet is the same in every pass of the target
    seconds = np.maximum(sheet.plain_seconds + measured.seconds - at.plain_seconds, 1e-6)
    shorter = sheet.plain_seconds / seconds
    drafting = sheet.drafting
    if configuration.cost_ratio is None:
        drafting = drafting * shorter
    return RoundCost(
        1 + (sheet.check - 1) * shorter, drafting, seconds, sheet.plain_running, sheet.running,
        sheet.largest_part,
    )  # fmt: skip


def _decoding(configuration: Configuration, asked: FloatArray) -> FloatArray:
    """Sequences that decode at once without speculation, by the measured rates where told."""
    known = [one for one in configuration.plain_times if one.running is not None]
    if not known:
        return asked
    at = np.log([one.concurrency for one in known])
    share = [(one.running or 0.0) / one.concurrency for one in known]
    return np.asarray(asked * np.interp(np.log(asked), at, share))
