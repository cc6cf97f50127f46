"""Licences, credits, citation, changelog and workflows: they parse, agree, and lead somewhere."""

import json
import re
import tomllib
from importlib.metadata import metadata

import pytest
import yaml
from chapters import ROOT

from specmini import __version__

DOCUMENTS = sorted(ROOT.glob("*.md"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(read("pyproject.toml"))["project"]


# --- citation -------------------------------------------------------------------------------


def test_citation_and_zenodo_say_what_the_package_and_the_book_say(project):
    citation, zenodo = yaml.safe_load(read("CITATION.cff")), json.loads(read(".zenodo.json"))
    book = yaml.safe_load(read("_config.yml"))
    assert __version__ == project["version"] == citation["version"] == zenodo["version"]
    assert book["title"] == citation["title"] == zenodo["title"]
    names = [author["name"] for author in project["authors"]]
    assert names == [author["name"] for author in citation["authors"]] == [book["author"]]
    assert names == [creator["name"] for creator in zenodo["creators"]]
    assert citation["abstract"] == zenodo["description"]
    assert citation["keywords"] == zenodo["keywords"]
    assert citation["license"] == zenodo["license"] == "MIT"


def test_the_citation_has_what_its_format_demands_and_no_identifier_nobody_gave(project):
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    for name in ("CITATION.cff", ".zenodo.json"):
        assert not re.search(r"10\.\d{4,}/", read(name)), f"{name}: a DOI must be registered first"


def test_the_changelog_knows_this_version():
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == __version__
    sections = set(re.findall(r"^### (.*)$", read("CHANGELOG.md"), re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


# --- licences -------------------------------------------------------------------------------


def test_every_licence_that_is_claimed_lies_there(project):
    files = project["license-files"]
    texts = [read(name) for name in files]
    assert project["license"] == "MIT AND CC-BY-4.0 AND PSF-2.0"
    titles = (
        "MIT License",
        "Creative Commons Attribution 4.0",
        "PYTHON SOFTWARE FOUNDATION LICENSE",
    )
    for text, title in zip(texts, titles, strict=True):
        assert title in text
    for author in project["authors"]:
        assert author["name"] in texts[0]
    for document in ("README.md", "book/credits.md"):
        for name in files[:2]:
            assert f"{name}`" in read(document) or f"({name})" in read(document), (document, name)
    extra = yaml.safe_load(read("_config.yml"))["sphinx"]["config"]["html_extra_path"]
    assert extra == files[:2]


def credited():
    return re.findall(
        r"^\| \[([a-z0-9-]+)\]\(\S+\) \|.*\| ([\w ]+) \|$", read("book/credits.md"), re.M
    )


@pytest.mark.parametrize(("library", "licence"), credited(), ids=lambda value: value)
def test_a_library_that_is_credited_is_used_and_has_that_licence(library, licence):
    assert re.search(rf"^{library}==", read("requirements.txt"), re.MULTILINE)
    told = metadata(library)
    fields = ("License-Expression", "License", "Classifier")
    words = [word for field in fields for word in told.get_all(field) or []]
    full = {"PSF": "Python Software Foundation"}.get(licence, licence)
    assert any(full in word for word in words), words


def test_the_credits_name_many():
    assert len(credited()) >= 15


# --- links of the documents -----------------------------------------------------------------


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_of_a_document_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    wrong = []
    for address in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, part = address.partition("#")
        if re.match(r"[a-z]+:", address):
            continue
        target = path if not name else ROOT / name
        if not target.exists():
            wrong.append(f"no file {name}")
        elif part and part not in map(
            anchor, re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        ):
            wrong.append(f"no #{part} in {name or path.name}")
    wrong += [
        f"no path {name}"
        for name in re.findall(r"`((?:specmini|book|tests|binder|\.github|\.ci)/[\w/.-]*)`", text)
        if not (ROOT / name).exists()
    ]
    assert wrong == []


def test_documents_name_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for path in DOCUMENTS:
        named = set(re.findall(r"(?:^|`)make ([a-z]+)", path.read_text(encoding="utf-8"), re.M))
        assert named <= targets, path.name


# --- workflows ------------------------------------------------------------------------------


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_what_it_runs_and_asks_for_no_more_than_it_needs(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used
    for line in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert re.search(r"-\d", job["runs-on"]), f"{name}: a runner of one version"
        assert job["timeout-minutes"] <= 90
    for step in steps(workflow):
        made = set(re.findall(r"^make ([a-z]+)", step.get("run", ""), re.MULTILINE))
        assert made <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))


def test_one_action_has_one_pin():
    pins = {}
    for path in WORKFLOWS:
        for name, pin in re.findall(r"uses: (\S+)@(.*)", path.read_text(encoding="utf-8")):
            pins.setdefault(name, set()).add(pin)
    assert {name: len(found) for name, found in pins.items() if len(found) > 1} == {}


def test_the_workflows_try_every_python_that_the_readme_names():
    tried = yaml.safe_load(read(".github/workflows/test.yml"))["jobs"]["test"]["strategy"]
    assert f"Python {', '.join(tried['matrix']['python'][:-1])} or 3.13" in read("README.md")
    assert {"bash .ci/run"} <= {
        step.get("run") for step in steps(yaml.safe_load(read(".github/workflows/test.yml")))
    }


def test_links_to_others_are_asked_by_the_calendar_alone():
    # YAML 1.1 reads the key `on` as true.
    occasions = {
        path.name: set(yaml.safe_load(path.read_text(encoding="utf-8"))[True]) for path in WORKFLOWS
    }
    assert occasions["links.yml"] == {"schedule", "workflow_dispatch"}
    asking = [path.name for path in WORKFLOWS if "lychee" in path.read_text(encoding="utf-8")]
    assert asking == ["links.yml"]
