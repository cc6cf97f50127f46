"""The two commands, the pins and the package keep what the README promises."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import pytest
from chapters import CHAPTERS, load, markdown

from specmini.publish import chromium
from specmini.site.structure import PAPER_WING, imported, modules_of

ROOT = Path(__file__).parent.parent


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project_files(root):
    """Paths of what is in the repository; without git, of all that ``.gitignore`` does not name."""
    try:
        git = ["git", "-C", str(root)]
        top = subprocess.run([*git, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
        if top.returncode == 0 and Path(top.stdout.strip()).samefile(root):
            names = subprocess.run([*git, "ls-files", "-z"], capture_output=True, check=True).stdout
            paths = [root / name for name in names.decode().split("\0") if name]
            return [path for path in paths if path.is_file()]
    except FileNotFoundError:  # no git here
        pass
    ignored = [line.rstrip("/") for line in (root / ".gitignore").read_text("utf-8").splitlines()]
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [
            name for name in folders if not any(map(partial(fnmatch, name), [*ignored, ".git"]))
        ]
        found += [Path(folder) / name for name in names]
    return found


def project_text():
    """Content of every file of the repository, as far as it is text."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes().decode("utf-8", "replace")
        for path in project_files(ROOT)
    }


REQUIREMENTS = ("requirements.txt", "requirements-engines.txt")


def requirement_lines(name="requirements.txt"):
    return [line for line in read(name).splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_pinned_exactly(name):
    for line in requirement_lines(name):
        assert re.match(r"^[a-z0-9._-]+==[\w.]+( ; [^#]+)?(\s+#.*)?$", line, re.IGNORECASE), line


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_we_ask_for_says_why(name):
    asked = read(name).split("# --- Pulled in")[0]
    for line in asked.splitlines():
        if "==" in line:
            assert len(line.partition("#")[2].strip()) > 10, line


def test_jupyter_book_stays_below_2():
    assert any(line.startswith("jupyter-book==1.") for line in requirement_lines())


def test_package_depends_on_numpy_alone():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert [re.split(r"[<>=]", d)[0] for d in project["dependencies"]] == ["numpy"]
    assert not any("<" in d or "==" in d for d in project["dependencies"])


def test_readme_makefile_and_package_name_the_same_pythons():
    assert "Python 3.11, 3.12 or 3.13" in read("README.md")
    assert "Python 3.11, 3.12 or 3.13" in read("Makefile")
    assert tomllib.loads(read("pyproject.toml"))["project"]["requires-python"] == ">=3.11"


def test_readme_commands_exist():
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", read("README.md"))) <= targets
    assert "make test" in read(".ci/run")


FAKE_PYTHON = """#!/bin/sh
case "$*" in
  -V) echo "Python VERSION" ;;
  "-m venv --clear"*)
    rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; : > "$4/bin/pip"
    chmod +x "$4/bin/pip"; echo "PATH='$4/bin:$PATH'" > "$4/bin/activate" ;;
  "-m pip"*) echo pip >> "$LOG" ;;
esac
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="without make there is no Makefile to run")
def test_another_python_makes_another_environment_and_the_same_installs_nothing(tmp_path):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for version in ("3.11.7", "3.12.1"):
        python = tmp_path / f"python{version}"
        python.write_text(FAKE_PYTHON.replace("VERSION", version))
        python.chmod(0o755)

    def setup(*arguments):
        log = tmp_path / "log"
        log.write_text("")
        run = subprocess.run(
            ["make", "setup", f"VENV={tmp_path / 'environment'}", *arguments],
            cwd=tmp_path, env={"PATH": os.environ["PATH"], "LOG": str(log)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return ("Making the environment" in run.stdout, log.read_text().count("pip"))

    one, other = (f"PYTHON=./python{version}" for version in ("3.11.7", "3.12.1"))
    assert setup(one) == (True, 2)
    assert setup(one) == (False, 0)
    assert setup() == (False, 0)  # whatever python3 is: this environment has its own
    assert setup(other) == (True, 2)
    assert "3.12.1" in (tmp_path / "environment" / "bin" / "python").read_text()
    assert setup() == (False, 0)


def test_project_files_are_found_with_git_and_without(tmp_path):
    (tmp_path / ".gitignore").write_text("_build/\n*.egg-info/\n")
    for name in ("a file.md", "_build/site.html", "x.egg-info/PKG", "book/b.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    wanted = {".gitignore", "a file.md", "book/b.md"}
    found = {path.relative_to(tmp_path).as_posix() for path in project_files(tmp_path)}
    assert found == wanted
    if shutil.which("git"):
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        (tmp_path / "untracked.md").write_text("text")
        found = {path.relative_to(tmp_path).as_posix() for path in project_files(tmp_path)}
        assert found == wanted


def test_ci_looks_for_the_browsers_that_the_tests_look_for():
    assert f"command -v {' '.join(chromium.NAMES)} " in read(".ci/run")


def test_readme_results_are_computed():
    examples = re.findall(r"^```python\n(.*?)^```", read("README.md"), re.MULTILINE | re.DOTALL)
    compared = 0
    for example in examples:
        names = {}
        exec(example, names)
        for call, result in re.findall(r"^(\w.*?)\s+# ([\d.]+)$", example, re.MULTILINE):
            decimals = len(result.partition(".")[2])
            assert f"{eval(call, names):.{decimals}f}" == result, call
            compared += 1
    assert compared >= 4


def test_no_proof_is_folded_with_the_class_that_breaks_the_page():
    """A proof with ``:class: dropdown`` disables every toggle on its page (sphinx-proof 86)."""
    folded = re.compile(r"\{prf:\w+\}[^\n]*\n(?::[^\n]*\n)*:class: dropdown")
    for path in CHAPTERS:
        assert not folded.search("\n".join(markdown(load(path)))), path.name


def test_nothing_in_the_repository_names_a_machine_or_fetches_from_elsewhere():
    path = re.compile(r"/(?:home|Users|roo[t]|wor[k]|tm[p])/[a-z]")
    host = re.compile(r"https://(?:cdn|unpkg|cdnjs|fonts)\.|cdn\.jsdelivr\.net")
    for name, text in project_text().items():
        if name != "tests/test_house.py":
            assert not path.search(text), name
            assert not host.search(text) or name.startswith("tests/"), name


@pytest.mark.parametrize("top", PAPER_WING)
def test_paper_wing_imports_only_itself(top):
    for module in modules_of(top):
        assert set(imported(module)) <= set(PAPER_WING), module


# the engine needs NumPy alone, too, as far as it does not run a trained model
LIGHT = (
    *(name for top in (*PAPER_WING, "load", "command") for name in modules_of(top)),
    *("verify.block", "verify.tree", "verify.lossy", "sampling", "generate", "generate_tree"),
    *("engine.table_model", "exact.audit", "drafters", "measure"),
    *("lossless.comparison", "lossless.endpoint"),
)


def test_paper_wing_and_engine_import_numpy_and_nothing_heavier():
    code = (
        "import importlib, sys\n"
        "heavy = {'torch', 'matplotlib', 'scipy', 'anywidget', 'IPython', 'sphinx', 'yaml'}\n"
        f"for name in {LIGHT!r}:\n"
        "    importlib.import_module(f'specmini.{name}')\n"
        "    print(name, sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [f"{name} []" for name in LIGHT]


def test_no_module_warns_when_it_is_imported():
    folder = ROOT / "specmini"
    paths = [path.relative_to(ROOT).with_suffix("") for path in sorted(folder.rglob("*.py"))]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    code = (
        "import importlib, warnings\n"
        "warnings.filterwarnings('error', module='specmini')\n"
        f"for name in {[name for name in names if not name.endswith('__main__')]!r}:\n"
        "    importlib.import_module(name)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_modules_are_attributes_and_only_what_is_used_is_loaded():
    code = (
        "import sys, specmini\n"
        "print(specmini.theory.tokens_per_round(0.5, 1), specmini.generate.__name__)\n"
        "print(sorted({'torch', 'matplotlib', 'anywidget', 'sphinx'} & set(sys.modules)))\n"
        "print({'theory', 'gpt', 'widgets', '__version__'} <= set(dir(specmini)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["1.5 specmini.generate", "[]", "True"]


def test_what_is_no_module_is_no_attribute():
    import specmini

    with pytest.raises(AttributeError, match=r"^module 'specmini' has no attribute 'theroy'$"):
        specmini.theroy  # noqa: B018


def test_the_packages_own_words_name_modules_that_exist():
    import specmini

    listed = re.findall(r"^    (\w+) {2,}", specmini.__doc__, re.MULTILINE)
    assert len(listed) >= 15
    assert set(listed) <= set(dir(specmini))
    paths = re.findall(r"`((?:specmini|book|tests)/[\w/.]*)`", read("README.md"))
    assert len(paths) >= 8
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_wheel_carries_its_data_and_works_alone(tmp_path):
    source = tmp_path / "source"  # building leaves files behind; the checkout stays clean
    shutil.copytree(ROOT / "specmini", source / "specmini")
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", tmp_path, source],
        check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.glob("specmini-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    for part in ("specmini/data/machines.toml", "specmini/style/book.css", "specmini/widgets/src/"):
        assert any(name.startswith(part) for name in names), part
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r})\n"
        "import specmini.catalog as catalog, specmini.widgets.assemble as assemble\n"
        "assert 'installed' in catalog.__file__\n"
        "print(len(catalog.machines()) > 0, 'var specmini' in assemble.javascript())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stdout.strip() == "True True"
