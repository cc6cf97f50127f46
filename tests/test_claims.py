"""The ledger: every claim has a known verdict, evidence that exists, and numbers with an origin."""

import re

import pytest
from chapters import BOOK, CHAPTERS, code_cells, load, markdown
from test_prose import is_known, known_numbers, prose_numbers

from specmini.record import claims as ledger
from specmini.record.claims import Claim, Ledger, Source, claims, subjects, verdicts

PAGES = {path.stem: path for path in CHAPTERS}
TEXTS = {name: "\n".join(markdown(load(path))) for name, path in PAGES.items()}
GOOD = {
    "id": "cost-x",
    "claim": "It is so.",
    "heard": ("folklore",),
    "verdict": "wrong",
    "why": "It is not.",
    "shown": ("speedup",),
}
by_id = pytest.mark.parametrize("one", claims(), ids=lambda one: one.id)


def labels(page):
    """What can be linked to on a page: blocks, exercises, equations, sections, figures."""
    text = TEXTS[page]
    found = re.findall(r"^:(?:name|label): ([\w-]+)$", text, re.MULTILINE)
    found += re.findall(r"^\(([\w-]+)\)=$|\$\$ \(([\w-]+)\)$", text, re.MULTILINE)
    found += [
        cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        for cell in code_cells(load(PAGES[page]))
    ]
    return {label for group in found for label in (group if isinstance(group, tuple) else [group])}


def headings(page):
    return set(re.findall(r"^#+ (.+)$", TEXTS[page], re.MULTILINE))


def steady(page):
    """A page without the cells whose output may differ from run to run."""
    notebook = load(page)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if "nbval-ignore-output" not in cell.metadata.get("tags", [])
    ]
    return notebook


def test_there_are_claims_of_every_subject_and_every_verdict():
    assert 45 <= len(claims()) <= 70
    assert {one.subject for one in claims()} == set(subjects)
    assert {one.verdict for one in claims()} == set(verdicts)
    assert len({one.id for one in claims()}) == len({one.claim for one in claims()})


def test_the_answer_of_the_page_is_the_count():
    judged = [one.verdict for one in claims()]
    assert len(judged) == 70  # "of seventy claims"
    assert round(10 * judged.count("holds") / 70) == 1  # "one in ten holds"
    assert round(10 * judged.count("holds with a condition") / 70) == 4
    rest = 70 - judged.count("holds") - judged.count("holds with a condition")
    assert judged.count("wrong") > 0.8 * rest  # "most of the rest"


@by_id
def test_every_place_of_the_book_exists(one):
    for place in one.shown:
        page, label, heading = ledger.place_form.fullmatch(place).groups()
        assert page in PAGES, place
        assert label is None or label in labels(page), place
        assert heading is None or heading in headings(page), place


@by_id
def test_every_paper_is_in_the_bibliography(one):
    keys = re.findall(r"^@\w+\{(\w+),", (BOOK / "references.bib").read_text("utf-8"), re.MULTILINE)
    assert {paper.partition("{")[0] for paper in one.papers} <= set(keys)


@by_id
def test_every_number_is_computed_on_a_page_it_points_to_or_has_a_source(one):
    if one.papers or one.sources:
        return
    known = [known_numbers(steady(PAGES[re.match("[a-z]+", place)[0]])) for place in one.shown]
    for text, value, decimals, unit in prose_numbers(f"{one.claim} {one.why}"):
        assert any(is_known(value, decimals, unit, numbers) for numbers in known), text


def test_the_page_shows_every_claim_once_in_a_block_of_its_own():
    shown = "".join(
        output.data["text/markdown"]
        for cell in code_cells(load(PAGES["ledger"]))
        for output in cell.outputs
        if "text/markdown" in output.get("data", {})
    )
    names = re.findall(r"^:name: claim-([\w-]+)$", shown, re.MULTILINE)
    assert sorted(names) == sorted(one.id for one in claims())


def test_a_block_says_its_verdict_in_words_and_links_its_evidence():
    one = Claim(
        **GOOD
        | {
            "shown": ("tokens#thm-tokens", "speedup#tab-losing", "verify/The loop", "clock#loops"),
            "papers": ("leviathan2023{Eq. 1}",),
            "sources": (Source("A page", "https://example.org/a", "2026-11"),),
        }
    )
    text = Ledger([one])._repr_markdown_()
    assert ":::{admonition} ✗ Wrong: “It is so.”\n:class: claim claim-wrong\n" in text
    assert "{doc}`tokens`, {prf:ref}`thm-tokens`; " in text
    assert "{doc}`speedup`, {ref}`table <tab-losing>`; {doc}`verify`, section *The loop*; " in text
    assert "{ref}`section <loops>`; {cite}`leviathan2023{Eq. 1}`; " in text
    assert "[A page](https://example.org/a) (2026-11)" in text
    assert repr(Ledger([one])) == "✗ wrong: It is so.\nIt is not."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "prices-x"}, "subject of 'prices-x' must be one of 'yield'"),
        ({"verdict": "true"}, "verdict of 'cost-x' must be one of 'holds'"),
        ({"heard": ("radio",)}, "heard of 'cost-x' must be one of 'interview card'"),
        ({"heard": ()}, "heard of 'cost-x' must not be empty"),
        ({"why": ""}, "why of 'cost-x' must not be empty"),
        ({"shown": ()}, "'cost-x' must have evidence"),
        ({"shown": ("Speedup, page 3",)}, "must be page, page#label or page/Heading"),
    ],
)
def test_a_claim_that_breaks_the_schema_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Claim(**GOOD | change)


@pytest.mark.parametrize(
    ("url", "date", "message"),
    [
        ("http://example.org", "2026", "url must begin with https://"),
        ("https://example.org", "Nov 2026", "date must be YYYY"),
    ],
)
def test_a_source_that_breaks_the_schema_is_refused(url, date, message):
    with pytest.raises(ValueError, match=message):
        Source("title", url, date)


def test_an_id_twice_and_a_field_with_another_name_are_refused():
    with pytest.raises(ValueError, match="ids must differ, got 'cost-x' twice"):
        ledger._parse([GOOD, GOOD])
    with pytest.raises(ValueError, match="fields of 'cost-x'"):
        ledger._parse([GOOD | {"because": "x"}])
