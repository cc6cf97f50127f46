"""What commands share: the options that say what runs, and the generator of a seed."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from specmini import catalog
from specmini.configuration import Configuration, PlainTime, wording
from specmini.configuration.defaults import configure

__all__ = ["Commands", "configured", "generator", "options"]

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def options() -> argparse.ArgumentParser:
    """A parser of these options, to be the parent of a command's."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument("--figure", metavar="FILE", help="draw the speedup against K to an SVG")
    setting = shared.add_argument_group("what runs")
    machines = ", ".join(catalog.machines())
    setting.add_argument("--machine", default="", help=f"words, or one of {machines}")
    setting.add_argument("--engine", default="", help="such as vLLM or llama.cpp")
    setting.add_argument("--weights", default="", help="such as bf16, FP8, Q4_K_M")
    setting.add_argument("--draft-weights", default="", help="those of the target if not given")
    setting.add_argument("--concurrency", type=int, help="requests in flight (1)")
    setting.add_argument("--context", type=int, help="positions of a request in the cache (512)")
    setting.add_argument("--memory", type=float, metavar="GB", help="of one device")
    setting.add_argument("--bandwidth", type=float, metavar="TB/S", help="of one device's memory")
    setting.add_argument("--peak", type=float, metavar="TFLOP/S", help="16-bit, of one device")
    setting.add_argument("--devices", type=int, help="that share every matrix")
    setting.add_argument("--cost-ratio", type=float, metavar="C", help="measured draft step / step")
    setting.add_argument("--prompt-share", type=float, default=0.0, metavar="S",
                         help="prompt tokens for each output token (0)")  # fmt: skip
    setting.add_argument("--plain", action="append", default=[], metavar="N:MS[:RUNNING]",
                         help="ms a token without speculation at N requests; repeat")  # fmt: skip
    return shared


def configured(
    given: argparse.Namespace, length: str, acceptance: str, meaning: str
) -> Configuration:
    """The configuration of the options and of what a command knows besides."""
    if not given.target.strip():
        raise ValueError(f"--target must name a model or a size, such as 8B, got {given.target!r}")
    if length and wording.read_draft_length(length)[0] is None:
        raise ValueError(
            f"--draft-length must be a whole number from 1 on, or 'tree steps,k,tokens', "
            f"got {length!r}"
        )
    found = configure(
        given.target,
        given.drafter,
        machine=given.machine,
        memory=_times(given.memory, 1e9),
        bandwidth=_times(given.bandwidth, 1e12),
        peak_flops=_times(given.peak, 1e12),
        devices=given.devices,
        engine=given.engine,
        weights=given.weights,
        draft_weights=given.draft_weights,
        draft_length=length,
        concurrency=given.concurrency,
        context=given.context,
        acceptance=acceptance,
        acceptance_is=meaning,
    )
    return replace(
        found,
        cost_ratio=given.cost_ratio,
        prompt_share=given.prompt_share,
        plain_times=tuple(sorted(map(_plain_time, given.plain), key=lambda one: one.concurrency)),
    )


def generator(seed: int | None) -> np.random.Generator:
    """Random numbers of a command, new ones each time if no seed is given.

    Raises:
        ValueError: the seed is negative.
    """
    if seed is not None and seed < 0:
        raise ValueError(f"--seed must be a whole number from 0 on, got {seed}")
    return np.random.default_rng(seed)


def _times(number: float | None, unit: float) -> float | None:
    return None if number is None else number * unit


def _plain_time(text: str) -> PlainTime:
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not numbers[0].is_integer():
        raise ValueError(f"--plain must be N:MS or N:MS:RUNNING, such as 8:34.6, got {text!r}")
    running = numbers[2] if len(numbers) == 3 else None
    return PlainTime(int(numbers[0]), numbers[1] / 1000, running)
