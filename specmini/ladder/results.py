"""The ladder, measured: all drafters on one target, each beside its prediction.

``specmini/data/measured_ladder.json`` is written by ``tests/benchmarks/ladder.py``. It holds sums
of rounds and of clocks; what is estimated from them is worked out when read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specmini import json_files
from specmini.checks import FloatArray
from specmini.measure.cell import Cell
from specmini.measure.results import cell_from_json, cell_to_json, data
from specmini.measure.tallies import total

__all__ = ["Ladder", "LadderRow", "load_ladder", "measured_ladder", "store_ladder"]


@dataclass(frozen=True)
class LadderRow:
    """One rung in one setting.

    Attributes:
        rung: who drafts.
        batch: sequences decoded together, B.
        kind: of the prompts.
        temperature: of target and draft.
        draft_length: K, most tokens drafted a round; the most nodes of a tree.
        cell: sums of rounds; of a tree, only clocks and tokens mean something.
        expected_tokens: E of a round as the rung's own theory has it, from acceptance counted in
            these rounds: one α for a chain, the hit rate and the lengths of proposals for a
            lookup, rates by depth and rank for a tree of one shape. NaN for trees that change
            shape: which children a node gets then tells how easy the context is.
        is_tree: whether it drafts trees.
    """

    rung: str
    batch: int
    kind: str
    temperature: float
    draft_length: int
    cell: Cell
    expected_tokens: float
    is_tree: bool = False

    @property
    def hit_rate(self) -> float:
        """h, share of rounds with a proposal."""
        return self.cell.hit_rate

    @property
    def acceptance_rate(self) -> float:
        """α given a proposal; NaN for a tree, which offers several tokens for one place."""
        return float("nan") if self.is_tree else self.cell.acceptance.rate

    @property
    def acceptance_by_position(self) -> FloatArray:
        """(K,) the same by position in the draft."""
        return self.cell.acceptance.rates

    @property
    def tokens_per_round(self) -> float:
        """E as counted, all rounds."""
        return total(self.cell.speculative).tokens_per_round

    @property
    def cost_ratio(self) -> float:
        """c, time in the drafter for each token or node it proposed, in target passes."""
        spent = total(self.cell.speculative)
        return spent.draft_seconds / spent.drafted / self._pass_seconds

    @property
    def drafting_cost(self) -> float:
        """Time in the drafter a round, in target passes; Kc of a chain that always proposes."""
        spent = total(self.cell.speculative)
        return spent.draft_seconds / spent.rounds / self._pass_seconds

    @property
    def verify_cost(self) -> float:
        """v, mean time of a check in target passes over one token."""
        spent = total(self.cell.speculative)
        return spent.target_seconds / spent.rounds / self._pass_seconds

    @property
    def speedup(self) -> float:
        """By the clock."""
        return self.cell.speedup

    @property
    def interval(self) -> tuple[float, float]:
        """Of the speedup, at 95 %."""
        return self.cell.interval()

    @property
    def predicted(self) -> float:
        """Speedup by the formula, E / (drafting cost + v), with ``expected_tokens`` for E."""
        return self.expected_tokens / (self.drafting_cost + self.verify_cost)

    @property
    def _pass_seconds(self) -> float:
        plain = total(self.cell.plain)
        return plain.target_seconds / plain.rounds


@dataclass(frozen=True)
class Ladder:
    """A file of measured rungs.

    Attributes:
        about: machine, versions, checkpoints, date and protocol, as stored.
        rows: in the order of the file.
    """

    about: dict[str, Any]
    rows: tuple[LadderRow, ...]

    @property
    def rungs(self) -> tuple[str, ...]:
        """Names of the rungs, in order."""
        return tuple(dict.fromkeys(row.rung for row in self.rows))

    def select(self, kind: str, temperature: float, batch: int = 1) -> tuple[LadderRow, ...]:
        """All rows of one setting.

        Raises:
            ValueError: there are none.
        """
        wanted = (kind, temperature, batch)
        found = [row for row in self.rows if (row.kind, row.temperature, row.batch) == wanted]
        if not found:
            known = sorted({(row.kind, row.temperature, row.batch) for row in self.rows})
            raise ValueError(f"kind, temperature, batch must be among {known}, got {wanted}")
        return tuple(found)

    def best(self, kind: str, temperature: float, batch: int = 1) -> dict[str, LadderRow]:
        """Each rung at the draft length with which it was fastest, by name.

        Raises:
            ValueError: nothing was measured there.
        """
        found: dict[str, LadderRow] = {}
        for row in self.select(kind, temperature, batch):
            if row.rung not in found or row.speedup > found[row.rung].speedup:
                found[row.rung] = row
        return found


def measured_ladder() -> Ladder:
    """The ladder that was measured for the book, on the package's target."""
    return load_ladder(data / "measured_ladder.json")


def store_ladder(path: Path, ladder: Ladder) -> None:
    """Write a ladder as JSON, a line a row; the file is replaced in one step."""
    rows = [
        {"rung": row.rung, "batch": row.batch, "kind": row.kind,
         "temperature": row.temperature, "most": row.draft_length, "is_tree": row.is_tree,
         "expected_tokens": round(row.expected_tokens, 4), **cell_to_json(row.cell)}
        for row in ladder.rows
    ]  # fmt: skip
    json_files.write_rows(path, ladder.about, "rows", rows)


def load_ladder(path: Path) -> Ladder:
    """Read what ``store_ladder`` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is something else; the message names file and field.
    """
    about, rows = json_files.read_rows(path, "rows")
    with json_files.expected(path, "rows as store_ladder writes them"):
        return Ladder(
            about,
            tuple(
                LadderRow(
                    rung=row["rung"],
                    batch=row["batch"],
                    kind=row["kind"],
                    temperature=row["temperature"],
                    draft_length=row["most"],
                    cell=cell_from_json(row),
                    expected_tokens=row["expected_tokens"],
                    is_tree=row["is_tree"],
                )
                for row in rows
            ),
        )
