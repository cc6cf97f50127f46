"""What is learned from a batch of text: its tokens, or what another model expects of them.

A language model learns the tokens. A draft learns its teacher's distributions p instead (knowledge
distillation: Hinton et al. 2015, arXiv:1503.02531; for drafts: Zhou et al. 2024, arXiv:2310.08461),
with the likelihood as its aim, or the overlap Σ min(p, q), which is the acceptance rate itself. A
head learns every guess of a round in the same way, each weighted by how often it is reached.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from torch import Tensor

from specmini.checkpoints import Head
from specmini.gpt import GPT

__all__ = ["Objective", "Student", "loss_of", "tokens_per_round"]

Student = GPT | Head
Objective = Literal["likelihood", "overlap"]


def loss_of(
    student: Student,
    rows: Tensor,
    teacher: GPT | None,
    objective: Objective,
    passes: int = 1,
    reach: float = 0.7,
) -> Tensor:
    """The loss of a batch, a scalar.

    Args:
        student: what learns.
        rows: (B, T + 1) ids.
        teacher: whose distributions are learned; None for the text's own tokens.
        objective: what to raise, the likelihood or the overlap with the teacher.
        passes: guesses of a round that a head learns, S.
        reach: weight of a guess relative to the one before it.

    Raises:
        ValueError: an overlap or a head without a teacher.
    """
    tokens = rows[:, :-1]  # (B, T)
    if teacher is None:
        if not isinstance(student, GPT):
            raise ValueError("teacher must be the model whose features a head reads, got None")
        if objective == "overlap":
            raise ValueError("objective must be 'likelihood' without a teacher, got 'overlap'")
        return F.cross_entropy(student(tokens).flatten(0, 1), rows[:, 1:].flatten())
    with torch.no_grad():
        features = teacher.features(tokens)  # (B, T, D)
        p = teacher.logits(features).softmax(-1)  # (B, T, V)
    if isinstance(student, GPT):
        return _distance(student(tokens), p, objective)
    guesses = student.unroll(tokens, features, passes)  # S of (B, T, V)
    weights = [reach**place for place in range(passes)]
    losses = [
        weight * _distance(logits[:, place + 1 :], p[:, place + 1 :], objective)
        for place, (weight, logits) in enumerate(zip(weights, guesses, strict=True))
    ]
    return torch.stack(losses).sum() / sum(weights)


def _distance(logits: Tensor, p: Tensor, objective: Objective) -> Tensor:
    """How far q is from p, averaged over contexts: (B, T, V) twice to a scalar."""
    if objective == "likelihood":
        return F.cross_entropy(logits.flatten(0, 1), p.flatten(0, 1))
    return 1 - torch.minimum(p, logits.softmax(-1)).sum(-1).mean()


@torch.inference_mode()
def tokens_per_round(
    head: Head, target: GPT, windows: Tensor, passes: int, batch: int = 8
) -> float:
    """Tokens that a round of a head would yield on given texts, the target's own included.

    A round that starts at a context gains 1 + β₁ + β₁β₂ + … tokens, with β the overlap at each of
    its guesses. Two things are approximate: the texts stand in for what was accepted, and a round
    is as likely to start at any context (see ``overlap.tokens_in_order``).

    Args:
        head: guesses.
        target: whose features the head was trained on.
        windows: (N, T) ids, T above ``passes``.
        passes: guesses of a round, K.
        batch: rows to run at once.
    """
    gained = []
    for rows in torch.split(windows, batch):
        features = target.features(rows)  # (B, T, D)
        p = target.logits(features).softmax(-1)  # (B, T, V)
        starts = rows.shape[1] - passes  # rounds that have a feature and whose guesses all fit
        reached = torch.ones(len(rows), starts)  # (B, starts)
        gain = torch.ones(len(rows), starts)  # (B, starts)
        for place, logits in enumerate(head.unroll(rows, features, passes)):
            overlap = torch.minimum(p, logits.softmax(-1)).sum(-1)  # (B, T)
            reached = reached * overlap[:, place + 1 : place + 1 + starts]
            gain = gain + reached
        gained.append(gain.mean(-1))
    return float(torch.cat(gained).mean())
