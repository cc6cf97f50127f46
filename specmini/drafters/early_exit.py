"""Draft with the target's own first layers: a draft model that takes no memory for weights.

The residual stream after a few blocks often holds the next token already, so the final norm and
the head are put right behind them (LayerSkip, Elhoushi et al. 2024, arXiv:2404.16710; with layers
left out anywhere, Draft & Verify, Zhang et al. 2023, arXiv:2309.08168). LayerSkip trains the model
for this, with layers dropped at random and a loss at every exit; here nothing is trained, and what
an exit is worth is up to the weights.

The draft keeps a cache of its own. Sharing the target's would save the memory and the prefill of
the first n of L layers, and their arithmetic for K of the K + 1 positions of a check. It would not
save reading their weights, which is what a step at batch 1 costs: the last drafted token has not
been through them yet.
"""

from __future__ import annotations

import torch
from torch import nn

from specmini.checks import single, whole_number
from specmini.gpt import GPT, Config

__all__ = ["early_exit"]


def early_exit(model: GPT, layers: int) -> GPT:
    """The model cut off after some blocks, under its own norm and head.

    Use it as any draft: ``ModelDrafter(fast_model(early_exit(target, 2)), sampling)``. An engine
    may copy the weights into a layout of its own, as those of ``fast_model`` do.

    Args:
        model: where the weights are; they are shared, so training either changes both.
        layers: number of blocks to keep, in [1, L).

    Raises:
        ValueError: another number of layers.
    """
    old = model.config
    kept = single("layers", whole_number("layers", layers, minimum=1))
    if kept >= old.layers:
        raise ValueError(f"layers must be in [1, {old.layers}), got {layers}")
    with torch.device("meta"):  # no memory, no random numbers: every weight is replaced
        cut = GPT(Config(old.vocabulary, old.context, kept, old.width, old.heads))
    cut.wte, cut.wpe, cut.ln_f = model.wte, model.wpe, model.ln_f
    cut.h = nn.ModuleList(list(model.h)[:kept])
    return cut.train(model.training)
