"""Weights on disk: safetensors with a hash, small when asked, and never half written.

A file holds tensors and one JSON record. Loading checks that the record is there, that the hashes
of both are the stored ones, and that names and shapes are those of the model; what is wrong is
said. There is no pickle, so a file cannot run code.

A model can be stored in 8 bits a weight (each row of a matrix with its own scale) or in 16. What
is loaded then **is** the model: every experiment reads the stored file, so nothing is lost later.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from specmini import json_files
from specmini.checks import shown
from specmini.files import replaced
from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.heads.mtp_module import MtpModule

__all__ = [
    "Head",
    "Record",
    "described",
    "load_head",
    "load_model",
    "new_model",
    "read",
    "save_model",
    "write",
]

Head = FeatureHead | MedusaHeads | MtpModule
Record = dict[str, Any]
Storage = Literal["float32", "float16", "int8"]

scale_suffix: Final = ".scale"
giant: Final = 2**28  # weights, a GiB of them: more is made only for a file that holds as many


def write(path: Path, tensors: Mapping[str, Tensor], record: Record) -> None:
    """Store tensors and a record; a reader sees the old file or the new one, never a mixture.

    Args:
        path: where to; its folder must exist.
        tensors: any tensors by name.
        record: anything JSON can hold.
    """
    content = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    written = json.dumps(record)
    metadata = {"record": written, "record_sha256": _hash(written), "sha256": digest(content)}

    def save(unfinished: Path) -> None:
        save_file(content, unfinished, metadata)
        with unfinished.open("r+b") as file:  # Windows flushes only what may be written
            os.fsync(file.fileno())

    replaced(path, save)


def read(path: Path) -> tuple[dict[str, Tensor], Record]:
    """Tensors and record of a file that ``write`` made; the file may be replaced meanwhile.

    Raises:
        FileNotFoundError: there is no file.
        ValueError: the file cannot be read or is no such file, or tensors or record do not have
            the stored hash.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # copies: what is mapped keeps the file in use, and Windows replaces no such file
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is not a complete safetensors file: {error}") from error
    except FileNotFoundError:
        raise
    except OSError as error:  # of a folder; it names no path
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not {"record", "sha256"} <= metadata.keys():
        raise ValueError(f"{path} has no record and hash: its metadata has {sorted(metadata)}")
    found = {"tensors": digest(tensors), "record": _hash(metadata["record"])}
    # files written before records were hashed have no such hash, and stay valid
    stored = {"tensors": metadata["sha256"], "record": metadata.get("record_sha256")}
    for part, expected in stored.items():
        if expected is not None and found[part] != expected:
            raise ValueError(
                f"{path} is corrupted: its {part} hash to {found[part]}, not {expected}"
            )
    record = json_files.parsed(f"the record of {path}", metadata["record"])
    if not isinstance(record, dict):
        raise ValueError(f"the record of {path} must be an object, got {shown(record)}")
    return tensors, record


def save_model(
    path: Path,
    model: GPT | Head,
    record: Record,
    storage: Storage = "float32",
) -> None:
    """Store a model; its configuration and the kind of storage join the record.

    Args:
        path: where to.
        model: the weights.
        record: what else to remember: tokenizer, corpus, tokens seen.
        storage: ``"int8"`` for matrices in 8 bits (the rest in 16), ``"float16"`` or ``"float32"``.
    """
    packed: dict[str, Tensor] = {}
    for name, weight in model.state_dict().items():
        if storage == "int8" and weight.dim() == 2:
            packed[name], packed[name + scale_suffix] = _to_int8(weight)
        else:
            packed[name] = weight if storage == "float32" else weight.half()
    write(path, packed, {**record, **described(model), "storage": storage})


def load_model(path: Path) -> tuple[GPT, Record]:
    """Load a model that ``save_model`` stored, in float32 whatever the storage.

    Raises:
        FileNotFoundError: as ``read``.
        ValueError: as ``read``; or the tensors are not those of the stored configuration.
    """
    model, record = _load(path)
    if not isinstance(model, GPT):
        raise ValueError(f"{path} holds {record['kind']}, no language model")
    return model, record


def load_head(path: Path) -> tuple[Head, Record]:
    """Load a head that ``save_model`` stored, in float32 whatever the storage.

    Raises:
        FileNotFoundError: as ``read``.
        ValueError: as ``read``; or the tensors are not those of the stored configuration.
    """
    model, record = _load(path)
    if isinstance(model, GPT):
        raise ValueError(f"{path} holds a language model, no head")
    return model, record


def _load(path: Path) -> tuple[GPT | Head, Record]:
    tensors, record = read(path)
    weights = {
        name: _unpacked(path, name, tensor, tensors.get(name + scale_suffix))
        for name, tensor in tensors.items()
        if not name.endswith(scale_suffix)
    }
    _refuse_giant(path, record, tensors)
    model = new_model(path, record)
    check_weights(str(path), model, weights)
    model.load_state_dict(weights)
    return model.eval(), record


def _unpacked(path: Path, name: str, stored: Tensor, scale: Tensor | None) -> Tensor:
    """A weight in float32."""
    if scale is None and stored.is_floating_point():
        return stored.float()
    rows = stored.shape[:1] if stored.dim() == 2 else ()
    if scale is None or stored.dtype != torch.int8 or scale.shape != (*rows, 1):
        got = "none" if scale is None else f"one of shape {tuple(scale.shape)}"
        raise ValueError(
            f"{path}: {name} must be stored in floats, or in int8 with a scale for each row, "
            f"got {stored.dtype} of shape {tuple(stored.shape)} and {got}"
        )
    return stored.float() * scale.float()


def _refuse_giant(path: Path, record: Record, tensors: Mapping[str, Tensor]) -> None:
    """Refuse a record that asks for far more than the file holds, before its memory is taken."""
    sizes: dict[str, int] = {}
    config = record.get("config")
    for level in (config, config.get("draft") if isinstance(config, dict) else None):
        if isinstance(level, dict):
            sizes |= {name: size for name, size in level.items() if type(size) is int}
    width = sizes.get("width", sizes.get("feature_width", 1))
    parts = sizes.get("layers", sizes.get("heads", 1))
    rows = sum(sizes.get(name, 0) for name in ("vocabulary", "context", "feature_width"))
    asked, held = width * (rows + parts * width), sum(map(Tensor.numel, tensors.values()))
    if parts > len(tensors) or asked > max(held, giant):
        raise ValueError(
            f"{path} holds no model: configuration {shown(config, 200)} asks for more than "
            f"{len(tensors)} tensors of {held} numbers"
        )


def described(model: GPT | Head) -> Record:
    """What of a model is in a record: its configuration, and its kind if it is a head."""
    kind = {} if isinstance(model, GPT) else {"kind": type(model).__name__}
    return {**kind, "config": asdict(model.config)}


def new_model(path: Path, record: Record) -> GPT | Head:
    """A model of the kind and shape that a file's record describes, not yet with its weights.

    Raises:
        ValueError: the record describes none.
    """
    config, kind = record.get("config"), record.get("kind", "GPT")
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds no model: its record has {sorted(record)}")
    try:
        if kind == "FeatureHead":
            draft = Config(**config["draft"])
            return FeatureHead(FeatureHeadConfig(draft, config["feature_width"]))
        if kind == "MedusaHeads":
            return MedusaHeads(MedusaConfig(**config))
        if kind == "MtpModule":
            return MtpModule(Config(**config))
        if kind == "GPT":
            return GPT(Config(**config))
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        told = f"configuration {shown(config, 200)}: {error}"
        raise ValueError(f"{path} holds no model: {told}") from error
    raise ValueError(f"{path} holds an unknown kind of model: {kind!r}")


def check_weights(source: str, model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Check that weights are all of a model's, each in its shape.

    Raises:
        ValueError: names the first weight that is missing, unknown or of another shape.
    """
    expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    if missing := sorted(expected.keys() - weights.keys()):
        raise ValueError(f"{source} lacks {len(missing)} weights, the first is {missing[0]}")
    if unknown := sorted(weights.keys() - expected.keys()):
        raise ValueError(f"{source} has {len(unknown)} unknown weights, the first is {unknown[0]}")
    for name, shape in expected.items():
        if tuple(weights[name].shape) != shape:
            raise ValueError(
                f"{source}: {name} must have shape {shape}, got {tuple(weights[name].shape)}"
            )


def _to_int8(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Rows rounded to at most 255 levels, and each row's step in float16: (M, N) and (M, 1).

    A level has 7 bits and a sign. The step is rounded up to 4 significant bits (by 4.5 % on
    average), so that their product has 11, which is what float16 holds: the stored model has
    exactly the same weights in float16 and in float32, and a kernel that reads half the bytes
    computes with the same numbers.
    """
    smallest = torch.tensor(2.0**-20)  # far below any weight; its products are still exact
    mantissa, exponent = torch.frexp((matrix.abs().amax(1, keepdim=True) / 127).maximum(smallest))
    scale = torch.ldexp((mantissa * 16).ceil() / 16, exponent)  # (M, 1)
    rounded = (matrix / scale).round()  # (M, N) in [-127, 127]
    return rounded.to(torch.int8), scale.half()


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Hash of names, types, shapes and bytes."""
    whole = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        whole.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
