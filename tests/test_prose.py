"""Prose keeps its promises: every number is computed or cited, every chapter has its parts."""

import re

import pytest
from chapters import BOOK, CHAPTERS, PAGES, code_cells, load, markdown, output_text

TEACHING = [path for path in CHAPTERS if path.stem != "index"]
by_name = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
by_teaching_name = pytest.mark.parametrize("path", TEACHING, ids=lambda path: path.stem)

CODE = re.compile(r"```(?!\{).*?```|`[^`]*`|\{[a-z:]+\}`[^`]*`|<[^>]+>|\]\([^)]*\)", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(%|×)?")
CITED = re.compile(r"\{cite\}|\]\(https?://")


def prose_numbers(text):
    """Decimals, percentages and multiples in a paragraph, as (text, value, decimals, unit)."""
    for match in NUMBER.finditer(CODE.sub(" ", text)):
        digits, unit = match[1].rstrip(","), match[2] or ""
        if "." not in digits and not unit:
            continue  # small whole numbers count things; they are not results
        decimals = len(digits.partition(".")[2])
        yield match[0], float(digits.replace(",", "")), decimals, unit


def known_numbers(notebook):
    """Every number that a cell of the page takes in or prints."""
    text = "\n".join(cell.source + "\n" + output_text(cell) for cell in code_cells(notebook))
    values = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*(?:e-?\d+)?", text)]
    return values + [value / 100 for value in values]


def is_known(value, decimals, unit, known):
    if unit == "%":
        value, decimals = value / 100, decimals + 2
    return any(abs(round(number, decimals) - value) < 1e-9 for number in known)


@by_name
def test_every_number_in_prose_is_computed_on_the_page_or_cited(path):
    notebook = load(path)
    known = known_numbers(notebook)
    missing = [
        f"{text!r} in: {' '.join(paragraph.split())[:90]}"
        for cell in markdown(notebook)
        for paragraph in re.split(r"\n\s*\n|\n:::|\n\* - |\n  - |\n- ", cell)
        if not CITED.search(paragraph)
        for text, value, decimals, unit in prose_numbers(paragraph)
        if not is_known(value, decimals, unit, known)
    ]
    assert missing == []


def test_the_number_check_catches_a_typed_result():
    known = known_numbers(load(CHAPTERS[0]))
    assert list(prose_numbers("It is 2.17× faster, or 31%, not `9.99`.")) == [
        ("2.17×", 2.17, 2, "×"),
        ("31%", 31.0, 0, "%"),
    ]
    assert not is_known(2.17, 2, "×", known)


PARTS = ("answer", "before", "red-flag", "memory", "takeaways")


@by_teaching_name
def test_chapter_follows_the_template(path):
    text = "\n".join(markdown(load(path)))
    for part in PARTS:
        assert re.search(rf"^:class: {part}$", text, re.MULTILINE), part
    for heading in ("Check yourself", "Don't say this", "Follow-up questions", "Remember"):
        assert f"\n## {heading}\n" in f"\n{text}\n", heading
    assert len(text) > 5000


@by_teaching_name
def test_typed_blocks_carry_stable_ids(path):
    """The practice pages gather these blocks, so each needs a name of its own."""
    text = "\n".join(markdown(load(path)))
    for part in ("answer", "red-flag", "memory"):
        blocks = re.findall(rf"^:class: {part}\n(:name: [a-z0-9-]+)?", text, re.MULTILINE)
        assert all(blocks), part


def test_block_ids_are_unique_in_the_book():
    names = [
        name
        for path in CHAPTERS
        for name in re.findall(r"^:name: ([\w-]+)$", "\n".join(markdown(load(path))), re.MULTILINE)
    ]
    assert len(names) == len(set(names))


def reading_minutes(notebook):
    """220 words a minute, half a minute for a picture, a quarter for a computed output."""
    words = len(CODE.sub(" x ", "\n".join(markdown(notebook))).split())
    pictures = sum(
        "image/svg+xml" in output.get("data", {})
        for cell in code_cells(notebook)
        for output in cell.outputs
    )
    return words / 220 + pictures / 2 + (len(code_cells(notebook)) - pictures) / 4


@by_teaching_name
def test_stated_reading_time_is_true(path):
    notebook = load(path)
    text = "\n".join(markdown(notebook))
    stated = int(re.search(r"\*\*Reading time:\*\* (\d+) minutes", text)[1])
    assert abs(stated - reading_minutes(notebook)) <= 1.5


FORBIDDEN = re.compile(
    r"\b(TODO|FIXME|lorem ipsum|coming soon|in conclusion|game.chang\w+|it is important to note)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", [*CHAPTERS, *PAGES], ids=lambda path: path.name)
def test_no_filler(path):
    text = "\n".join(markdown(load(path))) if path.suffix == ".ipynb" else path.read_text("utf-8")
    assert FORBIDDEN.search(text) is None


def test_every_reference_is_complete_and_used():
    bibliography = (BOOK / "references.bib").read_text(encoding="utf-8")
    cited = " ".join(
        [*("\n".join(markdown(load(path))) for path in CHAPTERS)]
        + [path.read_text(encoding="utf-8") for path in PAGES]
    )
    keys = re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE)
    assert keys
    for entry, key in zip(re.split(r"^@", bibliography, flags=re.MULTILINE)[1:], keys, strict=True):
        assert all(f"{field} " in entry for field in ("author", "title", "year")), key
        assert re.search(rf"\{{cite[\w:]*\}}`[^`]*\b{key}\b", cited), f"{key} is never cited"
