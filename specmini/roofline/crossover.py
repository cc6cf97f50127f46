"""From which batch on speculation loses, and from which context on it no longer does.

A round of K drafts yields E tokens, so it wins as many seconds as E plain steps take beyond K
draft steps and one check: gain(B) = E t(B, 1) - K d(B) - t(B, K + 1). Three stretches of B explain
it for a dense model, with w the seconds to read the weights, g those of a token's arithmetic and
R = w / g the ridge:

* B (K + 1) <= R: all tokens hide behind the weights, speedup E / (1 + K c).
* R / (K + 1) < B <= R: the check pays its arithmetic and the plain step does not yet. At short
  context v = B (K + 1) / R, so speculation loses from B = R (E - K c) / (K + 1) on. This lies in
  the stretch whenever it wins at batch 1, which is E - K c > 1.
* B > R: both pay; every time grows in proportion to B, so what holds here holds for all larger B.
  At short context v = K + 1 > E: loses. But attention reads a sequence's cache once for all K + 1
  tokens, so with k seconds a cached position and free drafts at context C

      E (g + k (C + 1)) - (K + 1) g - k (C + K + 1) >= 0
      <=>  C >= (K + 1 - E) / (E - 1) (1 + g / k):

  from there on it does not lose at any batch. Weights are shared by the batch, caches are not.

Experts add a stretch: at small B a check touches more of them than a plain step, so v is high; it
falls once all are touched anyway, and rises again when arithmetic sets the pace. Speculation can
lose, win and lose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks, theory
from specmini.checks import FloatArray
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import Draft, DraftCost, draft_seconds

__all__ = [
    "Crossover",
    "crossover_batch",
    "largest_batch",
    "never_losing_context",
    "short_context_crossover",
]


TIE = 1e-12  # two sides of a round that agree to this are equal
LARGEST_SCAN = 2**22
LONGEST_CONTEXT = 2**40  # beyond any; a threshold past it is reported as infinite


def short_context_crossover(
    ridge_tokens: ArrayLike,
    acceptance_rate: ArrayLike,
    cost_ratio: ArrayLike,
    draft_length: ArrayLike,
) -> FloatArray:
    """Batch from which on speculation loses on a dense model at short context: R (E - K c)/(K + 1).

    The ridge R times the share of the K + 1 checked tokens that comes out, drafting deducted.

    Args:
        ridge_tokens: R, see ``specmini.roofline.ridge_tokens``, any shape.
        acceptance_rate: alpha in [0, 1], any shape that broadcasts.
        cost_ratio: c in [0, inf), the same at every batch, any shape that broadcasts.
        draft_length: K, whole number >= 1, any shape that broadcasts.

    Returns:
        Real batches, in [R / (K + 1), R) where it wins at small batch. 0 where it never wins
        (E - K c <= 1), ``inf`` where it never loses (alpha = 1 and c = 0).

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.

    Source: derived at the head of ``specmini.roofline.crossover``.
    """
    ridge = checks.positive("ridge_tokens", ridge_tokens)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    cost = checks.non_negative("cost_ratio", cost_ratio)
    tokens = theory.tokens_per_round(acceptance_rate, length)
    checks.broadcast_shape(ridge_tokens=ridge, cost_ratio=cost, tokens=np.asarray(tokens))
    left = tokens - length * cost
    batch = np.where(left > 1.0, ridge * left / (length + 1.0), 0.0)
    return np.where(left >= length + 1.0, np.inf, batch)[()]


@dataclass(frozen=True)
class Crossover:
    """Where speculation loses, over all batches.

    Attributes:
        batch: smallest batch from which on it loses at every larger one too; 1 if it never wins
            and ``math.inf`` if there is none.
        losing: ranges of batches at which it loses, ``(first, last)`` with both included, rising;
            the last of them may end at ``math.inf``.
        largest_batch: largest batch whose caches fit into memory beside weights and drafter; 0 if
            not even the weights do.
    """

    batch: float
    losing: tuple[tuple[int, float], ...]
    largest_batch: int

    @property
    def fits(self) -> bool:
        """Whether memory holds the crossover batch, so that one can get there at all."""
        return self.batch <= self.largest_batch


def crossover_batch(
    target: Deployment, draft: Draft, acceptance_rate: float, draft_length: int, context: int
) -> Crossover:
    """From which batch on speculation loses.

    Every batch is tried up to the one at which arithmetic limits the linear layers of all passes;
    from there on the gain is a straight line in B. So the answer is exact, whatever experts or
    overhead do.

    Args:
        target: the target on its machine.
        draft: a ``DraftCost``, or the cost ratio c in [0, inf) at every batch.
        acceptance_rate: alpha in [0, 1].
        draft_length: K, a whole number >= 1.
        context: positions of each sequence already in the cache, a whole number >= 0.

    Returns:
        A ``Crossover``. Losing is a speedup below 1 by more than rounding.

    Raises:
        ValueError: an argument is out of range or no single number, or the ridge is past 2**22
            tokens.
    """
    rate, length, positions = _single(acceptance_rate, draft_length, context)
    end = _all_arithmetic(target, draft)
    batches = np.append(np.arange(1, end + 1), 2 * end)  # (end + 1,)
    won, at_stake = _gain(target, draft, rate, length, batches, np.asarray(positions))
    losing = _ranges(won[:-1] < -TIE * at_stake[:-1])
    growth = won[-1] - won[-2]
    if abs(growth) <= TIE * at_stake[-1]:
        growth = 0.0
    losing = _continued(losing, end, float(won[-2]), float(growth) / end)
    endless = bool(losing) and losing[-1][1] == math.inf
    return Crossover(
        batch=losing[-1][0] if endless else math.inf,
        losing=tuple(losing),
        largest_batch=int(largest_batch(target, draft, positions + length + 1)),
    )


def never_losing_context(
    target: Deployment, draft: Draft, acceptance_rate: float, draft_length: int
) -> float:
    """Shortest context from which on speculation does not lose however large the batch grows.

    At such a context, and at every longer one, ``crossover_batch`` has no batch from which on it
    loses. On a dense model that wins at batch 1 it then loses at no batch at all (without
    overhead: the gain is 0 at batch 0 of the last stretch and rises from there). For free drafts
    and a cache that is limited by bandwidth it is (K + 1 - E) / (E - 1) (1 + g / k), rounded up.

    Args:
        target: the target on its machine.
        draft: a ``DraftCost``, or the cost ratio c in [0, inf).
        acceptance_rate: alpha in [0, 1].
        draft_length: K, a whole number >= 1.

    Returns:
        Positions, a whole number; ``math.inf`` if it loses at 2**40 positions. What memory holds
        is not asked: see ``largest_batch``.

    Raises:
        ValueError: an argument is out of range or no single number, or the ridge is past 2**22
            tokens.
    """
    rate, length, _ = _single(acceptance_rate, draft_length, 0)
    end = _all_arithmetic(target, draft)

    def loses(contexts: NDArray[np.int64]) -> NDArray[np.bool_]:
        won, _ = _gain(target, draft, rate, length, np.asarray(end), contexts)
        more, at_stake = _gain(target, draft, rate, length, np.asarray(2 * end), contexts)
        return np.asarray(more - won < -TIE * at_stake)

    # Between two neighbours of this grid the slope changes its sign at most once: it is made of
    # straight lines, with a kink where a cache stops to be limited by arithmetic or a window fills.
    spread = np.geomspace(1, LONGEST_CONTEXT, 2000).astype(np.int64)
    grid = np.unique(np.append(spread, 0))  # (G,)
    lost = np.flatnonzero(loses(grid))
    if not lost.size:
        return 0.0
    if lost[-1] == grid.size - 1:
        return math.inf
    low, high = int(grid[lost[-1]]), int(grid[lost[-1] + 1])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if loses(np.asarray(middle)) else (low, middle)
    return float(high)


def largest_batch(target: Deployment, draft: Draft, context: ArrayLike) -> NDArray[np.int64]:
    """Largest batch whose caches fit into memory, beside the weights and the drafter.

    A draft model's weights and cache take memory that could have held more sequences. A drafter
    that is given as a number, or runs on another machine, takes none.

    Args:
        target: the target on its machine.
        draft: a ``DraftCost``, or a number.
        context: positions of each sequence, whole numbers >= 1, any shape.

    Returns:
        Whole numbers, same shape; 0 where not even one sequence fits. Activations and the runtime
        take more memory than is counted here.

    Raises:
        ValueError: ``context`` is out of range.
    """
    positions = checks.whole_number("context", context, minimum=1)
    runs: list[Deployment | DraftCost] = [target]
    if isinstance(draft, DraftCost) and draft.deployment:
        runs += [draft] if draft.deployment.machine == target.machine else []
    one = sum(run.memory_needed(1, positions) for run in runs)
    two = sum(run.memory_needed(2, positions) for run in runs)
    room = target.machine.memory - (2 * one - two)
    batch = np.maximum(np.floor(room / (two - one)), 0.0)
    return np.asarray(batch).astype(np.int64)[()]


def _single(
    acceptance_rate: ArrayLike, draft_length: ArrayLike, context: ArrayLike
) -> tuple[float, int, int]:
    rate = checks.probability("acceptance_rate", acceptance_rate)
    length = checks.whole_number("draft_length", draft_length, minimum=1)
    positions = checks.whole_number("context", context)
    return (
        checks.single("acceptance_rate", rate),
        checks.single("draft_length", length),
        checks.single("context", positions),
    )


def _gain(
    target: Deployment,
    draft: Draft,
    rate: float,
    length: int,
    batch: NDArray[np.int64],
    context: NDArray[np.int64],
) -> tuple[FloatArray, FloatArray]:
    """Seconds that a round wins, and the seconds of plain decoding that it replaces."""
    replaced = theory.tokens_per_round(rate, length) * target.pass_time(batch, 1, context).time
    check = target.pass_time(batch, length + 1, context).time
    drafting = length * draft_seconds(target, draft, batch, context)
    return replaced - drafting - check, replaced


def _all_arithmetic(target: Deployment, draft: Draft) -> int:
    """A batch from which on arithmetic limits the linear layers of every pass of both models."""
    runs = [target]
    if isinstance(draft, DraftCost) and draft.deployment:
        runs.append(draft.deployment)
    end = 1
    for run in runs:
        step, model = run.pass_time(1, 1, 0), run.model
        idle = model.experts.count - step.experts_touched if model.experts else 0
        more = idle * model.expert_layers * model.expert_parameters / run.devices
        reading = (step.weight_bytes + more * run.bytes_per_weight) / run.machine.bandwidth
        multiplying = step.linear_flops / run.machine.peak(run.arithmetic_bits)
        end = max(end, math.ceil(reading / multiplying) + 1)
    if end > LARGEST_SCAN:
        raise ValueError(
            f"target and draft must have their ridge below {LARGEST_SCAN} tokens, got {end}"
        )
    return end


def _ranges(losing: NDArray[np.bool_]) -> list[tuple[int, float]]:
    """Runs of ``True`` as ranges of batches, the first element being batch 1."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], losing, [False]]).astype(np.int8)))
    firsts, lasts = edges[::2] + 1, edges[1::2]
    return [(int(first), float(last)) for first, last in zip(firsts, lasts, strict=True)]


def _continued(
    losing: list[tuple[int, float]], end: int, won: float, slope: float
) -> list[tuple[int, float]]:
    """Continue the ranges past ``end``, from where on the gain is ``won + slope (B - end)``."""
    losing_there = bool(losing) and losing[-1][1] == end
    if losing_there:
        last = math.inf if slope <= 0 else float(math.ceil(end - won / slope) - 1)
        return [*losing[:-1], (losing[-1][0], last)]
    if slope < 0:
        return [*losing, (max(math.floor(end - won / slope), end) + 1, math.inf)]
    return losing
