"""The figures on drafters draw the numbers they are given, and claim only what these show."""

import numpy as np
import pytest

from specmini.figures import drafters
from specmini.record.published_drafters import published_drafters
from specmini.theory.drafter_map import CHEAPEST, DrafterPoint, contour

RATES = np.tile([0.6, 0.15, 0.05], (4, 1))


def point(name, alpha, cost, gain, length=3, source="there"):
    return DrafterPoint(name, "head", alpha, cost, length, gain, "engine", source)


def test_the_map_draws_every_point_where_it_stands():
    points = published_drafters()
    assert drafters.drafter_map(points, [2], "other").name == "other"
    [axes] = drafters.drafter_map(points, [2, 3]).drawing.axes
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    drawn = [(float(dot.get_xdata()[0]), float(dot.get_ydata()[0])) for dot in dots]
    assert drawn == [(one.acceptance_rate, one.cost_ratio) for one in points]
    numbers = [text.get_text() for text in axes.texts if text.get_text().isdigit()]
    assert numbers == [str(number) for number in range(1, len(points) + 1)]


def test_a_point_dearer_than_a_plain_step_is_on_the_map_where_nothing_wins():
    [axes] = drafters.drafter_map([point("a", 0.9, 1.3, 0.5)], [2.0]).drawing.axes
    assert axes.get_ylim()[1] > 1.3
    [across] = [one for one in axes.collections if one.get_datalim(axes.transData).y1 > 1.3]
    assert across.get_datalim(axes.transData).intervalx.tolist() == [0, 1]


def test_lines_of_the_map_are_contours():
    [axes] = drafters.drafter_map([point("a", 0.5, 0.1, 1.2)], [2.0]).drawing.axes
    line = next(
        one for one in axes.lines if one.get_linestyle() == "-" and len(one.get_xdata()) > 9
    )
    rates = contour(2.0, line.get_ydata(), range(1, 17))
    np.testing.assert_allclose(line.get_xdata(), rates, rtol=1e-12)


def test_a_point_cheaper_than_the_axis_stands_at_its_end():
    [axes] = drafters.drafter_map([point("a", 0.5, -0.1, 1.2)], [2.0]).drawing.axes
    [dot] = [line for line in axes.lines if line.get_marker() == "o"]
    assert CHEAPEST < dot.get_ydata()[0] < 1.1 * CHEAPEST


def test_the_claim_of_the_map_is_about_equal_guesses():
    points = [
        point("fast", 0.8, 0.1, 2.1),
        point("slow", 0.805, 0.6, 0.9),
        point("other length", 0.8, 0.01, 4.0, length=8),
        point("other rate", 0.9, 0.01, 5.0),
    ]
    claim = drafters.map_claim(points)
    assert claim == (
        "Equally good guesses, 2.10× and 0.90×: at α = 0.80 the price of a draft decides, "
        "0.1 or 0.6 steps"
    )
    assert drafters.drafter_map(points, [2], claim="None wins").claim == "None wins"
    assert drafters.map_claim(points[2:]) == "Of 2 drafters other rate gains most, 5.00×"
    with pytest.raises(ValueError, match="points must hold at least one"):
        drafters.drafter_map([], [2])
    with pytest.raises(ValueError, match="levels must be above 1 and reached"):
        drafters.drafter_map(points, [0.5])


def test_the_size_of_a_tree_is_marked_at_its_best():
    costs = np.maximum(1, np.arange(2, 34) / 9)  # a knee at 8 nodes
    figure = drafters.tree_size(RATES, 0.05, {"light": np.ones(32), "heavy": costs})
    assert (
        figure.claim
        == "The fuller the machine, the smaller the tree: from 26–32 nodes (light) to 8 (heavy)"
    )
    assert "heavy: best 8 nodes" in figure.description
    [axes] = figure.drawing.axes
    marks = [float(line.get_xdata()[0]) for line in axes.lines if len(line.get_xdata()) == 1]
    assert marks == [32, 8]
    same = drafters.tree_size(RATES, 0.05, {"a": costs, "b": costs})
    assert same.claim == "The best tree has 8 nodes (a) and 8 (b)"


def test_the_mask_shows_each_path_and_nothing_else():
    figure = drafters.tree_attention(["a", "b", "c", "d"], [-1, -1, 0, 2])
    _, mask = figure.drawing.axes
    squares = {(round(box.get_y() + 0.42), round(box.get_x() + 0.42)) for box in mask.patches}
    assert squares == {(0, 0), (1, 1), (2, 0), (2, 2), (3, 0), (3, 2), (3, 3)}
    assert figure.claim.startswith("4 guesses, 2 possible texts")
    assert "3 d sees 0, 2, 3" in figure.description
    with pytest.raises(ValueError, match="parents must be as many as the 1 words"):
        drafters.tree_attention(["a"], [-1, 0])
