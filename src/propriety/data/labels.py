"""Labels that say by their name which of two classes is the one to find."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from propriety import memory
from propriety.aliases import Label
from propriety.costs import PositiveClassWarning, ResolvedCosts
from propriety.data.table import is_number, refuse_query

#: Labels of the class to find, in any case of letters.
POSITIVE = {
    "1", "true", "yes", "y", "t", "positive", "pos", "p", "+", "bad", "malignant", "m", "default", "fraud",
    "spam", "churn", "churned", "sick", "ill", "diseased", "dead", "died", "failure", "fail", "failed",
    "event", "case", "abnormal", "anomaly", "attack", "won", "win", "success", "bought", "click",
    "on", "present",
}  # fmt: skip
#: Labels of the other one.
NEGATIVE = {
    "0", "-1", "false", "no", "n", "f", "negative", "neg", "-", "good", "benign", "b", "ok", "ham", "healthy",
    "alive", "normal", "none", "control", "off", "absent",
}  # fmt: skip


def as_labels(y: Any) -> NDArray[Any]:
    """Labels as an array; nullable whole numbers and truth values of pandas stay what they are.

    >>> import pandas as pd
    >>> as_labels(pd.Series([1, 0], dtype="Int64")), as_labels(pd.Series([True, False], dtype="boolean"))
    (array([1, 0]), array([ True, False]))
    """
    if are_labels(y):
        return np.ascontiguousarray(y)
    refuse_query(y, "y")
    if hasattr(y, "isna") and getattr(y, "ndim", 0) == 1 and y.isna().any():
        raise ValueError(
            f"Input y contains NaN: {y.isna().sum()} of {len(y)} labels are missing; drop the rows"
        )
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if isinstance(plain, np.dtype) and plain.kind in "iub":
        y = y.to_numpy(dtype=plain)
    return column_or_1d(y, warn=True)


def are_labels(y: ArrayLike) -> bool:
    """Whether this is an array of labels and can be nothing else, so that nobody need look at its values.

    >>> are_labels(np.array([0, 1])), are_labels(np.array([0.5, 1.0])), are_labels([0, 1])
    (True, False, False)
    """
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuU"


class CodedLabels:
    """Labels that come in Arrow columns, each of them a number into the list of different ones.

    Parameters
    ----------
    name : str
        Of the column, for errors.
    most : int
        How many different labels there may be.

    Examples
    --------
    >>> import pyarrow as pa
    >>> labels = CodedLabels("y", 100)
    >>> labels.add(pa.array(["no", "yes", "no"]))
    >>> labels.ended().codes, labels.values
    (array([0, 1, 0], dtype=uint8), array(['no', 'yes'], dtype=object))
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._place: dict[Any, int] = {}
        self._parts: list[NDArray[np.unsignedinteger]] = []
        self._type: Any = None
        self.values: NDArray[Any] = np.empty(0)
        self.codes: NDArray[np.unsignedinteger] = np.empty(0, dtype=np.uint8)

    def add(self, column: Any) -> None:
        """Take in the labels of more rows."""
        codes, missing = self._encode(column, learn=True)
        if missing:
            raise ValueError(
                f"the target column {self._name!r} has rows without a label: drop them, for example by a "
                "filter of the source"
            )
        self._parts.append(codes.astype(np.uint8 if len(self._place) <= 256 else np.uint16))

    def ended(self) -> CodedLabels:
        """The same, when all labels are in."""
        import pyarrow as pa

        self.codes = memory.kept(np.concatenate(self._parts)) if self._parts else self.codes
        self._parts = []
        values = pa.array(list(self._place), type=self._type)
        self.values = values.to_numpy(zero_copy_only=False)
        return self

    def check_same(self, column: Any, start: int) -> None:
        """Refuse labels that are not those that the rows from `start` on had."""
        codes, _ = self._encode(column, learn=False)
        if not np.array_equal(codes, self.codes[start : start + len(codes)]):
            raise ValueError(
                "the source has other rows, or has them in another order, than when it was read first: sort "
                "its query, or write it to Parquet files once and scan those"
            )

    def _encode(self, column: Any, *, learn: bool) -> tuple[NDArray[np.int64], bool]:
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        self._type = column.type.value_type if self._type is None else self._type
        values = column.dictionary.to_pylist()
        if learn:
            for value in values:
                self._place.setdefault(value, len(self._place))
            if len(self._place) > self._most:
                raise ValueError(
                    f"the target column {self._name!r} has more than {self._most:,} different labels: is it "
                    "a class? Classes are what is to be told apart"
                )
        table = np.array([self._place.get(value, -1) for value in values] + [-1], dtype=np.int64)
        places = column.indices.cast(pa.int64()).fill_null(len(values)).to_numpy(zero_copy_only=False)
        return table[places], bool(column.null_count)

    def __len__(self) -> int:
        return len(self.codes)


def named_positive(a: str, b: str) -> tuple[str, str] | None:
    """Which of two labels is the class to find by what they say, and why; None if they do not say.

    >>> named_positive("bad", "good"), named_positive("3", "4"), named_positive("left", "right")
    (('bad', 'by its name'), ('4', 'the larger number'), None)
    """
    for one, other in ((b, a), (a, b)):
        if one.lower() in POSITIVE and other.lower() not in POSITIVE:
            return one, "by its name"
    for one, other in ((b, a), (a, b)):
        if other.lower() in NEGATIVE and one.lower() not in NEGATIVE:
            return one, "by the other's name"
    if is_number(a) and is_number(b):
        return max(a, b, key=float), "the larger number"
    return None


def settles(classes: NDArray[Any]) -> bool:
    """Whether two classes in sorted order say that the last is the one to find; numbers and truth values do.

    >>> import numpy as np
    >>> settles(np.array(["no", "yes"])), settles(np.array(["bad", "good"])), settles(np.array([0, 1]))
    (True, False, True)
    """
    labels = classes.tolist()
    if not all(isinstance(label, str) for label in labels):
        return True
    named = named_positive(*labels)
    return named is not None and named[0] == labels[1]


def warn_of_side(classes: NDArray[Any], costs: ResolvedCosts, pos_label: Label, stacklevel: int = 4) -> None:
    """Warn if costs differ and nothing says which class they are for.

    >>> import numpy as np
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_of_side(np.array(["bad", "good"]), ResolvedCosts.of_mistakes(1, 5), None)
    >>> print(seen[0].message)
    'good' was taken as the class whose miss costs fn_cost, because it is the last in sorted order; ...
    """
    if pos_label is not None or not costs.sided or settles(classes):
        return
    first, last = classes.tolist()
    warnings.warn(
        f"{last!r} was taken as the class whose miss costs fn_cost, because it is the last in sorted order; "
        f"give pos_label={first!r} or pos_label={last!r} to say which it is",
        PositiveClassWarning,
        stacklevel=stacklevel,
    )
