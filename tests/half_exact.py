"""A small GPT whose weights 16-bit floats hold, so that kernels in half precision must agree."""

import torch

from specmini.gpt import GPT, Config


def half_exact_gpt(config: Config, generator: torch.Generator) -> GPT:
    """Random weights, with gains, biases and means not to be forgotten."""
    made = GPT(config, generator)
    with torch.no_grad():
        for weight in made.parameters():
            noise = 0.1 * torch.randn(weight.shape, generator=generator) + 0.05
            weight.copy_((4 * weight + noise).half())
    return made.eval().requires_grad_(False)
