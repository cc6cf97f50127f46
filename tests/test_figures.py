"""Figures say what they show, follow the page's colors, and never clash on one page."""

import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure

from specmini import catalog, palette
from specmini.figures import ThemedFigure, speedup, tokens
from specmini.figures.intuition import Schedule, timelines
from specmini.figures.style import canvas, themed_svg

SVG = "{http://www.w3.org/2000/svg}"


def all_figures():
    machine, model = catalog.machines()["h100"], catalog.models()["llama-3.1-8b"]
    plain = Schedule("alone", 0, 0.0, 1.0, (1,) * 8)
    return [
        timelines([plain, Schedule("junior", 4, 0.1, 1.0, (5, 3))]),
        tokens.tokens_distribution(0.8, 4),
        tokens.tokens_by_draft_length([0.9, 0.6], 8),
        tokens.acceptance_by_position({"pair": [0.8, 0.6]}, 4),
        speedup.speedup_by_draft_length(0.8, [0.1, 0.3], 8),
        speedup.winning_map([1.5, 2]),
        speedup.speedup_by_batch(machine, model, 0.8, 0.1, [4, 1], 1024),
        speedup.predicted_against_measured("points", "A claim", [2.0], [2.2], ["small"]),
        speedup.sweep_against_formula([1, 2], [1.5, 1.9], [1.6, 2.0], "A claim", "A pair"),
    ]


@pytest.fixture(scope="module")
def figures():
    return all_figures()


def test_every_figure_has_title_description_and_labelled_axes(figures):
    for figure in figures:
        root = ET.fromstring(figure._repr_svg_())
        names = root.get("aria-labelledby").split()
        for element, name in zip(("title", "desc"), names, strict=True):
            found = root.find(f"{SVG}{element}")
            assert found.get("id") == name
            assert len(found.text) > 5
        assert root.get("role") == "img"
        shown = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
        first_words = " ".join(figure.claim.split()[:2])
        assert first_words in shown
        assert re.search(r"\(|E$|K|probability|tokens|time|α", shown)


def test_ids_are_unique_across_a_page_of_figures(figures):
    ids = [i for figure in figures for i in re.findall(r'\bid="([^"]+)"', figure._repr_svg_())]
    assert len(ids) == len(set(ids))


def test_references_point_into_their_own_figure(figures):
    for figure in figures:
        svg = figure._repr_svg_()
        ids = set(re.findall(r'\bid="([^"]+)"', svg))
        assert set(re.findall(r'(?:href="|url\()#([\w-]+)', svg)) <= ids


def test_themed_svg_leaves_no_fixed_color(figures):
    for figure in figures:
        themed = themed_svg(figure._repr_svg_())
        assert set(re.findall(r"#[0-9a-fA-F]{6}\b", themed)) <= {"#000000"}
        assert f"var({palette.css_variable('ink')})" in themed


def test_same_drawing_gives_the_same_bytes():
    one, other = (tokens.tokens_distribution(0.8, 4)._repr_svg_() for _ in range(2))
    assert one == other


@pytest.mark.parametrize("argument", ["claim", "description"])
def test_words_are_required(argument):
    words = {"claim": "c", "description": "d", argument: " "}
    with pytest.raises(ValueError, match=f"{argument} must not be empty: figure 'x'"):
        ThemedFigure("x", figure=Figure(), **words)


def test_name_must_be_an_identifier():
    with pytest.raises(ValueError, match=r"name must be lower-case letters.*'Two words'"):
        ThemedFigure("Two words", "c", "d", Figure())


def test_schedules_must_write_the_same_text():
    with pytest.raises(ValueError, match=r"same number of words, got \[1, 2\]"):
        timelines([Schedule("a", 0, 0, 1, (1,)), Schedule("b", 0, 0, 1, (2,))])


def test_style_does_not_leak():
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    with canvas("A claim", 100):
        pass
    assert matplotlib.rcParams["font.size"] == before
