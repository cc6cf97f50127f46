"""The package about itself, and the reference that leaves nothing out."""

import re
from pathlib import Path

import pytest

from specmini.site.structure import PAPER_WING, imported, modules_of, parts

ROOT = Path(__file__).parent.parent


def test_every_part_says_what_it_is_for():
    found = parts()
    assert {"theory", "verify", "generate", "measure", "widgets"} <= {part.name for part in found}
    for part in found:
        assert part.purpose.endswith((".", "?")), part.name
        assert part.lines > 10, part.name
        assert set(part.imports) <= {other.name for other in found} | {"__version__"}, part.name


def test_imports_are_found_wherever_they_stand():
    assert set(imported("measure.trial")) >= {"drafters", "measure"}
    assert "torch" not in set(imported("gpt"))
    assert modules_of("theory")[0] == "theory"
    assert "theory.acceptance" in modules_of("theory")
    with pytest.raises(ValueError, match="part must be a module or folder of specmini, got 'x'"):
        modules_of("x")


def test_the_paper_wing_is_there():
    assert set(PAPER_WING) <= {part.name for part in parts()}


def test_the_reference_has_every_module_once():
    text = "".join(page.read_text("utf-8") for page in (ROOT / "book/api").glob("*.md"))
    shown = re.findall(r"automodule:: (specmini[\w.]*)", text)
    names = {f"specmini.{name}" for part in parts() for name in modules_of(part.name)}
    assert sorted(shown) == sorted(name for name in names if not name.endswith("__main__"))
