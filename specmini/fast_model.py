"""The fastest engine for a GPT on this machine."""

from __future__ import annotations

from specmini.cached_model import CachedModel
from specmini.gpt import GPT
from specmini.numpy_model import NumpyModel
from specmini.torch_model import TorchModel

__all__ = ["fast_model"]

small_width = 192  # below this the calls cost more than the arithmetic


def fast_model(model: GPT) -> CachedModel:
    """The fastest ``CachedModel`` for a GPT on this machine."""
    return NumpyModel(model) if model.config.width <= small_width else TorchModel(model)
