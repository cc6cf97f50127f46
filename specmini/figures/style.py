"""One look for every figure, and an SVG that follows the page between light and dark.

A figure is drawn once, in the light colors of :mod:`specmini.palette`. On a page of the built book
:func:`themed_svg` replaces each color by its CSS variable, so the same drawing is right in both
modes; anywhere else (Jupyter, VS Code, Colab) it keeps its light colors on a white ground.
"""

import io
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from specmini.palette import PAGE, ROLES, css_variable

# Shown between 350 px on a phone (type at 9 px) and 580 px in the text column (15 px).
WIDTH = 430
DPI = 72  # one SVG point is one pixel

# What tells the lines of one figure apart: a color's role, a dash pattern and a marker. A fifth
# line would be one too many to follow.
LINES = (
    ("draft", "-", "o"),
    ("target", "--", "s"),
    ("recovered", "-.", "^"),
    ("accepted", ":", "D"),
)

COLOR = {role: color.light for role, color in ROLES.items()}

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11,
    "axes.edgecolor": COLOR["muted"],
    "axes.labelcolor": COLOR["ink"],
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": COLOR["grid"],
    "grid.linewidth": 0.6,
    "xtick.color": COLOR["muted"],
    "ytick.color": COLOR["muted"],
    "xtick.labelcolor": COLOR["ink"],
    "ytick.labelcolor": COLOR["ink"],
    "text.color": COLOR["ink"],
    "lines.linewidth": 1.8,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": PAGE.light,
    "figure.dpi": DPI,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and selected
    "svg.hashsalt": "specmini",  # the same drawing gives the same bytes
}


class ThemedFigure:
    """A finished figure: what IPython shows, with the words a screen reader needs.

    Args:
        name: identifier, unique within a page (letters, digits and hyphens).
        claim: the sentence the figure proves; it stands as its title.
        description: what a reader who cannot see the figure must know, numbers included.
        figure: the matplotlib drawing; it stays readable as ``drawing``.

    Raises:
        ValueError: if a name is not an identifier, or the claim or description is empty.
    """

    def __init__(self, name: str, claim: str, description: str, figure: Figure) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(f"name must be lower-case letters, digits and hyphens, got {name!r}")
        for argument, text in (("claim", claim), ("description", description)):
            if not text.strip():
                raise ValueError(f"{argument} must not be empty: figure {name!r} needs its words")
        self.name = name
        self.claim = claim
        self.description = description
        self.drawing = figure
        self._svg = _described_svg(name, claim, description, figure)

    def _repr_svg_(self) -> str:
        return self._svg

    def __repr__(self) -> str:
        return f"<figure {self.name}: {self.claim}>"


@contextmanager
def canvas(
    claim: str, height: int, columns: int = 1, *, width: int = WIDTH, sharey: bool = False
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A styled figure of ``columns`` axes with its claim as the title.

    Args:
        claim: title; wrapped to the width.
        height: height in pixels at the natural size.
        columns: number of axes side by side.
        width: width in pixels at the natural size.
        sharey: whether the axes share their vertical axis.

    Yields:
        The figure and the list of its axes.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width / DPI, height / DPI), layout="constrained")
        axes = figure.subplots(1, columns, sharey=sharey, squeeze=False)[0]
        figure.suptitle(
            balanced(claim, int(width / 7.9)),
            x=0.012,
            ha="left",
            fontsize=12.5,
            fontweight="bold",
        )
        yield figure, list(axes)


def balanced(text: str, letters: int) -> str:
    """The text in as few lines of at most ``letters`` as it takes, and those about equally long.

    Args:
        text: words.
        letters: the longest that a line may be, at least 1.

    Raises:
        ValueError: no line can hold a letter.
    """
    if letters < 1:
        raise ValueError(f"letters must be at least 1, got {letters}")

    def lines(limit: int) -> list[str]:
        return textwrap.wrap(text, limit, break_long_words=False, break_on_hyphens=False)

    fewest = len(lines(letters))
    return "\n".join(next(found for n in range(1, letters + 1) if len(found := lines(n)) <= fewest))


def line_looks(name: str, count: int) -> tuple[tuple[str, str, str], ...]:
    """Role, dash pattern and marker for each of ``count`` lines.

    Args:
        name: argument that holds the series, for the message.
        count: lines to draw.

    Raises:
        ValueError: none, or more than can be told apart.
    """
    if not 1 <= count <= len(LINES):
        raise ValueError(f"{name} must hold 1 to {len(LINES)} series, got {count}")
    return LINES[:count]


def draft_length_axis(axes: Axes, longest: int) -> None:
    """Draft lengths from 0 to ``longest`` across, with room at the right for the lines' names."""
    axes.set_xlim(0, longest * 1.18)
    axes.set_ylim(0, None)
    axes.set_xticks(range(0, longest + 1, 2))
    axes.set_xlabel("draft length K (tokens)")


def themed_svg(svg: str) -> str:
    """The same SVG with each palette color replaced by its CSS variable, for inlining in a page.

    The white ground becomes transparent.
    """
    for role, color in ROLES.items():
        svg = re.sub(re.escape(color.light), f"var({css_variable(role)})", svg, flags=re.IGNORECASE)
    svg = re.sub(re.escape(PAGE.light), "none", svg, flags=re.IGNORECASE)
    return svg


def _described_svg(name: str, claim: str, description: str, figure: Figure) -> str:
    """Render to one ``<svg>`` element with a title, a description and ids unique to ``name``."""
    out = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)

    referenced = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(
        r' id="([^"]+)"',
        lambda match: f' id="{name}-{match[1]}"' if match[1] in referenced else "",
        svg,
    )
    svg = re.sub(r'(url\(|href=")#([\w-]+)', rf"\1#{name}-\2", svg)

    width, height = (float(x) for x in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="specmini-figure" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:g} {height:g}">\n'
        f'<title id="{name}-title">{escape(claim)}</title>\n'
        f'<desc id="{name}-desc">{escape(description)}</desc>\n'
    )
    return opening + svg[svg.index(">") + 1 :].lstrip()
