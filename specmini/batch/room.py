"""What fits the context of a drafter: the prompts it can read, and how far it can guess on."""

from __future__ import annotations

from collections.abc import Sequence

from specmini.batch.model import BatchModel

__all__ = ["begin", "guessable", "readable"]


def readable(
    context: int, slots: Sequence[int], prompts: Sequence[Sequence[int]]
) -> tuple[list[int], list[Sequence[int]]]:
    """The slots in which a drafter has something to read when texts begin, and what it is.

    Args:
        context: most tokens that the drafter can have seen in a slot.
        slots: of the texts.
        prompts: of at least one token each. All but the last token is read, nothing of a prompt
            that is too long: its text stays too long.
    """
    read = [
        (slot, prompt[:-1])
        for slot, prompt in zip(slots, prompts, strict=True)
        if 1 < len(prompt) <= context + 1
    ]
    return [slot for slot, _ in read], [tokens for _, tokens in read]


def begin(model: BatchModel, slots: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
    """Have a draft model forget what some slots have seen, and read what it can of their prompts.

    Args:
        model: the draft model.
        slots: where.
        prompts: of at least one token each.
    """
    for slot in slots:
        model.truncate(slot, 0)
    reading, tokens = readable(model.context, slots, prompts)
    if reading:
        model.forward(reading, tokens, last_only=True)


def guessable(
    context: int, texts: Sequence[Sequence[int]], draft_lengths: Sequence[int]
) -> list[int]:
    """How many tokens a drafter that reads its own guesses can propose after each text.

    Args:
        context: most tokens that the drafter can have seen in a slot.
        texts: R texts.
        draft_lengths: how many are wanted after each.
    """
    # the last guess is never fed back
    return [
        max(0, min(wanted, context - len(text) + 1))
        for text, wanted in zip(texts, draft_lengths, strict=True)
    ]
