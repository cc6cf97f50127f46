"""A small table that reads well as HTML in the book and as text in a terminal."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np


class Table:
    """Columns of already computed values, shown as they are.

    Args:
        columns: heading to values; all columns have the same length.
        formats: heading to format specification, e.g. ``{"share": ".0%"}``.
        digits: decimals of the floats in every other column; None shows them as they are.
        caption: the sentence above the table.
        stacked: on a phone each row is a block of its own, its headings beside its cells. For
            rows of text; rows of numbers are compared down their columns.

    Raises:
        ValueError: if there are no columns, they differ in length, or a format names no column or
            does not fit a value.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any]],
        formats: Mapping[str, str] | None = None,
        digits: int | None = None,
        caption: str = "",
        *,
        stacked: bool = False,
    ) -> None:
        if not columns:
            raise ValueError("columns must hold at least one, got none")
        lengths = {heading: len(values) for heading, values in columns.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"columns must all have the same length, got {lengths}")
        formats = dict(formats or {})
        if unknown := sorted(set(formats) - set(columns)):
            raise ValueError(f"formats must name columns out of {list(columns)}, got {unknown}")
        self.caption, self.stacked = caption, stacked
        self.headings = list(columns)
        floats = "" if digits is None else f".{digits}f"

        def shown(heading: str, value: Any) -> str:
            default = floats if isinstance(value, float | np.floating) else ""
            wanted = formats.get(heading, default)
            try:
                return format(value, wanted)
            except (TypeError, ValueError):
                raise ValueError(
                    f"formats must fit the values, got {wanted!r} for {value!r} in {heading!r}"
                ) from None

        cells = [[shown(heading, v) for v in values] for heading, values in columns.items()]
        self.rows = [list(row) for row in zip(*cells, strict=True)]
        self._numeric = [
            all(not isinstance(value, str) for value in values) for values in columns.values()
        ]

    def __repr__(self) -> str:
        widths = [
            max(len(cell) for cell in column)
            for column in zip(self.headings, *self.rows, strict=True)
        ]

        def line(cells: Sequence[str]) -> str:
            padded = (
                cell.rjust(width) if numeric else cell.ljust(width)
                for cell, width, numeric in zip(cells, widths, self._numeric, strict=True)
            )
            return "  ".join(padded).rstrip()

        head = [self.caption] if self.caption else []
        return "\n".join([*head, line(self.headings), *(line(row) for row in self.rows)])

    def _repr_html_(self) -> str:
        # A table whose rows are laid out as blocks is one no longer, unless its parts say so.
        def role(name: str) -> str:
            return f' role="{name}"' if self.stacked else ""

        def cell(text: str, heading: str, numeric: bool) -> str:
            align = ' class="num"' if numeric else ""
            named = f' data-heading="{escape(heading)}"' if self.stacked else ""
            return f"<td{role('cell')}{align}{named}>{escape(text)}</td>"

        head = "".join(
            f'<th scope="col"{role("columnheader")}{numeric}>{escape(heading)}</th>'
            for heading, numeric in zip(
                self.headings,
                (' class="num"' if numeric else "" for numeric in self._numeric),
                strict=True,
            )
        )
        body = "".join(
            f"<tr{role('row')}>" + "".join(map(cell, row, self.headings, self._numeric)) + "</tr>"
            for row in self.rows
        )
        # On a phone a wide table scrolls inside its own box, without its caption; tabindex lets
        # the keyboard scroll it.
        name = escape(self.caption or "Table")
        caption = f'<div class="caption">{name}</div>' if self.caption else ""
        kind = "specmini-table stacked" if self.stacked else "specmini-table"
        return (
            f'<div class="{kind}">{caption}<div role="region" tabindex="0" aria-label="{name}">'
            f'<table{role("table")} aria-label="{name}"><thead{role("rowgroup")}>'
            f"<tr{role('row')}>{head}</tr></thead><tbody{role('rowgroup')}>{body}</tbody>"
            f"</table></div></div>"
        )
