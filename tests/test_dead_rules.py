"""Rules that can match stay, whatever else goes."""

import pytest

from specmini.site import dead_rules

NAMES = dead_rules.Names(
    '<p class="lead d-none">words</p>', 'a.classList.add("open"); b = "bs-tooltip" + "-" + side'
)


@pytest.mark.parametrize(
    "rule",
    [
        ".lead{a:b}",
        "p{a:b}",
        ".lead.open>p{a:b}",
        ".gone,.lead{a:b}",  # one selector of two
        ".lead:not(.gone){a:b}",  # matches because there is none
        ".lead:is(.gone,.open) .d-none{a:b}",
        ".bs-tooltip-top{a:b}",  # a name that the script puts together
        "@media print{.lead{a:b}}",
        "@media print{.lead{a:b}p{c:d}}",
        "@font-face{font-family:x}",
        "@keyframes spin{from{a:b}to{c:d}}",
        ":root{--a:b}",
    ],
)
def test_what_can_match_stays(rule):
    assert dead_rules.without_dead_rules(rule, NAMES) == rule


@pytest.mark.parametrize(
    "rule",
    [
        ".gone{a:b}",
        ".lead .gone{a:b}",
        ".gone,.gone-too{a:b}",
        "@media print{.gone{a:b}}",
        "/* .lead{a:b} */",
        ".bs-popover-top{a:b}",
    ],
)
def test_what_cannot_match_goes(rule):
    assert dead_rules.without_dead_rules(rule, NAMES) == ""


def test_neighbors_of_a_dead_rule_are_left_as_they_are():
    css = "@media print{.gone{a:b}.lead{c:d}.gone{e:f}}.gone{a:b}.open{g:h}"
    kept = "@media print{.lead{c:d}}.open{g:h}"
    assert dead_rules.without_dead_rules(css, NAMES) == kept
    assert dead_rules.without_dead_rules(kept, NAMES) == kept


def test_a_built_site_keeps_what_its_pages_and_scripts_name(tmp_path):
    sheet = tmp_path / "_static" / dead_rules.STYLE_SHEETS[0]
    sheet.parent.mkdir(parents=True)
    sheet.write_text(".on-page{a:b}.in-script{a:b}.nowhere{a:b}")
    (tmp_path / "_static" / "own.css").write_text(".nowhere{a:b}")
    (tmp_path / "page.html").write_text('<p class="on-page">')
    (tmp_path / "_static" / "theme.js").write_text('add("in-script")')
    dead_rules.drop_dead_rules(tmp_path)
    assert sheet.read_text() == ".on-page{a:b}.in-script{a:b}"
    assert (tmp_path / "_static" / "own.css").read_text() == ".nowhere{a:b}"
