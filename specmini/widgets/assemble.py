"""Puts the widgets' script and style sheet together from the small files in ``src``.

The script has no dependency and no import. A page gets what its widgets need and no more. As a
classic script it brings a built page to life; with one line appended it is the module of an
anywidget. Every range, machine and model in it comes from the Python side, so no number is written
twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import cache
from importlib import resources
from typing import Any

from specmini import catalog, palette
from specmini.exact.rules import RULES
from specmini.practice import schedule
from specmini.roofline.machine import Machine
from specmini.roofline.pass_parts import ACTIVATION_BYTES
from specmini.roofline.shape import Model
from specmini.theory.drafter_map import CHEAPEST, LEVELS
from specmini.widgets import formula_tables, passage
from specmini.widgets.roof_figure import LEAST, speeds
from specmini.widgets.settings import BITS, DEVICES, MINUTES, RANGES

# theory first: the others use what stands above them, and the host starts everything at the end.
SCRIPTS = (
    "theory",
    "roofline",
    "dom",
    "progress",
    "chart",
    "settings",
    "load",
    "explorer_parts",
    "explorer",
    "roof_parts",
    "roof",
    "writer",
    "rounds",
    "replay",
    "tally",
    "player",
    "distributions",
    "overlap_parts",
    "overlap",
    "drafters_parts",
    "drafters",
    "formula",
    "grader",
    "interview_fields",
    "interview_step",
    "interview_mock",
    "interview",
    "marking",
    "spot_words",
    "spot",
    "progress_panel",
    "read_mark",
    "printed",
    "advice_cost",
    "advice_curve",
    "advice_model",
    "advice_words",
    "advice",
    "schedule",
    "flash_cards",
    "host",
)
STYLES = (
    *("base", "explorer", "roof", "player", "overlap", "drafters", "advice"),
    *("interview", "spot", "flash_cards", "progress"),
)
WIDGETS = (
    *("explorer", "roof", "player", "overlap", "drafters", "advice"),
    *("interview", "spot", "cards", "progress", "read"),
)
# Scripts of widgets that stand on a page or two: the other pages do without.
SCARCE = {
    "drafters": ("drafters_parts", "drafters"),
    "advice": (
        *("printed", "advice_cost", "advice_curve"),
        *("advice_model", "advice_words", "advice"),
    ),
    "interview": (
        *("formula", "grader", "interview_fields"),
        *("interview_step", "interview_mock", "interview"),
    ),
    "spot": ("marking", "spot_words", "spot"),
    "cards": ("schedule", "flash_cards"),
}
BYTES_PER_VALUE = 2

# What the page and the notebook start from, and what the tests look into.
PAGE_EXPORTS = ("esm", "mountAll", "DATA")
EXPORTS = (
    *(*PAGE_EXPORTS, "theory", "roofline", "evaluate", "passes", "simulation"),
    *("recording", "tally", "told", "tape", "cut", "pageModel", "refusal", "impossible"),
    *("compared", "overlapWords", "largest", "recoveredWords", "formula", "grader"),
    *("recordDone", "recordUndone", "progressOf", "progressPages", "progressIsKept"),
    *("exportProgress", "importProgress", "resetProgress"),
    *("toggled", "graded", "gradeWords", "hintWords"),
    *("adviseOn", "adviceSetting", "costOf", "expectedTokens", "plainSteps"),
    *("commandWords", "askedConcurrencies", "wrongText"),
    *("placed", "placedWords", "isoSpeedup"),
    "schedule",
)


def data() -> dict[str, Any]:
    """Return everything the script takes from Python, as plain JSON values."""
    machines = {key: machine_entry(machine) for key, machine in catalog.machines().items()}
    models = {key: model_entry(model) for key, model in catalog.models().items()}
    return {
        "bytes_per_value": BYTES_PER_VALUE,
        "activation_bytes": ACTIVATION_BYTES,
        "ranges": {
            name: {"low": allowed.low, "high": allowed.high, "whole": allowed.whole}
            for name, allowed in RANGES.items()
        },
        "bits": list(BITS),
        "devices": list(DEVICES),
        "least_intensity": LEAST,
        "speeds": speeds(),
        "machines": _as_table(machines),
        "models": _as_table(models),
        "passage": passage.text(),
        "rules": list(RULES),
        "formula": formula_tables.tables(),
        "minutes": list(MINUTES),
        "map": {"cheapest": CHEAPEST, "levels": list(LEVELS)},
        "schedule": {
            "grades": list(schedule.grades),
            "quality": schedule.QUALITY,
            "ease_gain": schedule.EASE_GAIN,
            "ranges": schedule.RANGES,
            "first_ease": schedule.FIRST_EASE,
            "first_intervals": schedule.FIRST_INTERVALS,
            "format": schedule.FORMAT,
        },
    }


def machine_entry(machine: Machine) -> dict[str, Any]:
    """Return what the script needs to know about a machine."""
    numbers = ("peak_flops", "peak_flops_8bit", "peak_flops_4bit", "bandwidth", "memory")
    return {name: getattr(machine, name) for name in ("name", *numbers, "interconnect")}


def model_entry(model: Model) -> dict[str, Any]:
    """Return what the script needs to know about a model: what Python worked out of its shape."""
    numbers = (
        *("layers", "hidden", "heads", "kv_heads", "parameters", "matmul_parameters"),
        *("replicated_parameters", "kv_values_per_layer", "flops_per_attended"),
        *("expert_layers", "expert_parameters"),
    )
    return {
        **{name: getattr(model, name) for name in ("name", *numbers)},
        "experts": model.experts.count if model.experts else 0,
        "experts_per_token": model.experts.per_token if model.experts else 0,
        "attention_layers": [list(layers) for layers in model.attention_layers],
    }


def file_name(kinds: Collection[str]) -> str:
    """Return the name of the script file for a page with these kinds of widgets.

    A page with several scarce ones gets the file that has them all.
    """
    scarce = sorted(SCARCE.keys() & set(kinds))
    return f"specmini-{scarce[0] if len(scarce) == 1 else 'all'}.js" if scarce else "specmini.js"


def files() -> dict[str, str]:
    """Return the scripts that pages can ask for, by file name."""
    some = {file_name([kind]): javascript(frozenset([kind])) for kind in SCARCE}
    return {
        "specmini.js": javascript(frozenset()),
        **some,
        file_name(SCARCE): javascript(frozenset(SCARCE)),
    }


@cache
def javascript(scarce: frozenset[str] = frozenset(SCARCE)) -> str:
    """Return a script that defines ``specmini`` and mounts the widgets of a static page.

    Args:
        scarce: kinds that it must have besides those that are everywhere. With all of them it
            shows the tests what it is made of, too.
    """
    payload = json.dumps(data(), ensure_ascii=False, separators=(",", ":"))
    left_out = [name for kind, names in SCARCE.items() if kind not in scarce for name in names]
    scripts = [name for name in SCRIPTS[:-1] if name not in left_out]
    widgets = ", ".join(name for name in WIDGETS if name not in SCARCE or name in scarce)
    exports = PAGE_EXPORTS if left_out else EXPORTS
    parts = [
        "var specmini = (function () {",
        '"use strict";',
        f"const DATA = {payload};",
        *(_lean(_source(f"{name}.js")) for name in scripts),
        f"const widgets = {{ {widgets} }};",
        _lean(_source(f"{SCRIPTS[-1]}.js")),
        f"return {{ {', '.join(exports)}, {widgets} }};",
        "})();",
    ]
    return "\n".join(parts) + "\n"


def module(widget: str) -> str:
    """Return the script as the ES module of one anywidget.

    Args:
        widget: one of ``WIDGETS``.

    Raises:
        ValueError: there is no such widget.
    """
    if widget not in WIDGETS:
        raise ValueError(f"widget must be one of {', '.join(WIDGETS)}, got {widget!r}")
    return f"{javascript()}\nexport default specmini.esm({json.dumps(widget)});\n"


@cache
def stylesheet() -> str:
    """Return the style sheet, the palette's variables first."""
    rules = (re.sub(r"\n\s*", "\n", _uncommented(_source(f"{name}.css"))) for name in STYLES)
    return palette.css_variables() + "".join(rule.strip() + "\n" for rule in rules)


def _as_table(entries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Turn equal dicts into columns and rows, so that each key is written once."""
    columns = list(next(iter(entries.values())))
    rows = {key: [_short(entry[name]) for name in columns] for key, entry in entries.items()}
    return {"columns": columns, "rows": rows}


def _short(value: Any) -> Any:
    """Write 3350000000000.0 without its last two characters."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _source(file_name: str) -> str:
    return resources.files("specmini.widgets").joinpath("src", file_name).read_text("utf-8")


def _uncommented(text: str) -> str:
    return re.sub(r"(?m)^\s*/\*.*?\*/\s*?\n", "", text, flags=re.DOTALL)


def _lean(source: str) -> str:
    """Drop what only an author reads: comments on lines of their own, indentation, empty lines."""
    lines = (line.strip() for line in _uncommented(source).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
