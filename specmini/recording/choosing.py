"""Which contexts of the package's pair are worth a reader's look.

``python -m specmini.recording.choosing specmini/data/contexts.json`` chooses and stores them anew.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from specmini import json_files
from specmini.checks import FloatArray
from specmini.corpus import Kind
from specmini.exact.rules import accepted
from specmini.recording.condensing import condense, named
from specmini.recording.contexts import Context
from specmini.sampling import plain

__all__ = ["WANTED", "choose"]

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


def _ending(text: str) -> str:
    """The last words of a text, on one line."""
    line = re.sub(r"\s*\n\s*", " ⏎ ", text)
    if len(line) <= shown_text:
        return line
    kept = line[-shown_text:]
    return "…" + (kept[kept.index(" ") :] if " " in kept else kept)


def _main() -> None:
    import torch

    from specmini import pair
    from specmini.recording import excerpts
    from specmini.recording.rounds import pieces

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
