"""Figures of the chapter on one token at a time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specmini.figures.style import COLOR, ThemedFigure, canvas


def pass_parts(
    tokens: Sequence[int],
    calls: ArrayLike,
    reading: ArrayLike,
    arithmetic: ArrayLike,
    measured: ArrayLike,
) -> ThemedFigure:
    """What a pass should take, part by part, and what it took.

    Args:
        tokens: numbers of tokens in a pass, rising from 1, S of them.
        calls: seconds that the calls themselves take, (S,).
        reading: seconds to read the weights, (S,).
        arithmetic: seconds to compute with them, (S,); what hides behind the reading is not drawn.
        measured: seconds of the whole pass, (S,).

    Raises:
        ValueError: ``tokens`` does not start with 1, or an array has another length.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (calls, reading, arithmetic, measured)]
    if not tokens or tokens[0] != 1:
        raise ValueError(f"tokens must rise from 1, got {list(tokens)}")
    if any(part.shape != (len(tokens),) for part in parts):
        raise ValueError(
            f"each part must have shape ({len(tokens)},), got {[part.shape for part in parts]}"
        )
    overhead, read, computed, seen = (1e3 * part for part in parts)  # (S,) milliseconds
    exposed = np.maximum(computed - read, 0.0)
    share = read[0] / (overhead[0] + read[0] + exposed[0])
    over = [count for count, extra in zip(tokens, exposed, strict=True) if extra > 0]
    turn = (
        f"from {over[0]} tokens on, arithmetic sets the pace"
        if over
        else f"up to {tokens[-1]} tokens, arithmetic hides behind it"
    )
    claim = f"At one token {share:.0%} of the parts is reading weights; {turn}"
    places = np.arange(len(tokens))
    with canvas(claim, height=310) as (figure, [axes]):
        bottom = np.zeros(len(tokens))
        for height, label, role, hatch in (
            (overhead, "calls", "muted", ".."),
            (read, "reading the weights", "target", ""),
            (exposed, "arithmetic not hidden by it", "recovered", "//"),
        ):
            axes.bar(places, height, 0.62, bottom, color=COLOR[role], hatch=hatch,
                     edgecolor=COLOR["surface"], linewidth=0.6, label=label)  # fmt: skip
            bottom += height
        axes.plot(places, seen, "D", color=COLOR["ink"], markersize=5.5, label="measured pass")
        axes.set_xticks(places, [str(count) for count in tokens])
        axes.set_ylim(0, 1.08 * max(bottom.max(), seen.max()))
        axes.set_xlabel("tokens in one pass")
        axes.set_ylabel("time (ms)")
        axes.grid(visible=False, axis="x")
        axes.legend(loc="upper left", fontsize=10)
    rows = "; ".join(
        f"{count}: calls {a:.2f}, reading {b:.2f}, further arithmetic {c:.2f}, measured {d:.2f} ms"
        for count, a, b, c, d in zip(tokens, overhead, read, exposed, seen, strict=True)
    )
    return ThemedFigure("pass-parts", claim, f"Stacked bars by tokens in a pass. {rows}.", figure)
