"""The overlap explorer: two distributions in, what three rules accept of a draft out."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import numpy as np
import traitlets

from specmini.checks import FloatArray, shown
from specmini.exact import rules
from specmini.exact.rules import RULES
from specmini.recording import contexts
from specmini.recording.contexts import Context
from specmini.sampling import Sampling
from specmini.widgets import compared
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import Choice, Number, SettingError, Switch

TEMPERATURES = ("target_temperature", "draft_temperature")
HEADS = ("next token", "target p", "drafted", "bars")


class OverlapExplorer(PageWidget):
    """What a target and a draft expect in one context, and what each rule accepts of it.

    Attributes:
        context: key of the context that is shown.
        rule: of acceptance: ``"textbook"``, ``"greedy draft"`` or ``"exact match"``.
        target_temperature: divides the target's logits, 0 to 2; 0 leaves its favorite alone.
        draft_temperature: divides the draft's, 0 to 2.
        together: whether a change of one temperature changes the other too.
        contexts: what ``context`` chooses from, as ``recording.contexts`` makes them; some of
            the package's pair and two made-up ones if not given.

    Raises:
        ValueError: a setting is not in its range, or a context is malformed (also a
            ``traitlets.TraitError``); there is no setting of this name.
    """

    script_name: ClassVar[str] = "overlap"

    contexts: Any = traitlets.List().tag(sync=True, page=True)
    context = traitlets.Unicode("").tag(sync=True, page=True)
    rule = Choice(dict.fromkeys(RULES), "textbook")
    target_temperature = Number("target_temperature", 1.0)
    draft_temperature = Number("draft_temperature", 1.0)
    together = Switch(False)

    def __init__(self, **settings: Any) -> None:
        heats = [settings[name] for name in TEMPERATURES if name in settings]
        if settings.get("together") and heats:
            if heats[0] != heats[-1]:
                raise SettingError(
                    f"draft_temperature must be {shown(heats[0])} as target_temperature if "
                    f"together, got {shown(heats[-1])}"
                )
            settings |= dict.fromkeys(TEMPERATURES, heats[0])
        super().__init__(**settings)
        if not self.context:
            self.context = self.contexts[0]["key"]

    @traitlets.default("contexts")
    def _of_the_package(self) -> list[Context]:
        return [*contexts.stored(), *contexts.made_up()]

    @traitlets.validate("contexts")
    def _well_formed(self, proposal: Any) -> list[Context]:
        return compared.checked(proposal["value"])

    @traitlets.validate("context")
    def _known_context(self, proposal: Any) -> str:
        key, known = proposal["value"], [one["key"] for one in compared.checked(self.contexts)]
        if key not in known:
            raise SettingError(f"context must be one of {', '.join(known)}, got {shown(key)}")
        return str(key)

    @traitlets.observe("contexts")
    def _leave_an_old_context(self, _: Any) -> None:
        if self.context not in [one["key"] for one in self.contexts]:
            self.context = self.contexts[0]["key"]

    @traitlets.observe("together", *TEMPERATURES)
    def _tie(self, change: Any) -> None:
        if self.together and change["name"] == "draft_temperature":
            self.target_temperature = self.draft_temperature
        elif self.together:
            self.draft_temperature = self.target_temperature

    @property
    def distributions(self) -> tuple[FloatArray, FloatArray]:
        """The distributions p and q at the chosen temperatures, (V,) each, named tokens first."""
        samplings = (Sampling(self.target_temperature), Sampling(self.draft_temperature))
        return contexts.distributions(self._shown, *samplings)

    @property
    def rates(self) -> dict[str, float]:
        """The acceptance rate β of each rule in this context, under the rule's name."""
        p, q = self.distributions
        return {rule: float(rules.accepted(rule, p, q).sum()) for rule in RULES}

    @property
    def total_variation(self) -> float:
        """Half the sum of the differences of p and q; 1 minus the textbook rule's rate."""
        p, q = self.distributions
        return float(np.abs(p - q).sum() / 2)

    @property
    def bars(self) -> dict[str, FloatArray]:
        """What is drawn: for each named token, and for all others together, its chances.

        Those under p, under q, of being drafted, and of being accepted, rejected and recovered by
        the chosen rule. Accepted and recovered sum to p.
        """
        p, q = self.distributions
        drafted, kept = rules.drafted(self.rule, q), rules.accepted(self.rule, p, q)
        columns = {"p": p, "q": q, "drafted": drafted, "accepted": kept}
        columns |= {"rejected": drafted - kept, "recovered": p - kept}
        return {name: contexts.by_token(self._shown, chances) for name, chances in columns.items()}

    @property
    def _shown(self) -> Context:
        found: Context = next(one for one in self.contexts if one["key"] == self.context)
        return found

    def __repr__(self) -> str:
        tied = ", together=True" if self.together else ""
        return (
            f"OverlapExplorer(context={self.context!r}, rule={self.rule!r}, "
            f"target_temperature={self.target_temperature:g}, "
            f"draft_temperature={self.draft_temperature:g}{tied})"
        )

    def fallback_html(self) -> str:
        """Return the bars as a table that needs no script, and the three rates in words."""
        bars, names = self.bars, [compared.visible(token) for token in self._shown["tokens"]]
        others = len(self.distributions[0]) - len(names)
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{p:.2f}</td><td>{drafted:.2f}</td>"
            f"<td>{_bar('recovered', accepted, p)}"
            f"{_bar('rejected', accepted, drafted)}</td></tr>"
            for name, p, drafted, accepted in zip(
                [*names, f"{others:,} others"] if others else names,
                *(bars[column] for column in ("p", "drafted", "accepted")),
                strict=True,
            )
        )
        rates = self.rates
        before = self._shown["before"]
        after = f" after <code>{escape(before)}</code>" if before else ""
        caption = (
            f"What comes next{after}? Target at temperature {self.target_temperature:g}, draft at "
            f"{self.draft_temperature:g}. Accepted by the textbook rule "
            f"{rates['textbook']:.3f} = 1 − TV with TV = {self.total_variation:.3f}, of a greedy "
            f"draft {rates['greedy draft']:.3f}, by exact match {rates['exact match']:.3f}. The "
            f"table is for the rule {self.rule}. Upper bar, the target: accepted, then recovered. "
            f"Lower bar, the draft: accepted, then rejected. With JavaScript the temperatures move."
        )
        head = "".join(f'<th scope="col">{name}</th>' for name in HEADS)
        return (
            f'<div class="sm-fallback sm-fallback-overlap"><table><caption>{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def _bar(rest: str, accepted: float, whole: float) -> str:
    """A bar of two parts, with what it shows for those who do not see it."""
    parts = (("accepted", accepted), (rest, whole - accepted))
    filled = "".join(
        f'<span class="sm-patch-{name}" style="width:{100 * chance:.1f}%"></span>'
        for name, chance in parts
        if chance > 5e-4
    )
    words = f"accepted {accepted:.2f}, {rest} {whole - accepted:.2f}"
    return f'<span class="sm-stripe" role="img" aria-label="{words}">{filled}</span>'
