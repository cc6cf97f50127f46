"""Figures say what is true, show the numbers of the theory, and never clash on one page."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from specmini import catalog, palette, roofline, theory
from specmini.figures import ThemedFigure, speedup, tokens
from specmini.figures.intuition import Schedule, timelines
from specmini.figures.style import LINES, balanced, canvas, themed_svg

SVG = "{http://www.w3.org/2000/svg}"
MACHINE, MODEL = catalog.machine("h100"), catalog.model("llama-3.1-8b")
PLAIN = Schedule("alone", 0, 0.0, 1.0, (1,) * 8)
JUNIOR = Schedule("junior", 4, 0.1, 1.0, (5, 3))


@pytest.fixture(scope="module")
def figures():
    return [
        timelines([PLAIN, JUNIOR]),
        tokens.tokens_distribution(0.8, 4),
        tokens.tokens_by_draft_length([0.9, 0.6], 8),
        tokens.acceptance_by_position({"pair": [0.8, 0.6]}, 4),
        speedup.speedup_by_draft_length(0.8, [0.1, 0.3], 8),
        speedup.winning_map([1.5, 2]),
        speedup.speedup_by_batch(MACHINE, MODEL, 0.8, 0.1, [4, 1], 1024),
        speedup.predicted_against_measured("points", "A claim", [2.0], [2.2], ["small"]),
        speedup.sweep_against_formula([1, 2], [1.5, 1.9], [1.6, 2.0], "A claim", "A pair"),
    ]


def axes_of(figure):
    [axes] = figure.drawing.axes
    return axes


def lines_of(figure, longest):
    """The curves with more than two points: what is left are guides and markers."""
    return [line for line in axes_of(figure).lines if len(line.get_xdata()) == longest]


def words_of(figure):
    return [text.get_text() for text in axes_of(figure).texts]


# --- every figure ---------------------------------------------------------------------------


def test_every_figure_has_title_and_description(figures):
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


def test_every_axis_with_numbers_says_what_they_are(figures):
    for figure in figures:
        axes = axes_of(figure)
        for axis in (axes.xaxis, axes.yaxis):
            assert axis.get_label_text() or not len(axis.get_ticklocs()), figure.name


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


def test_style_does_not_leak():
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    with canvas("A claim", 100):
        pass
    assert matplotlib.rcParams["font.size"] == before


# --- timelines ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "letters", "lines"),
    [
        ("The same 10 words, four ways: the trick pays, or it costs", 54, 2),
        ("Short", 54, 1),
        ("one two three four", 10, 2),
        ("unbreakable words", 4, 2),
    ],
)
def test_a_title_keeps_its_lines_and_leaves_no_word_alone(text, letters, lines):
    broken = balanced(text, letters).split("\n")
    assert " ".join(broken) == text
    assert len(broken) == lines
    assert len(broken[0]) - len(broken[-1]) < max(map(len, text.split()))


def test_a_line_of_a_title_must_hold_a_letter():
    with pytest.raises(ValueError, match="letters"):
        balanced("text", 0)


def test_timelines_draw_each_draft_and_check_to_scale():
    figure = timelines([PLAIN, JUNIOR])
    blocks = axes_of(figure).patches
    rows = [[b for b in blocks if round(b.get_y() + b.get_height() / 2) == row] for row in (0, 1)]
    assert [block.get_width() for block in rows[0]] == [1.0] * 8
    np.testing.assert_allclose(
        [block.get_width() for block in rows[1]], ([0.1] * 4 + [1.0]) * 2, rtol=1e-12
    )
    for row in rows:  # no gap and no overlap
        starts = [block.get_x() for block in row]
        ends = np.cumsum([block.get_width() for block in row])
        np.testing.assert_allclose(starts, [0, *ends[:-1]], atol=1e-12)
    for role, wide in (("draft", False), ("target", True)):
        colors = {to_hex(b.get_facecolor()) for b in rows[1] if (b.get_width() > 0.5) == wide}
        assert colors == {palette.ROLES[role].light}
    assert [word for word in words_of(figure) if word[0] == "+"] == ["+1"] * 8 + ["+5", "+3"]
    assert [word for word in words_of(figure) if word in ("8", "2.8")] == ["8", "2.8"]
    assert "junior: 2 rounds of 1.4 plain steps, 2.8 in all" in figure.description


BAD = Schedule("bad", 4, 0.1, 1.0, (1,) * 8)


@pytest.mark.parametrize(
    ("others", "claim"),
    [
        ([JUNIOR], "The same 8 words, two ways: the trick pays"),
        ([BAD], "The same 8 words, two ways: the trick costs"),
        ([JUNIOR, BAD], "The same 8 words, three ways: the trick pays, or it costs"),
        ([PLAIN], "The same 8 words, two ways: the trick changes nothing"),
    ],
)
def test_the_title_of_timelines_counts_ways_and_tells_the_outcome(others, claim):
    assert timelines([PLAIN, *others]).claim == claim


def test_schedules_must_write_the_same_text():
    with pytest.raises(ValueError, match=r"same number of words, got \[1, 2\]"):
        timelines([Schedule("a", 0, 0, 1, (1,)), Schedule("b", 1, 0.1, 1, (2,))])
    with pytest.raises(ValueError, match=r"schedules must hold 2 to 9 ways, got 1"):
        timelines([PLAIN])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 0.1, 1.0, (6,)), r"words .* in \[1, drafts \+ 1\] = \[1, 5\], .*got \(6,\)"),
        ((0, 0.1, 1.0, ()), r"words .* got \(\)"),
        ((-1, 0.1, 1.0, (1,)), r"drafts must be a whole number .*got -1"),
        ((1, -0.1, 1.0, (1,)), r"draft_cost must be .*got -0\.1"),
        ((1, 0.1, 0.0, (1,)), r"check_cost must be .*got 0\.0"),
    ],
)
def test_a_schedule_refuses_nonsense(arguments, message):
    with pytest.raises(ValueError, match=message):
        Schedule("a", *arguments)


# --- tokens ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "length"), [(0.8, 4), (0.5, 4), (0.3, 0), (1.0, 2), (0.0, 3)])
def test_bars_are_the_distribution(rate, length):
    figure = tokens.tokens_distribution(rate, length)
    bars = axes_of(figure).patches
    chances = [(1 - rate) * rate**t for t in range(length)] + [rate**length]
    np.testing.assert_allclose([bar.get_height() for bar in bars], chances, atol=1e-15)
    centers = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    np.testing.assert_allclose(centers, range(1, length + 2))
    mean = sum(t * p for t, p in enumerate(chances, start=1))
    assert axes_of(figure).lines[0].get_xdata()[0] == pytest.approx(mean)
    assert f"yields {mean:.2f} tokens on average" in figure.claim
    assert [bar.get_hatch() for bar in bars] == [""] * length + ["//"]


@pytest.mark.parametrize(
    ("rate", "length", "rest"),
    [
        (0.8, 4, "yet one token or all 5 are likelier than any count between"),
        (0.5, 4, "and no count is likelier than 1"),
        (0.6, 1, "and no count is likelier than 2"),
        (0.7, 1, "and no count is likelier than 2"),
        (0.7, 0, "and no count is likelier than 1"),
    ],
)
def test_the_title_of_the_distribution_is_true(rate, length, rest):
    assert tokens.tokens_distribution(rate, length).claim.endswith(f"on average, {rest}")


def test_lines_of_tokens_and_their_ceilings():
    figure = tokens.tokens_by_draft_length([0.9, 0.0], 6)
    for rate, line, guide in zip(
        (0.9, 0.0), lines_of(figure, 7), axes_of(figure).collections, strict=True
    ):
        np.testing.assert_allclose(
            line.get_ydata(), [sum(rate**i for i in range(k + 1)) for k in range(7)]
        )
        assert guide.get_segments()[0][:, 1] == pytest.approx([1 / (1 - rate)] * 2)
    assert words_of(figure) == ["α = 0.9", "α = 0"]
    assert "α = 0.9 reaches 5.22 of at most 10.00" in figure.description


@pytest.mark.parametrize(
    ("survival", "claim"),
    [
        ([[0.7, 0.6]], "Real acceptance rises along the draft"),
        ([[0.7, 0.49]], "Real acceptance stays along the draft"),
        ([[0.7, 0.6], [0.7, 0.3]], "Real acceptance rises or falls along the draft: no single α"),
        ([[0.7, 0.6], [0.5], [0.7, 0.3]], "Real acceptance rises, stays or falls along the draft"),
    ],
)
def test_the_title_of_acceptance_names_what_is_shown(survival, claim):
    pairs = {f"pair {i}": rates for i, rates in enumerate(survival)}
    assert tokens.acceptance_by_position(pairs, 3).claim.startswith(claim)


def test_acceptance_is_conditional_and_ends_where_no_round_gets():
    figure = tokens.acceptance_by_position({"a": [0.8, 0.6, 0.15], "b": [0.5, 0.0, 0.0]}, 4)
    one, other = axes_of(figure).lines
    np.testing.assert_allclose(one.get_ydata(), [0.8, 0.75, 0.25])
    np.testing.assert_allclose(other.get_ydata(), [0.5, 0.0])
    assert one.get_xdata().tolist() == [1, 2, 3]
    assert [line.get_label() for line in (one, other)] == ["a", "b"]


# --- speedup --------------------------------------------------------------------------------


def test_lines_of_speedup_are_the_formula_and_markers_stand_at_the_best():
    rate, costs, longest = 0.7, [0.05, 0.2, 0.4], 10
    figure = speedup.speedup_by_draft_length(rate, costs, longest)
    lines = axes_of(figure).lines
    bests = []
    for cost, line, marker in zip(costs, lines[::2], lines[1::2], strict=True):
        expected = [sum(rate**i for i in range(k + 1)) / (1 + k * cost) for k in range(longest + 1)]
        np.testing.assert_allclose(line.get_ydata(), expected)
        best = int(np.argmax(expected))
        np.testing.assert_allclose(marker.get_xydata(), [[best, expected[best]]])
        bests.append(best)
    assert figure.claim.endswith(f"at α = 0.7 the best K falls from {bests[0]} to {bests[-1]}")
    assert words_of(figure)[1:] == ["c = 0.05", "c = 0.2", "c = 0.4"]


def test_the_title_of_best_lengths_does_not_claim_a_fall_that_is_none():
    figure = speedup.speedup_by_draft_length(0.3, [0.3, 0.6], 4)
    assert figure.claim == "At α = 0.3 the best K is 0 at each cost ratio shown"


def test_contours_of_the_map_lie_where_the_best_speedup_is_their_level():
    levels = [1.5, 3]
    figure = speedup.winning_map(levels)
    [contours] = [c for c in axes_of(figure).collections if hasattr(c, "allsegs")]
    for level, segments in zip(levels, contours.allsegs, strict=True):
        rate, cost = np.concatenate(segments).T
        best = theory.best_draft_length(rate, cost)
        # between two points of the grid the contour is a straight line, hence the tolerance
        np.testing.assert_allclose(theory.speedup(rate, cost, best), level, rtol=0.01)
    assert words_of(figure)[1:] == ["1.5×", "3×"]
    heights = [text.get_position()[1] for text in axes_of(figure).texts[1:]]
    assert heights == pytest.approx([0.06, 0.06], abs=0.01)  # side by side, where there is room


def test_lines_over_batch_are_the_formula_with_the_roofline():
    figure = speedup.speedup_by_batch(MACHINE, MODEL, 0.8, 0.1, [8, 1], 256)
    for length, line in zip((8, 1), lines_of(figure, 512), strict=True):
        for batch in (1, 64, 512):
            check = roofline.pass_time(MACHINE, MODEL, batch, length + 1, 256).time
            plain = roofline.pass_time(MACHINE, MODEL, batch, 1, 256).time
            tokens_a_round = sum(0.8**i for i in range(length + 1))
            expected = tokens_a_round / (0.1 * length + check / plain)
            assert line.get_ydata()[batch - 1] == pytest.approx(expected)
    assert figure.claim.startswith("Batch eats the win: past the ridge")
    assert "K = 8 starts at 2.40× and loses from batch 142 on" in figure.description
    assert "K = 1 starts at 1.64× and never loses up to 512" in figure.description


@pytest.mark.parametrize(
    ("rate", "lengths", "context"),
    [
        (0.8, [1, 2], 256),  # never loses
        (0.8, [4], 16384),  # nor does this, at a long context
        (0.05, [4], 256),  # loses from batch 1 on
        (0.1002, [1], 256),  # wins by so little that it loses long before the ridge
    ],
)
def test_the_title_over_batch_claims_no_loss_that_is_not_shown(rate, lengths, context):
    figure = speedup.speedup_by_batch(MACHINE, MODEL, rate, 0.1, lengths, context)
    gains = lines_of(figure, 512)[int(np.argmax(lengths))].get_ydata()
    assert figure.claim == (
        f"From batch 1 to 512 the speedup of K = {max(lengths)} goes from {gains[0]:.2f}× to "
        f"{gains[-1]:.2f}×"
    )


def test_points_are_predicted_across_and_measured_up_and_losses_stay_in_view():
    figure = speedup.predicted_against_measured(
        "points", "A claim", [2.0, 1.5, 0.9], [1.8, 1.6, 0.6], ["s", "l", "s"]
    )
    axes = axes_of(figure)
    small, large = axes.lines[1:]
    assert small.get_xydata().tolist() == [[2.0, 1.8], [0.9, 0.6]]
    assert large.get_xydata().tolist() == [[1.5, 1.6]]
    for low, high in (axes.get_xlim(), axes.get_ylim()):
        assert low < 0.6
        assert high > 2.0
    assert "s 2.00 → 1.80; l 1.50 → 1.60; s 0.90 → 0.60" in figure.description


def test_a_sweep_tells_formula_from_measurement_and_losses_stay_in_view():
    figure = speedup.sweep_against_formula([1, 2, 4], [1.4, 1.2, 0.8], [1.5, 1.6, 1.1], "C", "P")
    axes = axes_of(figure)
    ends = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert ends == {"formula": 1.1, "measured": 0.8}
    by_color = {line.get_color(): line.get_ydata().tolist() for line in axes.lines}
    assert by_color[palette.ROLES["accepted"].light] == [1.4, 1.2, 0.8]
    assert by_color[palette.ROLES["target"].light] == [1.5, 1.6, 1.1]
    assert axes.get_ylim()[0] < 0.8
    assert "K = 4: 1.10 and 0.80" in figure.description


# --- refusals -------------------------------------------------------------------------------

FIVE = [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        (tokens.tokens_distribution, ([0.5, 0.6], 4), r"acceptance_rate must be a single number"),
        (tokens.tokens_distribution, (1.5, 4), r"acceptance_rate must be .*got 1\.5"),
        (tokens.tokens_by_draft_length, (FIVE, 4), r"acceptance_rates must hold 1 to 4 .*got 5"),
        (tokens.tokens_by_draft_length, ([], 4), r"acceptance_rates must hold 1 to 4 .*got 0"),
        (tokens.tokens_by_draft_length, ([0.5, 1.0], 4), r"acceptance_rates must be in \[0, 1\)"),
        (tokens.tokens_by_draft_length, ([0.5], 0), r"longest must be .*got 0"),
        (tokens.acceptance_by_position, ({"a": [0.5, 0.4]}, 1), r"survival .*\(2,\) for 'a'"),
        (tokens.acceptance_by_position, ({"a": []}, 3), r"survival must have 1 to longest = 3"),
        (
            tokens.acceptance_by_position,
            ({key: [0.5] for key in "abcde"}, 3),
            r"survival must hold 1 to 4 series, got 5",
        ),
        (speedup.speedup_by_draft_length, (0.8, [0.3, 0.1], 8), r"cost_ratios must hold .* rise"),
        (speedup.speedup_by_draft_length, (0.8, [0.0], 8), r"cost_ratios must be .*got 0\.0"),
        (speedup.speedup_by_draft_length, (0.8, FIVE, 8), r"cost_ratios must hold 1 to 4 .*got 5"),
        (
            speedup.speedup_by_draft_length,
            (0.9, [0.01], 8),
            r"longest must be at least the best K at c = 0\.01, \d+, got 8",
        ),
        (speedup.speedup_by_draft_length, (1.0, [0.1], 8), r"longest .* c = 0\.1, inf, got 8"),
        (speedup.winning_map, ([1.5, 1000],), r"levels must be in \(1, [\d.]+\)"),
        (speedup.winning_map, ([1.0],), r"levels must be in \(1, "),
        (speedup.winning_map, ([3, 2],), r"levels must hold numbers that rise, got \[3\.0"),
        (speedup.winning_map, ([],), r"levels must hold numbers that rise, got \[\]"),
        (
            speedup.speedup_by_batch,
            (MACHINE, MODEL, 0.8, 0.1, [1, 2, 3, 4, 5], 256),
            r"draft_lengths must hold 1 to 4 series, got 5",
        ),
        (
            speedup.speedup_by_batch,
            (MACHINE, MODEL, 0.8, 0.1, [0], 256),
            r"draft_lengths must be .*got 0",
        ),
        (
            speedup.predicted_against_measured,
            ("n", "c", [1, 2], [1, 2], ["a"]),
            r"groups must name each of the 2 points, got 1",
        ),
        (
            speedup.predicted_against_measured,
            ("n", "c", [1, 2], [1], ["a", "a"]),
            r"one shape .*predicted \(2,\), measured \(1,\)",
        ),
        (speedup.predicted_against_measured, ("n", "c", [], [], []), r"one shape \(n,\) with n >="),
        (
            speedup.predicted_against_measured,
            ("n", "c", FIVE, FIVE, list("abcde")),
            r"groups must hold 1 to 4 series, got 5",
        ),
        (
            speedup.sweep_against_formula,
            ([2, 1], [1, 1], [1, 1], "c", "p"),
            r"draft_lengths must hold numbers that rise, got \[2, 1\]",
        ),
        (speedup.sweep_against_formula, ([1], [-1.0], [1], "c", "p"), r"measured must be .*-1\.0"),
    ],
)  # fmt: skip
def test_figures_refuse_what_they_cannot_show(draw, arguments, message):
    with pytest.raises(ValueError, match=message):
        draw(*arguments)


def test_lines_differ_in_color_dash_and_marker():
    for parts in zip(*LINES, strict=True):
        assert len(set(parts)) == len(LINES)
