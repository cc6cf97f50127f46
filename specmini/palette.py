"""The colors of the book: one role, one color, in a light and a dark variant.

A color here always means the same thing, in figures, widgets and page styles alike, and never
stands alone: a label, a shape or a line style says the same. Every color used for text keeps a
contrast of at least 4.5:1 against the page in its own mode (``tests/test_palette.py``).
"""

from dataclasses import dataclass

from specmini import checks


@dataclass(frozen=True)
class Color:
    """A role's color as ``#rrggbb`` on a light page and on a dark one."""

    light: str
    dark: str


PAGE = Color(light="#ffffff", dark="#14181e")

ROLES: dict[str, Color] = {
    "draft": Color(light="#8f5500", dark="#e3a23c"),
    "target": Color(light="#0b5fad", dark="#6cb6ff"),
    "accepted": Color(light="#1a7336", dark="#57c46b"),
    "rejected": Color(light="#bf1d28", dark="#ff7b72"),
    "recovered": Color(light="#7a3bb8", dark="#c49bff"),
    "ink": Color(light="#1b1f24", dark="#e1e7ee"),
    "muted": Color(light="#59616b", dark="#a3adb8"),
    "grid": Color(light="#d3d9e0", dark="#3c444e"),
    "surface": Color(light="#f4f6f9", dark="#1f252d"),
}


def css_variable(role: str) -> str:
    """Name of the CSS custom property that carries ``role``, e.g. ``--sm-draft``."""
    return f"--sm-{checks.choice('role', role, tuple(ROLES))}"


def css_variables() -> str:
    """CSS that defines every role for both modes, and the page's own color as ``--sm-page``.

    The book theme sets ``data-theme`` on ``<html>``; JupyterLab sets
    ``data-jp-theme-light="false"`` on ``<body>``. Anywhere else the light values hold.
    """

    def block(selector: str, mode: str) -> str:
        lines = (f"{css_variable(role)}:{getattr(color, mode)}" for role, color in ROLES.items())
        return f"{selector}{{--sm-page:{getattr(PAGE, mode)};{';'.join(lines)}}}\n"

    dark = 'html[data-theme="dark"],body[data-jp-theme-light="false"]'
    return block(":root", "light") + block(dark, "dark")
