"""When does speculative decoding win? The formulas, on NumPy alone.

The formulas of the first four modules are names of this package::

    formula      what a round costs in time and in arithmetic; the speedup and its bounds
    acceptance   tokens per round: mean, variance, distribution
    positions    acceptance position by position
    optimum      the best draft length, the last that wins, break-even; on the solvers of roots
    shares       tokens per round, accepted share and acceptance rate, each from the other
    hit_rate     the same theory when some rounds have no draft
    topology     the shape of a tree; tree_shape finds the best one
    drafter_map  where a drafter stands between acceptance rate and cost
"""

from specmini.theory.acceptance import (
    accepted_drafts,
    accepted_share,
    tokens_distribution,
    tokens_per_round,
    tokens_variance,
)
from specmini.theory.formula import (
    arithmetic_growth,
    oracle_speedup,
    overhead_per_draft,
    round_cost,
    speedup,
    speedup_bound,
)
from specmini.theory.optimum import (
    best_draft_length,
    best_draft_length_real,
    break_even_acceptance,
    break_even_cost,
    longest_winning_draft,
)
from specmini.theory.positions import (
    conditional_rates_beta,
    conditional_rates_from_survival,
    survival,
    tokens_distribution_by_position,
    tokens_per_round_by_position,
    tokens_variance_by_position,
)

__all__ = [
    "accepted_drafts",
    "accepted_share",
    "arithmetic_growth",
    "best_draft_length",
    "best_draft_length_real",
    "break_even_acceptance",
    "break_even_cost",
    "conditional_rates_beta",
    "conditional_rates_from_survival",
    "longest_winning_draft",
    "oracle_speedup",
    "overhead_per_draft",
    "round_cost",
    "speedup",
    "speedup_bound",
    "survival",
    "tokens_distribution",
    "tokens_distribution_by_position",
    "tokens_per_round",
    "tokens_per_round_by_position",
    "tokens_variance",
    "tokens_variance_by_position",
]
