"""Simulate a server with continuous batching, pass by pass.

A server does one thing at a time: it reads the prompts of requests that it admits, or it plays a
round for all that run. So there is one clock, and the next event is the end of this pass or, when
nothing runs, the next arrival. A library for discrete events (SimPy is the usual one) schedules
many processes that wait for each other; with one server there is nothing to schedule, and the loop
below is shorter than the processes would be.

What is assumed:

* Requests are admitted in the order of arrival, as soon as a slot is free, and their prompts are
  read before the next round (as vLLM does without chunked prefill), several in one pass up to
  ``prompt_budget`` tokens. The prompt's pass yields the first token.
* A slot holds the cache of the longest request. How many there are is what memory leaves beside
  the weights, those of the drafter included; nothing is ever evicted.
* Each draft token is accepted with the request's alpha, independently. A request that needs fewer
  tokens than a round yields drops the rest.
* All requests of a round draft K tokens, and a pass costs what the deployment says for the mean
  context. Scheduling and sampling cost what the deployment's overhead says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmini.checks import FloatArray, IntArray, probability, single, whole_number
from specmini.load.policy import Policy
from specmini.load.seconds import Seconds
from specmini.load.service import Rounds, Service
from specmini.load.workload import Workload
from specmini.roofline.crossover import largest_batch
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import Draft

__all__ = ["serve"]


class _Estimate:
    """Acceptance rate over all drafts so far, drawn to a prior worth twenty tokens."""

    def __init__(self, prior: float) -> None:
        self.accepted, self.offered = 20.0 * prior, 20.0

    @property
    def rate(self) -> float:
        return self.accepted / self.offered

    def observe(self, accepted: IntArray, draft_length: int) -> None:
        self.accepted += float(accepted.sum())
        self.offered += float(np.minimum(accepted + 1, draft_length).sum())


class _Census:
    """The time integral of the requests that wait or run, kept as the clock advances."""

    def __init__(self, arrivals: FloatArray) -> None:
        self._arrivals, self._sums = arrivals, np.concatenate([[0.0], arrivals.cumsum()])
        self._clock, self._present, self._arrived = float(arrivals[0]), 0, 0
        self.area = 0.0

    def advance(self, clock: float, finished: int) -> None:
        """Go on to ``clock``, at which so many requests are done."""
        arrived = int(self._arrivals.searchsorted(clock, side="right"))
        new = arrived - self._arrived
        self.area += self._present * (clock - self._clock)
        self.area += new * clock - float(self._sums[arrived] - self._sums[self._arrived])
        self._present += new - finished
        self._clock, self._arrived = clock, arrived


def serve(
    target: Deployment,
    draft: Draft,
    workload: Workload,
    policy: Policy,
    rng: np.random.Generator,
    *,
    most_requests: int = 256,
    prompt_budget: int = 8192,
    prior: float = 0.7,
) -> Service:
    """Serve a workload, and tell when every request got its tokens.

    Args:
        target: the target on its machine.
        draft: a ``specmini.roofline.draft_cost.DraftCost``, or the cost ratio itself in [0, inf).
        workload: the requests.
        policy: chooses K in each round.
        rng: of acceptance.
        most_requests: that run at once, if memory allows.
        prompt_budget: tokens of prompts in one pass; a longer prompt has a pass of its own.
        prior: acceptance rate that a load-aware policy believes before it has seen drafts.

    Raises:
        ValueError: an argument is out of range, or memory does not hold one request.
    """
    cap = single("most_requests", whole_number("most_requests", most_requests, minimum=1))
    budget = single("prompt_budget", whole_number("prompt_budget", prompt_budget, minimum=1))
    estimate = _Estimate(single("prior", probability("prior", prior)))
    positions = workload.longest + policy.longest
    fits = int(largest_batch(target, draft if policy.longest else 0.0, positions))
    if not fits:
        raise ValueError(
            f"workload must fit into memory, got a request of {positions} positions for which "
            f"{target.model.name} leaves no room on {target.machine.name}"
        )
    slots = min(cap, fits)
    seconds = Seconds(target, draft, policy.longest, slots, positions)

    count = len(workload)
    arrivals = workload.arrivals
    with np.errstate(divide="ignore"):
        log_rates = np.log(workload.acceptance_rate)  # (N,)
    left = workload.output_tokens.copy()  # (N,) tokens still to write
    cached = workload.prompt_tokens.copy()  # (N,) positions in the cache
    first_token, finish = np.zeros(count), np.zeros(count)
    running = np.empty(0, dtype=np.int64)
    played: list[tuple[float, int, int, int]] = []
    clock, next_request, prompt_seconds = float(arrivals[0]), 0, 0.0
    census = _Census(arrivals)

    while next_request < count or len(running):
        if not len(running):
            clock = max(clock, float(arrivals[next_request]))
        arrived = int(arrivals.searchsorted(clock, side="right"))
        free = min(slots - len(running), arrived - next_request)
        if free:
            admitted = _admitted(workload.prompt_tokens[next_request : next_request + free], budget)
            new = np.arange(next_request, next_request + admitted)
            next_request += admitted
            mean = int(np.ceil(workload.prompt_tokens[new].mean()))
            spent = seconds.prompts(admitted, mean)
            clock, prompt_seconds = clock + spent, prompt_seconds + spent
            first_token[new] = clock
            left[new] -= 1
            done = left[new] == 0
            finish[new[done]] = clock
            census.advance(clock, int(done.sum()))
            running = np.concatenate([running, new[~done]])
            continue
        step, checks = seconds.passes(len(running), float(cached[running].mean()))
        length = 0
        if policy.longest:
            costs: Sequence[float] = (checks / checks[0]).tolist()
            length = policy.draft_length(estimate.rate, step / float(checks[0]), costs)
        gained = np.ones(len(running), dtype=np.int64)
        if length:
            accepted = _accepted(log_rates[running], length, rng)
            estimate.observe(accepted, length)
            gained += accepted
        gained = np.minimum(gained, left[running])
        spent = length * step + float(checks[length])
        clock += spent
        played.append((spent, len(running), length, int(gained.sum())))
        left[running] -= gained
        cached[running] += gained
        done = left[running] == 0
        census.advance(clock, int(done.sum()))
        if done.any():
            finish[running[done]] = clock
            running = running[~done]

    columns = [np.array(column) for column in zip(*played, strict=True)] or [np.empty(0)] * 4
    return Service(
        workload=workload,
        first_token=first_token,
        finish=finish,
        rounds=Rounds(*columns),
        prompt_seconds=prompt_seconds,
        slots=slots,
        in_system=census.area / (clock - float(arrivals[0])),
    )


def _admitted(prompt_tokens: IntArray, budget: int) -> int:
    """How many of the waiting prompts one pass reads; at least one."""
    return max(int(prompt_tokens.cumsum().searchsorted(budget, side="right")), 1)


def _accepted(log_rates: FloatArray, draft_length: int, rng: np.random.Generator) -> IntArray:
    """Drafts that each request accepts in a row: geometric, cut at K."""
    uniform = 1.0 - rng.random(len(log_rates))  # (B,) in (0, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        in_a_row = np.log(uniform) / log_rates  # (B,) inf or NaN where alpha is 1
    cut = np.where(log_rates == 0, np.inf, in_a_row)
    result: IntArray = np.minimum(np.floor(cut), draft_length).astype(np.int64)
    return result
