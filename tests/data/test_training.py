"""One front door: X, y and weights are read alike for every estimator."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from propriety.data.costs import Costs
from propriety.data.training import NUMBERS, Training, encode_labels
from propriety.weights import Weights


def test_classes_are_those_with_a_positive_weight():
    training = Training.read("T", [[1.0]] * 4, ["b", "a", "z", "b"], [1, 1, 0, 2])
    assert training.classes.tolist() == ["a", "b"]
    assert training.codes.tolist() == [1, 0, 1]
    assert training.class_weights.tolist() == [1, 3]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True]),
        np.array([-128, 127, 3, -128], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64),
        np.array([2**63 - 1, 2**63 - 3, 2**63 - 1]),
        np.array([-(10**12), 5, 10**12]),
        np.array([7, 5, 9], dtype=np.uint8),
        np.array(["b", "a", "c"]),
        np.array([2.5, 1.0]),
    ],
)
def test_labels_of_every_kind_are_encoded_as_numpy_does(labels):
    classes, codes = encode_labels(labels, Weights(len(labels)))
    expected = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0], strict=True)
    np.testing.assert_array_equal(codes, expected[1].astype(np.intp), strict=True)


def test_labels_of_rows_without_weight_are_no_classes():
    weights = Weights.read([1, 0, 1, 0, 1, 0], 6)
    classes, codes = encode_labels(np.array([4, 9, 2, 3, 4, -1]), weights)
    assert classes.tolist() == [2, 4]
    assert codes.tolist() == [1, 0, 0, 0, 1, 0]


def test_the_target_is_class_one_or_the_largest():
    assert Training.read("T", [[1.0]] * 3, [0, 1, 1]).target.tolist() == [0, 1, 1]
    assert Training.read("T", [[1.0]] * 4, [0, 2, 1, 2]).target.tolist() == [0, 1, 0, 1]


def test_names_are_scikit_learns():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    for reads in ("table", NUMBERS):
        training = Training.read("T", frame, [0, 1], reads=reads)
        assert training.feature_names.tolist() == ["a", "b"]
        assert training.schema.labels == ("a", "b")
    assert Training.read("T", frame.to_numpy(), [0, 1]).feature_names is None


def test_numbers_are_a_matrix():
    X = sparse.csc_array(np.eye(3))
    assert Training.read("T", X, [0, 1, 1], reads=NUMBERS).table.matrix.format == "csr"
    with pytest.raises(ValueError, match="NaN in column 1"):
        Training.read("T", [[1.0, np.nan], [0.0, 1.0]], [0, 1], reads=NUMBERS)
    with pytest.raises(ValueError, match="column 'b' holds text"):
        Training.read("T", pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [0, 1], reads=NUMBERS)


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[1.0]], None, None, "T requires y to be passed"),
        ([[1.0], [2.0]], [0, 0], None, "at least two classes"),
        ([[1.0], [2.0]], [0, 1], [1, 0], "at least two classes with positive weight"),
        ([[1.0], [2.0]], [0, 1, 1], None, "inconsistent numbers of samples"),
        ([[1.0], [2.0]], [0, np.nan], None, "NaN"),
        ([[1.0], [2.0]], [0, 1], [1, 2, 3], "sample_weight must have one entry for each of 2 rows"),
        ([[1.0], [2.0]], [0.5, 1.5], None, "Unknown label type"),
    ],
)
def test_bad_data_are_refused(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        Training.read("T", X, y, weight)


def rows_with_a_rare_category():
    """A table of every kind whose first category occurs in rows of weight 0 alone."""
    rng = np.random.default_rng(0)
    name, x = rng.choice(["b", "c", "d"], 60), rng.normal(size=60)
    name[::7] = "a"
    y = np.where((name == "c") ^ (rng.random(60) < 0.2), "yes", "no")
    y[0] = "never"
    return pd.DataFrame({"name": pd.Categorical(name), "x": x}), y, np.where(name == "a", 0, 1.5)


def as_kind(kind, frame):
    """The table as a data frame of another library."""
    if kind == "pandas":
        return frame
    names, x = frame.name.astype(str).to_numpy(), frame.x.to_numpy()
    if kind == "arrow":
        pa = pytest.importorskip("pyarrow")
        return pa.table({"name": pa.array(names).dictionary_encode(), "x": x})
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"name": pl.Series(names, dtype=pl.Categorical), "x": x})


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_what_rows_of_weight_zero_alone_hold_is_not_there(kind):
    frame, y, weight = rows_with_a_rare_category()
    kept = np.flatnonzero(weight)
    given = {"groups": np.arange(60) % 7, "offset": np.linspace(-1, 1, 60)}
    one = Training.read("T", as_kind(kind, frame), y, weight, categorical="from_dtype", **given)
    given = {name: values[kept] for name, values in given.items()}
    other = Training.read(
        "T", as_kind(kind, frame.iloc[kept]), y[kept], weight[kept], categorical="from_dtype", **given
    )
    assert one.schema == other.schema
    assert one.schema.categories == (("b", "c", "d"), None)
    assert one.classes.tolist() == ["no", "yes"]
    for name in ("codes", "offset", "groups"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for f in range(2):
        np.testing.assert_array_equal(one.table.column(f), other.table.column(f))
    assert one.weights.values is other.weights.values is None
    np.testing.assert_array_equal(one.places, kept)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array, sparse.coo_array, list])
def test_rows_of_weight_zero_may_hold_what_no_learner_reads(kind):
    X = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, 0.0], [4.0, 1.0]])
    training = Training.read("T", kind(X), [0, 1, 1, 0], [1, 0, 2, 1], reads="numbers")
    matrix = training.table.matrix
    np.testing.assert_array_equal(matrix.toarray() if sparse.issparse(matrix) else matrix, X[[0, 2, 3]])


def test_rows_with_nothing_at_stake_do_not_matter():
    frame, y, _ = rows_with_a_rare_category()
    y[0] = "no"
    nothing = frame.name == "a"
    costs = Costs(np.where(nothing, 0.0, 1.0), np.where(nothing, 0.0, 2.0), weight_by_stakes=True)
    training = Training.read("T", frame, y, categorical="from_dtype", costs=costs)
    assert training.schema.categories[0] == ("b", "c", "d")
    assert len(training.costs.fp_cost) == training.n_rows == np.sum(frame.name != "a")
