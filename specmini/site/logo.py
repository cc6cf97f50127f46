"""The mark of the book: one round, drawn as its tokens.

Three drafts the target accepted, one it rejected, and the one it wrote itself. Shapes say what the
colors say: accepted is solid, rejected is hollow and struck out, the target's own is round.
"""

from pathlib import Path

from specmini import checks
from specmini.palette import ROLES

__all__ = ["FAVICON", "HEIGHT", "LOGO", "MODES", "ROUND", "WIDTH", "favicon", "logo", "write_files"]

MODES = ("light", "dark")
# file names
LOGO = {mode: f"specmini-logo-{mode}.svg" for mode in MODES}
FAVICON = "specmini-favicon.svg"

# Kinds of token in the order of the round, and how far a strike reaches beyond its token.
ROUND = ("accepted", "accepted", "accepted", "rejected", "recovered")
SIDE, GAP, STRIKE = 20, 6, 3
# of the logo, in CSS pixels
WIDTH = len(ROUND) * SIDE + (len(ROUND) - 1) * GAP + 2 * STRIKE
HEIGHT = SIDE + 2 * STRIKE


def _token(kind: str, x: float, y: float, width: float, height: float, line: float) -> str:
    """One token; its color is that of the class ``kind``, its line ``line`` wide."""
    if kind == "recovered":
        radius = width / 2
        return f'<circle class="{kind}" cx="{x + radius:g}" cy="{y + radius:g}" r="{radius:g}"/>'
    if kind == "accepted":
        return (
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{line:g}"/>'
        )
    inset, reach = line / 2, 1.5 * line
    return (
        f'<g class="{kind}" fill="none" stroke-width="{line:g}"><rect x="{x + inset:g}" '
        f'y="{y + inset:g}" width="{width - line:g}" height="{height - line:g}" rx="{inset:g}"/>'
        f'<path stroke-linecap="round" d="M{x - reach / 2:g} {y + height + reach / 2:g}'
        f'L{x + width + reach / 2:g} {y - reach / 2:g}"/></g>'
    )


def _style(mode: str) -> str:
    color = {role: getattr(ROLES[role], mode) for role in set(ROUND)}
    return (
        f".accepted{{fill:{color['accepted']}}}.recovered{{fill:{color['recovered']}}}"
        f".rejected{{stroke:{color['rejected']}}}"
    )


def _svg(width: float, height: float, style: str, tokens: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><style>{style}</style>{tokens}</svg>\n'
    )


def logo(mode: str) -> str:
    """The whole round as SVG, 130 by 26 pixels, for a light or a dark page.

    Raises:
        ValueError: another mode.
    """
    checks.choice("mode", mode, MODES)
    tokens = "".join(
        _token(kind, STRIKE + place * (SIDE + GAP), STRIKE, SIDE, SIDE, 2.5)
        for place, kind in enumerate(ROUND)
    )
    return _svg(WIDTH, HEIGHT, _style(mode), tokens)


def favicon() -> str:
    """What is left of it on 16 by 16 pixels: two accepted, and the book's sign for rejected.

    SVG for both modes. A browser draws it on its own tab, so the mode is the system's and not the
    page's.
    """
    dark = f"@media(prefers-color-scheme:dark){{{_style('dark')}}}"
    accepted = "".join(_token("accepted", x, 2, 4, 12, 1) for x in (0, 5))
    cross = (
        '<path class="rejected" fill="none" stroke-width="2" stroke-linecap="round" '
        'd="M11 4.5L15 11.5M15 4.5L11 11.5"/>'
    )
    return _svg(16, 16, _style("light") + dark, accepted + cross)


def write_files(folder: Path) -> None:
    """Write the logos and the favicon into a folder of the site."""
    for mode, name in LOGO.items():
        (folder / name).write_text(logo(mode), encoding="utf-8")
    (folder / FAVICON).write_text(favicon(), encoding="utf-8")
