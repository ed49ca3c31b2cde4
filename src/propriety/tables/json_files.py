"""JSON in: one object a line, or one array of objects."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from propriety.tables.cells import text_chunks
from propriety.tables.errors import TableError
from propriety.tables.reading import Read, Reading
from propriety.tables.text_files import Utf8Reader, encoding_of

_FIRST = 1000  # objects that have the names
_ADVICE = "write one {…} a line, or one array [{…}, {…}]"
Placed = tuple[str, dict[str, Any]]  # an object, after the place that it has in the file


def read_json(stream: Any, how: Reading) -> Read:
    """Objects; the first ones have the names, a key that an object lacks is missing there."""
    encoding = how.encoding or encoding_of(stream.peek(4)[:4])
    raw = io.BufferedReader(Utf8Reader(stream, encoding, how.name))
    text = how.files.enter_context(io.TextIOWrapper(raw, encoding="utf-8"))
    objects = _objects(text, how.name)
    first = list(islice(objects, _FIRST))
    if not first:
        raise TableError(f"{how.name} holds no objects", _ADVICE)
    names = list(dict.fromkeys(key for _, o in first for key in o))
    if not names:
        raise TableError(f"{how.name} holds objects without keys")
    strings: set[str] = set()
    rows = _rows(chain(first, objects), names, how.name)
    return Read(names, text_chunks(names, rows, strings), strings=strings)


def _rows(objects: Iterator[Placed], names: list[str], name: str) -> Iterator[list[Any]]:
    known = set(names)
    for place, values in objects:
        if not values.keys() <= known:
            raise TableError(
                f"{name}: {place} has the key {min(values.keys() - known)!r}, which earlier ones lack",
                f"give every key in one of the first {_FIRST} objects, with null where it is missing",
            )
        yield [values.get(n) for n in names]


def _objects(text: Any, name: str) -> Iterator[Placed]:
    """The objects of the lines, or of the array that the first line begins."""
    for number, line in enumerate(text, 1):
        place = f"line {number}"
        if line.lstrip().startswith("[") and number == 1:
            whole = line + text.read()
            for item, value in enumerate(_parsed(whole, name, "the array"), 1):
                yield _checked(value, name, f"item {item} of the array", whole)
        elif line.strip():
            yield _checked(_parsed(line, name, place), name, place, line)


def _parsed(text: str, name: str, place: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise TableError(f"{name}: {place} is nested too deeply", "flatten it") from None
    except ValueError as error:
        raise TableError(f"{name}: {place} is not JSON: {error}", _ADVICE) from None


def _checked(value: Any, name: str, place: str, source: str) -> Placed:
    if not isinstance(value, dict):
        raise TableError(f"{name}: {place} is not an object", _ADVICE)
    try:
        if "\\ud" in source or "\\uD" in source:
            json.dumps(value, ensure_ascii=False).encode()
        elif any(isinstance(v, dict | list) for v in value.values()):
            json.dumps(value)
    except UnicodeEncodeError:
        raise TableError(f"{name}: {place} has half of a surrogate pair, which is no text") from None
    except RecursionError:
        raise TableError(f"{name}: {place} is nested too deeply", "flatten it") from None
    return place, value
