"""Sample an engine with and without speculation, and say whether the texts differ.

The samples are drawn in turns until there are enough or the time is up, and are tested once, at the
end: to look in between and stop at the first alarm would raise more false alarms than stated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specmini.checks import non_negative, positive, probability, single, whole_number
from specmini.lossless.counts import Place, Text, coded, places
from specmini.lossless.engine import Engine, Prompt
from specmini.lossless.power import samples_needed

__all__ = ["Comparison", "Finding", "compare"]

Finding = Literal["differs", "no difference found", "too few samples to tell"]


@dataclass(frozen=True)
class Comparison:
    """Two samples of an engine, compared.

    Attributes:
        places: what was compared: for each prompt each token, and each two neighbors.
        samples: texts that each engine wrote for each prompt.
        level: chance of a false alarm over all places together.
        catch: total variation distance at a token that the sample was to catch.
        seconds: time that sampling took.
    """

    places: tuple[Place, ...]
    samples: int
    level: float
    catch: float
    seconds: float

    @property
    def tokens(self) -> tuple[Place, ...]:
        """The places that are single tokens."""
        return tuple(place for place in self.places if place.width == 1)

    @property
    def alarms(self) -> tuple[Place, ...]:
        """The places that differ."""
        return tuple(place for place in self.places if place.adjusted <= self.level)

    @property
    def least_distance(self) -> float:
        """Distance that would be caught, with 90 % chance, at whatever token it was."""
        return max(place.least_distance for place in self.tokens)

    @property
    def samples_needed(self) -> int:
        """Texts of each engine and prompt that would catch ``catch`` at every token."""
        each = self.level / len(self.places)
        return max(samples_needed(self.catch, place.cells, each) for place in self.tokens)

    @property
    def finding(self) -> Finding:
        """An alarm counts however small the sample; silence only if the sample was large enough."""
        if self.alarms:
            return "differs"
        enough = self.least_distance <= self.catch
        return "no difference found" if enough else "too few samples to tell"


def compare(
    plain: Engine,
    speculative: Engine,
    prompts: Sequence[Prompt],
    rng: np.random.Generator,
    *,
    new_tokens: int = 6,
    samples: int = 2000,
    seconds: float = np.inf,
    level: float = 0.01,
    catch: float = 0.1,
    turn: int = 16,
    report: Callable[[int, int, float], None] | None = None,
) -> Comparison:
    """Compare the texts of two engines that should write alike.

    Args:
        plain: the engine without speculation.
        speculative: the same with it, at the same sampling settings.
        prompts: at least one.
        rng: of the random deals; the engines have their own.
        new_tokens: tokens of a text; longer than a draft, so that every drafted position and the
            bonus token are among them.
        samples: texts of each engine for each prompt, at least 2.
        seconds: no new turn begins after so many; at least one turn is taken.
        level: chance of a false alarm, in [1e-6, 0.5].
        catch: total variation distance that a sound sample must be able to show, in (0, 1].
        turn: texts that an engine writes before the other's turn.
        report: called after each turn with the texts of each engine and prompt so far, their most,
            and the seconds.

    Raises:
        ValueError: an argument is out of range, or an engine wrote another number of texts.
    """
    size = single("new_tokens", whole_number("new_tokens", new_tokens, minimum=1))
    most = single("samples", whole_number("samples", samples, minimum=2))
    several = single("turn", whole_number("turn", turn, minimum=2))
    budget = single("seconds", non_negative("seconds", seconds, infinite=True))
    share = single("catch", positive("catch", probability("catch", catch)))
    if not 1e-6 <= single("level", probability("level", level)) <= 0.5:
        raise ValueError(f"level must be in [1e-6, 0.5], got {level}")
    if isinstance(prompts, str) or not prompts:
        raise ValueError(f"prompts must be a list of at least one prompt, got {prompts!r}")

    begun = time.perf_counter()
    written: list[tuple[list[Text], list[Text]]] = [([], []) for _ in prompts]
    done, spent = 0, 0.0
    while done < most and (not done or spent < budget):
        count = min(several, most - done)
        for prompt, texts in zip(prompts, written, strict=True):
            for engine, text in zip((plain, speculative), texts, strict=True):
                new = engine.write(prompt, size, count)
                if len(new) != count:
                    raise ValueError(f"an engine must write {count} texts, got {len(new)}")
                text += new
        done += count
        spent = time.perf_counter() - begun
        if report is not None:
            report(done, most, spent)
    tables = [coded(*texts, size) for texts in written]
    found = places([(one, other) for one, other in tables], level, rng)
    return Comparison(found, done, level, share, spent)
