"""Things a reader can move: live anywidgets with a kernel, one small script without one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "AdviceCalculator": "advice",
    "DrafterExplorer": "drafter_explorer",
    "FlashCards": "flash_cards",
    "Interview": "interview",
    "OverlapExplorer": "overlap",
    "PageWidget": "page",
    "ProgressPanel": "progress",
    "RooflineExplorer": "roofline_explorer",
    "RoundPlayer": "player",
    "SpeedupExplorer": "explorer",
    "SpotTheErrors": "spot",
}


def __getattr__(name: str) -> Any:
    """A widget, imported when it is asked for.

    A chapter shows one or two. All of them read the files of the practice wing too, and the library
    that checks those takes seconds to import.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
