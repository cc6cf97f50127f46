"""The mark keeps the palette, says it by shape too, and is small."""

from xml.etree import ElementTree

import pytest

from specmini import palette
from specmini.site import logo

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("mode", logo.MODES)
def test_the_logo_is_a_round_in_the_colors_of_its_mode(mode):
    drawn = ElementTree.fromstring(logo.logo(mode))
    kinds = [child.get("class") for child in drawn if child.get("class")]
    assert tuple(kinds) == logo.ROUND
    for role in set(logo.ROUND):
        assert getattr(palette.ROLES[role], mode) in logo.logo(mode)


def test_kinds_of_token_differ_by_shape_and_not_by_color_alone():
    drawn = ElementTree.fromstring(logo.logo("light"))
    shapes = {
        child.get("class"): tuple(part.tag for part in child.iter())
        for child in drawn
        if child.get("class")
    }
    assert shapes == {
        "accepted": (f"{SVG}rect",),
        "rejected": (f"{SVG}g", f"{SVG}rect", f"{SVG}path"),
        "recovered": (f"{SVG}circle",),
    }


def test_the_favicon_holds_both_modes_on_16_pixels():
    drawn = ElementTree.fromstring(logo.favicon())
    assert drawn.get("viewBox") == "0 0 16 16"
    light, dark = logo.favicon().split("@media(prefers-color-scheme:dark)")
    assert palette.ROLES["accepted"].light in light
    assert palette.ROLES["accepted"].dark in dark
    assert len(drawn.findall(f"{SVG}rect")) == 2
    assert len(logo.favicon().encode()) < 1000


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="mode must be one of 'light', 'dark', got 'sepia'"):
        logo.logo("sepia")


def test_the_files_carry_their_names(tmp_path):
    logo.write_files(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {logo.FAVICON, *logo.LOGO.values()}
