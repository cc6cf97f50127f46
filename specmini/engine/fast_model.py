"""The fastest engine for a GPT on this machine, found by trying.

A decoding step of a small model spends much of its time outside the matrices, in the calls
themselves: about a third on the machine this was written on. ``TorchStep`` is the forward pass
with as few calls as it takes, and no Python between them; ``NumpyStep`` is the same with calls
that are cheaper and more.
Which of them wins, and with which kernel for the matrices, depends on the processor, on the size
of the model and on the number of tokens T. So every candidate is timed once, at T = 1 (decoding)
and at T = 4 (verification), and the two winners share one cache.
"""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import torch

from specmini.engine.cached_model import CachedModel
from specmini.engine.kernels import available_kernels, is_half_exact
from specmini.engine.numpy_model import NumpyStep
from specmini.engine.step_model import Step, StepModel, new_cache
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.engine.torch_step import torch_step
from specmini.gpt import GPT, Config

__all__ = [
    "Choice",
    "FastModel",
    "candidates",
    "chosen",
    "fast_model",
    "prepared",
    "step_seconds",
]

Prepared = TypeVar("Prepared")

several: Final = 4  # tokens that stand for all T > 1


@dataclass(frozen=True)
class Choice:
    """Which steps run, and why.

    Attributes:
        decoding: name of the step for T = 1.
        verification: name of the step for T > 1.
        seconds: for each candidate the seconds it took at T = 1 and at T = 4.
    """

    decoding: str
    verification: str
    seconds: dict[str, tuple[float, float]]


class FastModel(StepModel):
    """A ``CachedModel`` in float32 on the CPU, for one sequence.

    Which candidates win is measured once a process for each shape, on one thread. A step does not
    set the number of threads itself; use it inside ``single_thread``.

    Args:
        model: the weights, which are copied or shared: do not train it on. An engine made after a
            change of the weights has the new ones, unless they were changed behind torch's back:
            through ``.data``, or in place in inference mode.
        choice: names of ``candidates`` to run; measured if not given.

    Attributes:
        choice: what runs, with the times measured.

    Raises:
        ValueError: a chosen name is not available here.
    """

    def __init__(self, model: GPT, choice: Choice | None = None) -> None:
        self.choice = choice or _measured_choice(model)
        decode = _step(model, self.choice.decoding)
        verify = _step(model, self.choice.verification)
        super().__init__(model.config, decode, verify)


def fast_model(model: GPT) -> CachedModel:
    """The fastest ``CachedModel`` for a GPT here; on a GPU, or not in float32, ``TorchModel``."""
    weight = model.wte.weight
    is_plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    return FastModel(model) if is_plain else TorchModel(model)


def candidates(model: GPT) -> dict[str, Callable[[], Step]]:
    """Makers of the steps that compute a model's function here, by name."""
    makers: dict[str, Callable[[], Step]] = {"NumPy": lambda: NumpyStep(model)}
    for name, kernel in available_kernels(model).items():
        makers[name] = functools.partial(torch_step, model, kernel)
    return makers


def step_seconds(
    step: Step,
    config: Config,
    new: int,
    past: int | None = None,
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Seconds of each of some equal steps.

    Args:
        step: the forward pass.
        config: shape of its model.
        new: tokens in a step, T.
        past: tokens before it; half the context if not given.
        repeats: number of steps, one after the other, as in decoding.
        clock: gives seconds.

    Raises:
        ValueError: ``new`` is below 1, ``past`` below 0, or both exceed the context.
    """
    past = config.context // 2 if past is None else past
    if new < 1:
        raise ValueError(f"new must be at least 1, got {new}")
    if past < 0:
        raise ValueError(f"past must be at least 0, got {past}")
    if past + new > config.context:
        raise ValueError(
            f"past + new must be at most the context of {config.context}, got {past} + {new}"
        )
    tokens, cache = [0] * new, new_cache(config)
    seconds = []
    for _ in range(repeats):
        started = clock()
        step(tokens, cache, past)
        seconds.append(clock() - started)
    return seconds


def prepared(model: GPT, name: str, make: Callable[[], Prepared]) -> Prepared:
    """What is made of a model's weights, made once as long as they stay what they are.

    Args:
        model: the weights.
        name: what it is; a name has one maker.
        make: makes it; what it gives must not hold on to the model.
    """
    # what was made in inference mode counts no versions
    versions = tuple(
        (weight.data_ptr(), -1 if weight.is_inference() else weight._version)
        for weight in model.parameters()
    )
    known, made = _made.get(model, (versions, {}))
    if known != versions or model not in _made:
        made = {}
        _made[model] = versions, made
    if name not in made:
        made[name] = make()
    found: Prepared = made[name]
    return found


def chosen(makers: Mapping[str, Callable[[], Prepared]], name: str) -> Prepared:
    """What the maker of this name makes.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in makers:
        raise ValueError(f"choice must name steps out of {sorted(makers)}, got {name!r}")
    return makers[name]()


# packing and compiling take a second; no step holds on to its GPT, so the entry goes with it
_made: weakref.WeakKeyDictionary[GPT, tuple[tuple[tuple[int, int], ...], dict[str, Any]]] = (
    weakref.WeakKeyDictionary()
)


def _step(model: GPT, name: str) -> Step:
    """A model's step by name."""
    return prepared(model, name, lambda: chosen(candidates(model), name))


def _measured_choice(model: GPT) -> Choice:
    """The fastest candidates, measured the first time that a shape is asked for."""
    key = (model.config, is_half_exact(model))
    if key not in _choices:
        _choices[key] = _measure(model)
    return _choices[key]


_choices: dict[tuple[Config, bool], Choice] = {}


def _measure(model: GPT, rounds: int = 3) -> Choice:
    """Time all candidates in turns; the least time counts, since other work only ever adds."""
    steps = {name: _step(model, name) for name in candidates(model)}
    counts = (1, min(several, model.config.context))
    times: dict[tuple[str, int], list[float]] = {}
    with single_thread():
        for _ in range(rounds):
            for name, step in steps.items():
                for new in counts:
                    # the first steps compile and warm up; they are never the least
                    times.setdefault((name, new), []).extend(step_seconds(step, model.config, new))
    seconds = {name: (min(times[name, counts[0]]), min(times[name, counts[1]])) for name in steps}
    decoding, verification = (
        min(seconds, key=lambda name: seconds[name][place]) for place in (0, 1)
    )
    return Choice(decoding, verification, seconds)
