"""How many speedups a second, on one core, and how long the import takes.

Run by hand: ``python tests/benchmarks/theory_speed.py``. Not a test: clocks on shared machines
are not evidence enough to fail a build.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from specmini import theory


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median processor time of ``work`` in seconds, after one call that does not count.

    Processor time, so that other work on the machine is not counted; NumPy runs these loops on
    one core.
    """
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def import_seconds(module: str, repeats: int) -> float:
    """Median processor seconds a fresh interpreter spends on importing ``module``."""
    code = (
        "import time; start = time.process_time(); "
        f"import {module}; print(time.process_time() - start)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000, help="elements per call")
    parser.add_argument("--repeats", type=int, default=15, help="calls; the median is printed")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    rng = np.random.default_rng(options.seed)
    rate = rng.uniform(0.0, 1.0, options.size)
    cost = rng.uniform(0.0, 0.5, options.size)
    verify = rng.uniform(1.0, 2.0, options.size)
    length = rng.integers(0, 17, options.size)
    work: dict[str, Callable[[], object]] = {
        "speedup, all four arrays": lambda: theory.speedup(rate, cost, length, verify),
        "speedup, alpha array only": lambda: theory.speedup(rate, 0.1, 4),
        "tokens_per_round": lambda: theory.tokens_per_round(rate, length),
        "tokens_variance": lambda: theory.tokens_variance(rate, length),
        "best_draft_length": lambda: theory.best_draft_length(rate, cost, verify),
        "longest_winning_draft": lambda: theory.longest_winning_draft(rate, cost, verify),
        "break_even_acceptance": lambda: theory.break_even_acceptance(
            cost, np.maximum(length, 1), verify
        ),
    }
    for name, call in work.items():
        seconds = median_seconds(call, options.repeats)
        print(f"{name:28s}{options.size / seconds / 1e6:9.2f} million a second")
    scalar = median_seconds(lambda: theory.speedup(0.8, 0.1, 4), 200 * options.repeats)
    print(f"{'speedup, one scalar':28s}{scalar * 1e6:9.1f} microseconds")
    for module in ("numpy", "specmini.theory"):
        print(f"{'import ' + module:28s}{import_seconds(module, 5) * 1e3:9.1f} milliseconds")


if __name__ == "__main__":
    main()
