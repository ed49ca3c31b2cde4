"""Tables in: names, categories and missing values of NumPy arrays, sparse matrices and data frames.

A :class:`Schema` is what a fitted model knows of its columns; a :class:`Table` is one table read by it.
Learners see numbers only: NaN is missing, a category is its index in the schema.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from propriety.aliases import MatrixLike
from propriety.cached_properties import cached_property
from propriety.communicator import SINGLE, Communicator
from propriety.data.lazy import is_dask, is_ray
from propriety.data.stream import Stream

_CHUNK = 16384
_FEW = 1 << 18  # cells of a data frame whose columns are read once
_FRAME_CHUNK = 65536  # rows of a data frame: each of its columns is converted once for so many


def is_sparse(X: MatrixLike) -> bool:
    """Whether X is a sparse matrix: SciPy's own test leaves a type checker with a type that cannot be used.

    >>> is_sparse(sparse.eye_array(2)), is_sparse(np.eye(2))
    (True, False)
    """
    return bool(sparse.issparse(X))


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a data frame that narwhals reads: pandas, polars, Arrow and others."""
    return not isinstance(X, np.ndarray) and isinstance(
        nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame
    )


class Stacked:
    """Tables of the same columns, one below the other, each left where it is.

    >>> Stacked([np.zeros((2, 3)), np.ones((1, 3))]).shape
    (3, 3)
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = tuple(parts)
        widths = {part.shape[1] for part in self.parts}
        if len(widths) != 1:
            raise ValueError(f"the parts of a table must have the same columns, got {sorted(widths)} columns")
        self.shape = sum(part.shape[0] for part in self.parts), widths.pop()

    def __len__(self) -> int:
        return int(self.shape[0])


class Rows:
    """Some rows of a data frame, which stays where it is: a learner takes its columns one at a time.

    >>> import pyarrow as pa
    >>> rows = Rows(pa.table({"x": [5.0, 6.0, 7.0]}), np.array([2, 0]))
    >>> rows.shape, rows.taken().to_pydict(), Schema.fit(rows)[1].column(0)
    ((2, 1), {'x': [7.0, 5.0]}, array([7., 5.]))
    """

    def __init__(self, frame: Any, places: NDArray[np.intp]) -> None:
        self.frame, self.places = frame, places
        self.shape = len(places), frame.shape[1]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Rows:
        return Rows(self.frame, self.places[rows])

    def taken(self) -> Any:
        """A data frame of these rows alone."""
        frame = nw.from_native(self.frame, eager_only=True)
        if not len(self):
            return frame[:0].to_native()
        # Of a column in many chunks, Arrow joins all that it is given before it takes some.
        first = int(self.places.min())
        return frame[first : int(self.places.max()) + 1][self.places - first].to_native()


@dataclass(frozen=True)
class Schema:
    """The columns of the training table.

    Attributes
    ----------
    categories : tuple
        Per column the sorted values of a categorical one, None for a numeric one.
    names : tuple of str or None
        Column names, if the table has them.
    """

    categories: tuple[tuple[Any, ...] | None, ...]
    names: tuple[str, ...] | None

    @classmethod
    def fit(
        cls,
        X: Any,
        categorical: Any = "from_dtype",
        communicator: Communicator = SINGLE,
        *,
        weightless: bool = False,
    ) -> tuple[Schema, Table]:
        """Read the training table, whose rows may be spread over processes.

        ``categorical`` is ``"from_dtype"`` (columns of categories and of text in a data frame), None, a mask,
        or names or positions of columns. ``weightless`` rows are those of a process in which none has a
        weight: their categories do not count.

        >>> schema, table = Schema.fit(np.array([[1.0, 7.0], [2.0, 5.0]]), categorical=[1])
        >>> schema.categories, table.column(1)
        ((None, (5.0, 7.0)), array([1., 0.]))
        """
        X = _as_columns(X)
        parts = X.parts if isinstance(X, Stacked) else (X,)
        own = join_schemas([cls._of(part[:0] if weightless else part, categorical) for part in parts])
        schema = join_schemas(communicator.gather(own))
        return schema, Table(X, schema)

    @classmethod
    def _of(cls, X: Any, categorical: Any) -> Schema:
        frame = X.frame if isinstance(X, Rows) else X
        named = isinstance(frame, nw.DataFrame) and all(isinstance(name, str) for name in frame.columns)
        names = tuple(frame.columns) if named else None
        d = X.shape[1]
        chosen = categorical_columns(frame, names, d, categorical)
        return cls(tuple(categories_of(X, f) if f in chosen else None for f in range(d)), names)

    def read(self, X: Any) -> Table:
        """Read another table with the same columns."""
        return Table(_as_columns(X), self)

    def position(self, column: Any) -> int:
        """Position of a column given by name or number.

        >>> Schema((None, None), ("age", "size")).position("size")
        1
        """
        return _position(column, self.names, len(self.categories))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns, or x0, x1, … if they have none."""
        return self.names or tuple(f"x{f}" for f in range(len(self.categories)))

    @property
    def n_categories(self) -> list[int]:
        """Number of categories per column, 0 for a numeric one."""
        return [0 if c is None else max(1, len(c)) for c in self.categories]


class Table:
    """A table as numbers, read column by column so that it is never copied whole."""

    def __init__(self, X: Any, schema: Schema) -> None:
        self._X: Any = X
        self._schema = schema
        self.shape = self.n_rows, self.n_features = X.shape
        self._read: dict[tuple[int, bool], NDArray[Any]] = {}  # columns of a small data frame
        self.content_hashes: NDArray[np.uint64] | None = None  # while a fit asks for them more than once

    @property
    def dense(self) -> NDArray[np.floating] | None:
        """The array itself, if it is one; its categorical columns are not encoded."""
        return self._X if isinstance(self._X, np.ndarray) else None

    @property
    def arrays(self) -> tuple[NDArray[np.floating], ...]:
        """The arrays that the table consists of, one below the other; none if it is of another kind."""
        parts = self._X.parts if isinstance(self._X, Stacked) else (self._X,)
        return parts if all(isinstance(part, np.ndarray) for part in parts) else ()

    @property
    def matrix(self) -> Any:
        """The float array or CSR matrix of a table that holds numbers only."""
        return self._X

    @property
    def schema(self) -> Schema:
        """The columns that it is read by."""
        return self._schema

    @property
    def native(self) -> Any:
        """The table as it was given: a data frame of its own kind, an array or a sparse matrix."""
        return self._X.to_native() if isinstance(self._X, nw.DataFrame) else self._X

    def release(self) -> None:
        """Give up what was kept for a fit."""
        self.content_hashes = None

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Some of the rows.

        >>> Schema.fit(np.array([[1.0], [2.0], [3.0]]))[1].take(np.array([2, 0])).column(0)
        array([3., 1.])
        """
        return Table(self._X[rows], self._schema)

    @cached_property
    def _by_column(self) -> Any:
        return self._X.tocsc()

    def parts(
        self, features: Sequence[int], rows: NDArray[np.intp] | None = None, *, codes: bool = False
    ) -> Iterator[tuple[Any, Callable[[int], NDArray[Any]]]]:
        """Which rows, and their columns by number, at least the ``rows`` asked for: here all at once."""
        if rows is None or not self.arrays or any(self._schema.categories[f] is not None for f in features):
            yield slice(0, self.n_rows), partial(self.column, codes=codes)
            return
        # Rows lie all over memory, and a row is read for all of its columns at once.
        chosen, first = [], 0
        for X in self.arrays:
            here = rows[slice(*np.searchsorted(rows, [first, first + len(X)]))]
            chosen.append(X[np.ix_(here - first, np.asarray(features))])
            first += len(X)
        values, place = np.concatenate(chosen), {f: k for k, f in enumerate(features)}
        yield rows, lambda f: values[:, place[f]]

    def column(self, f: int, *, codes: bool = False) -> NDArray[Any]:
        """Column ``f`` as numbers: NaN is missing or unknown, categories are their index.

        With ``codes`` categories are whole numbers, in as few bytes as hold them, and −1 is missing.
        """
        if not isinstance(self._X, nw.DataFrame) or self.n_rows * self.n_features > _FEW:
            return self._numbers(f, codes)
        # A data frame takes longer to hand out a column of few rows than the rest of a small fit.
        if (f, codes) not in self._read:
            self._read[f, codes] = self._numbers(f, codes)
        return self._read[f, codes]

    def _numbers(self, f: int, codes: bool) -> NDArray[Any]:
        if isinstance(self._X, Stacked):
            tables = [Table(part, self._schema) for part in self._X.parts]
            return np.concatenate([table.column(f, codes=codes) for table in tables])
        if isinstance(self._X, Rows) and self._schema.categories[f] is None:
            return Table(self._X.frame, self._schema).column(f)[self._X.places]
        categories = self._schema.categories[f]
        if categories is not None:
            own, values = _factorize(self._X, f)
            kind, missing = (np.min_scalar_type(~len(categories)), -1) if codes else (np.float64, np.nan)
            index = {value: i for i, value in enumerate(categories)}
            numbers = [index.get(value, missing) for value in values]
            return np.array([*numbers, missing], dtype=kind).take(own)
        if is_sparse(self._X):
            start, stop = self._by_column.indptr[f : f + 2]
            column = np.zeros(self.n_rows)
            column[self._by_column.indices[start:stop]] = self._by_column.data[start:stop]
            return column
        if isinstance(self._X, np.ndarray):
            return self._X[:, f]
        return _to_float(self._X, f)

    def chunks(self, encode: Sequence[Any]) -> Iterator[tuple[int, int, NDArray[np.floating]]]:
        """Yield (start, stop, C-contiguous array) over the rows; ``encode[f]`` maps codes or is None."""
        plain = all(e is None for e in encode)
        if plain and isinstance(self._X, np.ndarray):
            yield 0, self.n_rows, np.ascontiguousarray(self._X)
        elif plain and is_sparse(self._X):
            rows: Any = self._X.tocsr()
            for start in range(0, self.n_rows, _CHUNK):
                stop = min(start + _CHUNK, self.n_rows)
                yield start, stop, rows[start:stop].toarray().astype(np.float64)
        elif isinstance(self._X, nw.DataFrame):
            for start in range(0, self.n_rows, _FRAME_CHUNK):
                part = Table(self._X[start : start + _FRAME_CHUNK], self._schema)
                yield start, start + part.n_rows, part._values(encode)
        else:
            yield 0, self.n_rows, self._values(encode)

    def _values(self, encode: Sequence[Any]) -> NDArray[np.floating]:
        """All rows as a C-contiguous array."""
        values = np.empty((self.n_rows, self.n_features))
        for f in range(self.n_features):
            column = self.column(f)
            values[:, f] = column if encode[f] is None else encode[f](column)
        return values


def of_codes(bins: NDArray[np.float64], codes: NDArray[np.floating]) -> NDArray[np.float64]:
    """The bin of each category code; missing stays missing.

    >>> of_codes(np.array([1.0, 0.0]), np.array([0.0, np.nan]))
    array([ 1., nan])
    """
    return np.append(bins, np.nan).take(np.where(np.isnan(codes), -1, codes).astype(np.intp))


def encoders(category_bins: Iterable[NDArray[np.float64] | None]) -> list[Any]:
    """What turns the codes of each categorical column into bins; None for a numeric one."""
    return [None if bins is None else partial(of_codes, bins) for bins in category_bins]


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of any table, in its own kind; ``rows`` are in order.

    >>> take_rows([[1.0], [2.0], [3.0]], np.array([0, 2])).tolist()
    [[1.0], [3.0]]
    """
    if isinstance(X, Stacked):
        ends = np.cumsum([part.shape[0] for part in X.parts])
        cuts = np.searchsorted(rows, [0, *ends])
        spans = zip(X.parts, [0, *ends[:-1]], cuts[:-1], cuts[1:], strict=True)
        return Stacked([take_rows(part, rows[a:b] - first) for part, first, a, b in spans if b > a])
    if isinstance(X, Rows):
        return X[rows]
    if is_frame(X):
        return nw.from_native(X, eager_only=True)[rows].to_native()
    if is_sparse(X):
        return (X if X.format in ("csc", "csr") else X.tocsr())[rows]
    return np.asarray(X)[rows]


def join_schemas(schemas: list[Schema]) -> Schema:
    """One schema of several parts of a table: every category that a part has."""
    first = schemas[0]
    if len(schemas) == 1:
        return first
    kinds = [tuple(c is None for c in schema.categories) for schema in schemas]
    for schema, kind in zip(schemas, kinds, strict=True):
        if schema.names != first.names or kind != kinds[0]:
            raise ValueError(
                "the parts of the table differ in their columns, or in which of them are categorical: "
                f"{list(first.labels)} and {list(schema.labels)}"
            )
    columns = zip(*(schema.categories for schema in schemas), strict=True)
    return Schema(
        tuple(None if column[0] is None else ordered(set().union(*column)) for column in columns),
        first.names,
    )


def ordered(values: Iterable[Any]) -> tuple[Any, ...]:
    """Categories in their order: numbers, then text."""
    return tuple(sorted(values, key=lambda v: (isinstance(v, str), v)))


def _as_columns(X: Any) -> Any:
    """A narwhals data frame, a float array or a CSC matrix; anything else is refused with the reason."""
    if isinstance(X, Stacked):
        return Stacked([_as_columns(part) for part in X.parts])
    if isinstance(X, Rows):
        return Rows(_as_columns(X.frame), X.places)
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        if min(frame.shape) == 0:
            raise ValueError(
                f"Found array with {frame.shape[0]} sample(s) and {frame.shape[1]} feature(s) "
                f"(shape={frame.shape}) while a minimum of 1 is required."
            )
        return frame
    return as_array(X)


def as_array(X: MatrixLike, sparse_formats: tuple[str, ...] = ("csc", "csr")) -> Any:
    """A two-dimensional float array or a sparse matrix; NaN is missing, infinite values are allowed."""
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in (np.float64, np.float32):
        return X  # nothing to check: for one row, the checks take longer than its prediction
    refuse_query(X)
    _check_indices(X)
    array = check_array(
        X,
        accept_sparse=sparse_formats,
        dtype=(np.float64, np.float32),
        ensure_all_finite=False,
        input_name="X",
    )
    if is_sparse(array):
        if array is not X:
            _check_indices(array)
        if not array.has_canonical_format:  # a cell given twice is a sum
            array = array.copy()
            array.sum_duplicates()
    return array


def refuse_query(X: MatrixLike, name: str = "X") -> None:
    """Refuse a query, such as a polars LazyFrame or a relation of DuckDB: its rows may come in any order."""
    if isinstance(X, np.ndarray):  # by far the most common, and the test below takes longer than a prediction
        return
    if is_dask(X):
        raise TypeError(
            f"X is a Dask {type(X).__name__}, and this takes tables that are in memory: give X.compute(), or "
            "fit an estimator that takes Dask collections, such as BoostingClassifier"
        )
    if is_ray(X):
        raise TypeError(
            "X is a Ray Dataset, and this takes tables that are in memory: give X.to_pandas(), or use "
            "propriety.ray.predict_proba(model, X) for a fitted model"
        )
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        kind = type(X).__name__
        how = ".df() or .pl()" if kind.startswith("DuckDB") else ".collect()"
        raise TypeError(
            f"{name} is a {kind}, a query: its rows are not there yet, and may come in another order each "
            "time; give BoostingClassifier.fit propriety.scan(X, target=…), which reads it in parts, or what "
            f"its {how} makes, with X and y taken from the same table"
        )
    if isinstance(X, Stream):
        raise TypeError(
            "X is a propriety.scan, whose rows are read in parts, which BoostingClassifier can do; give this "
            "one a table, such as its .to_arrow() makes"
        )


def _check_indices(X: Any) -> None:
    """Refuse a sparse matrix whose indices lie outside of it: compiled code does not test them."""
    if not is_sparse(X):
        return
    try:
        if X.format == "coo":
            pairs = zip((X.row, X.col), X.shape, strict=True)
            if any(len(i) != X.nnz or (i.size and not 0 <= i.min() <= i.max() < n) for i, n in pairs):
                raise ValueError("a coordinate lies outside of the matrix")
        elif hasattr(X, "check_format"):
            X.check_format(full_check=True)
            if len(X.indices) != len(X.data):
                raise ValueError("indices and data are of different lengths")
    except ValueError as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}") from None


def _position(column: Any, names: tuple[str, ...] | None, d: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise ValueError(
                f"there is no column {column!r}; columns are {'unnamed' if names is None else list(names)}"
            )
        return names.index(column)
    if not isinstance(column, numbers.Integral) or not -d <= int(column) < d:
        raise ValueError(f"there is no column {column!r}; there are {d} columns")
    return int(column) % d


def categorical_columns(X: Any, names: tuple[str, ...] | None, d: int, categorical: Any) -> set[int]:
    """The columns that are categorical, by position: as they say themselves, or as the user does."""
    if isinstance(categorical, str) and categorical == "from_dtype":
        if not isinstance(X, nw.DataFrame):
            return set()
        kinds = (nw.Categorical, nw.Enum)
        types = list(enumerate(X.schema.dtypes()))
        text = {f for f, kind in types if isinstance(kind, nw.String) and _is_text(X, f)}
        return text | {f for f, kind in types if isinstance(kind, kinds)}
    if categorical is None:
        return set()
    if isinstance(categorical, str):
        raise ValueError(
            f"categorical_features must be 'from_dtype', None, a mask or a list, got {categorical!r}"
        )
    given = list(categorical)
    if given and all(isinstance(c, bool | np.bool_) for c in given):
        if len(given) != d:
            raise ValueError(f"a mask of categorical features needs {d} entries, got {len(given)}")
        return {f for f, c in enumerate(given) if c}
    return {_position(c, names, d) for c in given}


def _is_text(frame: nw.DataFrame[Any], f: int) -> bool:
    """Whether a column of text holds any; numbers written as text are refused."""
    values = _factorize(frame, f)[1]
    if values and all(isinstance(value, str) and is_number(value) for value in values):
        name = frame.columns[f]
        raise ValueError(
            f"the column {name!r} holds numbers written as text, such as {values[0]!r}: make them numbers, "
            "in pandas by pd.to_numeric, or name the column in categorical_features if they are codes"
        )
    return any(value is not None for value in values)


def is_number(text: str) -> bool:
    """Whether text is a number.

    >>> is_number("1e3"), is_number("1,000"), is_number("nan")
    (True, False, False)
    """
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def categories_of(X: MatrixLike, f: int) -> tuple[Any, ...]:
    """The values of a column, in their order."""
    codes, values = _factorize(X, f)
    seen = np.zeros(len(values) + 1, dtype=bool)
    seen[codes] = True  # −1, for missing, is the last
    return ordered(values[i] for i in np.flatnonzero(seen[:-1]))


def _factorize(X: Any, f: int) -> tuple[NDArray[np.signedinteger], list[Any]]:
    """Codes, −1 for missing, into a list of values, not all of which need to occur."""
    if isinstance(X, Rows):
        return _factorize(X.frame[:, [f]][X.places], 0)
    if not isinstance(X, nw.DataFrame):
        column = Table(X, Schema((None,) * X.shape[1], None)).column(f)
        values, codes = np.unique(column, return_inverse=True)
        missing = np.isnan(values)
        return np.where(missing[codes], -1, codes), values.tolist()
    series = X[:, f]
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if hasattr(native, "cat"):  # has codes already, often of one byte
            return native.cat.codes.to_numpy(), list(native.cat.categories)
        codes, values = native.factorize()
        return np.asarray(codes, dtype=np.intp), list(values)
    if series.implementation.is_pyarrow():
        encoded = native.combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        indices = encoded.indices
        indices = indices if str(indices.type).startswith("int") else indices.cast("int64")
        codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes.astype(np.intp), encoded.dictionary.to_pylist()
    category = series.cast(nw.String).cast(nw.Categorical)
    physical = category.to_native().to_physical().fill_null(2**32 - 1).to_numpy().astype(np.int64)
    distinct, inverse = np.unique(physical, return_inverse=True)
    first = np.unique(inverse, return_index=True)[1]
    heads = [series[int(i)] for i in first]
    codes = np.where(distinct == 2**32 - 1, -1, np.arange(len(distinct)))[inverse]
    return codes.astype(np.intp), heads


def _to_float(frame: nw.DataFrame[Any], f: int) -> NDArray[np.float64]:
    name = frame.columns[f]
    series = frame[:, f]
    kind = series.dtype
    if isinstance(kind, nw.Unknown) and series.null_count() == len(series):  # Arrow's type of nothing
        return np.full(len(series), np.nan)
    if not (kind.is_numeric() or isinstance(kind, nw.Boolean | nw.Object)):
        raise ValueError(
            f"could not convert column {name!r} of type {kind} to numbers; make it categorical, or name it "
            "in categorical_features"
        )
    native = series.to_native()
    try:
        if series.implementation.is_pandas_like():
            return native.to_numpy(dtype=np.float64, na_value=np.nan)
        return series.cast(nw.Float64).to_numpy().astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"could not convert column {name!r} to numbers: {error}") from error


def named_column(X: Any, column: str, term: str) -> NDArray[np.float64]:
    """The numbers of a column of a data frame that a cost term names.

    >>> import pandas as pd
    >>> named_column(pd.DataFrame({"amount": [3, 4]}), "amount", "fn_cost")
    array([3., 4.])
    """
    if isinstance(X, Stream):
        batches = X.having([column]).batches([column])
        return np.concatenate([named_column(batch, column, term) for batch in batches])
    if isinstance(X, Stacked):
        return np.concatenate([named_column(part, column, term) for part in X.parts])
    if not is_frame(X):
        raise ValueError(
            f"{term}={column!r} names a column, and X has no names: give a data frame, or a function of X"
        )
    frame = nw.from_native(X, eager_only=True)
    if column not in frame.columns:
        raise ValueError(f"{term}={column!r} is not a column of X; it has {list(frame.columns)}")
    return _to_float(frame, frame.columns.index(column))
