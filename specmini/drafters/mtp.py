"""Draft with a multi-token prediction module, applied to itself: DeepSeek-V3 (arXiv:2412.19437)."""

from __future__ import annotations

from specmini.drafters.feature import SelfFeedingDrafter
from specmini.engine.cached_model import FeatureModel
from specmini.heads.mtp_in_numpy import mtp_engine
from specmini.heads.mtp_module import MtpModule
from specmini.sampling import Sampling

__all__ = ["MtpDrafter"]


class MtpDrafter(SelfFeedingDrafter):
    """One module that guesses the token after the next one, and goes on from its own state.

    With ``draft_length`` 1 it is what DeepSeek-V3 was trained for; engines run it further.

    Args:
        module: trained on this target, which has lent it its embedding.
        target: whose features it reads; the one that ``generate`` runs.
        sampling: applied to the module's logits; that of the target, to be accepted most.

    Raises:
        ValueError: no target has lent the module its embedding.
    """

    def __init__(self, module: MtpModule, target: FeatureModel, sampling: Sampling) -> None:
        super().__init__(mtp_engine(module), target, sampling)
