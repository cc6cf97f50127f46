"""The speedup of the pair against the batch, beside two predictions, and where the win dies.

    python tests/benchmarks/batch_speedup.py --quick         a sample, about a minute
    python tests/benchmarks/batch_speedup.py --write FILE    everything, for the book: ten minutes

Plain and speculative serving take turns at each batch size, with continuous batching; only rounds
in which all slots are busy count. Three predictions stand beside each speedup. All know α from the
smallest batch. The first has passes timed alone at that batch, the second a rehearsal, in which
the models take turns, the third a roofline calibrated to this computer.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from speedup import SEED, about, kernels_of

from specmini.batch.calibration import calibrate, physical_memory
from specmini.batch.drafter import BatchModelDrafter
from specmini.batch.fast import FastBatch, fast_batch
from specmini.batch.latency import AllSlots
from specmini.batch.results import BatchResults, BatchSetting, first_losing, store_batches
from specmini.batch.serving import Server, requests_for
from specmini.batch.turns import batch_cell, running_queue, take_turns
from specmini.engine.threads import single_thread
from specmini.generate import generate
from specmini.measure.latency import PassTimes, pass_times
from specmini.measure.rehearsal import Rehearsal, rehearse
from specmini.pair import Pair, checkpoint_hashes, load_pair
from specmini.recording.excerpts import frozen
from specmini.sampling import Sampling, greedy, plain
from specmini.tables import Table

PROMPT_TOKENS, NEW_TOKENS = 64, 96
PAST = PROMPT_TOKENS + NEW_TOKENS // 2  # tokens seen, on average, when a step is made


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    batches: tuple[int, ...]
    lengths: tuple[int, ...]
    groups: tuple[tuple[str, float], ...]  # kinds of text and temperatures
    turns: int
    row_rounds: int  # rounds of a way of decoding times sequences, at least
    least_rounds: int
    pass_repeats: int
    calibration: dict[str, object]
    static: tuple[int, ...]  # batches at which static batching is timed too
    checked: int  # greedy texts compared with those of the single sequence


EVERYTHING = Plan(
    batches=(1, 2, 4, 8, 16, 32, 64),
    lengths=(1, 2, 4, 8),
    groups=(("prose", 1.0), ("code", 1.0), ("prose", 0.0), ("code", 0.0)),
    turns=6,
    row_rounds=400,
    least_rounds=18,
    pass_repeats=9,
    calibration={},
    static=(8, 32),
    checked=24,
)
QUICK = replace(
    EVERYTHING,
    batches=(1, 4, 16),
    lengths=(2, 4),
    groups=(("code", 1.0), ("code", 0.0)),
    turns=3,
    row_rounds=150,
    least_rounds=6,
    pass_repeats=3,
    calibration={"batches": (1, 4, 16), "tokens": (1, 4), "repeats": 3},
    static=(16,),
    checked=6,
)


def texts_of(kind: str, pair: Pair) -> list[list[int]]:
    """Ids of the frozen excerpts that are long enough for a prompt and what follows it."""
    ids = [pair.tokenizer.encode(one.text) for one in frozen(kind)]
    return [one for one in ids if len(one) >= PROMPT_TOKENS + NEW_TOKENS]


def drafter_of(pair: Pair, batch: int, sampling: Sampling, length: int) -> dict[str, object]:
    """The speculative part of a server's arguments."""
    if not length:
        return {}
    drafter = BatchModelDrafter(fast_batch(pair.draft, batch), sampling)
    return {"drafter": drafter, "draft_length": length}


def measured(plan: Plan, batch: int, kind: str, temperature: float, pair: Pair):
    """Cells of all draft lengths at one batch, and the servers, with the texts they finished."""
    sampling, texts = Sampling(temperature), texts_of(kind, pair)
    ways = (0, *plan.lengths)
    rngs = np.random.default_rng([SEED, batch]).spawn(len(ways))
    servers = {
        way: Server(
            fast_batch(pair.target, batch),
            running_queue(texts, batch, PROMPT_TOKENS, NEW_TOKENS, rng),
            sampling=sampling,
            **drafter_of(pair, batch, sampling, way),
        )
        for way, rng in zip(ways, rngs, strict=True)
    }
    rounds = max(plan.least_rounds, plan.row_rounds // batch)
    taken = take_turns(servers, plan.turns, dict.fromkeys(ways, -(-rounds // plan.turns)))
    cells = [
        batch_cell(taken[0], taken[length], length, written(servers[length]))
        for length in plan.lengths
    ]
    return cells, servers


def written(server: Server) -> list[tuple[int, ...]]:
    """The texts that a server has finished; in a short run, maybe an empty one stands for none."""
    return [text.tokens for text in server.finished.values()] or [()]


def same_as_alone(servers: dict[int, Server], batch: int, kind: str, pair: Pair, limit: int):
    """How many greedy texts of a batch are those of the single sequence, and of how many."""
    texts, target = texts_of(kind, pair), pair.target_model()
    same = compared = 0
    for server in servers.values():
        whole = ((n, t) for n, t in sorted(server.finished.items()) if n >= batch)
        for number, text in islice(whole, -(-limit // len(servers))):
            prompt = texts[number % len(texts)][:PROMPT_TOKENS]
            rng = np.random.default_rng(SEED)
            alone = generate(target, prompt, NEW_TOKENS, rng, sampling=greedy)
            same += alone.tokens == text.tokens
            compared += 1
    return same, compared


def static_speedup(batch: int, length: int, pair: Pair) -> float:
    """Speedup of static batches, idle slots included; the better of two runs each."""
    prompts = [text[:PROMPT_TOKENS] for text in texts_of("code", pair)]
    prompts = [prompts[i % len(prompts)] for i in range(batch)]
    seconds: dict[int, list[float]] = {0: [], length: []}
    with single_thread():
        for _ in range(2):
            for way, taken in seconds.items():
                found = Server(
                    fast_batch(pair.target, batch),
                    requests_for(prompts, NEW_TOKENS, np.random.default_rng(SEED)),
                    sampling=plain,
                    admission="static",
                    **drafter_of(pair, batch, plain, way),
                ).run()
                taken.append(sum(round.seconds for round in found.rounds))
    return min(seconds[0]) / min(seconds[length])


def passes_at(batch: int, plan: Plan, pair: Pair) -> tuple[PassTimes, PassTimes]:
    """Times of passes alone: of the target over 1 and K + 1 tokens a slot, of the draft over 1."""
    rng = np.random.default_rng(SEED)
    sizes = [1, *(length + 1 for length in plan.lengths)]
    target, draft = (
        AllSlots(fast_batch(model, batch), rng, plain) for model in (pair.target, pair.draft)
    )
    more = max(1, 16 // batch)
    return (
        pass_times(target, sizes, past=PAST, repeats=plan.pass_repeats * more, rng=rng),
        pass_times(draft, [1], past=PAST, repeats=6 * plan.pass_repeats * more, rng=rng),
    )


def rehearsal_at(batch: int, plan: Plan, pair: Pair) -> Rehearsal:
    """Times of rounds without a decision, with softmax and draws for all slots."""
    rng = np.random.default_rng(SEED)
    target, draft = (
        AllSlots(fast_batch(model, batch), rng, plain) for model in (pair.target, pair.draft)
    )
    repeats = plan.pass_repeats * max(1, 8 // batch)
    return rehearse(target, draft, plan.lengths, past=PAST, repeats=repeats, rng=rng, rounds=2)


def kernels_at(batch: int, pair: Pair) -> dict[str, object]:
    """What runs the pair at a batch, by tokens a slot."""
    engines = {"target": fast_batch(pair.target, batch), "draft": fast_batch(pair.draft, batch)}
    return {
        name: dict(engine.choice.steps) if isinstance(engine, FastBatch) else "single sequence"
        for name, engine in engines.items()
    }


def rows(results: BatchResults) -> Iterator[dict[str, object]]:
    for one in results.settings:
        cell = one.cell
        low, high = cell.interval()
        forecast, roofline = results.forecast(one), results.roofline(one)
        rehearsed = results.rehearsed(one)
        yield {
            "text": one.kind,
            "T": f"{one.temperature:g}",
            "B": one.batch,
            "K": cell.draft_length,
            "α": cell.acceptance.rate,
            "c": f"{cell.cost_ratio:.3f}",
            "v": cell.verify_cost,
            "E": cell.full.tokens_per_round,
            "speedup": cell.speedup,
            "95 %": f"{low:.2f}-{high:.2f}",
            "over forecast": cell.speedup / forecast,
            "over rehearsal": cell.speedup / rehearsed,
            "over roofline": cell.speedup / roofline,
            "bookkeeping": f"{cell.bookkeeping:.1%}",
            "repetition": cell.repetition,
        }


def conclusions(results: BatchResults) -> str:
    """How far off the predictions are, and by how many steps of the grid they miss the crossover.

    At a temperature of 0 texts loop, so that α of one run is not that of the next.
    """
    groups = list(dict.fromkeys((one.kind, one.temperature) for one in results.settings))
    lengths = list(dict.fromkeys(one.cell.draft_length for one in results.settings))
    lines = []
    ways = ("forecast", "rehearsed", "roofline")
    errors: dict[str, list[float]] = {name: [] for name in ways}
    misses: dict[str, list[int]] = {name: [] for name in ways}
    for kind, temperature in groups:
        for length in lengths:
            curve = results.curve(kind, temperature, length)
            places = [*curve.batches, None]
            found = {name: first_losing(curve.batches, getattr(curve, name))
                     for name in ("measured", *ways)}  # fmt: skip
            for name in errors:
                errors[name] += [
                    abs(predicted / seen - 1)
                    for predicted, seen in zip(getattr(curve, name), curve.measured, strict=True)
                ]
                misses[name].append(
                    abs(places.index(found[name]) - places.index(found["measured"]))
                )
            shown = ", ".join(f"{name} {batch or 'none'}" for name, batch in found.items())
            lines.append(f"{kind}, T {temperature:g}, K {length}: first losing batch: {shown}")
    for name in errors:
        lines.append(
            f"{name}: median |error| {statistics.median(errors[name]):.1%}, largest "
            f"{max(errors[name]):.1%}; crossover within one step in "
            f"{sum(miss <= 1 for miss in misses[name])} of {len(misses[name])}"
        )
    fitted = results.calibration
    lines.append(
        f"calibrated: {fitted.machine.peak_flops / 1e9:.1f} GFLOP/s, "
        f"{fitted.machine.bandwidth / 1e9:.1f} GB/s (cache {fitted.cache_bandwidth / 1e9:.1f}), "
        f"{fitted.seconds_per_pass * 1e6:.0f} µs a pass, {fitted.seconds_per_layer * 1e6:.0f} a "
        f"layer, {fitted.seconds_per_sequence * 1e6:.1f} a sequence and layer, "
        f"{fitted.seconds_per_token * 1e6:.1f} a token; mean |error| {fitted.error:.1%} of passes, "
        f"{fitted.held_out_error:.1%} left out"
    )
    for (batch, length), value in results.static.items():
        steady = [o.cell.speedup for o in results.settings
                  if (o.batch, o.cell.draft_length, o.kind, o.temperature)
                  == (batch, length, "code", 1.0)]  # fmt: skip
        lines.append(
            f"B {batch}, K {length}: {value:.2f}× in static batches, which wait for the slowest; "
            f"{steady[0]:.2f}× in the steady state"
        )
    same, compared = results.about["greedy_texts_as_alone"]
    lines.append(f"greedy texts of batches as of the single sequence: {same} of {compared}")
    return "\n".join(lines)


def unsteady(passes: dict[int, tuple[PassTimes, PassTimes]]) -> Iterator[str]:
    """Passes that took much longer than those over fewer and over more tokens suggest.

    Now and then a kernel runs at half its speed for a whole process at one number of rows.
    """
    for batch, (target, _) in passes.items():
        for place in range(1, len(target.tokens) - 1):
            left, here, right = target.tokens[place - 1 : place + 2]
            between = np.interp(here, (left, right), (target.over(left), target.over(right)))
            if target.over(here) > 1.25 * between:
                yield (
                    f"unsteady, measure again: B {batch}, {here} tokens a slot take "
                    f"{target.over(here) / between:.2f} of what their neighbors suggest"
                )


def everything(plan: Plan, pair: Pair, head: dict[str, object]) -> BatchResults:
    begun = time.perf_counter()

    def say(what: str) -> None:
        print(f"  {time.perf_counter() - begun:5.0f} s  {what}", flush=True)

    kernels, passes, rehearsals, settings = {}, {}, {}, []
    static: dict[tuple[int, int], float] = {}
    same = compared = 0
    for batch in plan.batches:
        kernels[batch] = kernels_at(batch, pair)
        passes[batch] = passes_at(batch, plan, pair)
        rehearsals[batch] = rehearsal_at(batch, plan, pair)
        say(f"B {batch}: passes alone, and rehearsed")
        for kind, temperature in plan.groups:
            cells, servers = measured(plan, batch, kind, temperature, pair)
            settings += [BatchSetting(batch, kind, temperature, cell) for cell in cells]
            if temperature == 0 and compared < plan.checked * plan.batches.index(batch) + 1:
                found = same_as_alone(servers, batch, kind, pair, plan.checked)
                same, compared = same + found[0], compared + found[1]
            speedups = ", ".join(f"{cell.speedup:.2f}×" for cell in cells)
            say(f"B {batch}, {kind}, T {temperature:g}: {speedups}")
        if batch in plan.static:
            static[batch, 4] = static_speedup(batch, 4, pair)
            say(f"B {batch}: static batches {static[batch, 4]:.2f}×")
    models = {"target": pair.target, "draft": pair.draft}
    fitted = calibrate(
        models,
        np.random.default_rng(SEED),
        name=str(head["processor"]),
        memory=physical_memory(),
        **plan.calibration,
    )
    say("calibrated")
    return BatchResults(
        about=head | {"kernels": kernels, "greedy_texts_as_alone": [same, compared]},
        settings=tuple(settings),
        passes=passes,
        rehearsals=rehearsals,
        calibration=fitted,
        configs={name: model.config for name, model in models.items()},
        static=static,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="folder with target and draft.safetensors")
    parser.add_argument("--quick", action="store_true", help="a sample, to see what a change did")
    parser.add_argument("--write", type=Path, metavar="FILE", help="store what was measured")
    options = parser.parse_args(arguments)
    pair = load_pair(options.models)
    plan = QUICK if options.quick else EVERYTHING
    head = about(checkpoint_hashes(options.models)) | {
        "measured_by": "tests/benchmarks/batch_speedup.py",
        "date": datetime.date.today().isoformat(),
        "single_sequence_kernels": {"target": kernels_of(pair.target_model()),
                                    "draft": kernels_of(pair.draft_model())},
        "prompt_tokens": PROMPT_TOKENS,
        "new_tokens": NEW_TOKENS,
        "past": PAST,
        "turns": plan.turns,
    }  # fmt: skip
    results = everything(plan, pair, head)
    every = list(rows(results))
    print(Table({name: [row[name] for row in every] for name in every[0]}, digits=2))
    print(conclusions(results))
    print("\n".join(unsteady(results.passes)))
    if options.write:
        store_batches(options.write, results)


if __name__ == "__main__":
    main()
