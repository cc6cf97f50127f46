"""The public grid foretold from its plain runs: which cells come out, which do not, and why.

The plain curve is fitted to the 9 runs without speculation, a cost ratio c for each drafter comes
from its runs at concurrency 1, and E is the measured one. A round then takes
t(n) + K c t(plain pass), with n tokens in its verification. Three readings of "how many sequences
are in the batch" differ only where memory is short, and tell what the curve itself cannot know:

``concurrency``
    what the client asked for: n = C (K + 1).
``memory``
    no more than fit beside the draft's weights and cache: n = min(C, fitting) (K + 1).
``running``
    how many decoded, by Little's law from the cell's own rate and time. Hindsight, not a
    forecast: it uses what it foretells, to separate wrong batch sizes from a wrong curve.

With ``prompts`` each pass also holds the prompt tokens that its output makes room for: s a
sequence and plain pass, s E a sequence and round. This is the engine's scheduler, which mixes
prompts into the passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from specmini import checks
from specmini.checks import FloatArray
from specmini.cost.plain_curve import PlainCurve, fit_plain_curve
from specmini.record.vllm_grid import (
    GridCell,
    cache_pool,
    drafters,
    plain_cells,
    prompt_share,
    speculative_cells,
)

__all__ = ["BATCHES", "ErrorSummary", "GridCrossing", "GridForecast", "forecast_grid"]

BATCHES = ("concurrency", "memory", "running")


@dataclass(frozen=True)
class ErrorSummary:
    """Errors of some cells, as shares of the measured time.

    Attributes:
        cells: how many.
        median: of the absolute errors.
        mean: of the absolute errors.
        largest: the error furthest from 0, with its sign; positive if too slow was foretold.
        within_ten_percent: share of cells with an absolute error of at most 10 %.
    """

    cells: int
    median: float
    mean: float
    largest: float
    within_ten_percent: float


@dataclass(frozen=True)
class GridCrossing:
    """From which concurrency on the server puts out less with drafts than without.

    Attributes:
        draft: who drafts.
        draft_length: K.
        measured: first concurrency with less output; None if there is none in the grid.
        foretold: the same, foretold.
    """

    draft: str
    draft_length: int
    measured: int | None
    foretold: int | None


@dataclass(frozen=True)
class GridForecast:
    """Foretold rounds of all cells with speculation.

    Attributes:
        cells: N cells, in the order of ``speculative_cells``.
        curve: fitted to the plain cells, in milliseconds.
        cost_ratio: c of each drafter, from its cells at concurrency 1.
        batch: sequences that decode at once, shape (N,).
        tokens: drafts and their successors in a verification, B (K + 1), shape (N,).
        round_ms: foretold time of a round, shape (N,).
        plain_batch: sequences that decode at once at the same concurrency without speculation,
            shape (N,).
        plain_ms: foretold time of a plain pass at that batch, shape (N,).
    """

    cells: tuple[GridCell, ...]
    curve: PlainCurve
    cost_ratio: Mapping[str, float]
    batch: FloatArray
    tokens: FloatArray
    round_ms: FloatArray
    plain_batch: FloatArray
    plain_ms: FloatArray

    @property
    def errors(self) -> FloatArray:
        """Foretold over measured time of an output token, minus 1, shape (N,)."""
        return self.round_ms / (self._gained * self._tpot) - 1

    @property
    def tpot_speedup(self) -> FloatArray:
        """Foretold speedup of an output token's time, shape (N,)."""
        return self.plain_ms * self._gained / self.round_ms

    @property
    def throughput_speedup(self) -> FloatArray:
        """Foretold ratio of output rates, shape (N,): what memory takes from the batch counts."""
        return self.tpot_speedup * self.batch / self.plain_batch

    @property
    def calibrated(self) -> NDArray[np.bool_]:
        """Which cells c was taken from, shape (N,)."""
        return np.array([cell.concurrency == 1 for cell in self.cells])

    def summary(self, chosen: Sequence[bool] | NDArray[np.bool_]) -> ErrorSummary:
        """Errors of the chosen cells.

        Args:
            chosen: for each cell whether it counts, shape (N,).

        Raises:
            ValueError: none is chosen, or the shape is another.
        """
        mask = np.asarray(chosen, dtype=bool)
        if mask.shape != self.errors.shape or not mask.any():
            raise ValueError(
                f"chosen must choose some of {len(self.cells)} cells, "
                f"got {int(mask.sum())} of shape {mask.shape}"
            )
        errors = self.errors[mask]
        size = np.abs(errors)
        return ErrorSummary(
            cells=int(mask.sum()),
            median=float(np.median(size)),
            mean=float(size.mean()),
            largest=float(errors[np.argmax(size)]),
            within_ten_percent=float((size <= 0.1).mean()),
        )

    def by_tokens(self, edges: Sequence[float] = (32, 128, 512)) -> dict[str, ErrorSummary]:
        """Errors by how many tokens C (K + 1) the client's concurrency asks of a verification.

        Cells that c was taken from do not count.

        Args:
            edges: upper ends of the groups, rising; one more group takes the rest.

        Raises:
            ValueError: edges do not rise, or a group is empty.
        """
        bounds = [0.0, *edges, np.inf]
        if np.any(np.diff(bounds) <= 0):
            raise ValueError(f"edges must be positive and rise, got {list(edges)}")
        asked = np.array([cell.concurrency * (cell.draft_length + 1) for cell in self.cells])
        groups = {}
        for low, high in pairwise(bounds):
            label = f"{low + 1:.0f} to {high:.0f}" if np.isfinite(high) else f"over {low:.0f}"
            groups[label] = self.summary((asked > low) & (asked <= high) & ~self.calibrated)
        return groups

    def by_draft(self) -> dict[str, ErrorSummary]:
        """Errors by drafter."""
        return {
            draft: self.summary([cell.draft == draft for cell in self.cells])
            for draft in self.cost_ratio
        }

    def crossings(self) -> tuple[GridCrossing, ...]:
        """Where each drafter and K begins to lose output, measured and foretold."""
        told = self.throughput_speedup
        measured: dict[tuple[str, int], int] = {}
        foretold: dict[tuple[str, int], int] = {}
        settings = dict.fromkeys((cell.draft, cell.draft_length) for cell in self.cells)
        for cell, value in zip(self.cells, told, strict=True):  # concurrency rises
            if cell.throughput_speedup < 1:
                measured.setdefault((cell.draft, cell.draft_length), cell.concurrency)
            if value < 1:
                foretold.setdefault((cell.draft, cell.draft_length), cell.concurrency)
        return tuple(
            GridCrossing(*setting, measured.get(setting), foretold.get(setting))
            for setting in settings
        )

    @property
    def _gained(self) -> FloatArray:
        return np.array([cell.tokens_per_round for cell in self.cells])

    @property
    def _tpot(self) -> FloatArray:
        return np.array([cell.mean_tpot_ms for cell in self.cells])


def forecast_grid(batch: str = "concurrency", prompts: bool = False) -> GridForecast:
    """Foretell the rounds of the public grid from its plain runs.

    Args:
        batch: how many sequences decode at once: "concurrency", "memory" or "running".
        prompts: let passes hold prompt tokens beside.

    Raises:
        ValueError: batch is none of the three.
    """
    checks.choice("batch", batch, BATCHES)
    share = prompt_share() if prompts else 0.0
    plain, cells = plain_cells(), speculative_cells()
    plain_batch = _batch(plain, batch)  # (P,)
    curve = fit_plain_curve(plain_batch * (1 + share), [cell.mean_tpot_ms for cell in plain])
    sequences = _batch(cells, batch)  # (N,)
    length = np.array([cell.draft_length for cell in cells])  # (N,)
    gained = np.array([cell.tokens_per_round for cell in cells])  # (N,)
    measured = np.array([cell.mean_itl_ms for cell in cells])  # (N,)
    checking = np.asarray(curve.seconds(sequences * (length + 1 + share * gained)))  # (N,)
    step = np.asarray(curve.seconds(sequences * (1 + share)))  # (N,)
    ratios, drafting = {}, np.empty_like(checking)
    for draft in drafters():
        own = np.array([cell.draft == draft for cell in cells])  # (N,)
        alone = own & np.array([cell.concurrency == 1 for cell in cells])  # (N,)
        drafts = (length * step)[alone]
        # least squares through 0 of what the verification leaves of the round
        ratios[draft] = float(drafts @ (measured - checking)[alone] / (drafts @ drafts))
        drafting[own] = ratios[draft] * (length * step)[own]
    at = {cell.concurrency: size for cell, size in zip(plain, plain_batch, strict=True)}
    plain_at = np.array([at[cell.concurrency] for cell in cells])  # (N,)
    return GridForecast(
        cells=cells,
        curve=curve,
        cost_ratio=ratios,
        batch=sequences,
        tokens=sequences * (length + 1),
        round_ms=checking + drafting,
        plain_batch=plain_at,
        plain_ms=np.asarray(curve.seconds(plain_at * (1 + share))),
    )


def _batch(cells: Sequence[GridCell], batch: str) -> FloatArray:
    if batch == "running":
        return np.array([cell.running for cell in cells])
    asked = np.array([float(cell.concurrency) for cell in cells])
    if batch == "concurrency":
        return asked
    fitting = np.array([cache_pool(cell.draft).sequences for cell in cells])
    return np.asarray(np.minimum(asked, fitting))
