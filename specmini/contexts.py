"""Single contexts as plain data: what a target and a draft expect next, at every temperature.

A context is small enough to lie in a page, where ``OverlapExplorer`` moves its temperatures. The
package carries some of its own pair. They are chosen and stored anew by
``python -m specmini.contexts specmini/data/contexts.json``.

A vocabulary has too many tokens for a page. The likeliest are named. The others share some
pairs of logits: tokens of which both models think nearly the same are one pair with a count.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from specmini import json_files
from specmini.checks import FloatArray, IntArray
from specmini.corpus import Kind
from specmini.rules import accepted
from specmini.sampling import Sampling, plain

__all__ = [
    "Context",
    "by_token",
    "choose",
    "condense",
    "distributions",
    "made_up",
    "pairs",
    "stored",
    "stored_checkpoints",
    "stored_places",
]

named: Final = 7  # tokens with a row of their own
cells: Final = 80  # pairs of logits that the others share
shortest_text: Final = 24  # tokens to read before a context counts
shown_text: Final = 56  # characters of it for the reader
texts_tried: Final = 20
clear_lead: Final = 1.03  # of a favorite over the next; two decimals of a logit keep it apart

# What to look for: key, kind of text, and its name for a reader.
WANTED: Final[tuple[tuple[str, Kind, str], ...]] = (
    ("typical", "prose", "Prose: a typical context"),
    ("differ", "prose", "Prose: two favorites"),
    ("agree", "code", "Code: both know what comes"),
    ("surer", "code", "Code: the target is surer"),
)


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


def condense(
    target_logits: ArrayLike, draft_logits: ArrayLike, named: int = named, cells: int = cells
) -> tuple[IntArray, str]:
    """Write the logits of a context as a few pairs.

    The likeliest tokens keep a pair each; the others are cut into cells of tokens with nearly the
    same pair, smallest where there is most probability at temperature 1 and 2. At temperature 1
    each cell keeps its probability under both models.

    Args:
        target_logits: (V,) finite.
        draft_logits: (V,) finite.
        named: tokens with a pair of their own; the favorites of both are always among them.
        cells: pairs that the others share at most.

    Returns:
        (named,) ids, the likeliest first, and the pairs as ``Context`` holds them.

    Raises:
        ValueError: the shapes differ, or ``named`` is not in [2, V] or ``cells`` below 1.
    """
    logits = np.stack([np.asarray(side, np.float64) for side in (target_logits, draft_logits)], -1)
    if logits.ndim != 2:
        raise ValueError(f"logits must have shape (V,) each, got {logits.shape[:-1]}")
    if not 2 <= named <= len(logits):
        raise ValueError(f"named must be in [2, {len(logits)}], got {named}")
    if cells < 1:
        raise ValueError(f"cells must be at least 1, got {cells}")
    logs = np.log(plain.probs(logits.T)).T  # (V, 2)
    order = np.argsort(-logs.max(1), kind="stable")  # (V,)
    favorites = list(dict.fromkeys(logs.argmax(0).tolist()))
    unnamed = [token for token in order.tolist() if token not in favorites]
    ids = favorites + unnamed[: named - len(favorites)]
    ids.sort(key=order.tolist().index)
    rest = logs[[token for token in unnamed if token not in ids]]  # (V - named, 2)
    rows = [(*logs[token], 1) for token in ids]
    rows += [(*np.log(np.exp(cell).mean(0)), len(cell)) for cell in _cells(rest, cells)]
    text = "; ".join(
        f"{p:.2f} {q:.2f}" + (f" {count}" if count > 1 else "") for p, q, count in rows
    )
    return np.array(ids), text


def _cells(logs: FloatArray, most: int) -> list[FloatArray]:
    """Halve, again and again, the cell that would blur most: wide and likely."""
    found = [logs] if len(logs) else []

    def blur(cell: FloatArray) -> float:
        mass = np.exp(cell).sum() + np.exp(cell / 2).sum()  # at temperatures 1 and 2
        return float(mass * np.ptp(cell, axis=0).max()) if len(cell) > 1 else 0.0

    while found and len(found) < most and max(map(blur, found)) > 0:
        cell = found.pop(int(np.argmax([blur(one) for one in found])))
        wider = int(np.ptp(cell, axis=0).argmax())
        ordered = cell[np.argsort(cell[:, wider], kind="stable")]
        found += [ordered[: len(cell) // 2], ordered[len(cell) // 2 :]]
    return found


def choose(
    key: str, target_probs: FloatArray, draft_probs: FloatArray, whole: Sequence[bool]
) -> tuple[int, int]:
    """Find the context of a kind among N texts of T tokens.

    Args:
        key: ``"typical"`` (β closest to its mean), ``"differ"`` (two favorites, β closest to the
            median of such), ``"agree"`` (one favorite, β closest to the highest tenth) or
            ``"surer"`` (the greedy draft beats the textbook rule by most).
        target_probs: (N, T, V) p.
        draft_probs: (N, T, V) q.
        whole: (V,) whether a token is a whole word, which makes a good label. Contexts with more
            than two other labels are left out, and so are those whose named tokens have little
            probability or whose favorite hardly leads.

    Returns:
        Text and token.

    Raises:
        ValueError: no context fits, or an unknown key.
    """
    p, q = target_probs, draft_probs  # (N, T, V)
    higher = np.maximum(p, q)  # (N, T, V)
    top = np.argpartition(-higher, named, axis=-1)[..., :named]  # (N, T, named)
    fits = np.asarray(whole)[top].sum(-1) >= named - 2  # (N, T)
    fits &= np.take_along_axis(p, top, -1).sum(-1) > 0.6
    fits &= np.arange(p.shape[1]) >= shortest_text
    for chances in (p, q):
        second, first = np.moveaxis(np.partition(chances, -2)[..., -2:], -1, 0)  # each (N, T)
        fits &= first > clear_lead * second
    overlap = accepted("textbook", p, q).sum(-1)  # (N, T)
    lead = accepted("greedy draft", p, q).sum(-1) - overlap  # (N, T)
    same = p.argmax(-1) == q.argmax(-1)  # (N, T)
    if key == "typical":
        distance = np.abs(overlap - overlap.mean())
    elif key == "differ":
        fits &= ~same
        distance = np.abs(overlap - np.median(overlap[~same])) if fits.any() else overlap
    elif key == "agree":
        fits &= same
        distance = np.abs(overlap - np.quantile(overlap, 0.9))
    elif key == "surer":
        fits &= same
        distance = -lead
    else:
        known = ", ".join(wanted for wanted, _, _ in WANTED)
        raise ValueError(f"key must be one of {known}, got {key!r}")
    if not fits.any():
        raise ValueError(f"target_probs must hold a context that fits {key!r}, got none")
    text, token = divmod(int(np.where(fits, distance, np.inf).argmin()), p.shape[1])
    return text, token


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
    path = resources.files("specmini") / "data" / "contexts.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _ending(text: str) -> str:
    """The last words of a text, on one line."""
    line = re.sub(r"\s*\n\s*", " ⏎ ", text)
    if len(line) <= shown_text:
        return line
    kept = line[-shown_text:]
    return "…" + (kept[kept.index(" ") :] if " " in kept else kept)


def _main() -> None:
    import torch

    from specmini import excerpts, pair
    from specmini.recording import pieces

    parser = argparse.ArgumentParser(description="Store some contexts of the package's pair.")
    parser.add_argument("file", type=Path, help="where to write the contexts, as JSON")
    parser.add_argument("--pair", type=Path, help="folder of another pair than the package's")
    given = parser.parse_args()
    models = pair.load_pair(given.pair)
    words = [
        pieces(models.tokenizer, [token])[0] for token in range(models.target.config.vocabulary)
    ]
    whole = [re.fullmatch(" [A-Za-z]{2,}", word) is not None for word in words]
    logits: dict[str, Any] = {}
    found = []
    for key, kind, name in WANTED:
        texts = [
            models.tokenizer.encode(piece.text)[:128]
            for piece in excerpts.frozen(kind)[:texts_tried]
        ]
        if kind not in logits:
            with torch.inference_mode():
                logits[kind] = [
                    model(torch.tensor(texts)).numpy() for model in (models.target, models.draft)
                ]
        target, draft = logits[kind]  # (N, T, V)
        text, token = choose(key, plain.probs(target), plain.probs(draft), whole)
        ids, pairs = condense(target[text, token], draft[text, token])
        read = "".join(pieces(models.tokenizer, texts[text][: token + 1]))
        context = Context(
            key=key,
            name=name,
            before=_ending(read),
            tokens=[words[id] for id in ids],
            logits=pairs,
        )
        found.append({"kind": kind, "excerpt": text, "position": token, "context": context})
        print(f"{name}, after {context['before']!r}: {context['tokens']}")
    made = {"checkpoints": pair.checkpoint_hashes(given.pair), "contexts": found}
    json_files.write(given.file, json.dumps(made, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    _main()
