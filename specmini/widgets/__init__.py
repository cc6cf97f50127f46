"""Things a reader can move: live anywidgets with a kernel, one small script without one."""

from specmini.widgets.advice import AdviceCalculator
from specmini.widgets.drafter_explorer import DrafterExplorer
from specmini.widgets.explorer import SpeedupExplorer
from specmini.widgets.flash_cards import FlashCards
from specmini.widgets.interview import Interview
from specmini.widgets.overlap import OverlapExplorer
from specmini.widgets.page import PageWidget
from specmini.widgets.player import RoundPlayer
from specmini.widgets.progress import ProgressPanel
from specmini.widgets.roofline_explorer import RooflineExplorer
from specmini.widgets.spot import SpotTheErrors

__all__ = [
    "AdviceCalculator",
    "DrafterExplorer",
    "FlashCards",
    "Interview",
    "OverlapExplorer",
    "PageWidget",
    "ProgressPanel",
    "RooflineExplorer",
    "RoundPlayer",
    "SpeedupExplorer",
    "SpotTheErrors",
]
