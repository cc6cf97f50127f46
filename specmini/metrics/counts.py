"""What a running server says about its drafts: counters, and what follows from them.

``specmini.metrics.pages`` reads pages and logs; here are the counters themselves. Three numbers
tell most: rounds that drafted, tokens drafted, tokens accepted. They give E = 1 + accepted / rounds
and rho = accepted / drafted; counted position by position they also give alpha at each. Since
speedup > 1 is the same as rho > e with e what a draft costs in plain steps, rho is the break-even
of that cost, whatever machine it is. A drafter that is sometimes silent, such as a lookup, takes
steps that no counter here holds: this E is then the E_K of ``specmini.theory.hit_rate``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from specmini.theory.positions import conditional_rates_from_survival
from specmini.theory.shares import acceptance_rate_from_tokens

__all__ = ["DraftCounts", "between"]

FEW_ROUNDS = 200  # E from fewer has a standard error of 5 % and more
NEVER = 0.02  # a position reached from the one before by fewer than this is broken
MOST_DRAFTED = 1_000_000  # tokens of one round: no counter means that
SLACK = 1e-6  # by which counts of floats may miss each other


@dataclass(frozen=True)
class DraftCounts:
    """What a server counted.

    Attributes:
        source: who counted, such as "vLLM metrics page".
        rounds: rounds that drafted.
        accepted: drafts accepted.
        drafted: tokens drafted, ``None`` if it is not told.
        by_position: rounds that accepted at least i drafts, i = 1..K, or ``None``.
        running: requests that were decoding, ``None`` if it is not told.
        waiting: requests that waited, ``None`` if it is not told.
        notes: what was left out or taken for granted in reading.

    Raises:
        ValueError: a number is negative or not finite, nothing was drafted, a round drafted or
            accepted more than a million tokens, or the counts contradict each other.
    """

    source: str
    rounds: float
    accepted: float
    drafted: float | None = None
    by_position: tuple[float, ...] | None = None
    running: float | None = None
    waiting: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers = [self.rounds, self.accepted, *(self.by_position or ())]
        numbers += [value for value in (self.drafted,) if value is not None]
        if not all(math.isfinite(value) and value >= 0 for value in numbers):
            raise ValueError(f"counters must be finite and at least 0, got {numbers}")
        for name in ("running", "waiting"):
            requests = getattr(self, name)
            if requests is not None and not (math.isfinite(requests) and requests >= 0):
                raise ValueError(f"{name} must be finite and at least 0, got {requests:g}")
        if self.rounds == 0:
            raise ValueError(
                "the counters say that nothing was drafted yet: send some requests, or look "
                "whether speculation is switched on"
            )
        most = max(self.accepted, self.drafted or 0.0)
        if most > self.rounds * MOST_DRAFTED:
            raise ValueError(
                f"rounds must be such that one drafts at most {MOST_DRAFTED:,} tokens, "
                f"got {self.rounds:g} rounds and {most:g} tokens"
            )
        if self.drafted is not None and self.accepted > self.drafted * (1 + SLACK):
            raise ValueError(
                f"accepted must be at most drafted, got {self.accepted:g} of {self.drafted:g}: "
                f"the counters are of different times or servers"
            )
        if self.by_position is not None:
            falling = [self.rounds, *self.by_position]
            for before, after in pairwise(falling):
                if after > before * (1 + SLACK):
                    raise ValueError(
                        f"accepted by position must not rise, nor exceed the rounds, "
                        f"got {list(self.by_position)} in {self.rounds:g} rounds"
                    )

    @property
    def tokens_per_round(self) -> float:
        """E of the rounds that drafted, with the token the target adds."""
        return 1 + self.accepted / self.rounds

    @property
    def accepted_share(self) -> float | None:
        """rho, accepted over drafted; what a draft may cost in plain steps before it loses."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def drafted_per_round(self) -> float | None:
        """Mean number of tokens drafted; below K where rounds stop early."""
        return None if self.drafted is None else self.drafted / self.rounds

    @property
    def draft_length(self) -> int | None:
        """K: positions counted, or drafted tokens a round if that is a whole number."""
        if self.by_position:
            return len(self.by_position)
        mean = self.drafted_per_round
        whole = mean is not None and mean >= 1 and abs(mean - round(mean)) < 1e-3
        return round(mean) if whole and mean is not None else None

    @property
    def survival(self) -> tuple[float, ...]:
        """Share of rounds that accepted at least i drafts, i = 1..K; empty if not counted."""
        return tuple(min(count / self.rounds, 1.0) for count in self.by_position or ())

    @property
    def rates_by_position(self) -> tuple[float, ...]:
        """Alpha at each position, given that those before were accepted; NaN if never reached."""
        if not self.by_position:
            return ()
        kept = np.minimum.accumulate(self.survival)
        return tuple(float(rate) for rate in conditional_rates_from_survival(kept))

    @property
    def acceptance_rate(self) -> float | None:
        """The one alpha that gives this E with this K, ``None`` where rounds stop early."""
        length, mean = self.draft_length, self.drafted_per_round
        if length is None or (mean is not None and mean < length - 0.01):
            return None
        return float(acceptance_rate_from_tokens(min(self.tokens_per_round, length + 1.0), length))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about these counts."""
        found = list(self.notes)
        if self.rounds < FEW_ROUNDS:
            found.append(f"only {self.rounds:.0f} rounds: E may be off by several percent")
        rates = self.rates_by_position
        if len(rates) > 1 and self.rounds >= 50 and rates[0] > 0.05 and rates[1] < NEVER:
            found.append(
                "no draft beyond the first is ever accepted: that is a defect, not a bad drafter; "
                "compare greedy with sampled requests, and check the output's distribution"
            )
        mean, length = self.drafted_per_round, self.draft_length
        if mean is not None and length is not None and mean < length - 0.01:
            found.append(
                f"rounds draft {mean:.2f} tokens of {length} on average, so rho is not comparable "
                f"with that of a fixed length"
            )
        return tuple(found)


def between(before: DraftCounts, after: DraftCounts) -> DraftCounts:
    """What was counted between two readings of the same server.

    Args:
        before: the first reading.
        after: the second.

    Raises:
        ValueError: a counter went back, nothing was drafted in between, or the two are of
            different sources or lengths.
    """
    counted = [one.by_position is not None for one in (before, after)]
    unlike = before.draft_length != after.draft_length or counted[0] != counted[1]
    if before.source != after.source or unlike:
        raise ValueError(
            f"both readings must be of one server, got {before.source} with K = "
            f"{before.draft_length} and {after.source} with K = {after.draft_length}"
        )
    pairs = [(before.rounds, after.rounds), (before.accepted, after.accepted)]
    pairs += list(zip(before.by_position or (), after.by_position or (), strict=True))
    if before.drafted is not None and after.drafted is not None:
        pairs.append((before.drafted, after.drafted))
    if any(late < early for early, late in pairs):
        raise ValueError(
            "counters went back between the readings: the server was started again, or they are "
            "in the wrong order; take two new ones"
        )
    if after.rounds == before.rounds:
        raise ValueError("nothing was drafted between the two readings")
    drafted = None
    if before.drafted is not None and after.drafted is not None:
        drafted = after.drafted - before.drafted
    by_position = None
    if before.by_position is not None and after.by_position is not None:
        by_position = tuple(
            late - early for early, late in zip(before.by_position, after.by_position, strict=True)
        )
    return replace(
        after,
        rounds=after.rounds - before.rounds,
        accepted=after.accepted - before.accepted,
        drafted=drafted,
        by_position=by_position,
    )
