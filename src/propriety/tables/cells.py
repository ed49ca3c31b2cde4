"""Rows of Python values, as JSON and Excel have them, as Arrow tables of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

_ROWS, _CELLS = 20_000, 1 << 20  # of a chunk, whichever is fewer


def text_chunks(names: list[str], rows: Iterable[list[Any]], strings: set[str]) -> Iterator[Any]:
    """The rows as tables of text; columns with a value that was text before are added to `strings`."""
    size = max(1, min(_ROWS, _CELLS // len(names)))
    kept: list[list[Any]] = []
    for row in rows:
        kept.append(row)
        if len(kept) == size:
            yield _text_table(names, kept, strings)
            kept = []
    if kept:
        yield _text_table(names, kept, strings)


def _text_table(names: list[str], rows: list[list[Any]], strings: set[str]) -> Any:
    arrays = []
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if not all(v is None or isinstance(v, int | float) for v in values):
            strings.add(name)
        arrays.append(pa.array([cell_text(v) for v in values], pa.string()))
    return pa.table(arrays, names=names)


def cell_text(value: object) -> str | None:
    """A value as text: whole numbers without a point, truth values as in JSON, dates as ISO 8601.

    >>> [cell_text(v) for v in (None, "a", True, 10**400 % 7, 2.0, 0.1, 1e300, [1, "b"])]
    [None, 'a', 'true', '4', '2', '0.1', '1e+300', '[1, "b"]']
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return json.dumps(value, ensure_ascii=False, default=str)
