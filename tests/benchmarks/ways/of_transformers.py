"""Hugging Face transformers on an exported folder, as a way of decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from ways import Decode, Rounds

__all__ = ["loaded", "theirs"]


def loaded(folder: Path, dtype: torch.dtype):
    """The model of an exported folder; it does not stop at the end of a text, as ours do not."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    model.generation_config.eos_token_id = None
    return model


def theirs(
    model,
    assistant,
    length: int | None,
    new_tokens: int,
    temperature: float = 0.0,
    rounds: Rounds | None = None,
) -> Decode:
    """A call of ``generate``; length None leaves the assistant's defaults as they are."""

    def decode(prompt: Sequence[int]) -> list[int]:
        ids = torch.tensor([prompt])
        given = {"max_new_tokens": new_tokens, "do_sample": temperature > 0, "pad_token_id": 0}
        if temperature > 0:
            given |= {"temperature": temperature, "top_k": 0, "top_p": 1.0}
        if assistant is not None:
            given["assistant_model"] = assistant
            settings = assistant.generation_config
            settings.num_assistant_tokens = length
            settings.num_assistant_tokens_schedule = None if length is None else "constant"
            settings.assistant_confidence_threshold = None if length is None else 0.0
        with torch.inference_mode(), _counted(rounds):
            output = model.generate(ids, attention_mask=torch.ones_like(ids), **given)
        return output[0, len(prompt) :].tolist()

    return decode


@contextmanager
def _counted(rounds: Rounds | None) -> Iterator[None]:
    """Write down what ``generate`` tells its candidate generator after each round.

    That is the only place where transformers says how many candidates were accepted.
    """
    from transformers.generation import candidate_generator

    kind = candidate_generator.AssistedCandidateGenerator
    propose, update = kind.get_candidates, kind.update_candidate_strategy
    drafted = 0

    def proposed(self, input_ids, *arguments, **named):
        nonlocal drafted
        candidates, logits = propose(self, input_ids, *arguments, **named)
        drafted = candidates.shape[1] - input_ids.shape[1]
        return candidates, logits

    def updated(self, input_ids, scores, num_matches):
        if rounds is not None:
            rounds.add(drafted, int(num_matches))
        return update(self, input_ids, scores, num_matches)

    kind.get_candidates, kind.update_candidate_strategy = proposed, updated
    try:
        yield
    finally:
        kind.get_candidates, kind.update_candidate_strategy = propose, update
