"""How good a language model is: bits per byte, and continuations to read.

Bits per byte do not depend on the tokenizer, so models with different vocabularies compare: the
loss of all predicted tokens, in bits, over the bytes that these tokens stand for.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor

from specmini.gpt import GPT, Cache
from specmini.tokenizer import Tokenizer

__all__ = ["bits_per_byte", "continuations"]


@torch.inference_mode()
def bits_per_byte(model: GPT, windows: Tensor, tokenizer: Tokenizer, batch: int = 16) -> float:
    """Mean loss in bits per byte of text; lower is better.

    Args:
        model: the model.
        windows: (N, T + 1) ids; the last T of each row are predicted from those before them.
        tokenizer: says how many bytes a token has (an end of text has none).
        batch: rows to run at once.
    """
    sizes = [len(tokenizer.decode([i])) for i in range(tokenizer.vocabulary)]
    size = torch.tensor(sizes, dtype=torch.float64)  # (V,)
    nats = 0.0
    for rows in torch.split(windows, batch):
        logits = model(rows[:, :-1]).flatten(0, 1)  # (B T, V)
        nats += F.cross_entropy(logits, rows[:, 1:].flatten(), reduction="sum").item()
    return nats / math.log(2) / float(size[windows[:, 1:]].sum())


@torch.inference_mode()
def continuations(
    model: GPT,
    prompts: Tensor,
    length: int,
    generator: torch.Generator,
    temperature: float = 1.0,
) -> Tensor:
    """Continue several prompts of one length, plainly.

    Args:
        model: the model.
        prompts: (B, T) ids.
        length: tokens to add, N.
        generator: source of randomness.
        temperature: 0 takes the likeliest token.

    Returns:
        (B, T + N) ids, prompts included.

    Raises:
        ValueError: ``temperature`` is negative, or the whole is longer than the context.
    """
    if not temperature >= 0:
        raise ValueError(f"temperature must be at least 0, got {temperature}")
    room = model.config.context - prompts.shape[1]
    if not 0 <= length <= room:
        raise ValueError(f"length must be in [0, {room}], got {length}")
    cache = Cache(model.config, batch=len(prompts))
    tokens = prompts
    for _ in range(length):
        logits = model(tokens[:, cache.length :], cache)[:, -1]  # (B, V)
        if temperature == 0:
            new = logits.argmax(-1, keepdim=True)  # (B, 1)
        else:
            probabilities = (logits / temperature).softmax(-1)  # (B, V)
            new = torch.multinomial(probabilities, 1, generator=generator)  # (B, 1)
        tokens = torch.cat((tokens, new), dim=1)  # (B, T + 1)
    return tokens
