"""Speculative decoding with trees: the loop of ``generate``, with a tree in each round.

The target sees its last token and the whole tree in one pass, a path is accepted, and the cache
keeps that path. Everything else is ``generate.write``, so the rounds and their clocks compare.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import numpy as np

from specmini.drafters.tree import TreeDrafter
from specmini.engine.tree_model import TreeModel
from specmini.generate import Generation, Played, checked_draft_length, write
from specmini.sampling import Sampling
from specmini.theory.topology import depths
from specmini.verify.chain import check_tokens
from specmini.verify.tree import DraftTree, VerifyTree, empty_tree, verify_tree

__all__ = ["check_tree", "generate_tree"]


def generate_tree(
    target: TreeModel,
    prompt: Sequence[int],
    new_tokens: int,
    rng: np.random.Generator,
    *,
    sampling: Sampling,
    drafter: TreeDrafter,
    nodes: int,
    stop_tokens: Collection[int] = (),
    verify: VerifyTree = verify_tree,
) -> Generation:
    """Continue a prompt, with a tree of guesses a round; exact as ``generate`` is.

    In its rounds ``drafted`` are all nodes, so that ``accepted_share`` is small however good the
    drafter is: a tree offers several tokens for one place. Tokens per round and times mean what
    they mean for chains; E as a function of α and K does not hold.

    Args:
        target: the model whose text is wanted. What it has seen before is forgotten.
        prompt: at least one token.
        new_tokens: most tokens to add.
        rng: source of randomness, for tree and verdict alike.
        sampling: what the target's logits stand for.
        drafter: grows the trees.
        nodes: most nodes of a tree, N. A tree is never deeper than can be used, nor larger than
            the target's context has room for.
        stop_tokens: the text ends with the first of these.
        verify: the rule that accepts a path.

    Raises:
        ValueError: as ``generate``, where ``nodes`` stands for the draft length.
    """
    nodes = checked_draft_length(nodes, has_drafter=True, name="nodes")

    def play(text: Sequence[int], room: int) -> Played:
        usable = min(nodes, target.context - len(text)) if room else 0
        tree = drafter.propose_tree(text, usable, room, rng) if usable else empty_tree
        drafted = time.perf_counter()
        check_tree(tree, usable, room, target.vocabulary)
        if target.length != len(text) - 1:
            raise ValueError(
                f"target must have seen {len(text) - 1} tokens after drafting, got "
                f"{target.length}; a drafter needs a model of its own"
            )
        tokens: list[int] = tree.tokens.tolist()
        below_last = [-1, *(parent + 1 for parent in tree.parents.tolist())]
        logits = target.forward_tree([text[-1], *tokens], below_last)  # (N + 1, V)
        passed = time.perf_counter()
        verdict = verify(sampling.probs(logits), tree, rng)
        target.keep([0, *(node + 1 for node in verdict.path)])
        parents = tuple(tree.parents.tolist())
        return Played(tokens, verdict.path, verdict.next_token, drafted, passed, parents)

    return write(target, prompt, new_tokens, stop_tokens, play)


def check_tree(tree: DraftTree, nodes: int, levels: int, vocabulary: int) -> None:
    """Check what a drafter proposed: it may be the reader's own.

    Args:
        tree: the proposal.
        nodes: most nodes that were asked for.
        levels: most tokens on a path.
        vocabulary: number of token ids V.

    Raises:
        ValueError: it is larger or deeper, or has a token outside the vocabulary.
    """
    if len(tree) > nodes:
        raise ValueError(f"tree must have at most {nodes} nodes, got {len(tree)}")
    deepest = int(depths(tree.parents).max(initial=-1)) + 1
    if deepest > levels:
        raise ValueError(f"tree must have at most {levels} levels, got {deepest}")
    check_tokens(tree.tokens, vocabulary, "tree tokens")
