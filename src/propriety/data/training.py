"""Training data, read and checked once for every estimator: the table, the labels and the weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _get_feature_names

from propriety import memory
from propriety.aliases import MatrixLike
from propriety.communicator import SINGLE, Communicator
from propriety.costs import ResolvedCosts
from propriety.data.costs import Costs
from propriety.data.labels import CodedLabels, are_labels, as_labels
from propriety.data.matrix import as_numbers
from propriety.data.namespaces import as_numpy
from propriety.data.stream import Stream
from propriety.data.streamed import FirstPass, first_pass
from propriety.data.table import Rows, Schema, Stacked, Table, as_array, is_frame, refuse_query, take_rows
from propriety.weights import Weights

#: What a learner reads: any table, with missing values and categories, or numbers in every cell.
TABLE, NUMBERS = "table", "numbers"
_MOST_COPIES = 200_000
_TABLE = 1 << 10  # whole numbers from the least to the largest label up to which a table of them pays
_FEW = 20  # rows, up to which scikit-learn takes no labels for numbers


@dataclass(frozen=True, eq=False)
class Training:
    """X, y and sample_weight of a fit.

    Attributes
    ----------
    table : Table
    schema : Schema
        What is known of its columns.
    classes : ndarray of shape (K,)
        The labels that occur with a positive weight, sorted.
    codes : ndarray of shape (n,)
        The index of each row's class.
    weights : Weights
        Of the rows; times what is at stake in each, if that was asked for.
    feature_names : ndarray of str, or None
        Names as scikit-learn knows them.
    costs : ResolvedCosts
        What decisions cost, for each row if that is how it was stated.
    offset : ndarray of shape (n, n_scores), or None
        What the score of each row has before anything is learned.
    groups : ndarray of shape (n,), or None
        The number of each row's group; where rows are held out, no group is parted.
    rows : ndarray of shape (n,), or None
        Which of the rows that were given these are; None: all of them. Rows of weight 0 are left out before
        anything is learned, so that they cannot matter.
    n_given : int
        How many rows were given.
    """

    table: Table
    schema: Schema
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    weights: Weights
    feature_names: NDArray[Any] | None
    costs: ResolvedCosts
    offset: NDArray[np.float64] | None = None
    groups: NDArray[np.intp] | None = None
    rows: NDArray[np.intp] | None = None
    n_given: int = 0

    @classmethod
    def read(
        cls,
        estimator: str,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        reads: str = TABLE,
        categorical: ArrayLike | None = None,
        costs: Costs | None = None,
        known_classes: NDArray[Any] | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        communicator: Communicator = SINGLE,
    ) -> Training:
        """Check everything that `fit` of the named estimator was given.

        `known_classes` are those that a cost matrix is for, if these rows may lack some. With a
        `communicator`, these are the rows of one process, and columns, classes and weights are those of all.

        >>> training = Training.read("TreeClassifier", [[1.0], [2.0], [3.0]], ["b", "a", "c"], [1, 2, 0])
        >>> training.classes.tolist(), training.codes.tolist(), training.n_rows, training.n_given
        (['a', 'b'], [1, 0], 2, 3)
        """
        X, y, sample_weight = as_numpy(X), as_numpy(y), as_numpy(sample_weight)
        streamed: FirstPass | None = None
        labels: NDArray[Any] | CodedLabels
        if isinstance(X, Stream):
            streamed = first_pass(X, categorical, communicator)
            labels, sample_weight = streamed.labels, streamed.weights
            distinct = np.repeat(labels.values, 2)  # as often as not to look like numbers
        else:
            distinct = labels = _labels(estimator, X, y, reads)
        certain = are_labels(distinct)
        if not certain:
            assert_all_finite(distinct, input_name="y")
            check_classification_targets(distinct)
        weights = Weights.read(sample_weight, len(labels), communicator=communicator)
        classes, codes = encode_labels(labels, weights)
        if certain and 2 * len(classes) > len(codes) > _FEW:
            check_classification_targets(distinct)  # which warns of what looks like numbers
        stated = costs or Costs()
        resolved = stated.resolve(classes, X, known_classes)
        if stated.weight_by_stakes:
            weights = staked(weights, resolved, codes)
        n_given = len(codes)
        weights, rows = weights.positive()
        offset, groups = _offset_and_groups(offset, groups, n_given, n_scores_of(len(classes)), rows)
        if rows is not None:
            codes, resolved = memory.kept(codes[rows]), resolved.take(rows)
        if streamed is not None:
            schema = streamed.schema
            table: Table = streamed.table.take(rows)
            feature_names: NDArray[Any] | None = np.asarray(schema.names, dtype=object)
        else:
            weightless = weights.values is not None and not np.any(weights.values)
            X = X if rows is None else take_rows(X, rows)
            feature_names, schema, table = read_table(X, reads, categorical, communicator, weightless)
        return cls(
            table, schema, classes, codes, weights, feature_names, resolved, offset, groups, rows, n_given
        )

    def expanded(self) -> Training:
        """The same training with a row for each copy; as it is if there are too many.

        >>> copies = Training.read("T", [[1.0], [2.0], [3.0]], [0, 1, 1], [2, 1, 0]).expanded()
        >>> copies.codes.tolist(), copies.places.tolist()
        ([0, 0, 1], [0, 0, 1])
        """
        values, most = self.weights.values, max(_MOST_COPIES, 4 * self.n_rows)
        if values is None or not self.weights.copies or self.weights.total > most:
            return self
        rows = np.repeat(np.arange(self.n_rows), values.astype(np.intp))
        return replace(self.take(rows), weights=Weights(len(rows)))

    def take(self, rows: NDArray[np.intp]) -> Training:
        """The training with some of the rows, or with some of them several times."""
        return replace(
            self,
            table=self.table.take(rows),
            codes=self.codes[rows],
            weights=self.weights.take(rows),
            costs=self.costs.take(rows),
            offset=None if self.offset is None else self.offset[rows],
            groups=None if self.groups is None else self.groups[rows],
            rows=self.places[rows],
        )

    @property
    def places(self) -> NDArray[np.intp]:
        """Which of the rows that were given each row is."""
        return np.arange(self.n_given) if self.rows is None else self.rows

    def as_given(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the rows as those of the rows that were given: the mean over copies, NaN for no copy.

        >>> training = Training.read("T", [[1.0], [2.0], [3.0]], [0, 1, 1], [2, 0, 1]).expanded()
        >>> training.as_given(np.array([[1.0], [3.0], [5.0]])).ravel()
        array([ 2., nan,  5.])
        """
        places, weight = self.places, self.weights.array
        mean = np.full((self.n_given, scores.shape[1]), np.nan)
        mean[places] = 0.0
        total = np.bincount(places, weights=weight, minlength=self.n_given)[places]
        share = np.divide(weight, total, out=np.ones_like(weight), where=total > 0)
        np.add.at(mean, places, share[:, None] * scores)
        return mean

    @property
    def communicator(self) -> Communicator:
        """The processes over which the rows are spread."""
        return self.weights.communicator

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.table.n_features

    @property
    def class_weights(self) -> NDArray[np.float64]:
        """Total weight of each class."""
        return self.weights.by_class(self.codes, self.n_classes)

    @property
    def target(self) -> NDArray[np.float64]:
        """1 for rows of class 1 or, of several classes, of the largest one."""
        largest = 1 if self.n_classes == 2 else int(np.argmax(self.class_weights))
        return (self.codes == largest).astype(np.float64)


def _labels(estimator: str, X: Any, y: Any, reads: str) -> NDArray[Any]:
    """The labels of a table, as many as it has rows."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None.")
    refuse_query(X)
    labels = as_labels(y)
    if len(labels) == 0:
        read_table(X, reads, None)  # which says what is missing
    check_consistent_length(X, labels)
    return labels


def _offset_and_groups(
    offset: Any, groups: Any, n_given: int, n_scores: int, rows: NDArray[np.intp] | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.intp] | None]:
    """What is given by row, of all rows or of some."""
    if offset is not None:
        offset = read_offset(offset, n_given, n_scores)
        if n_scores == 1 and np.ptp(offset) > 0 and np.all((offset > 0) & (offset < 1)):
            warnings.warn(
                "the offset is between 0 and 1 in every row, as probabilities are, and is added to the "
                "score as it is; if these are probabilities, give their log-odds",
                UserWarning,
                stacklevel=5,
            )
        offset = offset if rows is None else offset[rows]
    return offset, None if groups is None else read_groups(groups, n_given, rows)


def n_scores_of(n_classes: int) -> int:
    """Scores per row: one for two classes, else one for each class."""
    return 1 if n_classes == 2 else n_classes


def read_offset(offset: ArrayLike, n_rows: int, n_scores: int, name: str = "offset") -> NDArray[np.float64]:
    """Offsets of rows, of shape (n_rows, n_scores); one score may be given as (n_rows,).

    >>> read_offset([0.5, -1], 2, 1).tolist()
    [[0.5], [-1.0]]
    """
    try:
        values = np.array(offset, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold one number for each row, got {offset!r:.60}") from None
    wanted = f"({n_rows},)" if n_scores == 1 else f"({n_rows}, {n_scores}), one number for each class"
    if values.shape not in ((n_rows, n_scores), (n_rows,) if n_scores == 1 else None):
        raise ValueError(f"{name} must have shape {wanted}, got {values.shape}")
    values = values.reshape(n_rows, n_scores)
    missing = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(missing):
        raise ValueError(
            f"{name} must be finite in every row, and is {values[missing[0]]} in row {missing[0]}"
        )
    return values


def read_groups(groups: ArrayLike, n_rows: int, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """The number of the group of each row, or of some, in the sorted order of their names.

    >>> read_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    names = np.asarray(groups)
    if names.shape != (n_rows,):
        got = len(names) if names.ndim == 1 else f"shape {names.shape}"
        raise ValueError(f"groups must have one entry for each of {n_rows} rows, got {got}")
    names = names if rows is None else names[rows]
    missing = _missing(names)
    if np.any(missing):
        row = np.argmax(missing) if rows is None else rows[np.argmax(missing)]
        raise ValueError(
            f"groups must name a group in every row, and none is named in row {row}; give "
            "rows that stand alone a group of their own"
        )
    try:
        return np.unique(names, return_inverse=True)[1].astype(np.intp)
    except TypeError:
        raise ValueError("groups must be all numbers or all text, and are mixed; make text of them") from None


def _missing(names: NDArray[Any]) -> Any:
    """Which names are None, NaN or another mark of what is missing."""
    if names.dtype.kind in "fMm":
        return np.isnan(names) if names.dtype.kind == "f" else np.isnat(names)
    if names.dtype.kind != "O":
        return False
    return np.array([name is None or is_scalar_nan(name) or is_pandas_na(name) for name in names])


def staked(weights: Weights, costs: ResolvedCosts, codes: NDArray[np.intp]) -> Weights:
    """Weights times what is at stake in each row; the total of rows that have anything at stake stays.

    >>> costs = ResolvedCosts.of_mistakes(1, [1, 2, 5])
    >>> staked(Weights(3), costs, np.array([0, 1, 1])).values.round(4)
    array([0.5455, 0.8182, 1.6364])
    """
    if costs.n_classes > 2:
        raise ValueError(f"weight_by_stakes is for two classes, got {costs.n_classes} classes")
    if not costs.by_row:
        return weights
    stake = np.asarray(costs.stake)
    at_stake = np.bincount(codes, weights=weights.array * stake, minlength=2) > 0
    if np.any(weights.communicator.sum(at_stake.astype(np.int64)) == 0):
        raise ValueError("weight_by_stakes weights rows by fp + fn, which are 0 in all rows of a class")
    return (weights.without(stake == 0) if np.any(stake == 0) else weights).times(stake)


def read_table(
    X: MatrixLike, reads: str, categorical: Any, communicator: Communicator = SINGLE, weightless: bool = False
) -> tuple[NDArray[Any] | None, Schema, Table]:
    """The names of X as scikit-learn knows them, its schema, and the table read by it."""
    first = X.parts[0] if isinstance(X, Stacked) else X.frame if isinstance(X, Rows) else X
    # An array has no names; to find that out takes scikit-learn as long as all the rest of reading it.
    feature_names = None if type(first) is np.ndarray else _get_feature_names(first)
    if reads == NUMBERS:
        X = as_numbers(X)
        categorical = None
    elif not is_frame(X) and not isinstance(X, Stacked | Rows):
        X = as_array(X)
    schema, table = Schema.fit(X, categorical, communicator, weightless=weightless)
    if reads == NUMBERS and feature_names is not None:
        schema = Schema(schema.categories, tuple(str(name) for name in feature_names))
    return feature_names, schema, table


def _span(labels: NDArray[Any]) -> tuple[int, int] | None:
    """The least and the largest of whole numbers that lie so close together that a table of them is small."""
    if labels.dtype.kind not in "biu" or not np.can_cast(labels.dtype, np.intp) or not len(labels):
        return None
    low, high = int(labels.min()), int(labels.max())
    return (low, high) if high - low < _TABLE else None


def _distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """As ``np.unique``, of classes without sorting.

    >>> _distinct(np.array([3, 1, 3], dtype=np.int8))
    array([1, 3], dtype=int8)
    """
    span = _span(labels)
    if span is None:
        return np.unique(labels)
    counts = np.bincount(labels.astype(np.intp) - span[0])
    return (np.flatnonzero(counts) + span[0]).astype(labels.dtype)


def _places(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """As ``np.searchsorted``, by a table of the labels that there can be.

    >>> _places(np.array([1, 3]), np.array([3, 1, 2, 4]))
    array([1, 0, 1, 2])
    """
    span = _span(labels)
    if span is None:
        return np.searchsorted(classes, labels)
    table = np.searchsorted(classes, np.arange(span[1] - span[0] + 1) + span[0])
    return table[labels.astype(np.intp) - span[0]]


def encode_known(y: ArrayLike, classes: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    """The index of each row's class among known ones.

    >>> encode_known(["b", "a"], np.array(["a", "b", "c"]), 2)
    array([1, 0])
    """
    labels = as_labels(as_numpy(y))
    if len(labels) != n_rows:
        raise ValueError(f"y must have one label for each of {n_rows} rows, got {len(labels)}")
    places = {label: place for place, label in enumerate(classes.tolist())}
    unknown = set(labels.tolist()) - set(places)
    if unknown:
        raise ValueError(f"y holds labels that are not classes of the model: {sorted(unknown, key=repr)[:9]}")
    return np.array([places[label] for label in labels.tolist()], dtype=np.intp)


def encode_labels(
    labels: NDArray[Any] | CodedLabels, weights: Weights
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes that occur with a positive weight, and the index of each row's.

    Rows of weight 0 may hold other labels; they get index 0, and take no part.
    """
    numbers, kept = None, weights.kept
    if isinstance(labels, CodedLabels):
        numbers, labels = labels.codes, labels.values
        own = np.unique(labels[np.bincount(numbers if kept is None else numbers[kept]).nonzero()])
    else:
        own = _distinct(labels if kept is None else labels[kept])
    parts = weights.communicator.gather(own)
    classes = own if len(parts) == 1 else np.unique(np.concatenate(parts))
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes with positive weight, got 1 class: {classes.tolist()}"
        )
    codes = _places(classes, labels)
    if kept is not None or numbers is not None:
        codes = np.minimum(codes, len(classes) - 1)
        codes = np.where(classes[codes] == labels, codes, 0).astype(np.intp)
    return classes, codes if numbers is None else memory.kept(codes[numbers])
