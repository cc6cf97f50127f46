"""Reads the YAML files of the practice wing and holds each to its schema.

``specmini/data/practice/NAME.yaml`` is a list of items; ``NAME.schema.yaml`` beside it is the JSON
Schema of one item, with a description of every field.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, Final

import yaml

from specmini.checks import shown

if TYPE_CHECKING:
    from jsonschema import ValidationError

__all__ = ["checked", "read"]

FOLDER: Final = resources.files("specmini") / "data" / "practice"


def read(name: str, folder: Traversable = FOLDER) -> list[dict[str, Any]]:
    """Return the items of a file, checked.

    Args:
        name: of the file, without ``.yaml``.
        folder: where the file and its schema stand.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: what is wrong, with file, item and field, and what is allowed there.
    """
    file = f"{name}.yaml"
    content = (folder / file).read_bytes()
    try:
        text = content.decode()
        _refuse_repetitions(yaml.compose(text, Loader=yaml.SafeLoader))
        items = yaml.safe_load(text)
    # besides its own errors: a date or number that is none, a tag that does not fit, deep nesting
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{file} must be YAML: {' '.join(str(error).split())}") from None
    schema = yaml.safe_load((folder / f"{name}.schema.yaml").read_text(encoding="utf-8"))
    return checked(file, items, schema)


def checked(file: str, items: Any, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return items that fit the schema of one item and have ids that differ.

    Args:
        file: its name, for the message.
        items: what was read.
        schema: JSON Schema of an item; it must require ``id``.

    Raises:
        ValueError: what is wrong, with file, item and field, and what is allowed there.
    """
    # Its own imports take two seconds, and most chapters with a widget read no practice file.
    from jsonschema import Draft202012Validator

    if not isinstance(items, list) or not items:
        raise ValueError(f"{file} must be a list of at least one item, got {shown(items)}")
    validator, seen = Draft202012Validator(schema), set()
    for number, item in enumerate(items, start=1):
        known = item.get("id") if isinstance(item, dict) else None
        place = f"{file}, item {known if isinstance(known, str) else number}"
        for error in validator.iter_errors(item):
            raise ValueError(f"{place}: {_in_words(error)}")
        if item["id"] in seen:
            raise ValueError(f"{file}: ids must differ, got {item['id']!r} twice")
        seen.add(item["id"])
    return items


def _in_words(error: ValidationError) -> str:
    field = ".".join(map(str, error.absolute_path)) or "item"
    must, got = error.validator_value, shown(error.instance)
    if error.validator == "required":
        missing = next(name for name in _names(must) if name not in error.instance)
        return f"field {missing} is missing; required are {', '.join(_names(must))}"
    if error.validator == "additionalProperties":
        fields = _names(error.schema["properties"])
        unknown = next(name for name in error.instance if name not in fields)
        return f"field {unknown} is unknown; allowed are {', '.join(fields)}"
    if error.validator == "enum":
        return f"field {field} must be one of {', '.join(map(str, _names(must)))}, got {got}"
    if error.validator == "pattern":
        return f"field {field} must have the form {must}, got {got}"
    if error.validator == "type":
        return f"field {field} must be of type {must}, got {got}"
    return f"field {field} must have {error.validator} {must}, got {got}"


def _names(values: Any) -> Sequence[str]:
    return list(values)


def _refuse_repetitions(node: Any) -> None:
    """Refuse keys and nodes that stand twice.

    YAML readers would keep the last of two keys; which one was meant is for the author to say. A
    node stands twice by an alias: a few lines of aliases of aliases make gigabytes, or no end.
    """
    seen, waiting = set[int](), [node]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, yaml.CollectionNode):
            continue
        line = here.start_mark.line + 1
        if id(here) in seen:
            raise yaml.YAMLError(f"an alias repeats what begins in line {line}; write it out")
        seen.add(id(here))
        if not isinstance(here, yaml.MappingNode):
            waiting += here.value
            continue
        keys = [key.value for key, _ in here.value]
        repeated = next((key for key in keys if keys.count(key) > 1), None)
        if repeated is not None:
            raise yaml.YAMLError(f"key {repeated!r} stands twice in the item of line {line}")
        waiting += [value for _, value in here.value]
