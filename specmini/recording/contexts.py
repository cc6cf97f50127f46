"""Single contexts as plain data: what a target and a draft expect next, at every temperature.

A context is small enough to lie in a page, where ``OverlapExplorer`` moves its temperatures. The
package carries some of its own pair, which ``choosing`` has found and ``condensing`` has made
small: a vocabulary has too many tokens for a page.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from specmini import json_files
from specmini.checks import FloatArray, IntArray
from specmini.sampling import Sampling

__all__ = [
    "Context",
    "by_token",
    "distributions",
    "made_up",
    "pairs",
    "stored",
    "stored_checkpoints",
    "stored_places",
]


class Context(TypedDict):
    """One context for a reader.

    ``key`` and ``name`` tell it from others, ``before`` is the end of the text before it, or
    empty, and ``tokens`` are the named ones. ``logits`` are pairs of the target's and the
    draft's, as text: ``"-0.4 -1.2; -3.1 -2.5 12"`` is one token, then twelve others that share a
    pair. The named tokens come first, one pair each.
    """

    key: str
    name: str
    before: str
    tokens: list[str]
    logits: str


def pairs(context: Context) -> tuple[FloatArray, IntArray]:
    """Read the logits of a context.

    Returns:
        (R, 2) logits of target and draft, and (R,) how many tokens share each pair.

    Raises:
        ValueError: a pair is not two finite numbers and perhaps a count from 1.
    """
    read = []
    for text in context["logits"].split(";"):
        try:
            target, draft, *count = (float(number) for number in text.split())
            shared = count or [1.0]
            if not (np.isfinite([target, draft]).all() and len(shared) == 1):
                raise ValueError
            if not (shared[0].is_integer() and 1 <= shared[0] <= 1e6):
                raise ValueError
        except ValueError:
            raise ValueError(
                "logits must be pairs of finite numbers, each with a count from 1 to 1000000 if "
                f"it is shared, separated by semicolons, got {text.strip()!r}"
            ) from None
        read.append((target, draft, shared[0]))
    rows = np.array(read)  # (R, 3)
    return rows[:, :2], rows[:, 2].astype(np.int64)


def distributions(
    context: Context, target: Sampling, draft: Sampling
) -> tuple[FloatArray, FloatArray]:
    """The distributions p and q of a context, each (V,), the named tokens first.

    Args:
        context: where.
        target: applied to the target's logits.
        draft: applied to the draft's.
    """
    logits, counts = pairs(context)
    p, q = np.repeat(logits, counts, axis=0).T  # (V,)
    return target.probs(p), draft.probs(q)


def by_token(context: Context, chances: FloatArray) -> FloatArray:
    """Add up the chances of tokens that have no name.

    Args:
        context: where.
        chances: (V,) one for each token, in the order of ``distributions``.

    Returns:
        (N,) or (N + 1,) those of the N named tokens, then the sum of the others if there are any.
    """
    count = len(context["tokens"])
    rest = [chances[count:].sum()] if chances.size > count else []
    return np.concatenate([chances[:count], rest])


def made_up() -> list[Context]:
    """Two contexts that no model wrote: a draft that is sure and wrong, and the one by hand."""
    wrong = {
        "door": (0.40, 0.02),
        "window": (0.25, 0.03),
        "letter": (0.15, 0.02),
        "box": (0.10, 0.01),
        "book": (0.07, 0.02),
        "gate": (0.03, 0.90),
    }
    by_hand = {"A": (0.6, 0.5), "B": (0.3, 0.2), "C": (0.1, 0.3)}
    return [
        _made_up("wrong", "Made up: a draft sure and wrong", "She opened the", wrong),
        _made_up("hand", "By hand: three tokens", "", by_hand),
    ]


def _made_up(key: str, name: str, before: str, chances: dict[str, tuple[float, float]]) -> Context:
    logs = np.log(list(chances.values()))  # (N, 2)
    logits = "; ".join(f"{p:.6f} {q:.6f}" for p, q in logs)
    return Context(key=key, name=name, before=before, tokens=list(chances), logits=logits)


def stored() -> list[Context]:
    """The package's contexts of its pair."""
    return [entry["context"] for entry in _package_file()["contexts"]]


def stored_places() -> list[tuple[str, int, int]]:
    """Where each of ``stored`` is: kind of text, number of the frozen excerpt, last token read."""
    entries = _package_file()["contexts"]
    return [(entry["kind"], entry["excerpt"], entry["position"]) for entry in entries]


def stored_checkpoints() -> dict[str, str]:
    """SHA-256 of the checkpoints whose contexts the package carries."""
    hashes: dict[str, str] = _package_file()["checkpoints"]
    return hashes


def _package_file() -> dict[str, Any]:
    content: dict[str, Any] = json_files.packaged("contexts.json")
    return content
