"""Hold the advisor against field reports that it was not fitted to.

    python tests/benchmarks/held_out_reports.py reports.csv

The file has the columns of ``specmini/data/field_reports.csv``, or those of notes on reports, the
second name each in ``COLUMNS``. Rows of tier C and rows without a ratio do not count.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import numpy as np

from specmini.advisor import advise
from specmini.record import FieldReport, read_report

COLUMNS = {
    "machine": "hardware",
    "target": "target_model",
    "weights": "target_dtype",
    "drafter": "draft_or_method",
    "draft_weights": "draft_dtype",
    "draft_length": "K",
    "concurrency": "batch_or_concurrency",
    "acceptance_is": "acceptance_definition",
}


def read(row: dict[str, str]) -> FieldReport:
    """A row in either naming; "p-min 0.8, ..." in its notes means that rounds stop early."""
    cells = dict(row)
    for ours, theirs in COLUMNS.items():
        if theirs in row:
            cells[ours] = row[theirs]
    if re.match(r"p-min [\d.]+[,;]", row.get("notes", "")):
        cells["early_stop"] = "yes"
    return read_report(cells)


def main(path: str) -> None:
    """Print every row and the errors of all."""
    text = Path(path).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(read, csv.DictReader(text)) if not row.left_out and row.tier != "C"]
    told = []
    for row in rows:
        advice = advise(row.configuration)
        told.append((row.speedup, advice.speedup, advice.low, advice.high))
        print(
            f"{row.name:30} measured {row.speedup:.2f}  foretold {advice.speedup:.2f} "
            f"[{advice.low:.2f}, {advice.high:.2f}]  {advice.verdict}"
        )
    measured, foretold, low, high = np.array(told).T
    size, clear = np.abs(foretold / measured - 1), np.abs(measured - 1) > 0.1
    right = (foretold > 1) == (measured > 1)
    print(
        f"{len(rows)} rows: median error {np.median(size):.1%}, 90th {np.quantile(size, 0.9):.1%}"
    )
    print(f"right side of 1: {right.mean():.1%}, clear rows {right[clear].mean():.1%}")
    print(f"in the 80 % interval: {((low <= measured) & (measured <= high)).mean():.1%}")
    print(f"half width: {np.median(high / foretold) - 1:.1%}")


if __name__ == "__main__":
    main(sys.argv[1])
