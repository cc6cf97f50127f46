"""Figures of the chapter on drafting and verifying."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from specmini.figures.style import COLOR, ThemedFigure, canvas


def overlap(target_probs: ArrayLike, draft_probs: ArrayLike, words: Sequence[str]) -> ThemedFigure:
    """Both distributions in one picture: what is kept, struck and refilled.

    Args:
        target_probs: p, (V,).
        draft_probs: q, (V,).
        words: V names.
    """
    p, q = (np.asarray(probs, dtype=np.float64) for probs in (target_probs, draft_probs))
    both = np.minimum(p, q)  # (V,)
    moved = float((q - both).sum())
    claim = f"The rejected area and the recovered area are equal ({moved:.2f}), so p remains"
    places, wide = np.arange(len(p)), 0.56
    with canvas(claim, height=320) as (figure, [axes]):
        layers = (
            (both, np.zeros_like(p), "accepted", "//"),
            (q - both, both, "rejected", "xx"),
            (p - both, both, "recovered", ".."),
        )
        for height, bottom, role, hatch in layers:
            edges = [1.2 if part > 1e-12 else 0.0 for part in height]
            axes.bar(places, height, wide, bottom, facecolor=COLOR["surface"], hatch=hatch,
                     edgecolor=COLOR[role], linewidth=edges)  # fmt: skip
        for place, (high, low) in enumerate(zip(p, q, strict=True)):
            for value, name, role, line in ((high, "p", "target", "-"), (low, "q", "draft", "--")):
                ends = [place - wide / 2 - 0.06, place + wide / 2 + 0.06]
                axes.plot(ends, [value, value], line, color=COLOR[role], linewidth=2.6)
                axes.text(place + wide / 2 + 0.08, value, f"{name} {value:.2g}", va="center",
                          color=COLOR[role])  # fmt: skip
        axes.set_xticks(places, words)
        axes.set_xlim(-0.45, len(p) - 0.42)
        axes.set_ylim(0, 1.42 * float(max(p.max(), q.max())))
        axes.set_ylabel("probability")
        axes.grid(visible=False, axis="x")
        axes.legend(
            [
                Patch(facecolor=COLOR["surface"], edgecolor=COLOR[role], hatch=hatch)
                for _, _, role, hatch in layers
            ],
            ["accepted: min(p, q)", "rejected: q above p", "recovered: p above q"],
            loc="upper center",
            ncols=2,
            fontsize=10,
        )
    parts = "; ".join(
        f"{word}: p {a:.2g}, q {b:.2g}, accepted {c:.2g}"
        for word, a, b, c in zip(words, p, q, both, strict=True)
    )
    return ThemedFigure(
        "overlap",
        claim,
        f"Bars of two distributions over the same words. {parts}. The rejected area where q is "
        f"above p and the recovered area where p is above q are both {moved:.2f}.",
        figure,
    )


def round_in_cache(
    text: Sequence[str], drafted: Sequence[str], n_accepted: int, next_token: str
) -> ThemedFigure:
    """One round as boxes: what the target has seen before it, in it and after it.

    Args:
        text: tokens before the round, at least one.
        drafted: the draft's tokens.
        n_accepted: how many of them the target accepts; fewer than all.
        next_token: the token it adds.

    Raises:
        ValueError: ``n_accepted`` is not in [0, K).
    """
    if not 0 <= n_accepted < len(drafted):
        raise ValueError(f"n_accepted must be in [0, {len(drafted)}), got {n_accepted}")
    kept = [*text, *drafted[:n_accepted]]
    claim = "Between rounds the target has seen every token but the last"
    plain = [("muted", "-")] * len(text)
    fates = [("accepted", "-")] * n_accepted + [("rejected", "--")]
    fates += [("muted", ":")] * (len(drafted) - n_accepted - 1)
    rows = (
        (f"before: {len(text) - 1} tokens in the cache (blue line)", text, plain, len(text) - 1),
        (
            f"one pass: {len(drafted) + 1} tokens go in, {len(drafted) + 1} rows of p come out",
            [*text, *drafted],
            plain + fates,
            len(text) + len(drafted),
        ),
        (
            f"after: truncate({len(kept)}), then add the target's own token",
            [*kept, next_token],
            plain + fates[:n_accepted] + [("recovered", "-")],
            len(kept),
        ),
    )
    with canvas(claim, height=300) as (figure, [axes]):
        for middle, (label, tokens, marks, seen) in zip((0.0, 1.05, 2.25), rows, strict=True):
            axes.text(0.02, middle - 0.3, label, va="bottom", fontsize=10.5)
            for place, (token, (role, line)) in enumerate(zip(tokens, marks, strict=True)):
                _box(axes, place, middle, token, role, line)
            axes.plot([0.02, seen - 0.02], [middle + 0.33] * 2, color=COLOR["target"], linewidth=3)
        for place in range(len(drafted) + 1):
            axes.text(len(text) - 0.5 + place, 1.44, f"p[{place}]", ha="center", va="top",
                      fontsize=9.5, color=COLOR["target"])  # fmt: skip
        axes.set_xlim(-0.02, len(text) + len(drafted) + 0.02)
        axes.set_ylim(2.65, -0.6)
        axes.axis("off")
    return ThemedFigure(
        "round-in-cache",
        claim,
        f"Three rows of boxes. Before the round: {' '.join(text)}, of which the target has seen "
        f"all but the last. The pass runs that one and the drafts {' '.join(drafted)}. The first "
        f"{n_accepted} drafts are accepted, the next is rejected, later ones are thrown away. "
        f"After: the cache is cut to {len(kept)} tokens and {next_token} is added, which the "
        f"target has not seen.",
        figure,
    )


def _box(axes: Axes, left: float, middle: float, token: str, role: str, line: str) -> None:
    box = Rectangle((left + 0.04, middle - 0.24), 0.92, 0.48, facecolor=COLOR["surface"])
    box.set(edgecolor=COLOR[role], linestyle=line, linewidth=1.8)
    axes.add_patch(box)
    mark = {"accepted": "✓", "rejected": "✗", "recovered": "+"}.get(role, "")
    axes.text(left + 0.5, middle, f"{mark}{token}", ha="center", va="center", fontsize=10,
              color=COLOR["ink" if role == "muted" else role])  # fmt: skip
