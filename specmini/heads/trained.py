"""The trained heads of the package's target: what drafts from its features.

The checkpoints are package data, as those of the pair. A head is worth nothing on another target,
even one of the same shape, so each file remembers the weights it was trained on and is refused
where they are others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from specmini.checkpoints import Head, Record, digest, load_head
from specmini.heads.feature_head import FeatureHead
from specmini.heads.medusa_heads import MedusaHeads
from specmini.heads.mtp_module import MtpModule
from specmini.pair import Pair, package

__all__ = ["Heads", "load_heads"]

Kind = TypeVar("Kind", bound=Head)

names: Final = ("feature_head", "medusa_heads", "mtp_module")


@dataclass(frozen=True)
class Heads:
    """Three ways to draft from one target's features.

    Attributes:
        feature: a small GPT over the features, for ``FeatureDrafter``.
        medusa: heads that each guess one place, for ``MedusaDrafter``.
        mtp: a block as wide as the target's, for ``MtpDrafter``; the target has lent it its
            embedding.
        records: of the checkpoints, by ``"feature"``, ``"medusa"`` and ``"mtp"``.
    """

    feature: FeatureHead
    medusa: MedusaHeads
    mtp: MtpModule
    records: dict[str, Record]


def load_heads(pair: Pair, folder: Path | None = None) -> Heads:
    """Load feature_head, medusa_heads and mtp_module, each a .safetensors.

    Args:
        pair: whose target they were trained on.
        folder: where they are; the package's models if not given.

    Raises:
        ValueError: a file is missing or broken, holds another kind of head, or was trained with
            another tokenizer or target.
    """
    folder = folder or package / "models"
    target = digest(pair.target.state_dict())
    paths = [folder / f"{name}.safetensors" for name in names]
    feature, of_feature = _load(paths[0], FeatureHead, pair, target)
    medusa, of_medusa = _load(paths[1], MedusaHeads, pair, target)
    mtp, of_mtp = _load(paths[2], MtpModule, pair, target)
    mtp.lend(pair.target)
    records = {"feature": of_feature, "medusa": of_medusa, "mtp": of_mtp}
    return Heads(feature, medusa, mtp, records)


def _load(path: Path, kind: type[Kind], pair: Pair, target: str) -> tuple[Kind, Record]:
    """A head of a kind, trained for the pair's tokenizer and on the target with this hash."""
    if not path.is_file():
        raise ValueError(f"folder must hold {path.name}, and {path.parent} does not")
    head, record = load_head(path)
    if not isinstance(head, kind):
        raise ValueError(f"{path} must hold {kind.__name__}, got {type(head).__name__}")
    stages = record.get("stages") or [{}]
    for what, wanted, found in (
        ("tokenizer", pair.tokenizer.sha256, record.get("tokenizer_sha256")),
        ("target", target, stages[-1].get("teacher_sha256")),
    ):
        if found != wanted:
            raise ValueError(f"{path} must be trained with the {what} {wanted}, got {found}")
    return head, record
