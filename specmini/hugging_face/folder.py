"""A GPT as a folder in Hugging Face's layout, which transformers, vLLM and others load as it is.

Our architecture is GPT-2's, so nothing is converted: the weights get their names
(``gpt.to_hugging_face``) and the shape its config.json. No library of theirs is needed to write it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save

from specmini import json_files
from specmini.files import replaced
from specmini.gpt import GPT, to_hugging_face
from specmini.hugging_face.tokenizer import END_OF_TEXT, tokenizer_json
from specmini.pair import Pair
from specmini.tokenizer import Tokenizer

__all__ = ["write_model", "write_pair"]


def write_pair(folder: Path, pair: Pair) -> tuple[Path, Path]:
    """Write a pair's target and draft to two folders of these names.

    Args:
        folder: where to; made if it is not there.
        pair: the models and their tokenizer.

    Returns:
        The folders of target and draft.

    Raises:
        ValueError: as ``write_model``.
    """
    folders = folder / "target", folder / "draft"
    for place, model in zip(folders, (pair.target, pair.draft), strict=True):
        write_model(place, model, pair.tokenizer)
    return folders


def write_model(folder: Path, model: GPT, tokenizer: Tokenizer) -> None:
    """Write config.json, model.safetensors, tokenizer.json and tokenizer_config.json.

    Weights are stored in float32, which is what our engines compute in. Each file is replaced in
    one step.

    Args:
        folder: where to; made if it is not there.
        model: the weights.
        tokenizer: what its ids mean.

    Raises:
        ValueError: the model's vocabulary is not the tokenizer's.
    """
    if model.config.vocabulary != tokenizer.vocabulary:
        raise ValueError(
            f"model must have the tokenizer's vocabulary of {tokenizer.vocabulary}, "
            f"got {model.config.vocabulary}"
        )
    weights = to_hugging_face(model.state_dict())
    del weights["lm_head.weight"]  # tied to the embedding, and config.json says so
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "model_max_length": model.config.context,
        "clean_up_tokenization_spaces": False,
    }
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: weight.contiguous() for name, weight in weights.items()}
    stored = save(tensors, {"format": "pt"})
    replaced(folder / "model.safetensors", lambda unfinished: unfinished.write_bytes(stored))
    json_files.write(folder / "tokenizer.json", _json(tokenizer_json(tokenizer)))
    json_files.write(folder / "tokenizer_config.json", _json(settings))
    json_files.write(folder / "config.json", _json(_config(model, tokenizer.end_of_text)))


def _config(model: GPT, end_of_text: int) -> dict[str, Any]:
    """The content of a config.json."""
    shape = model.config
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": shape.vocabulary,
        "n_positions": shape.context,
        "n_embd": shape.width,
        "n_layer": shape.layers,
        "n_head": shape.heads,
        "n_inner": None,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": model.ln_f.eps,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "tie_word_embeddings": True,
        "bos_token_id": end_of_text,
        "eos_token_id": end_of_text,
        "torch_dtype": "float32",
    }


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
