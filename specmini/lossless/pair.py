"""The trained pair of this package as two engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from specmini.drafters.model import ModelDrafter
from specmini.engine.cached_model import CachedModel
from specmini.engine.threads import single_thread
from specmini.lossless.engine import Engine, Prompt, Text, chain_engines
from specmini.pair import load_pair
from specmini.sampling import Sampling

__all__ = ["pair_engines"]


def pair_engines(
    sampling: Sampling,
    draft_length: int,
    rng: np.random.Generator,
    fault: Callable[[CachedModel], CachedModel] | None = None,
) -> tuple[Engine, Engine, Callable[[str], Prompt]]:
    """The pair without speculation, with it, and what turns a text into token ids.

    Args:
        sampling: of target and draft.
        draft_length: K.
        rng: of all texts.
        fault: what is done to the target of the speculative engine.
    """
    pair = load_pair()
    target = pair.target_model()
    plain, speculative = chain_engines(
        target,
        ModelDrafter(pair.draft_model(), sampling),
        draft_length,
        sampling,
        rng,
        None if fault is None else fault(target),
    )
    return _OnOneCore(plain), _OnOneCore(speculative), pair.tokenizer.encode


@dataclass(frozen=True)
class _OnOneCore:
    """An engine kept to one core: threads of a tiny model wait for each other most of the time."""

    engine: Engine

    def write(self, prompt: Prompt, new_tokens: int, count: int) -> Sequence[Text]:
        with single_thread():
            return self.engine.write(prompt, new_tokens, count)
