"""How long a step of target and draft takes with each kernel, for 1 to 9 tokens.

Run by hand: ``python tests/benchmarks/decode_speed.py``, for the committed pair; ``--target 6 256
4`` and ``--draft 1 128 4`` take random weights of other shapes (layers, width, heads). Not a test:
clocks on shared machines are not evidence enough to fail a build.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Sequence

import numpy as np
import torch

from specmini import sampling
from specmini.engine.fast_model import FastModel, candidates, step_seconds
from specmini.engine.step_model import Step
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.gpt import GPT, Config
from specmini.pair import load_pair

counts = (1, 2, 3, 4, 5, 7, 9)


def random_gpt(shape: Sequence[int]) -> GPT:
    """A GPT with random weights that 16-bit floats hold, as they hold the committed ones."""
    layers, width, heads = shape
    made = GPT(Config(1024, 256, layers, width, heads), torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.copy_(weight.half())
    return made


def module_step(model: GPT) -> Step:
    """The plain module as a step; its own cache stands in for the one it is given."""
    engine = TorchModel(model)

    def step(tokens, cache, past):
        if engine.length < past:
            engine.forward([0] * (past - engine.length))
        engine.truncate(past)
        return engine.forward(tokens)

    return step


def median_steps(model: GPT, past: int, rounds: int) -> dict[tuple[str, int], float]:
    """Median processor seconds by kernel and number of tokens; kernels take turns.

    Processor time, so that other work on the machine is not counted; all runs on one core.
    """
    steps = {"module": module_step(model)}
    steps |= {name: make() for name, make in candidates(model).items()}
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for name, step in steps.items():
            for new in counts:
                # the first of a turn reads weights that another kernel has driven from the cache
                timed = step_seconds(step, model.config, new, past, clock=time.thread_time)[1:]
                seconds.setdefault((name, new), []).extend(timed)
    return {key: statistics.median(values) for key, values in seconds.items()}


def sampling_seconds(logits: np.ndarray, repeats: int = 200) -> float:
    """Median processor seconds to draw from one row of logits, (V,), at temperature 1."""
    rng = np.random.default_rng(0)
    seconds = []
    for _ in range(repeats):
        started = time.thread_time()
        sampling.draw(sampling.plain.probs(logits), rng)
        seconds.append(time.thread_time() - started)
    return statistics.median(seconds)


def print_table(title: str, model: GPT, past: int, rounds: int) -> dict[int, float]:
    """Print milliseconds by kernel; return the best seconds by number of tokens."""
    medians = median_steps(model, past, rounds)
    shape = model.config
    print(f"\n{title}: {shape.layers} layers of width {shape.width}, {shape.heads} heads, ", end="")
    print(f"{shape.parameters / 1e6:.2f}M weights; ms a step after {past} tokens")
    print(f"{'T':12s}" + "".join(f"{new:8d}" for new in counts))
    for name in dict.fromkeys(name for name, _ in medians):
        print(f"{name:12s}" + "".join(f"{medians[name, new] * 1e3:8.3f}" for new in counts))
    best = {new: min(s for (_, n), s in medians.items() if n == new) for new in counts}
    choice = FastModel(model).choice
    print(f"chosen: {choice.decoding} for T = 1, {choice.verification} for T > 1")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=int, nargs=3, metavar=("LAYERS", "WIDTH", "HEADS"))
    parser.add_argument("--draft", type=int, nargs=3, metavar=("LAYERS", "WIDTH", "HEADS"))
    parser.add_argument("--past", type=int, default=100, help="tokens in the cache")
    parser.add_argument("--rounds", type=int, default=8, help="turns of each kernel")
    options = parser.parse_args()

    pair = None if options.target and options.draft else load_pair()
    target = random_gpt(options.target) if options.target else pair.target
    draft = random_gpt(options.draft) if options.draft else pair.draft
    print(f"{platform.platform()}, {platform.machine()}, {torch.backends.cpu.get_cpu_capability()}")
    print(f"Python {platform.python_version()}, torch {torch.__version__}, NumPy {np.__version__}")
    with single_thread(), torch.inference_mode():
        best = print_table("target", target, options.past, options.rounds)
        draft_best = print_table("draft", draft, options.past, options.rounds)
        sampled = sampling_seconds(FastModel(draft).forward([0])[0])
    ratios = ", ".join(f"v({new - 1}) = {best[new] / best[1]:.2f}" for new in counts[1:])
    print(f"\nbest kernels: {ratios}")
    step = draft_best[1]
    print(f"c = {(step + sampled) / best[1]:.3f}: a draft step of {step * 1e6:.0f} µs ", end="")
    print(f"and {sampled * 1e6:.0f} µs to sample, over the target's {best[1] * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
