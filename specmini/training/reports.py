"""What the command line of ``specmini.training`` does with a model that is trained; it prints."""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import replace

import torch

from specmini import checkpoints, training
from specmini.exact.overlap import overlap
from specmini.gpt import GPT
from specmini.sampling import plain
from specmini.training import streams
from specmini.training.evaluation import bits_per_byte, continuations
from specmini.training.model_card import head_card, model_card

__all__ = ["accept", "card", "export", "imitate"]


def export(given: argparse.Namespace) -> None:
    """Store the model; measured is what is loaded back, on all held-out text."""
    data = streams.prepare(given.data)
    run = training.resume(given.folder, data)
    checkpoints.save_model(given.model, run.model, run.record(), given.storage)
    size = given.model.stat().st_size / 1e6
    print(f"{given.model}: {size:.2f} MB, {run.tokens / 1e6:.2f}M tokens seen")
    if isinstance(run.model, GPT):
        _judge(checkpoints.load_model(given.model)[0], data)


def card(given: argparse.Namespace) -> None:
    """Write the card of a stored model."""
    data = streams.prepare(given.data)
    if given.target is None:
        model, record = checkpoints.load_model(given.model)
        text = model_card(given.model.name, model, record, data, given.seed, given.history)
    else:
        head, record = checkpoints.load_head(given.model)
        target, _ = checkpoints.load_model(given.target)
        text = head_card(given.model.name, head, record, target, data)
    given.card.write_text(text, encoding="utf-8")
    print(text)


def accept(given: argparse.Namespace) -> None:
    """Print the acceptance rate of a pair on held-out text."""
    data = streams.prepare(given.data)
    target, draft = (checkpoints.load_model(path)[0] for path in (given.target, given.draft))
    length = min(target.config.context, draft.config.context)
    for kind, stream in (("prose", data.prose_held_out), ("code", data.code_held_out)):
        windows = streams.even_windows(stream, length, 64)
        alpha = overlap(target, draft, windows, [plain])[0].rates["textbook"]
        print(f"held-out {kind}: acceptance rate {alpha:.3f}")


def imitate(given: argparse.Namespace) -> None:
    """Write streams in which a model continues the training text, to distil a draft on."""
    data = streams.prepare(given.data)
    model, _ = checkpoints.load_model(given.model)
    generator = torch.Generator().manual_seed(given.seed)
    length, prompt = model.config.context, 32

    def written(stream: streams.Stream) -> streams.Stream:
        prompts = torch.split(streams.even_windows(stream, prompt, given.count), 64)  # (64, 32)
        rows = [continuations(model, some, length - prompt, generator) for some in prompts]
        return torch.cat(rows).flatten().numpy().astype("int16")

    prose, code = written(data.prose), written(data.code)
    imitated = replace(
        data,
        corpus=f"continuations by {given.model.name} of {data.corpus}",
        corpus_sha256=hashlib.sha256(prose.tobytes() + code.tobytes()).hexdigest(),
        prose=prose,
        code=code,
    )
    streams.store(given.folder, imitated)
    print(f"{given.folder}: {2 * given.count} continuations of {length} tokens")


def _judge(model: GPT, data: streams.Streams) -> None:
    for kind, stream in (("prose", data.prose_held_out), ("code", data.code_held_out)):
        windows = streams.even_windows(stream, model.config.context)
        print(f"held-out {kind}: {bits_per_byte(model, windows, data.tokenizer):.4f} bits per byte")
