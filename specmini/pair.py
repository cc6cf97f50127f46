"""The trained pair: a target, the draft distilled from it, and the tokenizer both speak.

The checkpoints are package data. What is loaded is the model (see ``checkpoints``), so everybody
who installs the package measures the same two functions; only their speed differs by machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from specmini import tokenizer as tokenizers
from specmini.checkpoints import Record, load_model
from specmini.engine.cached_model import CachedModel
from specmini.engine.fast_model import fast_model
from specmini.gpt import GPT
from specmini.tokenizer import Tokenizer

__all__ = ["Pair", "checkpoint_hashes", "load_files", "load_pair"]

package = Path(str(resources.files("specmini")))


@dataclass(frozen=True)
class Pair:
    """Two models that share a tokenizer.

    Attributes:
        target: the model whose text is wanted.
        draft: the smaller one that guesses.
        tokenizer: of both.
        records: of the two checkpoints, by ``"target"`` and ``"draft"``: data, tokens, time.
    """

    target: GPT
    draft: GPT
    tokenizer: Tokenizer
    records: dict[str, Record]

    def target_model(self) -> CachedModel:
        """The target as the fastest engine of this machine, with a memory of its own."""
        return fast_model(self.target)

    def draft_model(self) -> CachedModel:
        """The draft as the fastest engine of this machine, with a memory of its own."""
        return fast_model(self.draft)


def load_pair(folder: Path | None = None) -> Pair:
    """Load target.safetensors and draft.safetensors.

    Args:
        folder: where they are; those of the package if not given.

    Raises:
        ValueError: a file is missing or broken, or was trained with another tokenizer.
    """
    folder = folder or package / "models"
    return load_files(folder / "target.safetensors", folder / "draft.safetensors")


def load_files(target: Path, draft: Path) -> Pair:
    """Load a pair from two checkpoint files.

    Args:
        target: file of the model whose text is wanted.
        draft: file of the one that guesses.

    Raises:
        ValueError: as ``load_pair``.
    """
    tokenizer = tokenizers.load(package / "data" / "tokenizer.json")
    models: dict[str, GPT] = {}
    records: dict[str, Record] = {}
    for name, path in (("target", target), ("draft", draft)):
        if not path.is_file():
            raise ValueError(f"folder must hold {path.name}, and {path.parent} does not")
        models[name], records[name] = load_model(path)
        if (found := records[name].get("tokenizer_sha256")) != tokenizer.sha256:
            raise ValueError(
                f"{path} must be trained with the tokenizer {tokenizer.sha256} of this package, "
                f"got {found}"
            )
    return Pair(**models, tokenizer=tokenizer, records=records)


def checkpoint_hashes(folder: Path | None = None) -> dict[str, str]:
    """SHA-256 of the files of a pair, by ``"target"`` and ``"draft"``: whose a measurement is.

    Args:
        folder: where they are; those of the package if not given.
    """
    folder = folder or package / "models"
    return {
        name: hashlib.sha256((folder / f"{name}.safetensors").read_bytes()).hexdigest()
        for name in ("target", "draft")
    }
