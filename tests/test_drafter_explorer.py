"""The Python side of the drafter explorer: settings, outputs, points and fallback."""

import json
import re

import pytest
import traitlets

from specmini import theory
from specmini.ladder.points import measured_points
from specmini.ladder.results import measured_ladder
from specmini.record.published_drafters import published_drafters
from specmini.theory.drafter_map import DrafterPoint
from specmini.theory.hit_rate import speedup
from specmini.widgets import DrafterExplorer
from specmini.widgets.page import MIME

MINE = DrafterPoint("mine", "head", 0.71, 0.123456, 2, 1.4, "specmini")


def test_it_uses_the_theory():
    widget = DrafterExplorer(alpha=0.8, c=0.1, K=4)
    assert widget.speedup == pytest.approx(2.4011, abs=5e-5)  # the number to know
    assert widget.tokens_per_round == theory.tokens_per_round(0.8, 4)
    assert widget.best_draft_length == theory.best_draft_length(0.8, 0.1)
    assert widget.with_half_the_price == theory.speedup(0.8, 0.05, 8)
    assert widget.with_half_the_misses > widget.best_speedup
    rare = DrafterExplorer(alpha=0.8, c=0.1, v=1.2, h=0.25, K=4)
    assert rare.speedup == speedup(0.25, 0.8, 0.1, 4, 1.2)
    assert rare.tokens_per_round / rare.round_cost == pytest.approx(rare.speedup)


def test_the_best_length_follows_until_a_reader_chooses():
    widget = DrafterExplorer()
    assert widget.best
    assert widget.K == widget.best_draft_length == theory.best_draft_length(0.8, 0.05)
    widget.alpha = 0.5
    assert (widget.best, widget.K) == (True, theory.best_draft_length(0.5, 0.05))
    widget.K = 9
    assert not widget.best
    widget.c = 0.2
    assert widget.K == 9
    widget.best = True
    assert widget.best_draft_length == widget.K


def test_a_length_that_is_given_is_kept():
    assert DrafterExplorer(K=3).K == 3
    assert not DrafterExplorer(K=3).best
    best = DrafterExplorer().K
    assert DrafterExplorer(K=best, best=True).best
    with pytest.raises(ValueError, match="K must be 8, the best here, if best, got 3"):
        DrafterExplorer(K=3, best=True)


def test_plain_decoding_and_no_hits_gain_nothing():
    assert DrafterExplorer(alpha=0.1, c=0.9).K == 0
    assert DrafterExplorer(alpha=0.1, c=0.9).speedup == 1
    assert DrafterExplorer(h=0).speedup == 1


def test_a_change_from_the_page_arrives_whole():
    widget = DrafterExplorer()
    widget.set_state({"best": False, "alpha": 0.6, "K": 5})
    assert (widget.best, widget.alpha, widget.K) == (False, 0.6, 5)
    with pytest.raises(traitlets.TraitError):
        widget.set_state({"v": 0.5})
    assert widget.v == 1


def test_points_of_ones_own_take_the_place_of_the_published():
    widget = DrafterExplorer(points=[MINE], alpha=0.7, c=0.1)
    assert widget.near == ("mine",)
    [row] = widget.points
    assert row == {
        "name": "mine",
        "alpha": 0.71,
        "c": 0.123456,
        "K": 2,
        "speedup": 1.4,
        "engine": "specmini",
        "measured": True,
        "tree": False,
        "exact": True,
    }
    assert DrafterExplorer(points=widget.points).points == widget.points
    assert DrafterExplorer(points=[]).near == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alpha": 1.2}, "points[0]['alpha'] must be a number in [0, 1], got 1.2"),
        ({"K": 0}, "points[0]['K'] must be at least 1, got 0"),
        ({"K": 2.5}, "points[0]['K'] must be a whole number in [0, 16], got 2.5"),
        ({"c": float("nan")}, "points[0]['c'] must be a number, got nan"),
        ({"name": 3}, "points[0]['name'] must be a string, got 3"),
        ({"tree": 1}, "points[0]['tree'] must be True or False, got 1"),
        ({"more": 1}, "points[0] must be a dict with the keys name, alpha, c, K"),
    ],
)
def test_a_malformed_point_is_refused(change, sentence):
    [row] = DrafterExplorer(points=[MINE]).points
    with pytest.raises(ValueError, match=re.escape(sentence)):
        DrafterExplorer(points=[{**row, **change}])


def test_the_page_shows_the_digits_of_a_table_made_in_python():
    ladder = measured_ladder()
    here = measured_points(ladder.best("code", 1.0).values(), ladder.about["tree_levels"], "here")
    given = [*published_drafters(), *here]
    for row, one in zip(DrafterExplorer(points=given).points, given, strict=True):
        assert f"{row['alpha']:.2f}" == f"{one.acceptance_rate:.2f}"
        assert f"{row['c']:.3f}" == f"{one.cost_ratio:.3f}"
        assert f"{row['speedup']:.2f}" == f"{one.speedup:.2f}"


def test_two_points_of_one_name_are_refused():
    with pytest.raises(ValueError, match="points must hold each name once"):
        DrafterExplorer(points=[MINE, MINE])


def test_the_page_gets_everything_and_a_fallback_that_says_it():
    widget = DrafterExplorer(points=[MINE])
    data, _ = widget._repr_mimebundle_()
    page = data[MIME]
    assert page["widget"] == "drafters"
    assert set(page["state"]) == {"alpha", "c", "v", "h", "K", "best", "points"}
    json.dumps(page)
    assert "K = 8 gives 3.09×" in page["fallback"]
    assert "<td>mine</td><td>0.71</td><td>0.123</td><td>2</td><td>1.40×</td>" in page["fallback"]
    assert repr(DrafterExplorer(v=2, K=3)) == "DrafterExplorer(alpha=0.8, c=0.05, v=2.0, K=3)"
