"""Serve a queue with trees: the loop of ``generate_tree`` for many sequences at once.

All trees are checked in one pass of the target. Each sequence has its own, sees itself and its own
nodes only, and keeps its own path. Everything else is ``serving``, so rounds and clocks compare.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence

from specmini.batch.model import TreeBatch
from specmini.batch.row import BatchRow
from specmini.batch.serving import Admission, Request, Server
from specmini.batch.tree_drafter import BatchTreeDrafter
from specmini.generate import Played, checked_draft_length
from specmini.generate_tree import check_tree
from specmini.sampling import Sampling
from specmini.verify.tree import VerifyTree, verify_tree

__all__ = ["TreeServer"]


class TreeServer(Server):
    """Serves requests round by round, a tree for each sequence.

    Args:
        target: the model whose texts are wanted; its slots are the batch.
        requests: taken one by one, whenever a slot is free; may be endless.
        sampling: what the target's logits stand for.
        drafter: grows the trees.
        nodes: most nodes of a tree, N; as in ``generate_tree``.
        stop_tokens: a text ends with the first of these.
        admission: when a free slot is filled, as in ``Server``.
        verify: the rule that accepts a path.

    Raises:
        ValueError: as ``Server``, where ``nodes`` stands for the draft length.
    """

    def __init__(
        self,
        target: TreeBatch,
        requests: Iterable[Request],
        *,
        sampling: Sampling,
        drafter: BatchTreeDrafter,
        nodes: int,
        stop_tokens: Collection[int] = (),
        admission: Admission = "continuous",
        verify: VerifyTree = verify_tree,
    ) -> None:
        super().__init__(
            target, requests, sampling=sampling, stop_tokens=stop_tokens, admission=admission
        )
        self._nodes = checked_draft_length(nodes, has_drafter=True, name="nodes")
        self._tree_target, self._tree_drafter, self._verify_tree = target, drafter, verify

    def _welcome(self, slots: Sequence[int], texts: Sequence[Sequence[int]]) -> None:
        """Show the drafter new texts."""
        self._tree_drafter.admit(slots, texts)

    def _play(self, rows: Sequence[BatchRow], room: Sequence[int]) -> list[Played]:
        """As in ``Server``."""
        target, slots = self._tree_target, [row.slot for row in rows]
        usable = [
            min(self._nodes, target.context - len(row.text)) if most else 0
            for row, most in zip(rows, room, strict=True)
        ]
        texts, rngs = [row.text for row in rows], [row.rng for row in rows]
        trees = self._tree_drafter.propose_trees(slots, texts, usable, room, rngs)
        drafted = time.perf_counter()
        for tree, most, levels in zip(trees, usable, room, strict=True):
            check_tree(tree, most, levels, target.vocabulary)
        self._check_target(rows)
        proposed: list[list[int]] = [tree.tokens.tolist() for tree in trees]
        parents: list[list[int]] = [tree.parents.tolist() for tree in trees]
        logits = target.forward_tree(
            slots,
            [[text[-1], *tokens] for text, tokens in zip(texts, proposed, strict=True)],
            [[-1, *(parent + 1 for parent in above)] for above in parents],
        )  # (N, V)
        passed = time.perf_counter()
        probs = self._sampling.probs(logits)  # (N, V)
        played, start = [], 0
        for tree, tokens, above, row in zip(trees, proposed, parents, rows, strict=True):
            stop = start + len(tree) + 1
            verdict = self._verify_tree(probs[start:stop], tree, row.rng)
            start = stop
            shape = tuple(above)
            played.append(Played(tokens, verdict.path, verdict.next_token, drafted, passed, shape))
        target.keep(slots, [[0, *(node + 1 for node in one.path)] for one in played])
        return played
