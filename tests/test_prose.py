"""Prose keeps its promises: its results are computed or cited, every chapter has its parts."""

import ast
import re

import nbformat
import pytest
from chapters import BOOK, CHAPTERS, PAGES, code_cells, load, markdown, output_text

PRACTICE = ("spot", "interview", "followups", "cards", "sheet", "progress")
NOT_TEACHING = ("index", "ledger", "architecture", "status", *PRACTICE)
TEACHING = [path for path in CHAPTERS if path.stem not in NOT_TEACHING]
by_name = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
by_teaching_name = pytest.mark.parametrize("path", TEACHING, ids=lambda path: path.stem)

CODE = re.compile(r"```(?!\{).*?```|`[^`]*`|\{[a-z:]+\}`[^`]*`|<[^>]+>|\]\([^)]*\)", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?)(%|×)?")
YEAR = re.compile(r"(?:19|20)\d\d")
CITED = re.compile(r"\{cite(?::\w+)?\}|\]\(https?://")
PARAGRAPHS = re.compile(r"\n\s*\n|\n:::|\n\* - |\n  - |\n- |\n\d\. ")
SENTENCES = re.compile(r"(?<=[.?!])[)*\"]*\s+(?=[A-Z*\"$])")


def sentences(text):
    return [
        sentence for paragraph in PARAGRAPHS.split(text) for sentence in SENTENCES.split(paragraph)
    ]


def prose_numbers(text):
    """Decimals, percentages, multiples and long numbers, as (text, value, decimals, unit)."""
    for match in NUMBER.finditer(CODE.sub(" ", text)):
        digits, unit = match[1], match[2] or ""
        if "." not in digits and not unit and (len(digits) < 3 or YEAR.fullmatch(digits)):
            continue  # small whole numbers count things; they are not results
        decimals = len(digits.partition(".")[2])
        yield match[0], float(digits.replace(",", "")), decimals, unit


def known_numbers(notebook):
    """What the page's cells take in as literals or print: plain numbers, and percentages."""
    cells = code_cells(notebook)
    plain = [
        abs(node.value)
        for cell in cells
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ]
    percentages = []
    for cell in cells:
        for number, unit in PRINTED.findall(output_text(cell)):
            (percentages if unit else plain).append(float(number.replace(",", "")))
    return plain, percentages


PRINTED = re.compile(r"(\d+(?:,\d{3})*(?:\.\d*)?(?:e[+-]?\d+)?)(%)?")


def is_known(value, decimals, unit, known):
    """Whether a known number rounds to this one; a percentage may stand for a plain fraction."""
    plain, percentages = known
    if unit == "%":
        plain = [*percentages, *(100 * fraction for fraction in plain)]
    return any(abs(round(number, decimals) - value) < 1e-9 for number in plain)


def unfounded(notebook):
    """Numbers in the prose of a page that it neither computes nor cites in the same sentence."""
    known = known_numbers(notebook)
    return [
        f"{text!r} in: {' '.join(sentence.split())[:90]}"
        for cell in markdown(notebook)
        for sentence in sentences(cell)
        if not CITED.search(sentence)
        for text, value, decimals, unit in prose_numbers(sentence)
        if not is_known(value, decimals, unit, known)
    ]


@by_name
def test_every_number_in_prose_is_computed_on_the_page_or_cited(path):
    assert unfounded(load(path)) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_without_cells_states_no_result_of_its_own(path):
    prose = path.read_text(encoding="utf-8")
    cited_or_none = (s for s in sentences(prose) if not CITED.search(s))
    assert [number[0] for s in cited_or_none for number in prose_numbers(s)] == []


def page(prose, code="", printed=""):
    cell = nbformat.v4.new_code_cell(code or "0")
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=printed)]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(prose), cell])


@pytest.mark.parametrize(
    ("prose", "code", "printed"),
    [
        ("It is 2.17× faster.", "x = 2.16", "2.16"),
        ("It is 2.17× faster.", "x = 2  # or 2.17", ""),  # a comment computes nothing
        ("It is 2.17× faster.", "x = '2.17'", ""),  # a string that nothing prints
        ("The rate is 0.22.", "", "22"),  # only a percentage may be a hundredth
        ("The rate is 0.22.", "", "22%"),
        ("It fell by 31%.", "", "31 rounds"),
        ("It is 2.17× faster. So say {cite}`a2023`.", "", ""),  # the next sentence is cited
        ("It is 2.17× faster, they say.\n\nSee {cite}`a2023`.", "", ""),
        ("Lost from batch 236 on.", "", "236.7"),
    ],
)
def test_the_number_check_catches(prose, code, printed):
    assert len(unfounded(page(prose, code, printed))) == 1


@pytest.mark.parametrize(
    ("prose", "code", "printed"),
    [
        ("It is 2.17× faster.", "", "2.1683"),
        ("It is 2.17× faster.", "x = [2.17]", ""),
        ("It fell by 31%.", "", "0.3096"),
        ("It fell by 31%.", "", "31%"),
        ("It costs 1,024 of 70,368 bytes.", "", "70,368 and 1024"),
        ("It is 2.17× faster {cite}`a2023`.", "", ""),
        ("It is 2.17× faster ([issue 1](https://github.com/a/b/issues/1)).", "", ""),
        ("It took 4 of 10, or `9.99`, see {prf:ref}`thm-3.8`.", "", ""),
    ],
)
def test_the_number_check_accepts(prose, code, printed):
    assert unfounded(page(prose, code, printed)) == []


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
    assert abs(stated_minutes(path.stem) - reading_minutes(load(path))) <= 1.5


def stated_minutes(name):
    text = "\n".join(markdown(load(BOOK / f"{name}.ipynb")))
    return int(re.search(r"\*\*Reading time:\*\* (\d+) minutes", text)[1])


def test_the_front_page_adds_up_the_minutes_of_the_chapters_that_it_names():
    text = "\n".join(markdown(load(BOOK / "index.ipynb")))
    rows = re.findall(r"^\* - .*\n  - (.*)\n  - (\d+)$", text, re.MULTILINE)
    whole = [row for row in rows if "{ref}" not in row[0]]  # a section states no minutes
    assert len(whole) >= 4
    for pages, minutes in whole:
        assert int(minutes) == sum(map(stated_minutes, re.findall(r"\{doc\}`(\w+)`", pages))), pages


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
