"""Verify a tree of guesses: several next tokens are offered at each place, and one path is taken.

From the text on, the target goes down the tree. At each node it looks at the children in order.
Child x is accepted with chance min(1, p(x) / q(x)). If it is not, p becomes what is left to wish
for, max(p - q, 0), normalized; q becomes what the next child is drawn from; and the next child is
looked at. If no child is accepted, a token is drawn from the p that is left. Each look leaves the
distribution as it is, as ``verify`` does for one child, so the token at this place is distributed
as the p it began with (Chen et al. 2024, "Sequoia", arXiv:2402.12374; Jeon et al. 2024, "Recursive
speculative decoding", arXiv:2402.14160; Yang et al. 2024, arXiv:2401.06706).

Siblings come from q in one of two ways, as in ``Draft``:

* *drawn without replacement*: after x is drawn, q is 0 at x and normalized again. Drawing with
  replacement (multi-step speculative sampling, Miao et al. 2023, "SpecInfer", arXiv:2305.09781) is
  exact too, and wastes nodes: where x was rejected, p(x) < q(x), nothing is left to wish for at x,
  and a second x can only be rejected again.
* *named with certainty*, the likeliest k tokens for example: q is 1 at the child that is looked
  at. Child x is accepted with chance p(x) before the first look, whatever the order.

*Which trees may be verified so.* Named children: any. The verdict on a tree whose tokens are taken
as given is exact for that tree, so it may be grown, pruned and sorted by whatever was known when
it was made. Drawn children: when one is verified, it must be as random as when it was drawn. So
whether it is drawn, and stays, may depend on every q and on tokens drawn before, but not on itself
or on anything that was drawn after it. Growing where a drawn path is likely is fine; to take an
unlikely draw out of the tree afterwards is not, for what remains is no longer drawn from q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specmini.checks import FloatArray, IntArray
from specmini.sampling import draw
from specmini.theory.topology import check_parents
from specmini.verify.chain import Draft, check_rows, check_tokens, checked_target, residual

__all__ = ["DraftTree", "TreeVerdict", "VerifyTree", "empty_tree", "verify_tree"]


@dataclass(frozen=True, eq=False)
class DraftTree:
    """Guesses that branch. Every node is a token; its parent is the guess for the token before.

    Attributes:
        tokens: (N,) ids, integers; N may be 0.
        parents: (N,) index of the node before each, which comes earlier in the array; -1 for a
            first guess after the text. Siblings are looked at in the order of the array.
        probs: (N + 1, V); row 0 is the q that the first guesses were drawn from, without
            replacement, and row i + 1 that of node i's children. Rows without children are not
            looked at. None if all tokens are named with certainty.

    Raises:
        ValueError: the shapes do not fit, a parent does not come before its child, a row that
            children were drawn from is no distribution, or it gives 0 to one of them.
    """

    tokens: IntArray
    parents: IntArray
    probs: FloatArray | None = None

    def __post_init__(self) -> None:
        Draft(self.tokens)
        if not isinstance(self.parents, np.ndarray) or self.parents.shape != self.tokens.shape:
            raise ValueError(
                f"parents must be an array of shape {self.tokens.shape} as tokens, "
                f"got {self.parents!r}"
            )
        check_parents(self.parents)
        if self.probs is None:
            return
        if not isinstance(self.probs, np.ndarray):
            raise ValueError(f"probs must be an array of numbers or None, got {self.probs!r}")
        if self.probs.ndim != 2 or len(self.probs) != len(self.tokens) + 1:
            raise ValueError(
                f"probs must have shape ({len(self.tokens) + 1}, V) for {len(self.tokens)} "
                f"tokens, got {self.probs.shape}"
            )
        check_tokens(self.tokens, self.probs.shape[1])
        check_rows("probs", self.probs[np.unique(self.parents) + 1])
        for node, children in enumerate(self.children, start=-1):
            drawn = self.tokens[children]
            if len(set(drawn.tolist())) < len(drawn) or not (self.probs[node + 1, drawn] > 0).all():
                raise ValueError(
                    f"children of node {node} must be different tokens to which probs gives more "
                    f"than 0, got {drawn.tolist()}"
                )

    def __len__(self) -> int:
        """Number of nodes, N."""
        return len(self.tokens)

    @property
    def children(self) -> list[list[int]]:
        """The children of the text, then those of each node: N + 1 lists."""
        lists: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for node, parent in enumerate(self.parents.tolist()):
            lists[parent + 1].append(node)
        return lists

    @classmethod
    def chain(cls, draft: Draft) -> DraftTree:
        """A draft as a tree without branches."""
        parents = np.arange(len(draft)) - 1  # (K,)
        if draft.probs is None:
            return cls(draft.tokens, parents)
        return cls(draft.tokens, parents, np.pad(draft.probs, ((0, 1), (0, 0))))


empty_tree = DraftTree(np.array([], dtype=np.int64), np.array([], dtype=np.int64))


@dataclass(frozen=True)
class TreeVerdict:
    """What the target makes of a tree.

    Attributes:
        path: the nodes that stay, each the parent of the next.
        next_token: the token the target adds after them.
    """

    path: tuple[int, ...]
    next_token: int

    @property
    def n_accepted(self) -> int:
        """Number of draft tokens that stay."""
        return len(self.path)


def verify_tree(target_probs: ArrayLike, tree: DraftTree, rng: np.random.Generator) -> TreeVerdict:
    """Go down a tree as far as the target accepts, and add a token.

    For a tree without branches this is ``verify``: the same verdict from the same numbers.

    Args:
        target_probs: (N + 1, V); row 0 is p after the text, row i + 1 that after node i.
        tree: N nodes.
        rng: source of randomness: one uniform number for each node looked at, one for the token
            that is added.

    Raises:
        ValueError: a shape does not fit, a token is not in the vocabulary, or a row is no
            distribution.
    """
    rows = checked_target(target_probs, tree.tokens, tree.probs)  # (N + 1, V)
    children, path = tree.children, list[int]()
    while True:
        node = path[-1] if path else -1
        p = rows[node + 1]  # (V,)
        q = None if tree.probs is None else tree.probs[node + 1].astype(np.float64)  # (V,)
        accepted, p = _choose(p, q, tree.tokens, children[node + 1], rng)
        if accepted is None:
            return TreeVerdict(tuple(path), draw(p, rng))
        path.append(accepted)


VerifyTree = Callable[[ArrayLike, DraftTree, np.random.Generator], TreeVerdict]


def _choose(
    p: FloatArray,
    q: FloatArray | None,
    tokens: IntArray,
    siblings: Sequence[int],
    rng: np.random.Generator,
) -> tuple[int | None, FloatArray]:
    """The sibling that is accepted, if one is, and what is left of p, (V,).

    Args:
        p: (V,) the target's distribution here.
        q: (V,) what the first sibling was drawn from; None if they are named.
        tokens: (N,) of all nodes.
        siblings: nodes, in the order in which they are looked at.
        rng: source of randomness.
    """
    for place, sibling in enumerate(siblings):
        token = int(tokens[sibling])
        if place:
            p = p / p.sum()  # (V,)
            q = None if q is None else q / q.sum()  # (V,)
        # as in ``verify``: no quotient, and no "or equal", so a token with p = 0 never passes
        if rng.random() * (1.0 if q is None else q[token]) < p[token]:
            return sibling, p
        p = residual(p, q, token)  # (V,)
        if q is not None:
            q[token] = 0.0
    return None, p
