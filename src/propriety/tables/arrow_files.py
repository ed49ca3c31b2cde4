"""Parquet and Arrow in: columns with the types that the file states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from propriety.tables.errors import TableError
from propriety.tables.limits import Counted
from propriety.tables.reading import Read, Reading, check_unique, in_memory

if TYPE_CHECKING:
    from typing import BinaryIO


def read_parquet(stream: BinaryIO, how: Reading) -> Read:
    """Parquet, a group of rows after the other."""
    import pyarrow.parquet as pq

    stream = in_memory(stream)
    file = how.files.enter_context(pq.ParquetFile(stream))
    schema, about = file.schema_arrow, file.metadata
    check_unique(schema.names, how.name)
    size = _size(stream)
    how.limit.check_cells(about.num_rows, len(schema.names), size)
    how.limit.check(sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups)), size)
    leaves = [file.schema.column(i) for i in range(len(file.schema))]
    fixed = sum(leaf.length for leaf in leaves if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY")
    how.limit.check(about.num_rows * fixed, size)
    # Text comes as it is stored, each different value once, and is counted before it is copied to every row.
    # That is asked of all text: the file's word for how its pages are stored is not taken.
    text = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    file = how.files.enter_context(pq.ParquetFile(stream, read_dictionary=text))
    width = max(1, len(schema.names)) * 16
    batches = file.iter_batches(batch_size=max(1000, how.chunk_bytes // width))
    return Read(schema.names, _checked(batches, schema, how, lambda: size))


def read_arrow(stream: Any, how: Reading) -> Read:
    """Arrow's own formats: files, Feather, streams."""
    start = bytes(stream.peek(4)[:4])
    if start == b"\xff\xff\xff\xff":
        counted = Counted(stream)
        reader = pa.ipc.open_stream(pa.PythonFile(counted, "r"))
        check_unique(reader.schema.names, how.name)
        return Read(reader.schema.names, _checked(reader, reader.schema, how, lambda: counted.count))
    if start == b"FEA1":
        # Arrow's reader of this format does not check what it reads: a damaged file ends the process.
        raise TableError(
            f"{how.name} is a Feather file of version 1, which is not read any more",
            "write it again: pandas.read_feather(old).to_feather(new)",
        )
    stream = in_memory(stream)
    size = _size(stream)
    file = pa.ipc.open_file(stream)
    check_unique(file.schema.names, how.name)
    batches = (file.get_batch(i) for i in range(file.num_record_batches))
    return Read(file.schema.names, _checked(batches, file.schema, how, lambda: size))


def _size(stream: Any) -> int:
    place = stream.tell()
    size = stream.seek(0, 2)
    stream.seek(place)
    return int(size)


def _checked(batches: Iterable[Any], schema: Any, how: Reading, size: Callable[[], int]) -> Iterator[Any]:
    """The batches as tables, after a look at all they hold: a damaged file states what is not so.

    ``size`` is how many bytes of the file were read so far.
    """
    n_rows = n_bytes = 0
    for batch in batches:
        n_rows += batch.num_rows
        how.limit.check_cells(n_rows, batch.num_columns, size())
        batch.validate(full=True)
        n_bytes += sum(map(unpacked_size, batch.columns))
        how.limit.check(n_bytes, size())
        columns = [_as_type(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
        yield pa.table(columns, names=schema.names)


def unpacked_size(array: Any) -> int:
    """Bytes that the values take once each row has its own.

    A dictionary and a view hold a value once, however many rows have it:

    >>> unpacked_size(pa.array(["x" * 1000] * 50).dictionary_encode())
    50000
    """
    kind = array.type
    if pa.types.is_struct(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        parts = array.flatten() if pa.types.is_struct(kind) else [array.flatten()]
        return sum(map(unpacked_size, parts))
    if pa.types.is_dictionary(kind):
        if _is_view(kind.value_type) or _has_lengths(kind.value_type):
            return int(pc.sum(_lengths(array.dictionary).take(array.indices)).as_py() or 0)
        return int(array.nbytes)
    return int(pc.sum(_lengths(array)).as_py() or 0) if _is_view(kind) else int(array.nbytes)


def _has_lengths(kind: Any) -> bool:
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)
    )


def _is_view(kind: Any) -> bool:
    return str(kind) in ("string_view", "binary_view")  # the oldest pyarrow does not know them


def _lengths(array: Any) -> Any:
    """Bytes of each value of text, null where it is missing."""
    if not _is_view(array.type):
        return pc.cast(pc.binary_length(array), pa.int64())
    # A view is 16 bytes, of which the first four are the length.
    views = np.frombuffer(array.buffers()[1], np.int32)[::4][array.offset :][: len(array)]
    return pc.if_else(pc.is_valid(array), pa.array(views, pa.int64()), pa.scalar(None, pa.int64()))


def _as_type(column: Any, kind: Any) -> Any:
    """Text that was read as a dictionary, as the type that the file states."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:  # a view; a dictionary is as good
        return column
