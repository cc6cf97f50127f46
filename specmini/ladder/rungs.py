"""The rungs of the ladder: every drafter of the book, ready to be measured beside the others.

A rung is a name, a way to make its drafter for a target and a sampling, for one sequence and for a
batch, and the draft lengths worth trying. All rungs draft for one target, and each has an engine of
its own to draft with. Rungs that grow a tree are their own kind, since trees have nodes where
chains have a length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from specmini.batch.drafter import BatchDrafter, BatchModelDrafter, SideBySideDrafter
from specmini.batch.fast import fast_batch
from specmini.batch.gate import BatchGate
from specmini.batch.head_drafter import BatchFeatureDrafter, BatchMedusaDrafter, BatchMtpDrafter
from specmini.batch.model import BatchEngine
from specmini.batch.serving import Request, Server
from specmini.batch.tree_drafter import BatchModelTreeDrafter
from specmini.batch.tree_serving import TreeServer
from specmini.batch.verdicts import one_by_one, verify_each
from specmini.drafters import (
    ConfidentTreeDrafter,
    Drafter,
    Gate,
    LookupDrafter,
    ModelDrafter,
    NgramDrafter,
    NgramTables,
    StaticTreeDrafter,
    SuffixDrafter,
    TreeDrafter,
)
from specmini.drafters.confidence import likely_whole
from specmini.drafters.early_exit import early_exit
from specmini.drafters.feature import FeatureDrafter
from specmini.drafters.medusa import MedusaDrafter
from specmini.drafters.mtp import MtpDrafter
from specmini.drafters.tree import ConfidentGrower, Grower, StaticGrower
from specmini.engine.cached_model import FeatureModel
from specmini.engine.fast_model import fast_model
from specmini.engine.numpy_model import NumpyModel
from specmini.heads.trained import Heads
from specmini.pair import Pair
from specmini.sampling import Sampling
from specmini.verify import Verify, verify
from specmini.verify.block import verify_block

__all__ = [
    "ChainRung",
    "RoundCosts",
    "TreeRung",
    "broad_shape",
    "chain_rungs",
    "head_rungs",
    "tree_rungs",
]

unsure_below: Final = 0.4  # predicted chance of a whole draft, a middling threshold
short: Final = (1, 2, 3, 4)  # draft lengths of those that pay for each token
long: Final = (2, 4, 8)  # of those that copy
in_batch: Final = (1, 2, 4)  # of all in a batch, which eats the gain of long drafts
wide: Final = 4  # children of a node, and levels, of a confident tree


@dataclass(frozen=True)
class RoundCosts:
    """What a gate has to know of a batch size.

    Attributes:
        cost_ratio: c of the draft model.
        verify_costs: v by draft length; the longest it may choose is the largest.
    """

    cost_ratio: float
    verify_costs: Mapping[int, float]


@dataclass(frozen=True)
class ChainRung:
    """A drafter of chains.

    Attributes:
        name: in tables and figures.
        make: makes the drafter for a target's engine and a sampling.
        make_batch: the same for a batch.
        lengths: most tokens of a draft, each to be measured.
        verify: the rule that accepts.
        always_proposes: whether every round has a draft; lookups find something or nothing.
    """

    name: str
    make: Callable[[FeatureModel, Sampling], Drafter]
    make_batch: Callable[[BatchEngine, Sampling], BatchDrafter]
    lengths: tuple[int, ...]
    verify: Verify = verify
    always_proposes: bool = True

    @property
    def batch_lengths(self) -> tuple[int, ...]:
        """Those of ``lengths`` that are measured in a batch: the short ones, if it has any."""
        return tuple(length for length in self.lengths if length in in_batch) or self.lengths

    def serve(
        self, target: BatchEngine, requests: Iterable[Request], sampling: Sampling, most: int
    ) -> Server:
        """A server that speculates so.

        Args:
            target: the model whose texts are wanted; its slots are the batch.
            requests: what to write.
            sampling: of target and drafter.
            most: draft length K.
        """
        rule = verify_each if self.verify is verify else one_by_one(self.verify)
        drafter = self.make_batch(target, sampling)
        return Server(
            target, requests, sampling=sampling, drafter=drafter, draft_length=most, verify=rule
        )


@dataclass(frozen=True)
class TreeRung:
    """A drafter of trees.

    Attributes:
        name: in tables and figures.
        make: makes the drafter for a sampling.
        make_batch: the same for a number of slots and a sampling.
        nodes: most nodes of a tree, each to be measured.
        has_one_shape: whether all trees of a size look alike.
    """

    name: str
    make: Callable[[Sampling], TreeDrafter]
    make_batch: Callable[[int, Sampling], BatchModelTreeDrafter]
    nodes: tuple[int, ...]
    has_one_shape: bool

    @property
    def batch_lengths(self) -> tuple[int, ...]:
        """Those of ``nodes`` that are measured in a batch: the two smallest."""
        return self.nodes[:2]

    def serve(
        self, target: BatchEngine, requests: Iterable[Request], sampling: Sampling, most: int
    ) -> Server:
        """A server that speculates so, with trees of at most so many nodes; as ``ChainRung``."""
        drafter = self.make_batch(len(target.lengths), sampling)
        return TreeServer(target, requests, sampling=sampling, drafter=drafter, nodes=most)


def chain_rungs(
    pair: Pair,
    tables: NgramTables,
    earlier: Sequence[Sequence[int]],
    costs: Mapping[int, RoundCosts],
) -> tuple[ChainRung, ...]:
    """All rungs that need no head of their own, from the cheapest up.

    Args:
        pair: target and draft.
        tables: n-grams of text that the models were trained on.
        earlier: texts that the suffix drafter has seen.
        costs: by batch, for the gate; 1 and every batch that is served.
    """
    seen, first_layers = SuffixDrafter(earlier), early_exit(pair.target, 2)
    keep_going = likely_whole(unsure_below)
    longest = max(costs[1].verify_costs)

    def draft_model(_: FeatureModel, sampling: Sampling) -> ModelDrafter:
        return ModelDrafter(fast_model(pair.draft), sampling)

    def draft_batch(target: BatchEngine, sampling: Sampling) -> BatchModelDrafter:
        return BatchModelDrafter(fast_batch(pair.draft, len(target.lengths)), sampling)

    def gated(target: FeatureModel, sampling: Sampling) -> Drafter:
        prices = costs[1]
        drafter = draft_model(target, sampling)
        return Gate(drafter, prices.cost_ratio, prices.verify_costs.__getitem__)

    def gated_batch(target: BatchEngine, sampling: Sampling) -> BatchDrafter:
        prices = costs[len(target.lengths)]
        drafter = draft_batch(target, sampling)
        return BatchGate(drafter, prices.cost_ratio, prices.verify_costs.__getitem__)

    def stopping(_: FeatureModel, sampling: Sampling) -> Drafter:
        return ModelDrafter(fast_model(pair.draft), sampling, keep_going=keep_going)

    def stopping_batch(target: BatchEngine, sampling: Sampling) -> BatchDrafter:
        engine = fast_batch(pair.draft, len(target.lengths))
        return BatchModelDrafter(engine, sampling, keep_going=keep_going)

    def exits(_: FeatureModel, sampling: Sampling) -> Drafter:
        return ModelDrafter(fast_model(first_layers), sampling)

    def exits_batch(target: BatchEngine, sampling: Sampling) -> BatchDrafter:
        return BatchModelDrafter(fast_batch(first_layers, len(target.lengths)), sampling)

    def ngrams(sampling: Sampling) -> Drafter:
        return NgramDrafter(tables, sampling)

    return (
        _looking_up("prompt lookup", lambda _: LookupDrafter(), long, always_proposes=False),
        _looking_up("suffix matching", lambda _: seen.fellow(), long, always_proposes=False),
        _looking_up("n-gram tables", ngrams, short),
        ChainRung("early exit", exits, exits_batch, (1, 2, 4)),
        ChainRung("draft model", draft_model, draft_batch, short),
        ChainRung("draft model, block verification", draft_model, draft_batch, (2, 3, 4),
                  verify_block),
        ChainRung("draft model, stops when unsure", stopping, stopping_batch, (4, 8),
                  always_proposes=False),
        ChainRung("draft model, gated", gated, gated_batch, (longest,), always_proposes=False),
    )  # fmt: skip


def head_rungs(heads: Heads) -> tuple[ChainRung, ...]:
    """The rungs that read the target's features.

    Args:
        heads: trained on the target.
    """
    return (
        ChainRung("Medusa heads", lambda *given: MedusaDrafter(heads.medusa, *given),
                  lambda *given: BatchMedusaDrafter(heads.medusa, *given), short),
        ChainRung("feature head", lambda *given: FeatureDrafter(heads.feature, *given),
                  lambda *given: BatchFeatureDrafter(heads.feature, *given), short),
        ChainRung("MTP module", lambda *given: MtpDrafter(heads.mtp, *given),
                  lambda *given: BatchMtpDrafter(heads.mtp, *given), short),
    )  # fmt: skip


def tree_rungs(pair: Pair, shape: Sequence[int]) -> tuple[TreeRung, ...]:
    """The rungs that grow trees with the draft model.

    Greedy trees name the likeliest tokens; at a temperature siblings are drawn.

    Args:
        pair: target and draft.
        shape: of the static tree, its most useful nodes first.
    """

    def siblings(sampling: Sampling) -> Sampling | None:
        return None if sampling.temperature == 0 else sampling

    def static(sampling: Sampling) -> TreeDrafter:
        return StaticTreeDrafter(NumpyModel(pair.draft), siblings(sampling), shape)

    def confident(sampling: Sampling) -> TreeDrafter:
        return ConfidentTreeDrafter(NumpyModel(pair.draft), siblings(sampling), wide, wide)

    def batched(grower: Grower) -> Callable[[int, Sampling], BatchModelTreeDrafter]:
        return lambda slots, sampling: BatchModelTreeDrafter(
            fast_batch(pair.draft, slots), siblings(sampling), grower
        )

    sizes = tuple(size for size in (3, 5, 8, 12) if size <= len(shape))
    return (
        TreeRung("draft model, static tree", static, batched(StaticGrower(shape)), sizes, True),
        TreeRung("draft model, confident tree", confident, batched(ConfidentGrower(wide, wide)),
                 sizes, False),
    )  # fmt: skip


def broad_shape(widths: Sequence[int]) -> tuple[int, ...]:
    """A tree in which every node of a level has as many children, to count acceptance with.

    Args:
        widths: children of each node, level by level, each at least 1.

    Returns:
        The parent of each node, level by level.

    Raises:
        ValueError: no level, or a width below 1.
    """
    if not widths or min(widths) < 1:
        raise ValueError(f"widths must be numbers of at least 1, got {list(widths)}")
    shape: list[int] = []
    level = [-1]
    for width in widths:
        parents = np.repeat(level, width).tolist()
        level = list(range(len(shape), len(shape) + len(parents)))
        shape += parents
    return tuple(shape)


def _looking_up(
    name: str,
    make: Callable[[Sampling], Drafter],
    lengths: tuple[int, ...],
    always_proposes: bool = True,
) -> ChainRung:
    """A rung without a model: in a batch its drafters stand side by side, one a slot."""
    return ChainRung(
        name,
        lambda _, sampling: make(sampling),
        lambda target, sampling: SideBySideDrafter([make(sampling) for _ in target.lengths]),
        lengths,
        always_proposes=always_proposes,
    )
