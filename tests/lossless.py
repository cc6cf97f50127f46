"""Walk every branch of the engine, and other instruments of the proof that it loses nothing.

``outcomes`` runs a function once for each way its random choices can fall and adds up the chance
of each result. With it the distribution of generated text is a sum of products, not an estimate:
no draws, no noise, errors of 1e-9 show. It replaces two things, the uniform number (by one that
is compared symbolically) and ``draw`` (by a choice among the positive weights); that ``draw``
itself is right is shown on its own in ``test_sampling``.
"""

from __future__ import annotations

import math
import types
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import specmini.drafters.model
import specmini.drafters.sapling
import specmini.drafters.tree
import specmini.generate
import specmini.generate_tree
import specmini.verify.block
import specmini.verify.chain
import specmini.verify.tree
from specmini.engine.table_model import TableModel
from specmini.sampling import Sampling
from specmini.verify import Draft, Verdict

Tokens = tuple[int, ...]


# --- every branch -----------------------------------------------------------------------------


class Walker:
    """A source of randomness that takes a given branch at each choice and knows its chance."""

    def __init__(self, branches: Sequence[int]) -> None:
        self.branches, self.probability = branches, 1.0
        self.taken: list[int] = []
        self.widths: list[int] = []

    def choose(self, weights: Iterable[float]) -> int:
        """Take the next branch among the indices with a positive weight."""
        weights = [float(weight) for weight in weights]
        possible = [index for index, weight in enumerate(weights) if weight > 0]
        depth = len(self.taken)
        branch = self.branches[depth] if depth < len(self.branches) else 0
        self.taken.append(branch)
        self.widths.append(len(possible))
        self.probability *= weights[possible[branch]] / math.fsum(weights)
        return possible[branch]

    def random(self) -> Uniform:
        return Uniform(self)


class Uniform:
    """A number in [0, 1) that is only known as far as it was compared."""

    def __init__(self, walker: Walker) -> None:
        self.walker, self.low, self.high = walker, 0.0, 1.0

    def __mul__(self, factor: float) -> Multiple:
        return Multiple(self, float(factor))

    def __ge__(self, bound: float) -> bool:
        below = min(max((float(bound) - self.low) / (self.high - self.low), 0.0), 1.0)
        is_above = self.walker.choose([below, 1.0 - below]) == 1
        edge = self.low + below * (self.high - self.low)
        self.low, self.high = (edge, self.high) if is_above else (self.low, edge)
        return is_above

    __gt__ = __ge__  # a single value has no probability


class Multiple:
    """A uniform number times a constant."""

    def __init__(self, uniform: Uniform, factor: float) -> None:
        self.uniform, self.factor = uniform, factor

    def __ge__(self, bound: float) -> bool:
        return self.uniform >= bound / self.factor if self.factor else bound <= 0

    def __lt__(self, bound: float) -> bool:
        return not self >= bound

    __gt__ = __ge__


def outcomes(run: Callable[[Walker], Hashable]) -> dict[Any, float]:
    """The exact chance of each result of ``run``, by taking every branch once."""
    chances: dict[Any, float] = Counter()
    branches: list[int] = []
    while True:
        walker = Walker(branches)
        chances[run(walker)] += walker.probability
        branches, widths = walker.taken, walker.widths
        while branches and branches[-1] == widths[len(branches) - 1] - 1:
            branches.pop()
        if not branches:
            return chances
        branches[-1] += 1


def edge(holds: Callable[[float], bool]) -> float:
    """The share of uniform numbers at which something holds that holds below an edge only."""
    if not holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(53):  # as fine as the numbers of a generator
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


# --- the engine, whole or broken on purpose ---------------------------------------------------


@dataclass(frozen=True)
class Breakage:
    """A plausible mistake: in a module, some code replaced by other code."""

    module: types.ModuleType
    right: str
    wrong: str


@dataclass
class Engine:
    """Copies of the engine's modules, compiled from their source."""

    verify: types.ModuleType
    block_verify: types.ModuleType
    tree: types.ModuleType
    model_drafter: types.ModuleType
    sapling: types.ModuleType
    tree_drafter: types.ModuleType
    generate: types.ModuleType
    generate_tree: types.ModuleType

    @classmethod
    def load(cls, *breakages: Breakage) -> Engine:
        modules = (
            specmini.verify.chain,
            specmini.verify.block,
            specmini.verify.tree,
            specmini.drafters.model,
            specmini.drafters.sapling,
            specmini.drafters.tree,
            specmini.generate,
            specmini.generate_tree,
        )
        engine = cls(*(copied(module, breakages) for module in modules))
        engine.tree_drafter.Sapling = engine.sapling.Sapling
        engine.generate.generate.__kwdefaults__["verify"] = engine.verify.verify
        engine.generate_tree.generate_tree.__kwdefaults__["verify"] = engine.tree.verify_tree
        return engine

    def walked(self) -> Engine:
        """The same with ``draw`` as a choice that a ``Walker`` can follow."""
        drawing = self.verify, self.block_verify, self.tree, self.model_drafter, self.sapling
        for module in drawing:
            module.draw = lambda weights, rng: rng.choose(weights)
        return self


def copied(module: types.ModuleType, breakages: Sequence[Breakage]) -> types.ModuleType:
    source = Path(module.__file__).read_text()
    for breakage in breakages:
        if breakage.module is module:
            assert source.count(breakage.right) == 1, breakage.right
            source = source.replace(breakage.right, breakage.wrong)
    copy = types.ModuleType(module.__name__)
    exec(compile(source, module.__file__, "exec"), copy.__dict__)
    return copy


# --- what should come out ---------------------------------------------------------------------


def exact_text(
    table: np.ndarray,
    sampling: Sampling,
    prompt: Tokens,
    new_tokens: int,
    stop_tokens: Sequence[int] = (),
) -> dict[Tokens, float]:
    """The chance of every text: the product of the target's conditional distributions."""
    chances: dict[Tokens, float] = {}
    model = TableModel(table)

    def extend(text: Tokens, chance: float) -> None:
        new = text[len(prompt) :]
        if len(new) == new_tokens or (new and new[-1] in stop_tokens):
            chances[new] = chance
            return
        model.truncate(0)
        for token, p in enumerate(sampling.probs(model.forward(text)[-1])):
            if p > 0:
                extend((*text, token), chance * p)

    extend(prompt, 1.0)
    return chances


def awkward_tables() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Target and draft with zeros and certainties, each row once the one that texts begin with.

    Disjoint supports, p certain where q is not, q certain where p is not, equal rows.
    """
    target = np.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], [0.25] * 4])
    draft = np.array([[0, 0, 0.5, 0.5], [0.7, 0.1, 0.1, 0.1], [1, 0, 0, 0], [0.25] * 4])
    for start in range(4):
        order = [start, *(i for i in range(4) if i != start)]  # texts begin at token 0
        yield target[np.ix_(order, order)], draft[np.ix_(order, order)]


def largest_error(found: dict[Any, float], right: dict[Any, float]) -> float:
    """Largest difference of two distributions at one outcome."""
    return max(abs(found.get(key, 0.0) - right.get(key, 0.0)) for key in {*found, *right})


def chi_square_chance(counts: np.ndarray, chances: np.ndarray) -> float:
    """Chance of a chi-square statistic at least as large, if ``chances`` are right.

    Args:
        counts: (S, V) how often each outcome followed each state; states are independent.
        chances: (S, V) how often it should: each row sums to 1.

    Outcomes that expect fewer than 50 are pooled, so that the chi-square distribution fits far
    out in its tail; one that cannot happen must not have. An odd number of degrees of freedom is
    taken one higher, where the tail is a finite sum and, if anything, too heavy.
    """
    if counts[chances == 0].any():
        return 0.0
    half, freedom = 0.0, 0
    for counted, expected in zip(counts, chances * counts.sum(1, keepdims=True), strict=True):
        order = np.argsort(expected)
        pooled = np.searchsorted(expected[order].cumsum(), 50) + 1  # the fewest that reach 50
        cells, means = (
            np.append(row[order][:pooled].sum(), row[order][pooled:]) for row in (counted, expected)
        )
        if means[0] >= 50:
            half += float(((cells - means) ** 2 / means).sum()) / 2
            freedom += len(cells) - 1
    assert half > 0, "nothing was compared"
    terms = range(math.ceil(freedom / 2))
    return math.fsum(math.exp(j * math.log(half) - math.lgamma(j + 1) - half) for j in terms)


def drawn_verdicts_chance(
    verify: Callable[..., Verdict],
    tables: Sequence[np.ndarray],
    sampling: Sampling,
    rule: str,
    draws: int,
    seed: int = 1,
) -> float:
    """Draft two tokens many times, and compare the texts of three that come of it by chi-square.

    Args:
        verify: the function under test.
        tables: two of order 2, the target's and the draft's; texts begin after (0, 0).
        sampling: applied to both.
        rule: what is drafted and what ``verify`` is told, as in ``ModelDrafter``.
        draws: how many drafts.
        seed: of all randomness.
    """
    with np.errstate(divide="ignore"):
        p, q = (sampling.probs(np.log(table)) for table in tables)  # (V, V, V)
    rng = np.random.default_rng(seed)
    drafted = q[0, 0][:, None] * q[0]  # (V, V) chance of each two tokens
    if rule == "greedy draft":
        likeliest = q[0, 0].argmax(), q[0, q[0, 0].argmax()].argmax()
        drafted = np.zeros_like(drafted)
        drafted[likeliest] = 1.0
    partial: Counter[Tokens] = Counter()
    often = rng.multinomial(draws, drafted.ravel()).reshape(drafted.shape)
    for (a, b), times in np.ndenumerate(often):
        if not times:
            continue
        rows = np.array([p[0, 0], p[0, a], p[a, b]])
        shown = np.array([q[0, 0], q[0, a]]) if rule == "textbook" else None
        draft = Draft(np.array([a, b]), shown)
        for _ in range(times):
            verdict = verify(rows, draft, rng)
            partial[*(a, b)[: verdict.n_accepted], verdict.next_token] += 1
    counts = np.zeros_like(p)
    for text, times in partial.items():  # what a round does not write is written by the target
        rest = {1: p[0, text[0]][:, None] * p[text[0]], 2: p[text[-2:]], 3: np.ones(())}[len(text)]
        counts[text] += rng.multinomial(times, rest.ravel()).reshape(rest.shape)
    joint = p[0, 0][:, None, None] * p[0][:, :, None] * p
    return chi_square_chance(counts.reshape(1, -1), joint.reshape(1, -1))


# --- drafters and models that misbehave or watch ----------------------------------------------


@dataclass
class ScriptedRandom:
    """Gives the numbers it was given, and counts them."""

    numbers: Iterator[float] | Sequence[float]
    used: int = 0

    def random(self) -> float:
        self.numbers = iter(self.numbers)
        self.used += 1
        return next(self.numbers)


@dataclass
class Watched:
    """A seeded generator that remembers what it gave."""

    seed: int
    given: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def random(self) -> float:
        self.given.append(self.rng.random())
        return self.given[-1]


@dataclass
class FunctionDrafter:
    """Proposes what a function of the text and the length says, with certainty."""

    guess: Callable[[Sequence[int], int], Sequence[int]]
    verdicts: list[Verdict] = field(default_factory=list)

    def propose(self, text: Sequence[int], draft_length: int, rng: Any) -> Draft:
        return Draft(np.array(self.guess(text, draft_length), dtype=np.int64))

    def observe(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)


class SpyModel(TableModel):
    """A table model that shows what it has seen and counts what it was asked."""

    def __init__(self, table: np.ndarray, context: int = 256) -> None:
        super().__init__(table, context)
        self.passes: list[tuple[int, Tokens]] = []

    @property
    def seen(self) -> list[int]:
        return list(self._seen)

    def forward(self, tokens: Sequence[int]) -> np.ndarray:
        self.passes.append((self.length, tuple(tokens)))
        return super().forward(tokens)
