"""Two samples of texts, compared place by place: what was counted, and how surprising it is.

At each place, a token or two neighboring tokens, both samples are counted and compared by
chi-square. Where nothing differs, every way to deal the counted texts out to the two sources is
equally likely, so the statistic is compared with such deals, drawn at random (Fisher's
randomization; with the observed deal among them the chance is never too small: Phipson and Smyth
2010, doi 10.2202/1544-6115.1585). That needs no large counts and no formula for the tail. Several
places are judged together after Holm 1979 ("A simple sequentially rejective multiple test
procedure", Scandinavian Journal of Statistics 6(2)): the chance that any of them raises an alarm,
though nothing differs, is at most the stated level, however the places depend on each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from specmini.checks import IntArray
from specmini.lossless.power import least_distance

__all__ = ["Place", "Text", "coded", "holm", "places"]

Text: TypeAlias = Sequence[Hashable]

RARE = 10  # outcomes counted less often, in both samples together, share a cell
GROUPS = 8  # such cells at most: one would hide what happens among rare tokens
DEALS = 1_000_000  # cells of random deals that are held in memory at once


@dataclass(frozen=True)
class Place:
    """What two samples have at one place of the text.

    Attributes:
        prompt: number of the prompt, from 0.
        position: of the token after the prompt, from 1; the first of two.
        width: 1 for a token, 2 for a token and the next.
        cells: outcomes told apart; rare ones share a few.
        rare: share of the texts whose outcome was rare.
        distance: total variation distance of the two samples, in [0, 1].
        distance_by_chance: the same, on average, if nothing differs.
        chance: of a statistic as large, if nothing differs: the p-value.
        adjusted: the same after Holm's correction; at or below the level is an alarm.
        least_distance: true distance that would be caught here with 90 % chance.
    """

    prompt: int
    position: int
    width: int
    cells: int
    rare: float
    distance: float
    distance_by_chance: float
    chance: float
    adjusted: float
    least_distance: float

    @property
    def name(self) -> str:
        """Such as ``token 2`` or ``tokens 2 and 3``."""
        if self.width == 1:
            return f"token {self.position}"
        return f"tokens {self.position} and {self.position + 1}"


def coded(plain: Sequence[Text], speculative: Sequence[Text], length: int) -> tuple[IntArray, ...]:
    """Both samples as numbers, (N, length) and (M, length); 0 stands behind a text's end.

    Args:
        plain: N texts; what is longer than ``length`` is not looked at.
        speculative: M texts.
        length: tokens to look at.
    """
    seen = {token for texts in (plain, speculative) for text in texts for token in text[:length]}
    # not in the order of appearance: groups of rare tokens must not know who wrote them
    codes = {token: code for code, token in enumerate(sorted(seen, key=repr), start=1)}
    tables = []
    for texts in (plain, speculative):
        table = np.zeros((len(texts), length), dtype=np.int64)  # (N, length)
        for row, text in zip(table, texts, strict=True):
            found = [codes[token] for token in text[:length]]
            row[: len(found)] = found
        tables.append(table)
    return tuple(tables)


def places(
    samples: Sequence[tuple[IntArray, IntArray]], level: float, rng: np.random.Generator
) -> tuple[Place, ...]:
    """Compare two samples at each token and at each two neighbors, for each prompt.

    Args:
        samples: for each prompt the two tables of ``coded``.
        level: chance of a false alarm over all places, in (0, 1).
        rng: deals the texts out.
    """
    asked = [
        (prompt, position, width)
        for prompt, (plain, _) in enumerate(samples)
        for width in (1, 2)
        for position in range(plain.shape[1] - width + 1)
    ]
    each = level / len(asked)  # the strictest that Holm's procedure may ask for
    deals = max(999, int(np.ceil(10 / each)))  # so ten deals or fewer are an alarm
    found = []
    for prompt, position, width in asked:
        plain, speculative = (table[:, position : position + width] for table in samples[prompt])
        counts, rare = _cells(plain, speculative)  # (2, C)
        chance, by_chance = _dealt(counts, deals, rng)
        smaller = min(len(plain), len(speculative))
        found.append(
            Place(
                prompt=prompt,
                position=position + 1,
                width=width,
                cells=counts.shape[1],
                rare=rare,
                distance=float(_distance(counts[0], counts[1])),
                distance_by_chance=by_chance,
                chance=chance,
                adjusted=chance,
                least_distance=least_distance(smaller, counts.shape[1], each),
            )
        )
    adjusted = holm([place.chance for place in found])
    return tuple(
        Place(**{**vars(place), "adjusted": value})
        for place, value in zip(found, adjusted, strict=True)
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Chances adjusted so that comparing each with a level keeps that level for all together."""
    adjusted, largest = [0.0] * len(chances), 0.0
    for rank, index in enumerate(np.argsort(chances, kind="stable")):
        largest = max(largest, min((len(chances) - rank) * chances[index], 1.0))
        adjusted[index] = largest
    return adjusted


def _cells(plain: IntArray, speculative: IntArray) -> tuple[IntArray, float]:
    """Counts of both samples, (2, C), rare outcomes in groups at the end; and their share."""
    _, cell = np.unique(np.concatenate([plain, speculative]), axis=0, return_inverse=True)
    cell = cell.ravel()  # (N + M,)
    counts = np.stack(
        [np.bincount(part, minlength=cell.max() + 1) for part in np.split(cell, [len(plain)])]
    )  # (2, C)
    is_rare = counts.sum(0) < RARE
    if not is_rare.any():
        return counts, 0.0
    left = counts[:, is_rare]  # (2, R)
    groups = int(np.clip(left.sum() // (4 * RARE), 1, GROUPS))
    shared = np.stack([left[:, group::groups].sum(1) for group in range(groups)], axis=1)  # (2, G)
    shared = shared[:, shared.sum(0) > 0]
    return np.hstack([counts[:, ~is_rare], shared]), float(left.sum() / len(cell))


def _dealt(counts: IntArray, deals: int, rng: np.random.Generator) -> tuple[float, float]:
    """Chance of a statistic as large under random deals, and the mean distance under them."""
    total, size = counts.sum(0), int(counts[0].sum())
    observed = _statistic(counts[0], counts[1])
    as_large, distance, left = 0, 0.0, deals
    while left:
        block = min(left, max(DEALS // len(total), 1))
        plain = rng.multivariate_hypergeometric(total, size, block, method="marginals")  # (B, C)
        statistics = _statistic(plain, total - plain)  # (B,)
        # equal tables may differ in the last digit
        as_large += int((statistics >= observed * (1 - 1e-12)).sum())
        distance += float(_distance(plain, total - plain).sum())
        left -= block
    return (as_large + 1) / (deals + 1), distance / deals


def _statistic(plain: IntArray, speculative: IntArray) -> NDArray[np.float64]:
    """Chi-square of two samples, over the last axis."""
    sizes = plain.sum(-1, keepdims=True), speculative.sum(-1, keepdims=True)
    scaled = plain * np.sqrt(sizes[1] / sizes[0]) - speculative * np.sqrt(sizes[0] / sizes[1])
    result: NDArray[np.float64] = (scaled**2 / (plain + speculative)).sum(-1)
    return result


def _distance(plain: IntArray, speculative: IntArray) -> NDArray[np.float64]:
    """Total variation distance of two samples, over the last axis."""
    first, second = (one / one.sum(-1, keepdims=True) for one in (plain, speculative))
    result: NDArray[np.float64] = np.abs(first - second).sum(-1) / 2
    return result
