"""Things a reader can move: live anywidgets with a kernel, one small script without one."""

from specmini.widgets.explorer import SpeedupExplorer
from specmini.widgets.flash_cards import FlashCards
from specmini.widgets.overlap import OverlapExplorer
from specmini.widgets.page import PageWidget
from specmini.widgets.player import RoundPlayer
from specmini.widgets.roofline_explorer import RooflineExplorer

__all__ = [
    "FlashCards",
    "OverlapExplorer",
    "PageWidget",
    "RooflineExplorer",
    "RoundPlayer",
    "SpeedupExplorer",
]
