"""Things a reader can move: live anywidgets with a kernel, one small script without one."""

from specmini.widgets.drafter_explorer import DrafterExplorer
from specmini.widgets.explorer import SpeedupExplorer
from specmini.widgets.overlap import OverlapExplorer
from specmini.widgets.page import PageWidget
from specmini.widgets.player import RoundPlayer
from specmini.widgets.roofline_explorer import RooflineExplorer

__all__ = [
    "DrafterExplorer",
    "OverlapExplorer",
    "PageWidget",
    "RooflineExplorer",
    "RoundPlayer",
    "SpeedupExplorer",
]
