"""A model's card: what it was trained on, for how long, how good it is, how it writes.

Every number is computed from the checkpoint and the held-out text when the card is made, so a card
cannot say more than the file next to it (Mitchell et al. 2019, arXiv:1810.03993).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import torch
from torch import Tensor

from specmini.checkpoints import Head, Record
from specmini.gpt import GPT
from specmini.heads.feature_head import FeatureHead
from specmini.heads.medusa_heads import MedusaHeads
from specmini.heads.mtp_module import MtpModule
from specmini.measure.repetition import repetition
from specmini.tokenizer import Tokenizer
from specmini.training.evaluation import bits_per_byte, continuations
from specmini.training.lessons import tokens_per_round
from specmini.training.streams import Streams, even_windows

__all__ = ["head_card", "model_card"]

prompt_length = 48
sample_length = 150
looped_prompts = 16
judged_windows = 64


def model_card(
    name: str,
    model: GPT,
    record: Record,
    data: Streams,
    seed: int = 0,
    history: str | None = None,
) -> str:
    """Markdown about a stored model.

    Args:
        name: the file's name.
        model: the model as loaded.
        record: the checkpoint's record.
        data: the streams it was trained on and is judged by.
        seed: of the samples.
        history: what it learned from, in a sentence; needed only for a record from before stages
            were stored, which does not say.
    """
    held_out = {"prose": data.prose_held_out, "code": data.code_held_out}
    config = model.config
    generator = torch.Generator().manual_seed(seed)
    lines = [
        f"# {name}",
        "",
        f"A GPT-2-layout model with {config.parameters / 1e6:.2f} million weights: "
        f"{config.layers} layers of width {config.width}, {config.heads} heads, context "
        f"{config.context}, vocabulary {config.vocabulary}, stored as {record['storage']}. "
        "What the file loads to is the model.",
        "",
        *_origin(record, data, history),
        "- **Use.** For measuring speculative decoding. It knows nothing and says nothing true.",
        "",
        "| held-out text | bits per byte | tokens repeated under greedy decoding |",
        "|---|---|---|",
    ]
    for kind, stream in held_out.items():
        loss = bits_per_byte(model, even_windows(stream, config.context), data.tokenizer)
        prompts = even_windows(stream, prompt_length, looped_prompts)  # (16, 48)
        greedy = continuations(model, prompts, sample_length, generator, temperature=0)
        repeated = mean(repetition(row[prompt_length:]) for row in greedy.tolist())
        lines.append(f"| {kind} | {loss:.3f} | {repeated:.0%} |")
    for kind, stream in held_out.items():
        prompts = even_windows(stream, prompt_length, 2)  # (2, 48)
        for temperature in (0.0, 0.8):
            written = continuations(model, prompts, sample_length, generator, temperature)
            lines += ["", f"## {kind.capitalize()}, temperature {temperature}", ""]
            lines += _quoted(written, data.tokenizer)
    return "\n".join(lines) + "\n"


def head_card(name: str, head: Head, record: Record, target: GPT, data: Streams) -> str:
    """Markdown about a stored head.

    Args:
        name: the file's name.
        head: as loaded.
        record: the checkpoint's record.
        target: whose features it was trained on.
        data: the streams it was trained on and is judged by.
    """
    if isinstance(head, MtpModule):
        head.lend(target)
    passes = record["settings"]["passes"]
    weights = sum(weight.numel() for weight in head.parameters())
    lines = [
        f"# {name}",
        "",
        f"{_kinds[type(head)]}, {weights / 1e6:.2f} million weights stored as "
        f"{record['storage']}. What the file loads to is the head.",
        "",
        *_origin(record, data),
        "- **Use.** It drafts for this target alone: another's features mean nothing to it.",
        "",
        f"Tokens a round on held-out text, the target's own among them, for K = 1 to {passes}:",
        "",
        "| held-out text | " + " | ".join(f"K = {k}" for k in range(1, passes + 1)) + " |",
        "|---|" + "---|" * passes,
    ]
    for kind, stream in (("prose", data.prose_held_out), ("code", data.code_held_out)):
        windows = even_windows(stream, target.config.context, judged_windows)
        gained = [tokens_per_round(head, target, windows, k) for k in range(1, passes + 1)]
        lines.append(f"| {kind} | " + " | ".join(f"{tokens:.2f}" for tokens in gained) + " |")
    return "\n".join(lines) + "\n"


_kinds: dict[type[Head], str] = {
    FeatureHead: "A small GPT that reads the target's features as EAGLE does",
    MedusaHeads: "Heads that each guess one place, as Medusa's do",
    MtpModule: "A multi-token prediction module as DeepSeek-V3's, on a target that was finished",
}


def _origin(record: Record, data: Streams, history: str | None = None) -> list[str]:
    """What a model was trained on, and how long."""
    return [
        f"- **Data.** {record['corpus']} (hash of its file list {record['corpus_sha256']}): "
        f"{len(data.code) / 1e6:.2f}M tokens of code and {len(data.prose) / 1e6:.2f}M of prose "
        f"from its docstrings and language reference. One file in 16 is held out, with its "
        f"docstrings. Tokenizer {record['tokenizer_sha256']}.",
        "- **Licence.** The text is under the PSF licence agreement (PSF-LICENSE.txt).",
        f"- **Training.** {record['tokens'] / 1e6:.2f}M tokens in {record['step']} steps, "
        f"{record['cpu_seconds'] / 3600:.2f} processor hours. {history or _history(record)}",
    ]


_aims = {"overlap": " for the largest overlap with it"}


def _history(record: Record) -> str:
    """What a model learned from, stage by stage; those that took no step are left out."""
    stages = [stage for stage in record.get("stages", []) if stage["from_step"] < record["step"]]
    if not stages:
        return "Its record does not say whether it had a teacher."
    return " ".join(
        f"From step {stage['from_step']} on the text of {stage['corpus']}"
        + (
            "."
            if stage["teacher"] is None
            else f", distilled from {stage['teacher']} (hash of its weights "
            f"{stage['teacher_sha256']}){_aims.get(stage.get('objective'), '')}."
        )
        for stage in stages
    )


def _quoted(rows: Tensor, tokenizer: Tokenizer) -> Sequence[str]:
    """Each row as a block, with a mark where the prompt ends: (B, T) ids."""
    lines: list[str] = []
    for row in rows.tolist():
        prompt = tokenizer.text(row[:prompt_length])
        written = tokenizer.text(row[prompt_length:])
        lines += ["````text", f"{prompt}▮{written}", "````", ""]
    return lines[:-1]
