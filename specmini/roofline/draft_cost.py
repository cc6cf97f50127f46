"""What a draft costs on the machine that also runs the target, for three kinds of drafter.

A draft model is a whole model of its own. A head (EAGLE, DeepSeek's MTP) is one more decoder layer
over the target's hidden states, with an output head. A lookup (n-gram, prompt lookup) runs no model
at all. Their cost ratio is not one number: it moves with batch, context and overhead, because the
two models do not become arithmetic-bound, or cache-bound, at the same rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from specmini import checks
from specmini.checks import FloatArray
from specmini.roofline.deployment import Deployment

__all__ = ["LOOKUP", "DraftCost", "cost_ratio", "draft_head", "draft_model", "draft_seconds"]


@dataclass(frozen=True)
class DraftCost:
    """A drafter, as far as its time and memory are concerned.

    Attributes:
        name: as a reader knows it.
        deployment: the model that runs once for each drafted token; ``None`` for none.
        own_parameters: weights it adds to those of the target.
    """

    name: str
    deployment: Deployment | None = None
    own_parameters: int = 0

    def memory_needed(self, batch: ArrayLike, context: ArrayLike) -> FloatArray:
        """Bytes of one device that drafting takes from the target: weights and the draft's cache.

        Args:
            batch: sequences, whole numbers >= 1, any shape.
            context: positions of each, whole numbers >= 1, any shape that broadcasts.

        Raises:
            ValueError: an argument is out of range or the shapes do not broadcast.
        """
        number = checks.whole_number("batch", batch, minimum=1)
        positions = checks.whole_number("context", context, minimum=1)
        shape = checks.broadcast_shape(batch=number, context=positions)
        if self.deployment is None:
            return np.zeros(shape)[()]
        run = self.deployment
        shared = run.model.parameters - self.own_parameters
        whole = run.memory_needed(number, positions)
        return whole - shared * run.bytes_per_weight / run.devices


Draft: TypeAlias = DraftCost | ArrayLike

LOOKUP = DraftCost("n-gram lookup")


def draft_model(deployment: Deployment) -> DraftCost:
    """A smaller model that drafts, with everything of its own.

    Args:
        deployment: the draft on its machine; with more devices than one it waits for the others
            as often as it has layers, which is why engines may run it on one.
    """
    return DraftCost(deployment.model.name, deployment, deployment.model.parameters)


def draft_head(
    target: Deployment,
    *,
    vocabulary: int | None = None,
    intermediate: int | None = None,
    fused_states: int = 2,
) -> DraftCost:
    """One decoder layer of the target's shape over its hidden states, with an output head.

    The layer takes in the embedding of the last token and a hidden state, fused by one matrix. The
    output head is the target's own and is read again with each draft; a head with a smaller
    vocabulary of drafts has its own. EAGLE-3 feeds both states into the layer's queries, keys and
    values instead of fusing them, at about the same number of products.

    Args:
        target: the target on its machine; the head runs the same way.
        vocabulary: tokens that the head can draft, at least 1, if not the target's all (EAGLE-3
            for Llama: 32,000).
        intermediate: width of the head's MLP, at least 1. ``None`` for the target's own, with its
            experts if it has any (DeepSeek's MTP).
        fused_states: states that the matrix fuses, 0 for no such matrix.

    Raises:
        ValueError: an argument is out of range.

    Source: EAGLE, arXiv 2401.15077, section 3; MTP, arXiv 2412.19437, section 2.2.
    """
    model = target.model
    experts, width = model.experts, model.intermediate
    if intermediate is not None:
        experts, width = None, intermediate
    one_layer = replace(
        model,
        name=f"head for {model.name}",
        layers=1,
        intermediate=width,
        vocabulary=model.vocabulary if vocabulary is None else vocabulary,
        tied_embeddings=True,  # the input table is the target's: looked up, never read whole
        positions=0,
        windowed_layers=0,
        window=None,
        fused_states=fused_states,
        experts=replace(experts, dense_layers=0) if experts else None,
    )
    touched = target.experts_touched if experts else None
    deployment = replace(target, model=one_layer, experts_touched=touched)
    shared = one_layer.vocabulary * one_layer.hidden if vocabulary is None else 0
    return DraftCost(one_layer.name, deployment, one_layer.parameters - shared)


def draft_seconds(
    target: Deployment, draft: Draft, batch: ArrayLike, context: ArrayLike
) -> FloatArray:
    """Time to draft one token for every sequence, in seconds.

    Args:
        target: the target on its machine; its plain step turns a number into seconds.
        draft: a ``DraftCost``, or the cost ratio itself, in [0, inf), any shape that broadcasts.
        batch: sequences in the pass, at least 1, any shape.
        context: positions of each sequence already in the cache, any shape that broadcasts.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    number = checks.whole_number("batch", batch, minimum=1)
    positions = checks.whole_number("context", context)
    if not isinstance(draft, DraftCost):
        ratio = checks.non_negative("draft", draft)
        checks.broadcast_shape(draft=ratio, batch=number, context=positions)
        return ratio * target.pass_time(number, 1, positions).time
    if draft.deployment is None:
        return np.zeros(checks.broadcast_shape(batch=number, context=positions))[()]
    return draft.deployment.pass_time(number, 1, positions).time


def cost_ratio(
    target: Deployment, draft: Draft, batch: ArrayLike, context: ArrayLike
) -> FloatArray:
    """Time of one draft step over time of one target step, the c of the speedup formula.

    Both at the same batch and context. In a round the draft's context grows by up to K positions,
    and its first pass may take in two tokens; neither is counted.

    Args:
        target: the target on its machine.
        draft: a ``DraftCost``, or the cost ratio itself, which comes back.
        batch: sequences in the pass, at least 1, any shape.
        context: positions of each sequence already in the cache, any shape that broadcasts.

    Returns:
        c in [0, inf), in the common shape.

    Raises:
        ValueError: an argument is out of range or the shapes do not broadcast.
    """
    step = target.pass_time(batch, 1, context).time
    return draft_seconds(target, draft, batch, context) / step
