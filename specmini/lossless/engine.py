"""What an engine must do to be compared, and our own loops in that form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from specmini.drafters.base import Drafter
from specmini.engine.cached_model import CachedModel
from specmini.generate import generate
from specmini.lossless.counts import Text
from specmini.sampling import Sampling

__all__ = ["Engine", "Loop", "Prompt", "Text", "chain_engines"]

Prompt: TypeAlias = str | Sequence[int]


class Engine(Protocol):
    """Anything that continues a prompt, at sampling settings of its own."""

    def write(self, prompt: Prompt, new_tokens: int, count: int) -> Sequence[Text]:
        """Continue a prompt several times, independently each time.

        Args:
            prompt: whatever the engine reads, a text or token ids.
            new_tokens: most tokens to write, at least 1.
            count: continuations, at least 1.

        Returns:
            ``count`` sequences of tokens, ids or strings; shorter where the text ended.
        """


@dataclass(frozen=True)
class Loop:
    """An engine out of a function that continues token ids once.

    Attributes:
        run: from prompt and number of tokens to the tokens written.
    """

    run: Callable[[Sequence[int], int], Sequence[int]]

    def write(self, prompt: Prompt, new_tokens: int, count: int) -> list[Sequence[int]]:
        """See ``Engine``.

        Raises:
            ValueError: the prompt is a text.
        """
        if isinstance(prompt, str):
            raise ValueError(f"prompt must be token ids, got the text {prompt!r}")
        return [self.run(prompt, new_tokens) for _ in range(count)]


def chain_engines(
    target: CachedModel,
    drafter: Drafter,
    draft_length: int,
    sampling: Sampling,
    rng: np.random.Generator,
    speculative_target: CachedModel | None = None,
) -> tuple[Loop, Loop]:
    """``specmini.generate`` as two engines, without speculation and with it.

    Args:
        target: the model whose texts are wanted.
        drafter: guesses tokens, with the same sampling settings.
        draft_length: K.
        sampling: of the target.
        rng: of all texts.
        speculative_target: what the speculative engine runs in the target's place.
    """

    def plain(prompt: Sequence[int], new_tokens: int) -> Sequence[int]:
        return generate(target, prompt, new_tokens, rng, sampling=sampling).tokens

    def speculative(prompt: Sequence[int], new_tokens: int) -> Sequence[int]:
        return generate(
            speculative_target or target,
            prompt,
            new_tokens,
            rng,
            sampling=sampling,
            drafter=drafter,
            draft_length=draft_length,
        ).tokens

    return Loop(plain), Loop(speculative)
