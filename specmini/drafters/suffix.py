"""Draft by suffix matching: the longest repeats decide, by how often what followed them did.

SuffixDecoding (Oliaro et al. 2024, arXiv:2411.04975) adds three things to prompt lookup. Matches
may be of any length. Where a match was followed by different tokens, counts say which is likely.
And the draft is the longer the longer the match: at most ``factor`` times its length. Texts that
were written before, for other prompts, can be matched too.

Every match length proposes its likeliest continuation, token by token. The chance of a token is
estimated by its share of what followed there, times the chance of the tokens before it; their sum,
the tokens expected to be accepted, is the proposal's score, and the best score wins.

Simplified: a draft is a chain, where the paper also builds trees; and counts are kept in a trie of
bounded depth instead of a suffix tree. That takes ``depth`` entries a token, not two, for code one
can read. Nothing is ever evicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from specmini.checks import positive, probability, single, whole_number
from specmini.drafters.base import agreement
from specmini.verify import Draft, Verdict

__all__ = ["SuffixDrafter", "SuffixTrie"]


class Node:
    """A run of tokens, and how often it occurs.

    Attributes:
        count: occurrences of the run.
        children: for each token that ever followed it, the run with that token.
    """

    __slots__ = ("children", "count")

    def __init__(self) -> None:
        self.count = 0
        self.children: dict[int, Node] = {}


class SuffixTrie:
    """Counts of every run of at most ``depth`` tokens in texts.

    Where one stands in a text is a *path*: the nodes of its last 0, 1, 2, ... tokens. It is all
    that is needed to read one token more, in ``depth`` steps however long the text is.

    Args:
        depth: tokens of the longest run, at least 1.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.start: list[Node] = [Node()]

    def add(self, path: Sequence[Node], token: int) -> list[Node]:
        """Count the runs that end with this token; return the path after it."""
        longer = [node.children.setdefault(token, Node()) for node in path[: self.depth]]
        for node in longer:
            node.count += 1
        return [*self.start, *longer]

    def follow(self, path: Sequence[Node], token: int) -> list[Node]:
        """The path after this token in a text that is not counted itself.

        It holds the suffixes that occur in the trie; they are the shortest ones.
        """
        longer = (node.children.get(token) for node in path[: self.depth])
        return [*self.start, *(node for node in longer if node is not None)]


class SuffixDrafter:
    """Proposes the likeliest continuation of what the text's end repeats.

    Tokens are named with certainty, so they are accepted with chance p.

    Args:
        earlier: texts to match besides the running one.
        depth: tokens of the longest run counted, match and continuation together.
        factor: most tokens proposed for each token of the match.
        min_chance: a draft ends where its estimated chance to be accepted so far falls below.

    The last three have the defaults of vLLM, where they are called
    ``suffix_decoding_max_tree_depth``, ``suffix_decoding_max_spec_factor`` and
    ``suffix_decoding_min_token_prob``.

    Raises:
        ValueError: a depth below 2, a factor that is not positive, a chance outside [0, 1].
    """

    def __init__(
        self,
        earlier: Iterable[Sequence[int]] = (),
        depth: int = 24,
        factor: float = 1.0,
        min_chance: float = 0.1,
    ) -> None:
        self.depth: int = single("depth", whole_number("depth", depth, minimum=2))
        self.factor: float = single("factor", positive("factor", factor))
        self.min_chance: float = single("min_chance", probability("min_chance", min_chance))
        self._earlier = SuffixTrie(self.depth)
        self._begin()
        for text in earlier:
            self.remember(text)

    def remember(self, text: Sequence[int]) -> None:
        """Match this text too from now on, whatever the prompt."""
        path = self._earlier.start
        for token in text:
            path = self._earlier.add(path, int(token))
        self._begin()  # the running text may have longer matches now

    def fellow(self) -> SuffixDrafter:
        """A drafter for another text, which shares what was counted in the earlier ones."""
        other = SuffixDrafter((), self.depth, self.factor, self.min_chance)
        other._earlier = self._earlier
        other._begin()
        return other

    def propose(self, text: Sequence[int], draft_length: int, rng: np.random.Generator) -> Draft:
        """Guess at most K tokens; none if the text's last token is new."""
        self._read(text)
        best: list[int] = []
        best_score = 0.0
        for path in (self._own_path, self._earlier_path):
            for matched in range(len(path) - 1, 0, -1):
                most = min(draft_length, int(self.factor * matched))
                if most <= best_score:  # a token adds at most 1, and shorter matches allow fewer
                    break
                tokens, score = self._continuation(path[matched], most)
                if score > best_score:
                    best, best_score = tokens, score
        return Draft(np.array(best, dtype=np.int64))

    def observe(self, verdict: Verdict) -> None:
        """The text itself says what was right."""

    def _continuation(self, node: Node, most: int) -> tuple[list[int], float]:
        """The likeliest tokens after a run, and how many are expected to be accepted."""
        tokens: list[int] = []
        chance, score = 1.0, 0.0
        while len(tokens) < most and node.children:
            followed = sum(child.count for child in node.children.values())
            # of equals, the token that was met last for the first time
            token, node = max(reversed(node.children.items()), key=lambda item: item[1].count)
            chance *= node.count / followed
            if chance < self.min_chance:
                break
            tokens.append(token)
            score += chance
        return tokens, score

    def _begin(self) -> None:
        """Forget the running text."""
        self._seen: list[int] = []
        self._own = SuffixTrie(self.depth)
        self._own_path, self._earlier_path = self._own.start, self._earlier.start

    def _read(self, text: Sequence[int]) -> None:
        """Count what is new in the text; all of it, if it is not the old one continued."""
        if agreement(self._seen, text) < len(self._seen):
            self._begin()
        for token in map(int, text[len(self._seen) :]):
            self._own_path = self._own.add(self._own_path, token)
            self._earlier_path = self._earlier.follow(self._earlier_path, token)
            self._seen.append(token)
