"""Several files as one table: their rows one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from propriety.tables.errors import TableError
from propriety.tables.sources import Source, open_source


def open_sources(paths: Sequence[str], **how: Any) -> Source:
    """Open several tables as one, in the order of the paths; each is open only while it is read.

    The columns are those of the first, and every other file must have them too, in any order. ``how`` is as
    in `open_source`.
    """
    first = open_source(paths[0], **how)
    if len(paths) == 1:
        return first
    files = ExitStack()
    files.enter_context(first)
    strings = first.strings
    chunks = _chunks(first, paths, how, files)
    return Source(
        f"{len(paths)} files", first.format, first.column_names, chunks, first.notes, strings, files
    )


def _chunks(first: Source, paths: Sequence[str], how: dict[str, Any], files: ExitStack) -> Iterator[Any]:
    names, schema = first.column_names, None
    for k, path in enumerate(paths):
        source = first if k == 0 else files.enter_context(open_source(path, **how))
        with source:
            _check_like(source, first)
            for chunk in source.chunks:
                table = chunk.select(names)
                schema = schema or table.schema
                yield table if table.schema.equals(schema) else _cast(table, schema, source.name, first.name)
        if first.strings is not None and source.strings is not None:
            first.strings |= source.strings


def _check_like(source: Source, first: Source) -> None:
    if set(source.column_names) != set(first.column_names):
        missing = [name for name in first.column_names if name not in source.column_names]
        more = [name for name in source.column_names if name not in first.column_names]
        what = f"has no column {missing[0]!r}" if missing else f"has a column {more[0]!r}"
        not_ = "has one" if missing else "has not"
        raise TableError(f"{source.name} {what}, and {first.name} {not_}", "give files with the same columns")
    if (source.strings is None) != (first.strings is None):
        raise TableError(
            f"{first.name} is read as {first.format} and {source.name} as {source.format}",
            "give files of one kind",
        )


def _cast(table: Any, schema: Any, name: str, first: str) -> Any:
    try:
        return table.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"{name} has columns of other types than {first}: {error}", "give files with the same types"
        ) from None
