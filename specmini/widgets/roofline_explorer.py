"""The roofline explorer: where a step sits on a machine's roofline, before and after drafting."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any, ClassVar

import traitlets

from specmini import catalog
from specmini.roofline import Overhead
from specmini.roofline.crossover import largest_batch
from specmini.roofline.deployment import Deployment
from specmini.roofline.pass_parts import PassTime
from specmini.roofline.ridge import model_ridge_tokens
from specmini.widgets.load import LoadWidget
from specmini.widgets.roof_figure import roof_svg
from specmini.widgets.settings import BITS, Choice, Number

LOAD = ("machine", "model", "weight_bits", "arithmetic_bits", "devices", "context", "overhead_ms")
NO_DRAFT = 0.0  # a drafter that takes no memory


class RooflineExplorer(LoadWidget):
    """A plain step and a check on the roofline, and the bill of each in milliseconds.

    Attributes:
        arithmetic_bits: bits of the numbers that the linear layers multiply, 16, 8 or 4, as far as
            the machine's peak is documented. Attention stays in 16 bits.
        K: draft length; a check runs K + 1 tokens of each sequence. A whole number from 0 to 16.
        overhead_ms: milliseconds that the engine adds to every pass, 0 to 100.

    The rest is ``LoadWidget``'s, with a batch of 64 to begin with.

    Raises:
        ValueError: a setting is not in its range, or the machine and the model do not allow it
            (also a ``traitlets.TraitError``).
    """

    script_name: ClassVar[str] = "roof"

    batch = Number("batch", 64)
    K = Number("K", 4)
    arithmetic_bits = Choice(BITS, 16)
    overhead_ms = Number("overhead_ms", 0.0)

    @traitlets.validate("arithmetic_bits")
    def _documented(self, proposal: Any) -> Any:
        self.require_possible(arithmetic_bits=proposal["value"])
        return proposal["value"]

    @property
    def deployment(self) -> Deployment:
        """The model on the machine, as it is set."""
        overhead = Overhead(seconds_per_pass=self.overhead_ms / 1e3)
        return replace(super().deployment, arithmetic_bits=self.arithmetic_bits, overhead=overhead)

    @property
    def step(self) -> PassTime:
        """Where the time of a plain step goes: one token of each sequence."""
        return self.deployment.pass_time(self.batch, 1, self.context)

    @property
    def check(self) -> PassTime:
        """Where the time of a check goes: ``K + 1`` tokens of each sequence."""
        return self.deployment.pass_time(self.batch, self.K + 1, self.context)

    @property
    def verify_cost(self) -> float:
        """Time of the check over the time of the plain step."""
        return float(self.deployment.verify_cost(self.batch, self.K, self.context))

    @property
    def ridge_tokens(self) -> float:
        """Tokens in a pass from which arithmetic limits the linear layers."""
        return model_ridge_tokens(self.deployment)

    @property
    def largest_batch(self) -> int:
        """Sequences whose cache fits beside the weights after a check; 0 if not one does."""
        return int(largest_batch(self.deployment, NO_DRAFT, self.context + self.K + 1))

    def __repr__(self) -> str:
        moved = [
            f"{name}={getattr(self, name)!r}"
            for name in LOAD
            if getattr(self, name) != self.traits()[name].default_value
        ]
        return f"RooflineExplorer({', '.join([f'batch={self.batch}', f'K={self.K}', *moved])})"

    def fallback_html(self) -> str:
        """Return the roofline as a drawing, the two bills as a table, and the setting in words."""
        step, check = self.step, self.check
        parts = ("weights", "attention", "communication", "overhead")
        rows = [(part, *(getattr(one, f"{part}_time") for one in (step, check))) for part in parts]
        rows.append(("together", step.time, check.time))
        body = "".join(
            f'<tr><th scope="row">{part}</th><td>{1e3 * first:.3f}</td>'
            f"<td>{1e3 * second:.3f}</td></tr>"
            for part, first, second in rows
        )
        heads = ("milliseconds", "plain step", f"check, {self.K + 1} tokens each")
        head = "".join(f'<th scope="col">{name}</th>' for name in heads)
        tokens, limit = self.batch * (self.K + 1), catalog.machine(self.machine)
        model = catalog.model(self.model)
        fits = "It fits" if check.fits else "It does not fit"
        return (
            f'<div class="sm-fallback sm-fallback-roof">{roof_svg(limit, self)}'
            f"<p>{escape(model.name)} in {self.weight_bits}-bit weights on {self.devices} × "
            f"{escape(limit.name)}, batch {self.batch}, {self.context} tokens of context. The "
            f"check holds {tokens} tokens, the ridge is at {self.ridge_tokens:.0f}; it takes "
            f"{self.verify_cost:.2f} plain steps. {fits}: the largest batch is "
            f"{self.largest_batch}. With JavaScript this is an explorer with controls.</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )
