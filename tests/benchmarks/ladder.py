"""Every rung of the ladder on one target: what it accepts, what it costs, what it gains.

    python tests/benchmarks/ladder.py --data FOLDER                 a sample, two minutes
    python tests/benchmarks/ladder.py --data FOLDER --write FILE    everything, for the book

FOLDER holds the corpus in tokens, as training makes it: the n-gram tables are counted there, and
the suffix drafter has seen texts from there. Plain decoding takes turns with every rung, so each
speedup is against the plain steps of its own minute. Every rung runs for one sequence and in a
batch of 16, there with drafts of fewer lengths.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from batch_speedup import texts_of
from speedup import NEW_TOKENS, PAST, PROMPT_TOKENS, SEED, about, kernels_of, prompts_of

from specmini import theory
from specmini.batch.fast import fast_batch
from specmini.batch.latency import AllSlots
from specmini.batch.serving import Server
from specmini.batch.turns import Turns, batch_cell, running_queue, steady_rounds
from specmini.batch.turns import take_turns as serve_in_turns
from specmini.drafters import NgramTables, StaticTreeDrafter
from specmini.engine.cached_model import CachedModel
from specmini.engine.numpy_model import NumpyModel
from specmini.generate import Round, generate
from specmini.generate_tree import generate_tree
from specmini.heads.trained import load_heads
from specmini.ladder.results import Ladder, LadderRow, store_ladder
from specmini.ladder.rungs import (
    ChainRung,
    RoundCosts,
    TreeRung,
    broad_shape,
    chain_rungs,
    head_rungs,
    tree_rungs,
)
from specmini.measure import Comparison, compare, take_turns
from specmini.measure.cell import cell as cell_of
from specmini.measure.latency import pass_times
from specmini.measure.tallies import acceptance
from specmini.measure.tree_tallies import tree_acceptance
from specmini.pair import Pair, checkpoint_hashes, load_pair
from specmini.sampling import Sampling, plain
from specmini.tables import Table
from specmini.theory import hit_rate
from specmini.theory.topology import depths
from specmini.theory.tree_shape import best_tree, expected_tokens
from specmini.training import streams

LEVELS = 4
BATCH = 16


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    kinds: tuple[str, ...]
    temperatures: tuple[float, ...]
    prompts: int
    repeats: int
    batch_turns: int


EVERYTHING = Plan(("prose", "code"), (0.0, 1.0), 16, 1, 4)
SAMPLE = Plan(("code",), (0.0, 1.0), 4, 1, 2)


def training_texts(data: streams.Streams, kind: str, count: int) -> list[list[int]]:
    """Windows of the training text, as long as a prompt and what follows it."""
    stream = getattr(data, kind)
    starts = np.linspace(0, len(stream) - PROMPT_TOKENS - NEW_TOKENS, count).astype(int)
    return [stream[start : start + PROMPT_TOKENS + NEW_TOKENS].tolist() for start in starts]


def shape_for(pair: Pair, target: CachedModel, sampling: Sampling, texts) -> tuple[int, ...]:
    """The best static tree, from acceptance by depth and rank on texts of the training set."""
    siblings = None if sampling.temperature == 0 else sampling
    wide = broad_shape((4, 2, 1, 1))
    drafter = StaticTreeDrafter(NumpyModel(pair.draft), siblings, wide)
    rng = np.random.default_rng(SEED)
    rounds = [
        round
        for text in texts
        for round in generate_tree(
            target, text[:PROMPT_TOKENS], NEW_TOKENS, rng,
            sampling=sampling, drafter=drafter, nodes=len(wide),
        ).rounds
    ]  # fmt: skip
    return best_tree(tree_acceptance(rounds, LEVELS, 4).falling_rates, 12)


def expected_of_chain(rung: ChainRung, rounds: Sequence[Round], length: int) -> float:
    """E from one α, and from how often and how much was proposed."""
    rate = acceptance(rounds, length).rate
    if rung.always_proposes:
        return float(theory.tokens_per_round(rate, length))
    counts = np.bincount([len(round.drafted) for round in rounds], minlength=length + 1)  # (K + 1,)
    return float(hit_rate.tokens_per_round_by_length(counts / counts.sum(), rate))


def expected_of_tree(rung: TreeRung, rounds: Sequence[Round], nodes: int) -> float:
    """E from rates by depth and rank; of trees that change shape nothing is known."""
    if not rung.has_one_shape:
        return float("nan")
    rates = tree_acceptance(rounds, LEVELS, nodes).rates
    return statistics.mean(expected_tokens(round.parents, rates) for round in rounds)


def chain_rows(rung, kind, temperature, target, prompts, repeats) -> Iterator[LadderRow]:
    sampling = Sampling(temperature)
    run = compare(
        target,
        rung.make(target, sampling),
        prompts,
        draft_lengths=rung.lengths,
        sampling=sampling,
        new_tokens=NEW_TOKENS,
        rng=np.random.default_rng(SEED),
        repeats=repeats,
        verify=rung.verify,
    )
    for length in rung.lengths:
        if (row := chain_row(rung, kind, temperature, run, length)) is not None:
            yield row


def chain_row(rung, kind, temperature, run: Comparison, length: int) -> LadderRow | None:
    """A row, or none where no draft was so long, which is the fate of a gate that stays shut."""
    rounds = [r for prompt in run.speculative[length] for text in prompt for r in text.rounds]
    longest = max(len(round.drafted) for round in rounds)
    if not longest:
        return None
    measured = cell_of(run.plain, run.speculative[length], min(length, longest))
    expected = expected_of_chain(rung, rounds, measured.draft_length)
    return LadderRow(rung.name, 1, kind, temperature, length, measured, expected)


def tree_rows(rung: TreeRung, kind, temperature, target, prompts, repeats) -> Iterator[LadderRow]:
    sampling = Sampling(temperature)
    drafter = rung.make(sampling)

    def way(nodes: int):
        def write(prompt, limit, rng):
            if nodes == 0:
                return generate(target, prompt, limit, rng, sampling=sampling)
            return generate_tree(
                target, prompt, limit, rng, sampling=sampling, drafter=drafter, nodes=nodes
            )

        return write

    ways = {nodes: way(nodes) for nodes in (0, *rung.nodes)}
    rng = np.random.default_rng(SEED)
    runs = take_turns(ways, prompts, new_tokens=NEW_TOKENS, rng=rng, repeats=repeats)
    for nodes in rung.nodes:
        rounds = [r for prompt in runs[nodes] for text in prompt for r in text.rounds]
        rounds = [r for r in rounds if r.parents is not None]
        expected = expected_of_tree(rung, rounds, nodes)
        measured = cell_of(runs[0], runs[nodes], max(len(r.drafted) for r in rounds))
        yield LadderRow(rung.name, 1, kind, temperature, nodes, measured, expected, is_tree=True)


def batch_rows(
    rung: ChainRung | TreeRung, kind, temperature, pair, batch, turns
) -> Iterator[LadderRow]:
    """A rung in a batch, beside plain serving of the same queue."""
    sampling, texts = Sampling(temperature), texts_of(kind, pair)

    def server(most: int, rng) -> Server:
        target = fast_batch(pair.target, batch)
        queue = running_queue(texts, batch, PROMPT_TOKENS, NEW_TOKENS, rng)
        if not most:
            return Server(target, queue, sampling=sampling)
        return rung.serve(target, queue, sampling, most)

    ways = (0, *rung.batch_lengths)
    rngs = np.random.default_rng([SEED, batch]).spawn(len(ways))
    servers = {way: server(way, rng) for way, rng in zip(ways, rngs, strict=True)}
    taken = serve_in_turns(servers, turns, dict.fromkeys(ways, 12))
    is_tree = isinstance(rung, TreeRung)
    for most in rung.batch_lengths:
        turns_taken: Turns = taken[most]
        rounds = [row for turn in turns_taken for row in steady_rounds(turn)]
        longest = max(len(row.drafted) for row in rounds)
        if longest:
            measured = batch_cell(taken[0], turns_taken, min(most, longest))
            if is_tree:
                expected = expected_of_tree(rung, rounds, most)
            else:
                expected = expected_of_chain(rung, rounds, measured.draft_length)
            yield LadderRow(rung.name, batch, kind, temperature, most, measured, expected, is_tree)


def round_costs(pair: Pair, batch: int) -> RoundCosts:
    """c of the draft model and v by draft length, of passes timed alone."""
    rng = np.random.default_rng(SEED)
    if batch == 1:
        target, draft = pair.target_model(), pair.draft_model()
        given = {"past": PAST, "rng": rng, "sampling": plain}
    else:
        target, draft = (
            AllSlots(fast_batch(model, batch), rng, plain) for model in (pair.target, pair.draft)
        )
        given = {"past": PAST, "rng": rng}
    checks = pass_times(target, range(1, 10), repeats=60 if batch == 1 else 8, **given)
    step = pass_times(draft, [1], repeats=300 if batch == 1 else 40, **given)
    costs = {length: checks.over(length + 1) / checks.over(1) for length in range(1, 9)}
    return RoundCosts(step.over(1) / checks.over(1), costs)


def everything(
    plan: Plan,
    pair: Pair,
    data: streams.Streams,
    heads: Path | None,
    only: str,
    shapes: dict[str, tuple[int, ...]],
) -> Iterator[LadderRow]:
    """All rows; the shapes of the static trees are left in ``shapes``."""
    target = pair.target_model()
    tables = NgramTables(np.concatenate([data.code, data.prose]), target.vocabulary, 4)
    costs = {batch: round_costs(pair, batch) for batch in (1, BATCH)}
    for kind in plan.kinds:
        earlier = training_texts(data, kind, 200)
        rungs = (
            *chain_rungs(pair, tables, earlier, costs),
            *head_rungs(load_heads(pair, heads)),
        )
        prompts = prompts_of(kind, plan.prompts, pair)
        for temperature in plan.temperatures:
            for rung in rungs:
                if only in rung.name:
                    yield from chain_rows(rung, kind, temperature, target, prompts, plan.repeats)
            shape = shape_for(pair, target, Sampling(temperature), earlier[:6])
            shapes[f"{kind}, T {temperature:g}"] = shape
            trees = tree_rungs(pair, shape)
            for tree in trees:
                if only in tree.name:
                    yield from tree_rows(tree, kind, temperature, target, prompts, plan.repeats)
            for rung in (*rungs, *trees):
                if only in rung.name:
                    yield from batch_rows(rung, kind, temperature, pair, BATCH, plan.batch_turns)


def table(rows: Sequence[LadderRow]) -> Table:
    shown = [
        {
            "rung": row.rung,
            "text": row.kind,
            "T": f"{row.temperature:g}",
            "B": row.batch,
            "K": row.draft_length,
            "h": row.hit_rate,
            "α": row.acceptance_rate,
            "Kc": row.drafting_cost,
            "v": row.verify_cost,
            "E": row.tokens_per_round,
            "speedup": row.speedup,
            "95 %": "{:.2f}-{:.2f}".format(*row.interval),
            "over predicted": row.speedup / row.predicted,
        }
        for row in rows
    ]
    return Table({name: [row[name] for row in shown] for name in shown[0]}, digits=2)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus in tokens")
    parser.add_argument("--heads", type=Path, help="folder with the heads, if others than ours")
    parser.add_argument("--write", type=Path, metavar="FILE", help="measure everything, store it")
    parser.add_argument("--only", default="", help="rungs whose name has this")
    options = parser.parse_args(arguments)
    pair, data = load_pair(), streams.prepare(options.data)
    plan = EVERYTHING if options.write else SAMPLE
    shapes: dict[str, tuple[int, ...]] = {}
    begun, rows = time.perf_counter(), []
    for row in everything(plan, pair, data, options.heads, options.only, shapes):
        rows.append(row)
        passed = time.perf_counter() - begun
        print(
            f"  {passed:4.0f} s  {row.rung}, {row.kind}, T {row.temperature:g}, B {row.batch}, "
            f"K {row.draft_length}: {row.speedup:.2f}×", flush=True,
        )  # fmt: skip
    print(table(rows))
    errors = [abs(row.speedup / row.predicted - 1) for row in rows if row.predicted > 0]
    print(f"measured against predicted: median |error| {statistics.median(errors):.1%} of "
          f"{len(errors)} rows")  # fmt: skip
    if options.write:
        head = about(checkpoint_hashes()) | {
            "measured_by": "tests/benchmarks/ladder.py",
            "kernels": {"target": kernels_of(pair.target_model()),
                        "draft": kernels_of(pair.draft_model())},
            "static_trees": shapes,
            "tree_levels": {
                rung.name: int(max(depths(shape).max() for shape in shapes.values())) + 1
                if rung.has_one_shape else LEVELS
                for rung in tree_rungs(pair, next(iter(shapes.values())))
            },
        }  # fmt: skip
        store_ladder(options.write, Ladder(head, tuple(rows)))


if __name__ == "__main__":
    main()
