"""The icon font holds what the pages show and nothing else."""

import pytest

from specmini.site import icons

SHEET = (
    '.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-star:before{content:"\\f005"}'
    '.hint:before{content:"\\f05a"}:root{--pst-icon-check:"\uf058"}'
)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("", {0xF05A, 0xF058}),
        ('<i class="fa-solid fa-navicon"></i>', {0xF05A, 0xF058, 0xF0C9}),
        ('<i class="fa-star"></i>', {0xF05A, 0xF058, 0xF005}),
    ],
)
def test_icons_are_those_of_the_pages_and_of_the_style_sheet_itself(page, expected):
    assert icons.icons(SHEET, page) == expected


def test_another_theme_is_refused(tmp_path):
    (tmp_path / "_static" / "styles").mkdir(parents=True)
    (tmp_path / "_static" / icons.STYLE_SHEET).write_text("body{}")
    with pytest.raises(ValueError, match="must load fa-solid-900 as woff2 and ttf"):
        icons.cut_icons(tmp_path)
