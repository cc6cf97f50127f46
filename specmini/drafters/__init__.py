"""Drafters, one idea a file: ``base`` says what a drafter is, ``model`` is the classic one."""

from specmini.drafters.base import Drafter
from specmini.drafters.feature import FeatureDrafter
from specmini.drafters.medusa import MedusaDrafter
from specmini.drafters.model import AcceptanceRule, ModelDrafter

__all__ = ["AcceptanceRule", "Drafter", "FeatureDrafter", "MedusaDrafter", "ModelDrafter"]
