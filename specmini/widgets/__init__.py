"""Things a reader can move: live anywidgets with a kernel, one small script without one."""

from specmini.widgets.advice import AdviceCalculator
from specmini.widgets.explorer import SpeedupExplorer
from specmini.widgets.overlap import OverlapExplorer
from specmini.widgets.page import PageWidget
from specmini.widgets.player import RoundPlayer
from specmini.widgets.roofline_explorer import RooflineExplorer

__all__ = [
    "AdviceCalculator",
    "OverlapExplorer",
    "PageWidget",
    "RooflineExplorer",
    "RoundPlayer",
    "SpeedupExplorer",
]
