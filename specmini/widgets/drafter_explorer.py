"""The drafter explorer: a drafter of one's own on the map of acceptance rate against cost."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import Any, ClassVar

import numpy as np
import traitlets

from specmini.record.published_drafters import published_drafters
from specmini.theory import drafter_map, hit_rate
from specmini.theory.drafter_map import DrafterPoint, speedup_at
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import RANGES, Number, SettingError, Switch, refuse, with_keys

LENGTHS = np.arange(RANGES["K"].high + 1, dtype=np.int64)
SETTINGS = ("alpha", "c", "v", "h")
# How the page has a point: the names of the widget's own settings, and digits enough that the page,
# which shows three, rounds as Python does.
KEYS = ("name", "alpha", "c", "K", "speedup", "engine", "measured", "tree", "exact")
DIGITS = 6


class DrafterExplorer(PageWidget):
    """Speedup and best K of a drafter, what would improve it, and which known drafters are near.

    Attributes:
        alpha: acceptance rate given a proposal, 0 to 1.
        c: cost ratio, 0 to 1.
        v: verify cost, 1 to 8, the same for every K.
        h: hit rate, share of rounds with a proposal, 0 to 1.
        K: draft length, a whole number from 0 to 16.
        best: whether K follows the other settings, so that it is always the best; setting K to
            another number turns it off. On unless K is given.
        points: the drafters of the map, ``DrafterPoint`` or dicts of ``KEYS``; those of
            ``published_drafters()`` if not given.

    Raises:
        ValueError: a setting is not in its range, K is given and ``best`` says otherwise, or a
            point is malformed (also a ``traitlets.TraitError``).
    """

    script_name: ClassVar[str] = "drafters"

    alpha = Number("alpha", 0.8)
    c = Number("c", 0.05)
    v = Number("v", 1.0)
    h = Number("h", 1.0)
    K = Number("K", 0)
    best = Switch(True)
    points: Any = traitlets.List().tag(sync=True, page=True)

    def __init__(self, **settings: Any) -> None:
        asked = settings.get("K")
        if asked is not None:
            settings = {"best": False, **settings}
        super().__init__(**settings)
        if settings.get("best") and asked not in (None, self.best_draft_length):
            raise SettingError(
                f"K must be {self.best_draft_length}, the best here, if best, got {asked}"
            )
        self._follow(None)

    @traitlets.default("points")
    def _of_the_package(self) -> list[dict[str, Any]]:
        return _checked(published_drafters())

    @traitlets.validate("points")
    def _well_formed(self, proposal: Any) -> list[dict[str, Any]]:
        return _checked(proposal["value"])

    @traitlets.observe("best", *SETTINGS)
    def _follow(self, _: Any) -> None:
        if self.best:
            self.K = self.best_draft_length

    @traitlets.observe("K")
    def _leave_the_best(self, _: Any) -> None:
        if self.best and self.best_draft_length != self.K:
            self.best = False

    @property
    def tokens_per_round(self) -> float:
        """E, over rounds with a proposal and those without."""
        if self.K == 0:
            return 1.0
        return float(hit_rate.tokens_per_round(self.h, self.alpha, self.K))

    @property
    def round_cost(self) -> float:
        """R in plain steps, over rounds with a proposal and those without."""
        return float(hit_rate.round_cost(self.h, self.c, self.K, self.v)) if self.K else 1.0

    @property
    def speedup(self) -> float:
        """Speedup over plain decoding at ``K``."""
        return float(speedup_at(self.alpha, self.c, self.K, self.v, self.h))

    @property
    def best_draft_length(self) -> int:
        """The draft length from 0 to 16 with the largest speedup; 0 means plain decoding."""
        return int(LENGTHS[np.argmax(self._speedups(self.alpha, self.c))])

    @property
    def best_speedup(self) -> float:
        """The speedup at that draft length."""
        return float(self._speedups(self.alpha, self.c).max())

    @property
    def with_half_the_price(self) -> float:
        """The best speedup if a draft step took half the time."""
        return float(self._speedups(self.alpha, self.c / 2).max())

    @property
    def with_half_the_misses(self) -> float:
        """The best speedup if half as many drafts were rejected."""
        return float(self._speedups((1 + self.alpha) / 2, self.c).max())

    @property
    def near(self) -> tuple[str, ...]:
        """Names of the three drafters that stand nearest, nearest first."""
        known = [
            DrafterPoint(
                point["name"], "", point["alpha"], point["c"], point["K"], point["speedup"], ""
            )
            for point in self.points
        ]
        return tuple(one.name for one in drafter_map.nearest(known, self.alpha, self.c))

    def _speedups(self, alpha: float, c: float) -> Any:
        return speedup_at(alpha, c, LENGTHS, self.v, self.h)

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in ("alpha", "c")]
        shown += [
            f"{name}={getattr(self, name)!r}" for name in ("v", "h") if getattr(self, name) != 1
        ]
        shown += [] if self.best else [f"K={self.K!r}"]
        return f"DrafterExplorer({', '.join(shown)})"

    def fallback_html(self) -> str:
        """Return the drafters of the map as a table, and the setting in words."""
        rows = "".join(
            f"<tr><td>{escape(point['name'])}</td><td>{point['alpha']:.2f}</td>"
            f"<td>{point['c']:.3f}</td><td>{point['K']}</td><td>{point['speedup']:.2f}×</td></tr>"
            for point in self.points
        )
        heads = ("drafter", "α", "cost", "K", "speedup")
        head = "".join(f'<th scope="col">{name}</th>' for name in heads)
        caption = (
            f"At acceptance rate α = {self.alpha:g}, cost ratio c = {self.c:g}, verify cost v = "
            f"{self.v:g} and hit rate h = {self.h:g}, K = {self.K} gives {self.speedup:.2f}×; best "
            f"is K = {self.best_draft_length} with {self.best_speedup:.2f}×. Half the price would "
            f"give {self.with_half_the_price:.2f}×, half the misses "
            f"{self.with_half_the_misses:.2f}×. Known drafters, published or measured, with "
            f"their acceptance rate α, the cost of a draft in plain steps, and K, of a tree its "
            f"levels; with JavaScript they stand on a map."
        )
        return (
            f'<div class="sm-fallback sm-fallback-drafters"><table><caption>{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def _checked(given: Any) -> list[dict[str, Any]]:
    """Points as the page has them.

    Raises:
        SettingError: says what is malformed, and where.
    """
    if not isinstance(given, (list, tuple)):
        refuse("points", "be a list of drafters", given)
    found = [_checked_point(f"points[{index}]", one) for index, one in enumerate(given)]
    names = [point["name"] for point in found]
    if len(set(names)) < len(names):
        refuse("points", "hold each name once", names)
    return found


def _checked_point(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, DrafterPoint):
        row = asdict(given)
        given = {
            "name": row["name"],
            "alpha": row["acceptance_rate"],
            "c": row["cost_ratio"],
            "K": row["draft_length"],
            **{key: row[key] for key in ("speedup", "engine", "tree", "exact")},
            "measured": not row["source"],
        }
    point = with_keys(name, given, KEYS)
    for key in ("name", "engine"):
        if not isinstance(point[key], str):
            refuse(f"{name}[{key!r}]", "be a string", point[key])
    for key in ("measured", "tree", "exact"):
        if not isinstance(point[key], bool):
            refuse(f"{name}[{key!r}]", "be True or False", point[key])
    for key in ("alpha", "c", "speedup"):
        value = point[key]
        number = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
        if not number or not np.isfinite(value):
            refuse(f"{name}[{key!r}]", "be a number", value)
        point[key] = round(float(value), DIGITS)
    for key in ("alpha", "K"):
        point[key] = RANGES[key].checked(f"{name}[{key!r}]", point[key])
    if point["K"] < 1:
        refuse(f"{name}['K']", "be at least 1", point["K"])
    return point
