"""The speedup explorer: acceptance, cost, draft length and batch in, speedup and verdict out."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from specmini import catalog, theory
from specmini.checks import shown
from specmini.widgets.load import LoadWidget
from specmini.widgets.settings import RANGES, Number, SettingError

CONTROLS = ("alpha", "c", "K", "batch")
LOAD = ("machine", "model", "context", "weight_bits", "devices")
LENGTHS = np.arange(RANGES["K"].high + 1, dtype=np.int64)
FALLBACK_LENGTHS = (0, 1, 2, 3, 4, 5, 6, 8, 12, 16)


class SpeedupExplorer(LoadWidget):
    """Speedup against draft length, for one acceptance rate, cost ratio and load.

    The verify cost comes from the roofline of ``machine`` and ``model`` at this batch and context,
    with a 16-bit cache and 16-bit arithmetic.

    Attributes:
        alpha: acceptance rate, 0 to 1.
        c: cost ratio, draft step over target step, 0 to 1.
        K: draft length, a whole number from 0 to 16.
        controls: which of ``alpha``, ``c``, ``K``, ``batch`` the reader can move; what the passes
            run on (see ``LoadWidget``) appears with ``batch``.

    Raises:
        ValueError: a setting is not in its range, or the machine and the model do not allow it
            (also a ``traitlets.TraitError``).
    """

    script_name: ClassVar[str] = "explorer"

    alpha = Number("alpha", 0.8)
    c = Number("c", 0.1)
    K = Number("K", 4)
    controls = traitlets.List(traitlets.Unicode(), default_value=list(CONTROLS)).tag(
        sync=True, page=True
    )

    @traitlets.validate("controls")
    def _known_controls(self, proposal: Any) -> list[str]:
        given = list(proposal["value"])
        if unknown := [name for name in given if name not in CONTROLS]:
            raise SettingError(
                f"controls must be some of {', '.join(CONTROLS)}, got {shown(unknown[0])}"
            )
        return given

    @property
    def verify_cost(self) -> float:
        """Time to check ``K + 1`` positions over the time of one plain step."""
        return float(self._verify_costs(self.K))

    @property
    def round_cost(self) -> float:
        """Cost of a round in plain steps."""
        return float(theory.round_cost(self.c, self.K, self.verify_cost))

    @property
    def tokens_per_round(self) -> float:
        """Tokens that a round writes on average."""
        return float(theory.tokens_per_round(self.alpha, self.K))

    @property
    def speedup(self) -> float:
        """Speedup over plain decoding at ``K``."""
        return float(self._speedups(np.asarray(self.K)))

    @property
    def best_draft_length(self) -> int:
        """The draft length from 0 to 16 with the largest speedup; 0 means plain decoding."""
        return int(LENGTHS[np.argmax(self._speedups(LENGTHS))])

    def _verify_costs(self, lengths: ArrayLike) -> Any:
        return self.deployment.verify_cost(self.batch, lengths, self.context)

    def _speedups(self, lengths: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
        return theory.speedup(self.alpha, self.c, lengths, self._verify_costs(lengths))

    def __repr__(self) -> str:
        always = [f"{name}={getattr(self, name)!r}" for name in CONTROLS]
        moved = [
            f"{name}={getattr(self, name)!r}"
            for name in LOAD
            if getattr(self, name) != self.traits()[name].default_value
        ]
        return f"SpeedupExplorer({', '.join(always + moved)})"

    def fallback_html(self) -> str:
        """Return a table of speedups over K, and the setting in words."""
        lengths = np.array(FALLBACK_LENGTHS)
        tokens = np.asarray(theory.tokens_per_round(self.alpha, lengths))
        costs = np.asarray(theory.round_cost(self.c, lengths, self._verify_costs(lengths)))
        rows = "".join(
            f"<tr><td>{length}</td><td>{written:.2f}</td><td>{cost:.2f}</td>"
            f"<td>{written / cost:.2f}×</td></tr>"
            for length, written, cost in zip(lengths, tokens, costs, strict=True)
        )
        machine = catalog.machine(self.machine).name
        model = catalog.model(self.model).name
        elsewhere = f", {self.weight_bits}-bit weights" if self.weight_bits != 16 else ""
        elsewhere += f", {self.devices} devices" if self.devices > 1 else ""
        caption = (
            f"Speedup at acceptance rate α = {self.alpha:g} and cost ratio c = {self.c:g}, for "
            f"{escape(model)} on {escape(machine)}, batch {self.batch}, {self.context} tokens of "
            f"context{elsewhere}. Best K: {self.best_draft_length}. With JavaScript this is an "
            f"explorer with sliders."
        )
        heads = ("draft length K", "tokens per round", "round cost, plain steps", "speedup")
        head = "".join(f'<th scope="col">{name}</th>' for name in heads)
        fields = len(self.controls)
        # What decides the height of the explorer; the style sheet keeps that much room.
        size = f"--fields:{fields};--rows:{-(-fields // 2)};--load:{int('batch' in self.controls)}"
        return (
            f'<div class="sm-fallback sm-fallback-explorer" style="{size}">'
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
