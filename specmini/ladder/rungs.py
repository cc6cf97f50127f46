"""The rungs of the ladder: every drafter of the book, ready to be measured beside the others.

A rung is a name, a way to make its drafter for a target and a sampling, and the draft lengths worth
trying. All rungs draft for one target, and each has an engine of its own to draft with. Rungs that
grow a tree are their own kind, since trees have nodes where chains have a length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

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
from specmini.engine.cached_model import FeatureModel
from specmini.engine.fast_model import fast_model
from specmini.engine.numpy_model import NumpyModel
from specmini.heads.trained import Heads
from specmini.pair import Pair
from specmini.sampling import Sampling
from specmini.verify import Verify, verify
from specmini.verify.block import verify_block

__all__ = ["ChainRung", "TreeRung", "broad_shape", "chain_rungs", "head_rungs", "tree_rungs"]

unsure_below: Final = 0.4  # predicted chance of a whole draft, a middling threshold
short: Final = (1, 2, 3, 4)  # draft lengths of those that pay for each token
long: Final = (2, 4, 8)  # of those that copy


@dataclass(frozen=True)
class ChainRung:
    """A drafter of chains.

    Attributes:
        name: in tables and figures.
        make: makes the drafter for a target's engine and a sampling.
        lengths: most tokens of a draft, each to be measured.
        verify: the rule that accepts.
        always_proposes: whether every round has a draft; lookups find something or nothing.
    """

    name: str
    make: Callable[[FeatureModel, Sampling], Drafter]
    lengths: tuple[int, ...]
    verify: Verify = verify
    always_proposes: bool = True


@dataclass(frozen=True)
class TreeRung:
    """A drafter of trees.

    Attributes:
        name: in tables and figures.
        make: makes the drafter for a sampling.
        nodes: most nodes of a tree, each to be measured.
        has_one_shape: whether all trees of a size look alike.
    """

    name: str
    make: Callable[[Sampling], TreeDrafter]
    nodes: tuple[int, ...]
    has_one_shape: bool


def chain_rungs(
    pair: Pair,
    tables: NgramTables,
    earlier: Sequence[Sequence[int]],
    cost_ratio: float,
    verify_costs: Mapping[int, float],
) -> tuple[ChainRung, ...]:
    """All rungs that need no head of their own, from the cheapest up.

    Args:
        pair: target and draft.
        tables: n-grams of text that the models were trained on.
        earlier: texts that the suffix drafter has seen.
        cost_ratio: c of the draft model, for the gate.
        verify_costs: v by draft length, for the gate; the longest it may choose is the largest.
    """

    def draft_model(sampling: Sampling) -> ModelDrafter:
        return ModelDrafter(fast_model(pair.draft), sampling)

    def gated(_: FeatureModel, sampling: Sampling) -> Drafter:
        return Gate(draft_model(sampling), cost_ratio, verify_costs.__getitem__)

    def stopping(_: FeatureModel, sampling: Sampling) -> Drafter:
        engine = fast_model(pair.draft)
        return ModelDrafter(engine, sampling, keep_going=likely_whole(unsure_below))

    def first_layers(_: FeatureModel, sampling: Sampling) -> Drafter:
        return ModelDrafter(fast_model(early_exit(pair.target, 2)), sampling)

    return (
        ChainRung("prompt lookup", lambda *_: LookupDrafter(), long, always_proposes=False),
        ChainRung("suffix matching", lambda *_: SuffixDrafter(earlier), long,
                  always_proposes=False),
        ChainRung("n-gram tables", lambda _, sampling: NgramDrafter(tables, sampling), short),
        ChainRung("early exit", first_layers, (1, 2, 4)),
        ChainRung("draft model", lambda _, sampling: draft_model(sampling), short),
        ChainRung("draft model, block verification",
                  lambda _, sampling: draft_model(sampling), (2, 3, 4), verify_block),
        ChainRung("draft model, stops when unsure", stopping, (4, 8), always_proposes=False),
        ChainRung("draft model, gated", gated, (max(verify_costs),), always_proposes=False),
    )  # fmt: skip


def head_rungs(heads: Heads) -> tuple[ChainRung, ...]:
    """The rungs that read the target's features.

    Args:
        heads: trained on the target.
    """
    return (
        ChainRung("Medusa heads", lambda *given: MedusaDrafter(heads.medusa, *given), (1, 2, 3, 4)),
        ChainRung("feature head", lambda *given: FeatureDrafter(heads.feature, *given), short),
        ChainRung("MTP module", lambda *given: MtpDrafter(heads.mtp, *given), short),
    )


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
        return ConfidentTreeDrafter(NumpyModel(pair.draft), siblings(sampling), 4, 4)

    sizes = tuple(size for size in (3, 5, 8, 12) if size <= len(shape))
    return (
        TreeRung("draft model, static tree", static, sizes, True),
        TreeRung("draft model, confident tree", confident, sizes, False),
    )


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
