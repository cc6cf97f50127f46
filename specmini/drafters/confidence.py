"""Stop a draft where the draft model is unsure: rules for ``ModelDrafter``'s ``keep_going``.

A fixed K is too long where the text is hard and too short where it is easy. The draft model knows
the difference, roughly: its own probabilities foretell acceptance without a look at the target.

SpecDec++ (Huang et al. 2024, arXiv:2405.19715) shows that the best rule has a threshold: stop when
the chance that some token of the draft is rejected exceeds it. Its prediction comes from a trained
head, as DISCO's from a trained classifier (Mamou et al. 2024, arXiv:2405.04304). ``likely_whole``
puts the probability of the likeliest token in its place. ``confident`` looks at the last token
alone, as Hugging Face's ``assistant_confidence_threshold`` does (default 0.4, and there it is the
drawn token's probability). ``certain`` does the same by entropy (as AdaEDL, Agrawal et al. 2024,
arXiv:2410.18351, from a bound on the acceptance).

All of them see distributions, never what was drawn from them. A rule that saw the token could do
no harm here, since that token is proposed in any case; a rule that held it back would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.checks import FloatArray, non_negative, probability, single
from specmini.drafters.model import KeepGoing

__all__ = ["certain", "confident", "likely_whole"]


def confident(minimum: float) -> KeepGoing:
    """Go on while the likeliest token had at least this probability.

    Args:
        minimum: in [0, 1]; 0 never stops.

    Raises:
        ValueError: a number outside.
    """
    bound = single("minimum", probability("minimum", minimum))

    def keep_going(rows: Sequence[FloatArray]) -> bool:
        return bool(rows[-1].max() >= bound)

    return keep_going


def likely_whole(minimum: float) -> KeepGoing:
    """Go on while the whole draft so far is accepted with at least this predicted chance.

    Args:
        minimum: in [0, 1], one minus the threshold of SpecDec++; 0 never stops.

    Raises:
        ValueError: a number outside.
    """
    bound = single("minimum", probability("minimum", minimum))

    def keep_going(rows: Sequence[FloatArray]) -> bool:
        return bool(np.prod([row.max() for row in rows]) >= bound)

    return keep_going


def certain(maximum: float) -> KeepGoing:
    """Go on while the entropy of the last token's distribution was at most this.

    Args:
        maximum: in nats, in [0, inf).

    Raises:
        ValueError: a number outside.
    """
    bound = single("maximum", non_negative("maximum", maximum))

    def keep_going(rows: Sequence[FloatArray]) -> bool:
        row = rows[-1][rows[-1] > 0]  # 0 log 0 is 0
        return bool(-(row * np.log(row)).sum() <= bound)

    return keep_going
