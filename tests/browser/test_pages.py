"""Every page, as it opens: from a server and as a file, with and without JavaScript."""

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.looks import LOADED_FONTS
from browser.reader import DESK, PHONE

WIDTHS = pytest.mark.parametrize("width", [PHONE, DESK])


@WIDTHS
def test_page_opens_without_a_complaint(look, page, width):
    nothing_wrong(page, look(page, width).complaints)


def test_page_opens_as_a_file_without_a_complaint(reader, page):
    tab = reader.open(page, by="file")
    nothing_wrong(f"{page} shows TeX", facts.raw_formulas(tab))
    if tab.locator("math").count():
        assert "Book Math" in tab.evaluate(LOADED_FONTS), f"{page} as a file lacks its font"


@WIDTHS
def test_nothing_sticks_out_of_the_window(look, any_page, width):
    seen = look(any_page, width)
    nothing_wrong(f"{any_page} at {width} px", seen.sticking_out)
    nothing_wrong(f"{any_page} at {width} px, unfolded", seen.sticking_out_unfolded)


@WIDTHS
def test_nothing_moves_while_the_page_arrives(look, page, width):
    seen = look(page, width)
    too_much = seen.shifts if seen.shift >= 0.02 else []
    nothing_wrong(f"{page} at {width} px shifts by {seen.shift:.3f}", too_much)


def test_page_says_what_it_is(look, page):
    assert look(page).title, f"{page} has no title"
    assert look(page).language == "en", f"{page} does not name its language"
    nothing_wrong(page, look(page).headings)


def test_pictures_have_words_and_a_size(look, page):
    nothing_wrong(page, look(page).pictures)


@WIDTHS
def test_formulas_are_typeset(look, page, width):
    nothing_wrong(f"{page} shows TeX", look(page, width).raw_formulas)
    nothing_wrong(page, look(page, width).formula_boxes)


def test_formulas_use_the_fonts_that_the_page_brings(look, page):
    if look(page).has_formulas:
        assert "Book Math" in look(page).fonts, f"{page}: {look(page).fonts}"


@WIDTHS
def test_navigation_stays_out_of_the_print(look, page, width):
    nothing_wrong(f"{page} printed", look(page, width).printed)


def test_page_reads_without_javascript(reader, page):
    tab = reader.open(page, scripts=False)
    if page != "search.html":
        assert len(tab.locator("main").inner_text()) > 200, f"{page} is empty"
    nothing_wrong(page, facts.wrong_headings(tab))
    facts.unfold(tab)
    nothing_wrong(f"{page} shows TeX", facts.raw_formulas(tab))
    nothing_wrong(page, facts.wrong_formula_boxes(tab))
    for figure in tab.locator("svg.specmini-figure, article img").all():
        box = figure.bounding_box()
        assert box, f"{page}: a figure that is not shown"
        assert min(box["width"] / 2, box["height"]) > 100, f"{page}: a figure of {box}"
    for widget in tab.locator("[data-specmini]").all():
        shown = widget.locator(".sm-fallback").first
        assert shown.is_visible(), f"{page}: a widget shows nothing without JavaScript"
        if widget.get_attribute("data-specmini") in ("read", "spot"):
            continue  # without a script a sentence, or a paragraph whose answers come last
        parts = widget.locator(".sm-fallback :is(tbody tr, details, details li)").count()
        assert parts >= 3, f"{page}: a widget's table or list is empty"


def test_enough_pages_hold_what_is_tested(site):
    """Guards the tests above: were a class name to change, they would find nothing to judge."""
    texts = [built_site.text_of(page) for page in built_site.pages()]
    for mark in ('class="math', "specmini-figure", 'data-specmini="explorer"', "data-specmini="):
        assert any(mark in text for text in texts), f"no page has {mark}"


def test_front_door_leads_to_the_book(reader, html_file):
    """A file that only redirects must lead to a page, from a server and as a file."""
    redirect = built_site.REDIRECT.search(built_site.text_of(html_file))
    if redirect:
        for by in ("http", "file"):
            tab = reader.open(html_file, by=by, settle=False)
            tab.wait_for_url(f"**/{redirect.group(1)}")
            assert tab.locator("h1").count(), f"{html_file} leads nowhere"
