"""The ridge of a deployment: the tokens a pass from which arithmetic limits its linear layers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from specmini.roofline.deployment import Deployment
from specmini.roofline.experts import touched_by

__all__ = ["model_ridge_tokens"]


def model_ridge_tokens(deployment: Deployment) -> float:
    """Tokens a pass at which reading the weights and computing with them take equally long.

    For a dense model that is ``specmini.roofline.ridge_tokens``. With experts a pass reads those
    that its tokens touch and computes with those that each token visits, so the two meet later, by
    about the ratio of all parameters to active ones.

    Args:
        deployment: a model on a machine; its batch does not matter. What it says about
            ``experts_touched`` may not fall as tokens are added.

    Returns:
        Tokens over the whole batch, a real number.
    """
    machine, experts = deployment.machine, deployment.model.experts
    peak = machine.peak(deployment.arithmetic_bits)

    def meeting(touched: float | None) -> float:
        one = replace(deployment, experts_touched=touched).pass_time(1, 1, 0)
        return float(one.weight_bytes) / machine.bandwidth / (float(one.linear_flops) / peak)

    if experts is None:
        return meeting(None)
    # Reading grows ever more slowly with the tokens and arithmetic evenly, so the two meet once;
    # from all experts downwards the estimate falls until nothing changes.
    tokens, lower = math.inf, meeting(experts.count)
    while lower < tokens:
        tokens = lower
        load = np.asarray(max(tokens, 1.0))
        lower = meeting(float(touched_by(experts, load, deployment.experts_touched)))
    return tokens
