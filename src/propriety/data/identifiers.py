"""Categorical columns that name rows rather than describe them."""

from __future__ import annotations

import warnings

from propriety.data.table import Schema

_FEW = 50  # categories; a small table may have as many by right
_ROWS_EACH = 2.0  # on average, below which a category has too few rows to tell anything


class IdentifierWarning(UserWarning):
    """A categorical column has nearly as many categories as rows."""


def warn_of_identifiers(schema: Schema, rows: float, stacklevel: int = 4) -> None:
    """Warn of categorical columns with fewer than two of the `rows` for each category.

    >>> schema = Schema((None, tuple(range(80))), ("size", "part"))
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_of_identifiers(schema, rows=100.0)
    >>> print(seen[0].message)
    the column 'part' has 80 categories in 100 rows, too few rows of each to learn from; ...
    """
    if all(categories is None for categories in schema.categories):
        return
    for name, count in zip(schema.labels, schema.n_categories, strict=True):
        if count >= _FEW and count * _ROWS_EACH > rows:
            warnings.warn(
                f"the column {name!r} has {count} categories in {rows:g} rows, too few rows of each to learn "
                "from; leave it out if it is an identifier, give it as a number if its order means something,"
                " or group its categories",
                IdentifierWarning,
                stacklevel=stacklevel,
            )
