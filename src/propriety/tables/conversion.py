"""Arrow arrays as text, numbers, dates and categories; what does not convert is named with its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from propriety.tables.errors import TableError

#: A column of an Arrow table, in one piece or in several.
ArrowColumn: TypeAlias = pa.Array | pa.ChunkedArray
#: Text that stands for a missing value, in any case of letters.
MISSING = ("", "?", "-", ".", "na", "n/a", "nan", "null", "none", "nil", "#n/a", "missing", "nat")
#: Formats of dates besides ISO 8601, tried in this order; the first that fits every value is taken.
DATE_FORMATS = (
    "%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y", "%d-%b-%Y",
    "%d.%m.%y", "%m/%d/%y", "%d/%m/%y",
)  # fmt: skip
_FEW = 1000  # values that are tried before all are
TIMES = ("", " %H:%M", " %H:%M:%S")
ISO, ISO_ZONE = "iso", "iso with zone"


def as_text(array: ArrowColumn) -> ArrowColumn:
    """The values as trimmed text: whole floats as whole numbers, truth values as true and false."""
    array = _plain(array)
    kind = array.type
    if pa.types.is_floating(kind):
        whole = pc.and_(pc.equal(array, pc.round(array)), pc.less(pc.abs(array), 1e15))
        integers = pc.cast(pc.if_else(pc.fill_null(whole, False), array, 0.0), pa.int64())
        text = pc.if_else(
            pc.fill_null(whole, False), pc.cast(integers, pa.string()), pc.cast(array, pa.string())
        )
        return pc.if_else(pc.is_valid(array), text, pa.scalar(None, pa.string()))
    if not pa.types.is_string(kind):
        array = pc.cast(array, pa.string())
    return pc.utf8_trim_whitespace(array)


def with_missing(text: ArrowColumn, markers: Sequence[str]) -> ArrowColumn:
    """The text with markers of missing values as nulls."""
    is_marker = pc.is_in(pc.utf8_lower(text), value_set=pa.array([m.lower() for m in markers], pa.string()))
    return pc.if_else(is_marker, pa.scalar(None, pa.string()), text)


def text_or_missing(array: ArrowColumn, markers: Sequence[str]) -> ArrowColumn:
    """The values as trimmed text in a dictionary, null where missing; each different value is looked at once.

    >>> text = text_or_missing(pa.chunked_array([["a ", "b", "NA"], ["a"]]), ["na"])
    >>> text.to_pylist(), different(text).to_pylist()
    (['a', 'b', None, 'a'], ['a', 'b'])
    """
    encoded = _encoded(array)
    text = with_missing(as_text(encoded.dictionary), markers).dictionary_encode()
    return pa.DictionaryArray.from_arrays(text.indices.take(encoded.indices), text.dictionary)


def different(text: ArrowColumn) -> ArrowColumn:
    """The different values of a dictionary array that occur, without null."""
    return text.dictionary.take(pc.unique(text.indices.drop_null()))


def _encoded(array: Any) -> Any:
    """The values as one dictionary array."""
    if not pa.types.is_dictionary(array.type):
        array = _plain(array).dictionary_encode()
    elif not pa.types.is_string(array.type.value_type):
        array = pc.cast(array, array.type.value_type).dictionary_encode()
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def as_number(array: ArrowColumn, markers: Sequence[str], decimal: str = ".") -> ArrowColumn:
    """The values as float64, or pyarrow's error if one is not a number."""
    if not (pa.types.is_dictionary(array.type) and is_text(array.type)):
        array = _plain(array)
    if pa.types.is_float64(array.type):
        return array  # a cast would copy it
    if is_numeric(array.type):
        return pc.cast(array, pa.float64(), safe=False)
    if decimal == "." and pa.types.is_string(array.type):
        try:
            pc.cast(array.slice(0, _FEW), pa.float64())
            return pc.cast(array, pa.float64())  # nothing but numbers: by far the most common
        except pa.ArrowInvalid:
            pass
    text = text_or_missing(array, markers)
    written = pc.replace_substring(text.dictionary, ",", ".") if decimal == "," else text.dictionary
    return pa.chunked_array([pc.cast(written, pa.float64()).take(text.indices)])


def as_date(array: ArrowColumn, markers: Sequence[str], form: str) -> ArrowColumn:
    """The values as timestamps; null where the text is no date of this form."""
    return dates_and_others(array, markers, form)[0]


def dates_and_others(array: ArrowColumn, markers: Sequence[str], form: str) -> tuple[Any, int]:
    """The same, and how many values are text that is no date of this form.

    >>> when, others = dates_and_others(pa.array(["2024-02-29", "hello", "2023-02-29", "NA"]), ["na"], ISO)
    >>> when.null_count, others
    (3, 2)
    """
    array = _plain(array)
    if pa.types.is_temporal(array.type):
        return pc.cast(array, pa.timestamp("us"), safe=False), 0
    text = text_or_missing(array, markers)
    if form in (ISO, ISO_ZONE):
        kind = pa.timestamp("us") if form == ISO else pa.timestamp("us", "UTC")
        when = _cast_or_null(text.dictionary, kind)
    else:
        when = pc.strptime(text.dictionary, format=form, unit="s", error_is_null=True)
    dates = pc.cast(when, pa.timestamp("us")).take(text.indices)
    return dates, dates.null_count - text.null_count


def _cast_or_null(text: Any, kind: Any) -> Any:
    try:
        return pc.cast(text, kind)
    except pa.ArrowInvalid:
        # Value by value only where some do not convert.
        out = []
        for value in text.to_pylist():
            try:
                out.append(pa.scalar(value, pa.string()).cast(kind).as_py())
            except pa.ArrowInvalid:
                out.append(None)
        return pa.array(out, kind)


def as_category(array: ArrowColumn, markers: Sequence[str], categories: Sequence[str]) -> tuple[Any, int]:
    """The values as a dictionary array over `categories`, and how many are of no known one (null)."""
    text = text_or_missing(array, markers)
    known = pa.array(list(categories), pa.string())
    indices = pc.index_in(text.dictionary, value_set=known).cast(pa.int32()).take(text.indices)
    unknown = indices.null_count - text.null_count
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, known)]), unknown


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type is numbers: integers, floats, decimals, truth values."""
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type is text, perhaps in a dictionary."""
    return bool(pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind))


def is_usable(kind: pa.DataType) -> bool:
    """Whether a column of this type can be text, numbers or dates: not nested, not binary."""
    if pa.types.is_dictionary(kind):
        return is_usable(kind.value_type)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    time = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return text or time or is_numeric(kind) or str(kind) == "string_view"


def first_bad(array: ArrowColumn, markers: Sequence[str], decimal: str) -> tuple[int, str] | None:
    """Position and text of the first value that is not a number."""
    text = text_or_missing(array, markers)
    for i, value in enumerate(text.to_pylist()):
        if value is None:
            continue
        try:
            float(value.replace(",", ".") if decimal == "," else value)
        except ValueError:
            return i, value
    return None


def check_usable(name: str, kind: pa.DataType) -> None:
    """Refuse nested and binary columns."""
    if not is_usable(kind):
        raise TableError(f"column {name!r} holds values of type {kind}", "flatten it, or drop the column")


def _plain(array: Any) -> Any:
    """The array without dictionary encoding, large or view types."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = pc.cast(array, kind.value_type)
        kind = array.type
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        return pc.cast(array, pa.string())
    return array


def as_numpy(values: Any) -> Any:
    """An Arrow array as a NumPy array."""
    return np.asarray(
        values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(zero_copy_only=False)
    )
