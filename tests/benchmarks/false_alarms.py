"""How often the audit of an engine raises a false alarm, and how often it catches a small fault.

Run by hand: ``python tests/benchmarks/false_alarms.py``; some minutes. Sound engines are pairs of
samples from one random table; faulty ones differ by the distance that the audit says it would
catch with 90 % chance, in the form that is hardest to see.
"""

import numpy as np

from specmini.engine.table_model import random_table
from specmini.lossless.counts import places
from specmini.lossless.power import least_distance

AUDITS = 2000


def texts(table, count, length, rng):
    """Texts from a table of order 1, (N, J), all at once."""
    cumulated = table.cumsum(1)
    last, found = np.zeros(count, dtype=np.int64), []
    for _ in range(length):
        last = (rng.random(count)[:, None] > cumulated[last]).sum(1)
        found.append(last)
    return np.array(found).T


def false_alarms(vocabulary, concentration, count, level, rng):
    """Share of sound engines that raise an alarm."""
    alarms = 0
    for _ in range(AUDITS):
        table = random_table(vocabulary, 1, rng, concentration)
        samples = texts(table, count, 4, rng), texts(table, count, 4, rng)
        alarms += any(place.adjusted <= level for place in places([samples], level, rng))
    return alarms / AUDITS


def catches(cells, count, level, rng):
    """Share of faulty engines that are caught, where one token is compared."""
    distance = least_distance(count, cells, level)
    shifted = 1 + distance * np.where(np.arange(cells) % 2, 1, -1)
    caught = 0
    for _ in range(AUDITS):
        samples = [
            rng.choice(cells, (count, 1), p=weights / cells) for weights in (shifted, 2 - shifted)
        ]
        (place,) = places([tuple(samples)], level, rng)
        caught += place.adjusted <= level
    return caught / AUDITS


def main() -> None:
    rng = np.random.default_rng(0)
    margin = 2 * (0.05 * 0.95 / AUDITS) ** 0.5
    print(f"false alarms at a level of 5 %, {AUDITS:,} audits, two standard errors {margin:.3f}")
    for vocabulary, concentration in ((2, 1.0), (20, 0.3), (200, 0.1), (200, 1.0)):
        for count in (50, 300):
            share = false_alarms(vocabulary, concentration, count, 0.05, rng)
            print(f"  V = {vocabulary:3d}, rows {concentration:g}, {count:3d} texts: {share:.3f}")
    print("caught at the least distance, 0.9 stated")
    for cells in (2, 20, 80):
        print(f"  {cells:2d} cells, 2,000 texts: {catches(cells, 2000, 0.01, rng):.3f}")


if __name__ == "__main__":
    main()
