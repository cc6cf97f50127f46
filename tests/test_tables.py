"""Tables show what they are given, in HTML and in text."""

import numpy as np
import pytest

from specmini.tables import Table


def test_text_form_aligns_numbers_right_and_words_left():
    table = Table({"pair": ["a", "bcd"], "E": [1.0, 22.5]}, formats={"E": ".2f"}, caption="Two")
    assert repr(table).splitlines() == ["Two", "pair      E", "a      1.00", "bcd   22.50"]


def test_html_has_caption_scopes_and_escapes():
    html = Table({"a<b": ["<x>"], "n": [1]}, caption="A & B")._repr_html_()
    assert '<div class="caption">A &amp; B</div>' in html
    assert '<table aria-label="A &amp; B">' in html
    assert '<th scope="col">a&lt;b</th>' in html
    assert '<td>&lt;x&gt;</td><td class="num">1</td>' in html


def test_scrollable_region_is_named_and_reachable():
    html = Table({"n": [1]}, caption="Speed")._repr_html_()
    assert 'role="region" tabindex="0" aria-label="Speed"' in html


def test_a_stacked_table_names_its_parts_and_every_cell():
    columns = {"engine": ["a"], 'said "so"': ["<x>"]}
    html = Table(columns, stacked=True)._repr_html_()
    assert '<div class="specmini-table stacked">' in html
    assert '<td role="cell" data-heading="said &quot;so&quot;">&lt;x&gt;</td>' in html
    for role, count in {"table": 1, "rowgroup": 2, "row": 2, "columnheader": 2, "cell": 2}.items():
        assert html.count(f' role="{role}"') == count
    assert repr(Table(columns, stacked=True)) == repr(Table(columns))
    assert "data-heading" not in Table(columns)._repr_html_()


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"columns must all have the same length.*'a': 1, 'b': 2"):
        Table({"a": [1], "b": [1, 2]})


def test_format_for_an_unknown_column_is_refused():
    with pytest.raises(ValueError, match=r"formats must name columns out of \['a'\], got \['z'\]"):
        Table({"a": [1]}, formats={"z": ".2f"})


def test_digits_hold_for_floats_without_a_format_of_their_own():
    table = Table({"a": [0.5], "n": [3], "share": [0.25]}, formats={"share": ".0%"}, digits=3)
    assert table.rows == [["0.500", "3", "25%"]]


def test_digits_hold_for_every_kind_of_float_and_no_whole_number():
    values = [np.float32(0.1), np.float64(0.1), 0.1, np.int64(2), True, None]
    table = Table({"a": values}, digits=2)
    assert [row[0] for row in table.rows] == ["0.10", "0.10", "0.10", "2", "True", "None"]


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match=r"columns must hold at least one, got none"):
        Table({})


@pytest.mark.parametrize(("value", "shown"), [(None, "None"), ("word", "'word'")])
def test_a_format_that_does_not_fit_is_refused(value, shown):
    with pytest.raises(ValueError, match=rf"formats must fit .*'\.2f' for {shown} in 'E'"):
        Table({"E": [1.0, value]}, formats={"E": ".2f"})
