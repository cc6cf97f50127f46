"""Colors keep their contrast, and their CSS is complete."""

import itertools
import re

import numpy as np
import pytest

from specmini import palette

TEXT_ROLES = ("draft", "target", "accepted", "rejected", "recovered", "ink", "muted")
MEANING_ROLES = TEXT_ROLES[:5]


def linear_rgb(color: str) -> np.ndarray:
    """Linear-light RGB in [0, 1] of a #rrggbb color."""
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted([linear_rgb(one) @ weights, linear_rgb(other) @ weights])
    return float((high + 0.05) / (low + 0.05))


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("role", TEXT_ROLES)
def test_text_contrast(role, mode):
    color = getattr(palette.ROLES[role], mode)
    for ground in (palette.PAGE, palette.ROLES["surface"]):
        assert contrast(color, getattr(ground, mode)) >= 4.5


# Viénot, Brettel and Mollon (1999): what a dichromat sees, on linear RGB.
DICHROMACY = {
    "protanopia": np.array([[0.1124, 0.8876, 0], [0.1124, 0.8876, 0], [0.0040, -0.0040, 1]]),
    "deuteranopia": np.array([[0.2927, 0.7073, 0], [0.2927, 0.7073, 0], [-0.0223, 0.0223, 1]]),
}


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("kind", DICHROMACY)
def test_draft_and_target_stay_apart_for_color_blind_readers(kind, mode):
    """The pair that stands side by side in most figures must differ without red or green."""
    draft, target = (
        DICHROMACY[kind] @ linear_rgb(getattr(palette.ROLES[role], mode))
        for role in ("draft", "target")
    )
    assert np.linalg.norm(draft - target) > 0.15


def test_css_defines_every_role_in_both_modes():
    css = palette.css_variables()
    for role, color in palette.ROLES.items():
        assert css.count(f"{palette.css_variable(role)}:") == 2
        assert color.light in css
        assert color.dark in css
    assert f"--sm-page:{palette.PAGE.light}" in css
    assert f"--sm-page:{palette.PAGE.dark}" in css


def test_colors_are_distinct_so_that_each_maps_back_to_one_role():
    for mode in ("light", "dark"):
        colors = [getattr(c, mode) for c in palette.ROLES.values()]
        colors.append(getattr(palette.PAGE, mode))
        for one, other in itertools.combinations(colors, 2):
            assert one != other
        assert all(re.fullmatch(r"#[0-9a-f]{6}", color) for color in colors)


def test_unknown_role_lists_the_choices():
    with pytest.raises(ValueError, match=r"role must be one of 'draft', .*, got 'pink'"):
        palette.css_variable("pink")
