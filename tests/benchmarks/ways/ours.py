"""Our own loop, as a way of decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specmini.drafters.base import Drafter
from specmini.engine.cached_model import CachedModel
from specmini.generate import generate
from specmini.sampling import Sampling, greedy
from ways import Decode, Rounds

__all__ = ["ours"]


def ours(
    target: CachedModel,
    drafter: Callable[[], Drafter] | None,
    length: int,
    new_tokens: int,
    sampling: Sampling = greedy,
    rounds: Rounds | None = None,
) -> Decode:
    """Plain decoding without a drafter; ``drafter`` makes one that remembers no prompt before."""
    rng = np.random.default_rng(0)

    def decode(prompt: Sequence[int]) -> list[int]:
        drafting = None if drafter is None else drafter()
        text = generate(target, prompt, new_tokens, rng, sampling=sampling, drafter=drafting,
                        draft_length=length)  # fmt: skip
        if rounds is not None:
            for one in text.rounds:
                rounds.add(len(one.drafted), one.n_accepted)
        return list(text.tokens)

    return decode
