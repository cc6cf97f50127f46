"""Drafters, one idea a file.

``base`` says what a drafter is, ``model`` is the classic one, ``tree`` offers several tokens for
one place.
"""

from specmini.drafters.base import Drafter
from specmini.drafters.model import AcceptanceRule, ModelDrafter
from specmini.drafters.tree import ConfidentTreeDrafter, StaticTreeDrafter, TreeDrafter

__all__ = [
    "AcceptanceRule",
    "ConfidentTreeDrafter",
    "Drafter",
    "ModelDrafter",
    "StaticTreeDrafter",
    "TreeDrafter",
]
