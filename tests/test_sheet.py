"""The sheet: gathered from every chapter, and one page of PDF that says the same."""

import re
import zlib

import pytest

from specmini import files
from specmini.practice import gather, sheet, sheet_pdf
from specmini.practice.sheet import Sheet


def test_every_chapter_has_a_line_from_its_own_blocks():
    blocks = {block.id: block for block in gather.blocks()}
    found = sheet.lines()
    assert [line.chapter for line in found] == list(gather.chapters())
    for line in found:
        assert line.why == blocks[line.flag_id].text
        assert line.memory in {block.text for block in blocks.values() if block.kind == "memory"}


def test_the_left_side_takes_about_a_minute():
    words = len(" ".join(Sheet().said).split())
    assert 45 <= words / 240 * 60 <= 90  # seconds at 240 words a minute


def test_it_shows_links_to_the_chapters_and_formulas():
    html = Sheet()._repr_html_()
    for line in sheet.lines():
        assert f'href="{line.chapter}.html"' in html
        assert f'href="{line.chapter}.html#{line.flag_id}"' in html
    assert "<math>" in html
    assert "$" not in html
    assert len(repr(Sheet()).splitlines()) == 2 * len(sheet.lines())


@pytest.mark.parametrize(("paper", "size"), [("A4", (595, 842)), ("Letter", (612, 792))])
def test_the_pdf_is_one_page_of_its_format_in_legible_type(tmp_path, paper, size):
    path = tmp_path / sheet_pdf.file_name(paper)
    sheet_pdf.write(path, paper)
    content = path.read_bytes()
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content)
    assert tuple(round(float(side)) for side in box.groups()) == size
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    drawn = next(text for text in map(inflated, streams) if b" Tf" in text)
    sizes = {float(found) for found in re.findall(rb"/F\d+ ([\d.]+) Tf", drawn)}
    assert min(sizes) >= 0.9 * sheet_pdf.SMALLEST
    assert path.stat().st_size < 100_000


def inflated(stream):
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def test_a_sheet_that_does_not_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sheet_pdf, "lines", lambda: sheet.lines() * 4)
    with pytest.raises(ValueError, match=r"sheet must fit one page in type of 7\.0 points or more"):
        sheet_pdf.write(tmp_path / "sheet.pdf")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="paper must be one of 'A4', 'Letter'"):
        sheet_pdf.write(tmp_path / "sheet.pdf", "A5")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.txt"
    files.replaced(path, lambda part: part.write_text("one"))

    def fail(part):
        part.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        files.replaced(path, fail)
    assert path.read_text() == "one"
    assert [one.name for one in tmp_path.iterdir()] == ["x.txt"]
