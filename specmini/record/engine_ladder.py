"""Which engine ships which rung of the ladder, from what each offers under its own names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specmini.record.engines import engines, methods

__all__ = ["RUNGS", "ShippedRung", "shipped_rungs"]

# Rungs from the cheapest up, and the methods of ``engines.methods()`` that stand on each.
RUNGS: Final = {
    "prompt lookup, n-gram": ("n-gram", "n-gram map", "hashed n-gram"),
    "suffix matching": ("suffix", "suffix automaton"),
    "draft model": ("draft model", "draft with another tokenizer", "parallel draft model"),
    "early exit": ("early exit",),
    "Medusa": ("Medusa",),
    "EAGLE and its heirs": ("EAGLE", "EAGLE-2", "EAGLE-3", "UNO"),
    "MTP": ("MTP",),
    "block drafter": ("DFlash", "DSpark"),
}


@dataclass(frozen=True)
class ShippedRung:
    """One rung in real engines.

    Attributes:
        rung: its name.
        engines: those whose list of methods holds it, in the order of the data file.
        absent: those whose list is known not to hold it.
    """

    rung: str
    engines: tuple[str, ...]
    absent: tuple[str, ...]


def shipped_rungs() -> tuple[ShippedRung, ...]:
    """Every rung with the engines that offer it.

    Raises:
        ValueError: a method of the data file stands on no rung, but for the user's own drafters.
    """
    offered = [row for row in methods() if row.family != "custom"]
    known = {method for names in RUNGS.values() for method in names}
    if strangers := sorted({row.method for row in offered} - known):
        raise ValueError(f"RUNGS must hold every method, got {', '.join(strangers)}")
    found = []
    for rung, names in RUNGS.items():
        having = {row.engine for row in offered if row.method in names}
        found.append(
            ShippedRung(
                rung,
                tuple(one.name for one in engines() if one.name in having),
                tuple(
                    one.name
                    for one in engines()
                    if one.name not in having and set(names) & set(one.absent)
                ),
            )
        )
    return tuple(found)
