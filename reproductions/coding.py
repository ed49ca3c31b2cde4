"""Tables of the data sets as the papers' learners take them: all columns numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproductions.data import DataSet

Floats = NDArray[np.float64]
_NO_LABEL = ("?", "")


def labelled(rows: DataSet) -> NDArray[np.bool_]:
    """Which rows have a label."""
    return ~np.isin(rows.labels, _NO_LABEL)


def coded(rows: DataSet) -> Floats:
    """Categories as 0, 1, …, NaN for what is missing; a bin for each value does not mind their order."""
    return np.column_stack([_codes(column)[0] for column in rows.table().columns])


def indicators(rows: DataSet) -> Floats:
    """A column of 0 and 1 for each category, one for two of them: a literal says which category it is."""
    columns: list[Floats] = []
    for column in rows.table().columns:
        codes, categories = _codes(column)
        if categories > 2:
            columns += [(codes == k).astype(np.float64) for k in range(categories)]
        else:
            columns.append(codes)
    return np.column_stack(columns)


def _codes(column: Any) -> tuple[Floats, int]:
    """A column of a pyarrow table as numbers, and how many categories it has, 0 for numbers."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64), 0
    whole = column.combine_chunks()
    indices = whole.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(indices, dtype=np.float64), len(whole.dictionary)
