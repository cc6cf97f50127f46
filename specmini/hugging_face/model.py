"""Any causal language model of a Hugging Face folder behind ``CachedModel``.

``measure.compare`` then times it like our own: the same loop, the same verdicts. transformers runs
the passes. What its calls cost in Python belongs to each step, so a model of a few million weights
looks slow here; the larger the model, the less that counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from specmini.engine.cached_model import check_length, check_room
from specmini.verify.chain import check_tokens

__all__ = ["HuggingFaceModel", "load_encoder", "load_model"]


class HuggingFaceModel:
    """A ``CachedModel`` around a causal language model of transformers.

    Args:
        model: on any device and in any floating-point type; not changed.

    Raises:
        ValueError: its state cannot be cut back to fewer tokens, or its context is not told.
    """

    def __init__(self, model: Any) -> None:
        from transformers import DynamicCache

        config = model.config.get_text_config()
        if getattr(model, "_is_stateful", False):
            raise ValueError(f"model must forget its last tokens, and {config.model_type} cannot")
        context = getattr(config, "max_position_embeddings", None)
        if context is None:
            raise ValueError("model must tell max_position_embeddings in its configuration")
        self._model = model.eval()
        self._vocabulary, self._context = int(config.vocab_size), int(context)
        self._new_cache: Callable[[], Any] = DynamicCache
        # the argument was renamed in 2026; both names work for a while
        names = inspect.signature(model.forward).parameters
        self._argument = "cache" if "cache" in names else "past_key_values"
        self._cache, self._length = DynamicCache(), 0

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._vocabulary

    @property
    def context(self) -> int:
        """Most tokens it can have seen, C."""
        return self._context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return self._length

    def forward(self, tokens: Sequence[int]) -> NDArray[Any]:
        """See T more tokens; arguments, result and errors as ``CachedModel.forward``."""
        check_room(self, tokens)
        check_tokens(np.asarray(tokens), self.vocabulary)
        ids = torch.tensor([list(tokens)], device=self._model.device)  # (1, T)
        with torch.inference_mode():
            logits = self._model(ids, use_cache=True, **{self._argument: self._cache}).logits
        self._length += len(tokens)
        rows: NDArray[Any] = logits[0].float().cpu().numpy()
        return rows  # (T, V)

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens; errors as ``CachedModel.truncate``."""
        check_length(self, length)
        if length == 0:
            self._cache = self._new_cache()
        elif length < self._length:
            self._cache.crop(length - self._length)  # a negative number is how many go
        self._length = length


def load_model(folder: Path) -> HuggingFaceModel:
    """The model of a folder, in the type its weights are stored in; nothing is downloaded.

    Raises:
        ValueError: transformers is not installed or finds no model there, or as
            ``HuggingFaceModel``.
    """
    return HuggingFaceModel(_loaded("AutoModelForCausalLM", folder, dtype="auto"))


def load_encoder(folder: Path) -> Callable[[str], list[int]]:
    """What turns text into the ids of a folder's model.

    Raises:
        ValueError: transformers is not installed or finds no tokenizer there.
    """
    tokenizer = _loaded("AutoTokenizer", folder)

    def encode(text: str) -> list[int]:
        return [int(token) for token in tokenizer.encode(text)]

    return encode


def _loaded(kind: str, folder: Path, **given: Any) -> Any:
    try:
        import transformers
    except ImportError:
        raise ValueError(
            f"{folder} needs transformers, which is not installed: pip install transformers"
        ) from None
    if not (folder / "config.json").is_file():
        raise ValueError(f"folder must hold config.json, and {folder} does not")
    try:
        return getattr(transformers, kind).from_pretrained(folder, local_files_only=True, **given)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"transformers cannot load {folder}: {reason}") from error
