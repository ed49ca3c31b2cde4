"""Arrow arrays as text, numbers, dates and categories; what does not convert is named with its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from propriety.tables.errors import TableError

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


def as_text(array: Any) -> Any:
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


def with_missing(text: Any, markers: Sequence[str]) -> Any:
    """The text with markers of missing values as nulls."""
    is_marker = pc.is_in(pc.utf8_lower(text), value_set=pa.array([m.lower() for m in markers], pa.string()))
    return pc.if_else(is_marker, pa.scalar(None, pa.string()), text)


def text_or_missing(array: Any, markers: Sequence[str]) -> Any:
    """The values as trimmed text, null where missing; each different text is looked at once."""
    array = _plain(array)
    if not pa.types.is_string(array.type):
        return with_missing(as_text(array), markers)
    return _each_once(array, lambda text: with_missing(as_text(text), markers))


def _each_once(text: Any, function: Callable[[Any], Any]) -> Any:
    """A function of text, called with the different ones."""
    whole = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    encoded = whole.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return pa.chunked_array([function(encoded.dictionary).take(encoded.indices)])


def as_number(array: Any, markers: Sequence[str], decimal: str = ".") -> Any:
    """The values as float64, or pyarrow's error if one is no number."""
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

    def number(text: Any) -> Any:
        text = with_missing(as_text(text), markers)
        return pc.cast(pc.replace_substring(text, ",", ".") if decimal == "," else text, pa.float64())

    return _each_once(array, number) if pa.types.is_string(array.type) else number(array)


def as_date(array: Any, markers: Sequence[str], form: str) -> Any:
    """The values as timestamps; null where the text is no date of this form."""
    array = _plain(array)
    if pa.types.is_temporal(array.type):
        return pc.cast(array, pa.timestamp("us"), safe=False)
    text = text_or_missing(array, markers)
    if form in (ISO, ISO_ZONE):
        kind = pa.timestamp("us") if form == ISO else pa.timestamp("us", "UTC")
        return pc.cast(_cast_or_null(text, kind), pa.timestamp("us"))
    return pc.cast(pc.strptime(text, format=form, unit="s", error_is_null=True), pa.timestamp("us"))


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
        return pa.chunked_array([pa.array(out, kind)])


def as_category(array: Any, markers: Sequence[str], categories: Sequence[str]) -> tuple[Any, int]:
    """The values as a dictionary array over `categories`, and how many are of no known one (null)."""
    text = text_or_missing(array, markers)
    known = pa.array(list(categories), pa.string())
    indices = pc.index_in(text, value_set=known, skip_nulls=True)
    unknown = pc.sum(pc.and_(pc.is_valid(text), pc.is_null(indices))).as_py() or 0
    chunks = [pa.DictionaryArray.from_arrays(c.cast(pa.int32()), known) for c in _chunks(indices)]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string())), unknown


def is_numeric(kind: Any) -> bool:
    """Whether a column of this type is numbers: integers, floats, decimals, truth values."""
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )


def is_usable(kind: Any) -> bool:
    """Whether a column of this type can be text, numbers or dates: not nested, not binary."""
    if pa.types.is_dictionary(kind):
        return is_usable(kind.value_type)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    time = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return text or time or is_numeric(kind) or str(kind) == "string_view"


def first_bad(array: Any, markers: Sequence[str], decimal: str) -> tuple[int, str] | None:
    """Position and text of the first value that is no number."""
    text = text_or_missing(array, markers)
    for i, value in enumerate(text.to_pylist()):
        if value is None:
            continue
        try:
            float(value.replace(",", ".") if decimal == "," else value)
        except ValueError:
            return i, value
    return None


def check_usable(name: str, kind: Any) -> None:
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


def _chunks(array: Any) -> list[Any]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def as_numpy(values: Any) -> Any:
    """An Arrow array as a NumPy array."""
    return np.asarray(
        values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(zero_copy_only=False)
    )
