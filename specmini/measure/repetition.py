"""How often a text loops: a number to report beside every speedup."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["repetition"]


def repetition(tokens: Sequence[int], length: int = 8) -> float:
    """Share of a text's runs of ``length`` tokens that stood in it before, in [0, 1).

    A greedy loop comes near 1 and makes any drafter look good: report it beside a speedup.

    Args:
        tokens: the text.
        length: tokens in a run; a text shorter than that repeats nothing.

    Raises:
        ValueError: ``length`` is below 1.
    """
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    runs = [tuple(tokens[i : i + length]) for i in range(len(tokens) - length + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0
