"""Follow-ups and the sheet on the page: folded answers, files to take along, one side of paper."""

import re
import zipfile

import pytest

from browser import built_site, facts
from browser.facts import nothing_wrong
from browser.reader import PHONE
from specmini.practice import anki, gather, sheet, sheet_pdf
from specmini.practice.followups import followups

FOLLOWUPS, SHEET = "book/followups.html", "book/sheet.html"


def test_a_question_unfolds_one_depth_after_the_other(reader):
    tab = reader.open(FOLLOWUPS, width=PHONE)
    one = followups()[0]
    folded = tab.locator(f"#ask-{one.id}")
    assert one.question in folded.inner_text()
    folded.locator("summary").first.press("Enter")
    assert folded.get_by_text(one.one_line).is_visible()
    deeper = folded.locator("details")
    assert [deeper.nth(n).locator("summary").inner_text().strip() for n in range(2)] == [
        "In one minute",
        "At the whiteboard",
    ]
    assert not deeper.first.locator("p").first.is_visible()
    deeper.first.locator("summary").press("Enter")
    assert deeper.first.locator("p").first.is_visible()
    assert not deeper.last.locator("p").first.is_visible()
    nothing_wrong(FOLLOWUPS, facts.sticking_out(tab))


def test_every_follow_up_of_every_chapter_has_an_anchor(site):
    for block in gather.blocks():
        assert f'id="{block.id}"' in built_site.text_of(f"book/{block.chapter}.html"), block.id


def test_the_files_to_take_along_are_linked_and_real(site):
    links = re.findall(
        r'href="\.\./(_static/specmini-[\w-]+\.(?:apkg|pdf))"',
        "".join(map(built_site.text_of, (SHEET, "book/cards.html"))),
    )
    names = {
        f"_static/{name}" for name in (anki.FILE, *map(sheet_pdf.file_name, sheet_pdf.FORMATS))
    }
    assert set(links) == names
    for name in names:
        path = site / name
        assert (
            zipfile.is_zipfile(path)
            if path.suffix == ".apkg"
            else path.read_bytes()[:5] == b"%PDF-"
        )


@pytest.mark.parametrize("paper", sheet_pdf.FORMATS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sheet_prints_on_one_side(reader, paper, scheme):
    tab = reader.open(SHEET, scheme=scheme)
    tab.emulate_media(media="print")
    assert tab.locator(".specmini-sheet dd").last.is_visible()
    tab.emulate_media(media="null")
    printed = tab.pdf(format=paper, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


def test_the_printed_sheet_is_legible_and_whole(reader):
    tab = reader.open(SHEET)
    tab.emulate_media(media="print")
    box = tab.locator(".specmini-sheet")
    assert box.locator("dt").count() == 2 * len(sheet.lines())
    sizes = box.locator("dt, dd, dd p").evaluate_all(
        "(all) => all.map((node) => parseFloat(getComputedStyle(node).fontSize))"
    )
    assert min(sizes) >= 10.6  # 8 points
    assert box.locator("dd").last.is_visible()
    assert not tab.locator(".cell_input").first.is_visible()
