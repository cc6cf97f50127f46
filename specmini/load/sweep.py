"""The same server at many arrival rates, with and without speculation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.load.policy import PLAIN, Policy
from specmini.load.server import serve
from specmini.load.service import Service
from specmini.load.workload import poisson
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import Draft

__all__ = ["PLAIN_NAME", "Sweep", "sweep"]

PLAIN_NAME = "plain"
FEWEST, MOST = 150, 2000  # requests of a run


@dataclass(frozen=True)
class Sweep:
    """Services at rising arrival rates, by policy.

    Attributes:
        rates: (R,) requests a second.
        services: for each policy, by its name, R services; ``plain`` is one of them.
    """

    rates: FloatArray
    services: Mapping[str, Sequence[Service]]

    def quantiles(self, policy: str, measure: str, share: float = 0.5) -> FloatArray:
        """(R,) seconds: a quantile of a measure over requests.

        Args:
            policy: one of the names in ``services``.
            measure: ``time_to_first_token``, ``time_per_output_token`` or ``latency``.
            share: in [0, 1].

        Raises:
            ValueError: the policy or the measure is none of these.
        """
        name = checks.choice("policy", policy, tuple(self.services))
        measures = ("time_to_first_token", "time_per_output_token", "latency")
        chosen = checks.choice("measure", measure, measures)
        return np.array([one.quantile(getattr(one, chosen), share) for one in self.services[name]])

    def throughputs(self, policy: str) -> FloatArray:
        """(R,) tokens a second.

        Raises:
            ValueError: the policy is none of ``services``.
        """
        name = checks.choice("policy", policy, tuple(self.services))
        return np.array([one.throughput for one in self.services[name]])

    def gain(self, policy: str, measure: str = "latency", share: float = 0.5) -> FloatArray:
        """(R,) plain seconds over the policy's: above 1 speculation is faster."""
        return self.quantiles(PLAIN_NAME, measure, share) / self.quantiles(policy, measure, share)


def sweep(
    target: Deployment,
    draft: Draft,
    rates: ArrayLike,
    policies: Mapping[str, Policy],
    *,
    prompt_tokens: int,
    output_tokens: int,
    acceptance_rate: float,
    spread: float = 0.0,
    seconds: float = 20.0,
    seed: int = 0,
    most_requests: int = 256,
) -> Sweep:
    """Simulate a server at each rate, plainly and with each policy, on the same arrivals.

    Args:
        target: the target on its machine.
        draft: a ``specmini.roofline.draft_cost.DraftCost``, or the cost ratio itself in [0, inf).
        rates: (R,) requests a second, rising, above 0.
        policies: by name; ``plain`` is added.
        prompt_tokens: of every request.
        output_tokens: of every request.
        acceptance_rate: mean alpha, in [0, 1].
        spread: of alpha over requests, see ``specmini.load.workload.poisson``.
        seconds: of arrivals in a run, which has 150 to 2,000 requests.
        seed: of the randomness.
        most_requests: that run at once, if memory allows.

    Raises:
        ValueError: an argument is out of range.
    """
    paces = checks.positive("rates", rates)
    if paces.ndim != 1 or not paces.size or (np.diff(paces) <= 0).any():
        raise ValueError(f"rates must be at least one number, rising, got {paces.tolist()}")
    span = checks.single("seconds", checks.positive("seconds", seconds))
    services: dict[str, list[Service]] = {PLAIN_NAME: [], **{name: [] for name in policies}}
    for place, pace in enumerate(paces.tolist()):
        requests = int(np.clip(round(pace * span), FEWEST, MOST))
        for name, policy in {**policies, PLAIN_NAME: PLAIN}.items():
            workload = poisson(
                pace,
                requests,
                np.random.default_rng([seed, place]),
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                acceptance_rate=acceptance_rate,
                spread=spread,
            )
            services[name].append(
                serve(
                    target,
                    draft,
                    workload,
                    policy,
                    np.random.default_rng([seed, place, 1]),
                    most_requests=most_requests,
                )
            )
    return Sweep(paces, services)
