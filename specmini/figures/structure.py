"""The picture of the page on how the package is built."""

from typing import Final

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from specmini.figures.style import COLOR, ThemedFigure, canvas

__all__ = ["data_flow"]

# name: (column, row, what it shows, color role); the names are parts of the package
BOXES: Final = {
    "tokenizer": (0, 0, "prompt to tokens", "draft"),
    "engine": (0, 1, "target and draft, one step", "draft"),
    "drafters": (0, 2, "guesses", "draft"),
    "verify": (0, 3, "accept, recover, bonus", "draft"),
    "generate": (0, 4, "rounds", "draft"),
    "measure": (0, 5, "α, c, v, E, speedup", "draft"),
    "configuration": (1, 0, "words to a setting", "target"),
    "catalog": (1, 1, "machines and models", "target"),
    "roofline": (1, 2, "time of a pass", "target"),
    "cost": (1, 3, "cost of a round", "target"),
    "theory": (1, 4, "speedup", "target"),
    "advisor": (1, 5, "verdict and interval", "target"),
    "figures": (0, 6.3, "pictures", "recovered"),
    "widgets": (1, 6.3, "controls", "recovered"),
}
ARROWS: Final = (
    *(("tokenizer", "engine"), ("engine", "drafters"), ("drafters", "verify")),
    *(("verify", "generate"), ("generate", "measure"), ("configuration", "catalog")),
    *(("catalog", "roofline"), ("roofline", "cost"), ("cost", "theory"), ("theory", "advisor")),
    *(("theory", "measure"), ("measure", "figures"), ("advisor", "widgets")),
)
WIDE, HIGH = 0.86, 0.62


def data_flow() -> ThemedFigure:
    """How data moves through the package: the lab on the left, the paper on the right."""
    claim = "Text becomes rounds, rounds meet the theory, and both become a page"
    with canvas(claim, height=430) as (figure, [axes]):
        for name, (column, row, does, role) in BOXES.items():
            _box(axes, column, row, name, does, role)
        for start, end in ARROWS:
            _arrow(axes, start, end)
        for column, wing in enumerate(("lab wing: torch", "paper wing: NumPy alone")):
            axes.text(column, -0.62, wing, ha="center", va="bottom", color=COLOR["muted"])
        axes.set_xlim(-0.5, 1.5)
        axes.set_ylim(6.75, -1.0)
        axes.axis("off")
    steps = "; ".join(f"{start} to {end}" for start, end in ARROWS)
    shown = ", ".join(f"{name} ({does})" for name, (_, _, does, _) in BOXES.items())
    return ThemedFigure("data-flow", claim, f"Boxes: {shown}. Arrows: {steps}.", figure)


def _box(axes: Axes, column: int, row: float, name: str, does: str, role: str) -> None:
    lower = (column - WIDE / 2, row - HIGH / 2)
    axes.add_patch(
        Rectangle(lower, WIDE, HIGH, facecolor=COLOR["surface"], edgecolor=COLOR[role], lw=1.6)
    )
    axes.text(column, row - 0.11, name, ha="center", va="center", weight="bold")
    axes.text(column, row + 0.16, does, ha="center", va="center", fontsize=10)


def _arrow(axes: Axes, start: str, end: str) -> None:
    (x, y, *_), (to_x, to_y, *_) = BOXES[start], BOXES[end]
    side = float(to_x > x) - float(to_x < x)  # -1, 0 or 1
    down = 0.0 if side else HIGH / 2
    here = (x + side * WIDE / 2, y + down)
    there = (to_x - side * WIDE / 2, to_y - down)
    arrow = {"arrowstyle": "-|>", "color": COLOR["muted"], "shrinkA": 1, "shrinkB": 1}
    axes.annotate("", xy=there, xytext=here, arrowprops=arrow)
