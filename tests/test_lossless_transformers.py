"""Assisted generation of transformers, where it is installed, writes what the target writes."""

import numpy as np
import pytest

from specmini.lossless.comparison import compare
from specmini.lossless.engine import Loop

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def model(layers, seed):
    """A GPT-2 of random weights, large enough ones to have an opinion."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=12, n_positions=32, n_embd=16, n_layer=layers, n_head=2,
        bos_token_id=None, eos_token_id=None, initializer_range=0.6,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).eval()


def test_assisted_generation_passes():
    """A false alarm has chance 1e-3."""
    target, assistant = model(2, 0), model(1, 1)
    torch.manual_seed(2)

    def written(**options):
        def run(prompt, new_tokens):
            text = target.generate(
                torch.tensor([list(prompt)]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                do_sample=True,
                max_new_tokens=new_tokens,
                pad_token_id=0,
                **options,
            )
            return text[0, len(prompt) :].tolist()

        return Loop(run)

    found = compare(
        written(), written(assistant_model=assistant), [[1, 2, 3]], np.random.default_rng(3),
        new_tokens=4, samples=60, level=1e-3, catch=0.8,
    )  # fmt: skip
    assert found.finding == "no difference found"
