"""The picture of the package shows parts that exist, and no arrow from the paper into the lab."""

from specmini.figures.structure import ARROWS, BOXES, data_flow
from specmini.site.structure import PAPER_WING, parts


def test_every_box_is_a_part_of_the_package():
    assert set(BOXES) <= {part.name for part in parts()}
    assert {name for arrow in ARROWS for name in arrow} == set(BOXES)


def test_what_the_paper_wing_gets_comes_from_the_paper_wing():
    for start, end in ARROWS:
        assert end not in PAPER_WING or start in PAPER_WING, (start, end)


def test_the_picture_says_its_boxes():
    drawn = data_flow()
    shown = drawn._repr_svg_()
    assert all(f">{name}<" in shown for name in BOXES)
    assert "theory to measure" in drawn.description
