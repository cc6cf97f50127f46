"""Drafters, one idea a file: ``base`` says what a drafter is, ``model`` is the classic one.

Then the ladder, from the simplest up; what needs torch is imported from its own module::

    lookup      copies what followed the last tokens before
    ngram       draws from counts of a corpus: the cheapest drafter with a distribution
    suffix      longest repeats first, scored by counts, over earlier texts too
    early_exit  the target's own first layers (torch)
    medusa      heads on the target's last feature, each blind to the others (torch)
    feature     a head that reads that feature and goes on from its own, as in EAGLE (torch)
    mtp         the same with a block as wide as the target's, and its head, as in DeepSeek (torch)
    tree        several tokens for one place; sapling is one while it grows

and what goes around a drafter: ``confidence`` stops a draft where the model is unsure, ``gate``
decides in each round whether and how far to speculate.
"""

from specmini.drafters.base import Drafter
from specmini.drafters.gate import Gate
from specmini.drafters.lookup import LookupDrafter
from specmini.drafters.model import AcceptanceRule, ModelDrafter
from specmini.drafters.ngram import NgramDrafter, NgramTables
from specmini.drafters.suffix import SuffixDrafter
from specmini.drafters.tree import ConfidentTreeDrafter, StaticTreeDrafter, TreeDrafter

__all__ = [
    "AcceptanceRule",
    "ConfidentTreeDrafter",
    "Drafter",
    "Gate",
    "LookupDrafter",
    "ModelDrafter",
    "NgramDrafter",
    "NgramTables",
    "StaticTreeDrafter",
    "SuffixDrafter",
    "TreeDrafter",
]
