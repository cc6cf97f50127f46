"""The speedup of the pair over all settings, beside the formula.

    python tests/benchmarks/speedup.py                      a sample, half a minute
    python tests/benchmarks/speedup.py --write FILE         everything, for the book

Everything: draft lengths by temperatures by kinds of text on the 80 frozen prompts; then the
settings that are meant to lose. It takes some ten minutes on two quiet cores. Stopped, it goes on
where it was: until it is through, each pass through the prompts is kept in the folder FILE.part.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import platform
import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from specmini import theory
from specmini.checkpoints import Record, load_model
from specmini.drafters import ModelDrafter
from specmini.drafters.early_exit import early_exit
from specmini.engine.cached_model import CachedModel
from specmini.engine.fast_model import FastModel, fast_model
from specmini.gpt import GPT
from specmini.measure import compare
from specmini.measure.cell import Cell, pooled
from specmini.measure.latency import forecast, pass_times
from specmini.measure.results import Setting, Settings, load, store
from specmini.pair import Pair, checkpoint_hashes, load_pair
from specmini.recording.excerpts import frozen
from specmini.sampling import Sampling
from specmini.tables import Table

PROMPT_TOKENS, NEW_TOKENS = 64, 96
PAST = PROMPT_TOKENS + NEW_TOKENS // 2  # tokens seen, on average, when a step is made
SEED = 0


@dataclass(frozen=True)
class Plan:
    """One group of settings that take turns: who drafts, what for, at which lengths."""

    draft: str
    kind: str
    temperature: float
    lengths: tuple[int, ...]
    prompts: int
    repeats: int


def plans(extra_drafts: Sequence[str], repeats: int) -> Iterator[Plan]:
    """Everything that is measured for the book."""
    for temperature in (0.0, 1.0):
        for kind in ("prose", "code"):
            yield Plan("distilled", kind, temperature, (1, 2, 3, 4, 5, 6, 8), 40, repeats)
    for kind in ("prose", "code"):
        for name in extra_drafts:
            yield Plan(name, kind, 1.0, (1, 2, 3, 4), 20, 1)
    # what loses: too long a draft, an unknown kind of text, drafts that cost too much
    yield Plan("distilled", "prose", 1.0, (16, 32), 10, 1)
    yield Plan("distilled", "random bytes", 1.0, (2, 4, 8), 10, 1)
    yield Plan("first two layers", "prose", 1.0, (1, 4, 8), 10, 1)
    yield Plan("the target itself", "prose", 1.0, (1, 4), 10, 1)


def sample() -> Iterator[Plan]:
    """Enough to see whether a change to the engine helped."""
    for temperature in (0.0, 1.0):
        yield Plan("distilled", "code", temperature, (2, 4), 6, 1)


def prompts_of(kind: str, count: int, pair: Pair) -> list[list[int]]:
    """The first tokens of the frozen excerpts, or bytes that no text has."""
    if kind == "random bytes":
        rng = np.random.default_rng(SEED)
        return rng.integers(256, size=(count, PROMPT_TOKENS)).tolist()
    return [pair.tokenizer.encode(one.text)[:PROMPT_TOKENS] for one in frozen(kind)[:count]]


def forecaster(target: CachedModel, draft: CachedModel, sampling: Sampling, lengths: Sequence[int]):
    """Predict a cell's speedup from its acceptance rate and from times measured alone."""
    rng = np.random.default_rng(SEED)
    sizes = [1, *(length + 1 for length in lengths)]
    given = {"past": PAST, "rng": rng, "sampling": sampling}
    target_times = pass_times(target, sizes, repeats=60, **given)
    draft_times = pass_times(draft, [1], repeats=300, **given)
    return lambda cell: forecast(
        cell.acceptance.rate, cell.draft_length, target_times, draft_times
    )  # fmt: skip


class Passes:
    """Results of single passes through the prompts, kept in a folder if there is one.

    Only passes of the same checkpoints, versions, kernels, processor and protocol are found again.
    """

    def __init__(self, folder: Path | None, about: dict[str, object]) -> None:
        self.folder, self.about = folder, about
        if folder:
            folder.mkdir(exist_ok=True)

    def get(self, name: str) -> tuple[Setting, ...] | None:
        path = self.folder / f"{name}.json" if self.folder else None
        if path is None or not path.exists():
            return None
        found = load(path)
        same = found.about | {"date": None} == self.about | {"date": None}
        return found.settings if same else None

    def put(self, name: str, settings: tuple[Setting, ...]) -> None:
        if self.folder:
            unfinished = self.folder / "unfinished"
            store(unfinished, Settings(self.about, settings))
            unfinished.replace(self.folder / f"{name}.json")

    def forget(self) -> None:
        """Remove the folder."""
        if self.folder:
            shutil.rmtree(self.folder)


def measure(plan: Plan, repeat: int, pair: Pair, draft: GPT) -> tuple[Setting, ...]:
    """Run one pass through the prompts of a plan."""
    target, drafting = pair.target_model(), fast_model(draft)
    sampling = Sampling(plan.temperature)
    predict = forecaster(target, drafting, sampling, plan.lengths)
    run = compare(
        target,
        ModelDrafter(drafting, sampling),
        prompts_of(plan.kind, plan.prompts, pair),
        draft_lengths=plan.lengths,
        sampling=sampling,
        new_tokens=NEW_TOKENS,
        rng=np.random.default_rng([SEED, repeat]),
    )
    return tuple(
        Setting(plan.draft, plan.kind, plan.temperature, cell, (cell.speedup,), predict(cell))
        for cell in run.cells
    )


def repeated(plan: Plan, pair: Pair, draft: GPT, passes: Passes) -> list[Setting]:
    """All passes of a plan, as one setting a draft length."""
    every = []
    for repeat in range(plan.repeats):
        lengths = " ".join(map(str, plan.lengths))
        name = (
            f"{plan.draft}, {plan.kind}, T {plan.temperature:g}, K {lengths}, "
            f"{plan.prompts} prompts, pass {repeat}"
        )
        settings = passes.get(name)
        if settings is None:
            settings = measure(plan, repeat, pair, draft)
            passes.put(name, settings)
        print(f"  {name}: " + ", ".join(f"{one.speedups[0]:.2f}×" for one in settings), flush=True)
        every.append(settings)
    return [
        Setting(
            draft=plan.draft,
            kind=plan.kind,
            temperature=plan.temperature,
            cell=pooled([one.cell for one in same]),
            speedups=tuple(one.speedups[0] for one in same),
            forecast=statistics.median(one.forecast for one in same),
        )
        for same in zip(*every, strict=True)
    ]


def processor() -> str:
    """The processor's name, as Linux and the others have it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def about(hashes: dict[str, str]) -> dict[str, object]:
    """What a reader must know to compare: machine, versions, checkpoints."""
    return {
        "measured_by": "tests/benchmarks/speedup.py",
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": 1,
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "torch": metadata.version("torch"),
        "sha256": hashes,
        "prompt_tokens": PROMPT_TOKENS,
        "new_tokens": NEW_TOKENS,
        "seed": SEED,
    }


def shape_of(draft: GPT, record: Record) -> dict[str, int]:
    """How large a draft is, and on how many tokens it was trained."""
    return {
        "layers": draft.config.layers,
        "width": draft.config.width,
        "weights": sum(weight.numel() for weight in draft.parameters()),
        "trained_tokens": record["tokens"],
    }


def kernels_of(engine: CachedModel) -> str:
    """What runs a model here, for one token and for several."""
    if isinstance(engine, FastModel):
        return f"{engine.choice.decoding} / {engine.choice.verification}"
    return type(engine).__name__


def table(settings: Sequence[Setting]) -> Table:
    rows = []
    for one in settings:
        cell: Cell = one.cell
        low, high = cell.interval()
        rows.append(
            {
                "draft": one.draft,
                "text": one.kind,
                "T": f"{one.temperature:g}",
                "K": cell.draft_length,
                "α": cell.acceptance.rate,
                "c": f"{cell.cost_ratio:.3f}",
                "v": cell.verify_cost,
                "E": cell.full.tokens_per_round,
                "r": cell.round_cost,
                "speedup": statistics.median(one.speedups),
                "95 %": f"{low:.2f}-{high:.2f}",
                "over textbook": cell.speedup / cell.predicted.textbook,
                "over formula with v": cell.speedup / cell.predicted.with_verify_cost,
                "over forecast": cell.speedup / one.forecast,
                "bookkeeping": f"{cell.bookkeeping:.1%}",
                "repetition": cell.repetition,
            }
        )
    return Table({name: [row[name] for row in rows] for name in rows[0]}, digits=2)


def conclusions(settings: Sequence[Setting]) -> str:
    """The numbers to reach, for the plain distilled draft."""
    grid = [one for one in settings if one.draft == "distilled" and one.kind in ("prose", "code")]
    lines = []
    for temperature in (0.0, 1.0):
        for kind in ("prose", "code"):
            group = [o for o in grid if (o.temperature, o.kind) == (temperature, kind)]
            if group:
                best = max(group, key=lambda one: statistics.median(one.speedups))
                lines.append(
                    f"{kind}, temperature {temperature:g}: best "
                    f"{statistics.median(best.speedups):.2f}× at K = {best.cell.draft_length}; "
                    f"with this α and c and a check that costs one step, no K gives more than "
                    f"{_ceiling(best.cell):.2f}×"
                )
    with_v = [one.cell.speedup / one.cell.predicted.with_verify_cost for one in grid]
    alone = [one.cell.speedup / one.forecast for one in grid]
    lines.append(
        f"measured over predicted, median of {len(grid)} cells: {statistics.median(with_v):.3f} "
        f"with c and v of the loop, {statistics.median(alone):.3f} for the forecast"
    )
    return "\n".join(lines)


def _ceiling(cell: Cell) -> float:
    """Best speedup of the textbook over all K."""
    rate, cost = cell.acceptance.rate, cell.cost_ratio
    return float(theory.speedup(rate, cost, theory.best_draft_length(rate, cost)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="folder with target and draft.safetensors")
    parser.add_argument("--draft", action="append", default=[], metavar="NAME=FILE",
                        help="another draft checkpoint, for the table of sizes")  # fmt: skip
    parser.add_argument("--write", type=Path, metavar="FILE", help="measure everything, store it")
    parser.add_argument("--repeats", type=int, default=1, help="passes through all prompts")
    options = parser.parse_args()

    pair = load_pair(options.models)
    extra = {name: Path(path) for name, _, path in (one.partition("=") for one in options.draft)}
    sizes = {name: load_model(path) for name, path in extra.items()}
    drafts = {
        "distilled": pair.draft,
        "first two layers": early_exit(pair.target, 2),
        "the target itself": pair.target,
        **{name: model for name, (model, _) in sizes.items()},
    }
    extra_hashes = {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in extra.items()
    }
    head = about(checkpoint_hashes(options.models) | extra_hashes) | {
        "kernels": {name: kernels_of(fast_model(model)) for name, model in drafts.items()}
        | {"target": kernels_of(pair.target_model())},
        "sizes": {
            "distilled": shape_of(pair.draft, pair.records["draft"]),
            **{name: shape_of(*one) for name, one in sizes.items()},
        },
    }
    passes = Passes(
        options.write.with_name(options.write.name + ".part") if options.write else None, head
    )
    chosen = list(plans(list(extra), options.repeats) if options.write else sample())
    settings = [one for plan in chosen for one in repeated(plan, pair, drafts[plan.draft], passes)]
    print(table(settings))
    print(conclusions(settings))
    if options.write:
        store(options.write, Settings(head, tuple(settings)))
        passes.forget()


if __name__ == "__main__":
    main()
