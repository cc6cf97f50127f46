"""The same weights in Hugging Face transformers: their decoding and ours, by turns.

    python -m pip install transformers==5.24.0
    python tests/benchmarks/hugging_face.py [--write FILE]

transformers is not among this project's requirements: install it for this script alone, best in
an environment of its own. Target and draft go into ``GPT2LMHeadModel`` unchanged. Greedy decoding,
one thread, batch 1; each way of decoding continues a prompt, then the next way does. Theirs runs
in float32 and bfloat16, plain, assisted with several draft lengths (a fixed number of tokens, the
confidence stop off) and assisted with its defaults. Ours computes in float32, whatever the kernel
packs the weights in; the table says whether all outputs agree. Everybody's time is that of the
whole call, the prompt included.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path

import numpy as np
import torch
from speedup import NEW_TOKENS, about, kernels_of, prompts_of

from specmini.cached_model import CachedModel
from specmini.drafters import ModelDrafter
from specmini.fast_model import fast_model
from specmini.generate import generate
from specmini.gpt import GPT, to_hugging_face
from specmini.measure import in_turn
from specmini.pair import checkpoint_hashes, load_pair
from specmini.sampling import greedy
from specmini.tables import Table
from specmini.threads import single_thread

LENGTHS = (2, 3, 4, 5, 6)
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Decode = Callable[[Sequence[int]], list[int]]


@dataclass
class Way:
    """One way of decoding, and what it did on each prompt."""

    whose: str
    numbers: str
    drafting: str
    decode: Decode
    seconds: list[float] = field(default_factory=list)
    outputs: list[list[int]] = field(default_factory=list)

    @property
    def plain(self) -> bool:
        return self.drafting == "plain"

    @property
    def tokens_per_second(self) -> float:
        return sum(map(len, self.outputs)) / sum(self.seconds)

    def run(self, prompt: Sequence[int]) -> None:
        begun = time.perf_counter()
        output = self.decode(prompt)
        self.seconds.append(time.perf_counter() - begun)
        self.outputs.append(output)


def ours(target: CachedModel, draft: CachedModel | None, length: int) -> Decode:
    def decode(prompt: Sequence[int]) -> list[int]:
        rng = np.random.default_rng(0)
        # a new one remembers no prompt from the way before
        drafter = None if draft is None else ModelDrafter(draft, greedy)
        text = generate(target, prompt, NEW_TOKENS, rng, sampling=greedy, drafter=drafter,
                        draft_length=length)  # fmt: skip
        return list(text.tokens)

    return decode


def theirs(model, assistant, length: int | None) -> Decode:
    """A call of ``generate``; length None leaves the assistant's defaults as they are."""

    def decode(prompt: Sequence[int]) -> list[int]:
        ids = torch.tensor([prompt])
        given = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "pad_token_id": 0}
        if assistant is not None:
            given["assistant_model"] = assistant
            settings = assistant.generation_config
            settings.num_assistant_tokens = length
            settings.num_assistant_tokens_schedule = None if length is None else "constant"
            settings.assistant_confidence_threshold = None if length is None else 0.0
        with torch.inference_mode():
            output = model.generate(ids, attention_mask=torch.ones_like(ids), **given)
        return output[0, len(prompt) :].tolist()

    return decode


def transplanted(model: GPT, dtype: torch.dtype):
    """A ``GPT2LMHeadModel`` with a GPT's weights.

    Raises:
        ValueError: a weight has no place there, or a place no weight.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    config = model.config
    other = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocabulary,
            n_positions=config.context,
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            activation_function="gelu_new",
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    result = other.load_state_dict(to_hugging_face(model.state_dict()), strict=False)
    missing = [name for name in result.missing_keys if not name.endswith(".attn.bias")]
    if missing or result.unexpected_keys:
        raise ValueError(f"weights do not fit: {missing} missing, {result.unexpected_keys} extra")
    return other.to(dtype).eval()


def difference(model: GPT, other: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """Largest difference of two models' logits on random tokens."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(model.config.vocabulary, (1, 100), generator=generator)
    with torch.inference_mode():
        return float((other(ids) - model(ids)).abs().max())


def summary(ways: Sequence[Way]) -> dict[str, float]:
    """Ours over theirs, each side at its best draft length; pooled over all prompts."""

    def best(whose: str, plain: bool, numbers: str | None) -> float:
        return max(
            way.tokens_per_second
            for way in ways
            if way.whose == whose and way.plain == plain and numbers in (None, way.numbers)
        )

    return {
        f"{'plain' if plain else 'speculative'}, {numbers or 'best dtype of theirs'}": best(
            "specmini", plain, None
        )
        / best("transformers", plain, numbers)
        for numbers in ("float32", None)
        for plain in (True, False)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="folder with target and draft.safetensors")
    parser.add_argument("--prompts", type=int, default=10, help="of each kind")
    parser.add_argument("--write", type=Path, metavar="FILE", help="store the result")
    options = parser.parse_args()
    if util.find_spec("transformers") is None:
        print("skipped, transformers is missing: python -m pip install transformers==5.24.0")
        return
    from transformers.utils import logging

    logging.set_verbosity_error()
    pair = load_pair(options.models)
    target, draft = pair.target_model(), pair.draft_model()
    ways = [Way("specmini", "float32", "plain", ours(target, None, 0))]
    ways += [
        Way("specmini", "float32", f"K = {k}", ours(target, draft, k)) for k in LENGTHS
    ]  # fmt: skip
    for name, dtype in TYPES.items():
        large, small = transplanted(pair.target, dtype), transplanted(pair.draft, dtype)
        if name == "float32":
            largest = difference(pair.target, lambda ids, model=large: model(ids).logits)
        ways.append(Way("transformers", name, "plain", theirs(large, None, None)))
        ways += [
            Way("transformers", name, f"K = {k}", theirs(large, small, k)) for k in LENGTHS
        ]  # fmt: skip
        ways.append(Way("transformers", name, "defaults", theirs(large, small, None)))
    engine = fast_model(pair.target)
    ours_differs = difference(
        pair.target, lambda ids: torch.from_numpy(np.array(engine.forward(ids[0].tolist())))[None]
    )

    prompts = [
        prompt for kind in ("prose", "code") for prompt in prompts_of(kind, options.prompts, pair)
    ]
    with single_thread():
        for way in ways:  # warm up
            way.decode(prompts[0])
        for turn, prompt in enumerate(prompts):
            for way in in_turn(ways, turn):
                way.run(prompt)

    reference = ways[0]
    rows = [
        {
            "whose": way.whose,
            "numbers": way.numbers,
            "drafting": way.drafting,
            "tokens_per_second": way.tokens_per_second,
            "same_output": float(
                np.mean([a == b for a, b in zip(way.outputs, reference.outputs, strict=True)])
            ),
            "seconds": way.seconds,
        }
        for way in ways
    ]
    print(
        Table(
            {
                "": [row["whose"] for row in rows],
                "numbers": [row["numbers"] for row in rows],
                "drafting": [row["drafting"] for row in rows],
                "tokens/s": [row["tokens_per_second"] for row in rows],
                "outputs as our plain": [row["same_output"] for row in rows],
            },
            formats={"outputs as our plain": ".0%"},
            digits=1,
        )
    )
    ratios = summary(ways)
    for name, ratio in ratios.items():
        print(f"ours over theirs, {name}: {ratio:.2f}")
    print(f"largest difference of logits: theirs {largest:.1e}, our engine {ours_differs:.1e}")
    if options.write:
        head = about(checkpoint_hashes(options.models)) | {
            "measured_by": "tests/benchmarks/hugging_face.py",
            "transformers": metadata.version("transformers"),
            "kernels": {"target": kernels_of(target), "draft": kernels_of(draft)},
            "prompts": len(prompts),
            "largest_difference_of_logits": {"theirs": largest, "ours": ours_differs},
        }
        rounded = [row | {"seconds": [round(s, 5) for s in row["seconds"]]} for row in rows]
        content = {"about": head, "ratios": ratios, "ways": rounded}
        text = json.dumps(content, indent=1)
        options.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
