"""The same weights in Hugging Face transformers: their decoding and ours, by turns.

    python -m pip install transformers==5.24.0
    python tests/benchmarks/hugging_face.py [--write FILE]

transformers is not among this project's requirements: install it for this script alone, best in
an environment of its own. Target and draft are written in its layout and loaded there. Greedy
decoding, one thread, batch 1; each way of decoding continues a prompt, then the next way does.
Theirs runs in float32 and bfloat16, plain, assisted with several draft lengths (a fixed number of
tokens, the confidence stop off) and assisted with its defaults. Ours computes in float32, whatever
the kernel packs the weights in; the table says whether all outputs agree. Everybody's time is that
of the whole call, the prompt included.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata, util
from pathlib import Path

import numpy as np
import torch
from speedup import NEW_TOKENS, about, kernels_of, prompts_of
from ways import Way
from ways.of_transformers import loaded, theirs
from ways.ours import ours

from specmini.drafters import ModelDrafter
from specmini.engine.fast_model import fast_model
from specmini.engine.threads import single_thread
from specmini.gpt import GPT
from specmini.hugging_face.folder import write_pair
from specmini.measure import in_turn
from specmini.pair import checkpoint_hashes, load_pair
from specmini.sampling import greedy
from specmini.tables import Table

LENGTHS = (2, 3, 4, 5, 6)
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


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
    drafter = partial(ModelDrafter, draft, greedy)
    ways = [Way("specmini", "float32", "plain", ours(target, None, 0, NEW_TOKENS))]
    ways += [
        Way("specmini", "float32", f"K = {k}", ours(target, drafter, k, NEW_TOKENS))
        for k in LENGTHS
    ]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folders = write_pair(Path(folder), pair)
        models = {name: [loaded(one, dtype) for one in folders] for name, dtype in TYPES.items()}
    for name, (large, small) in models.items():
        if name == "float32":
            largest = difference(pair.target, lambda ids, model=large: model(ids).logits)
        ways.append(Way("transformers", name, "plain", theirs(large, None, None, NEW_TOKENS)))
        ways += [
            Way("transformers", name, f"K = {k}", theirs(large, small, k, NEW_TOKENS))
            for k in LENGTHS
        ]
        ways.append(Way("transformers", name, "defaults", theirs(large, small, None, NEW_TOKENS)))
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
