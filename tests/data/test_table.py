"""Tables of every kind are read alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from tests.inside import forest_of

from propriety import BoostingClassifier, LinearClassifier, RuleClassifier, TreeClassifier
from propriety.data import table as tables
from propriety.data.table import Rows, Schema


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(2)
    n = 800
    number = np.round(rng.normal(size=n), 2)
    number[::9] = np.nan
    size = rng.integers(0, 50, n)
    flag = rng.random(n) < 0.5
    city = np.array(["Oslo", "Rome", "Lima", "Cairo", "Quito"], dtype=object)[rng.integers(0, 5, n)]
    city[::13] = None
    y = rng.random(n) < 1 / (
        1 + np.exp(-np.nan_to_num(number) - 2.0 * np.isin(city.astype(str), ["Rome", "Cairo"]) + 1)
    )
    return {"number": number, "size": size, "flag": flag, "city": city}, y


def as_pandas(c):
    return pd.DataFrame(c).astype({"city": "category"})


def as_pandas_nullable(c):
    frame = pd.DataFrame(c)
    return frame.assign(
        size=frame["size"].astype("Int64"),
        flag=frame["flag"].astype("boolean"),
        city=frame["city"].astype("category"),
    )


def as_polars(c):
    return pl.DataFrame({k: v.tolist() for k, v in c.items()}).with_columns(
        pl.col("city").cast(pl.Categorical), pl.col("number").fill_nan(None)
    )


def as_polars_enum(c):
    return as_polars(c).with_columns(
        pl.col("city").cast(pl.Enum(["Rome", "Oslo", "Cairo", "Lima", "Quito", "Pune"]))
    )


def as_arrow(c):
    table = pa.table({k: pa.array(v.tolist()) for k, v in c.items()})
    return table.set_column(3, "city", table["city"].dictionary_encode())


KINDS = [as_pandas, as_pandas_nullable, as_polars, as_polars_enum, as_arrow]


@pytest.mark.parametrize("make", KINDS)
def test_columns_are_numbers_with_nan(columns, make):
    c, _ = columns
    schema, table = Schema.fit(make(c))
    assert schema.names == ("number", "size", "flag", "city")
    assert schema.categories == (None, None, None, ("Cairo", "Lima", "Oslo", "Quito", "Rome"))
    np.testing.assert_array_equal(table.column(0), c["number"])
    np.testing.assert_array_equal(table.column(1), c["size"])
    np.testing.assert_array_equal(table.column(2), c["flag"].astype(float))
    index = {name: float(i) for i, name in enumerate(schema.categories[3])}
    np.testing.assert_array_equal(table.column(3), [index.get(v, np.nan) for v in c["city"]])
    codes = table.column(3, codes=True)
    assert codes.dtype == np.int8
    np.testing.assert_array_equal(codes, [index.get(v, -1) for v in c["city"]])
    np.testing.assert_array_equal(table.column(0, codes=True), c["number"])


def test_categories_that_do_not_occur_are_not_known():
    values = pd.Categorical.from_codes([2, -1, 0, 2], categories=["b", "z", "a"], ordered=True)
    schema, table = Schema.fit(pd.DataFrame({"x": values}))
    assert schema.categories == (("a", "b"),)
    assert table.column(0, codes=True).tolist() == [0, -1, 1, 0]


@pytest.mark.parametrize("make", KINDS[1:])
def test_every_kind_of_frame_gives_the_same_model(columns, make):
    c, y = columns
    expected = BoostingClassifier(max_iter=10).fit(as_pandas(c), y)
    model = BoostingClassifier(max_iter=10).fit(make(c), y)
    assert forest_of(model).nodes.tolist() == forest_of(expected).nodes.tolist()
    assert (forest_of(model).nodes["set"] >= 0).any()
    np.testing.assert_array_equal(model.predict_proba(make(c)), expected.predict_proba(as_pandas(c)))
    assert model.feature_names_in_.tolist() == ["number", "size", "flag", "city"]


def test_a_category_named_by_the_user_is_one_by_type(columns):
    c, y = columns
    frame = pd.DataFrame(c)
    by_name = BoostingClassifier(max_iter=5, categorical_features=["city"]).fit(frame, y)
    by_type = BoostingClassifier(max_iter=5).fit(as_pandas(c), y)
    np.testing.assert_array_equal(by_name.predict_proba(frame), by_type.predict_proba(as_pandas(c)))
    codes = frame.assign(city=frame["city"].map({"Cairo": 5, "Lima": 6, "Oslo": 7, "Quito": 8, "Rome": 9}))
    mask = [False, False, False, True]
    by_mask = BoostingClassifier(max_iter=5, categorical_features=mask).fit(codes.to_numpy(float), y)
    np.testing.assert_array_equal(
        by_mask.predict_proba(codes.to_numpy(float)), by_type.predict_proba(as_pandas(c))
    )


def test_unknown_and_missing_categories_are_missing(columns):
    c, y = columns
    model = BoostingClassifier(max_iter=5).fit(as_pandas(c), y)
    known, unknown = pd.DataFrame(c).head(4), pd.DataFrame(c).head(4)
    unknown["city"], known["city"] = "Atlantis", None
    p = [model.predict_proba(f.astype({"city": "category"})) for f in (known, unknown)]
    np.testing.assert_array_equal(p[0], p[1])


def test_a_thousand_categories(columns):
    rng = np.random.default_rng(0)
    code = rng.integers(0, 1_000, 20_000)
    effect = rng.normal(size=1_000) * 2
    y = rng.random(20_000) < 1 / (1 + np.exp(-effect[code]))
    frame = pd.DataFrame({"code": pd.Categorical(code.astype(str))})
    model = BoostingClassifier(max_iter=30).fit(frame, y)
    assert model.score(frame, y) > 0.75


def test_other_columns_are_refused(columns):
    c, y = columns
    frame = as_pandas(c)
    model = BoostingClassifier(max_iter=2).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "number", "flag", "city"]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"size": "length"}))
    with pytest.raises(ValueError, match="'when'"):
        BoostingClassifier().fit(pd.DataFrame({"when": pd.date_range("2020", periods=len(y))}), y)
    with pytest.raises(ValueError, match="minimum of 1"):
        BoostingClassifier().fit(frame.head(0), y[:0])


def test_names_in_constraints(columns):
    c, y = columns
    model = BoostingClassifier(max_iter=10, monotonic_cst={"number": 1}, interaction_cst=[["number", "city"]])
    model.fit(as_pandas(c), y)
    grid = as_pandas(c).iloc[[1] * 50].assign(number=np.linspace(-3, 3, 50))
    assert np.all(np.diff(model.decision_function(grid)) >= 0)


# --- sparse matrices that lie about their indices -----------------------------------------------------


def damaged(X, how):
    bad = X.copy()
    if how == "index too large":
        bad.indices[5] = 10**8
    elif how == "index below 0":
        bad.indices[5] = -(10**8)
    elif how == "pointer too large":
        bad.indptr[3] = 10**8
    elif how == "pointers that fall":
        bad.indptr[2] = bad.indptr[3] + 1
    elif how == "too few pointers":
        bad.indptr = bad.indptr[:3].copy()
    else:
        bad.data = bad.data[:10].copy()
    return bad


HOW = (
    "index too large",
    "index below 0",
    "pointer too large",
    "pointers that fall",
    "too few pointers",
    "too few values",
)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.bsr_array])
@pytest.mark.parametrize("how", HOW)
def test_a_damaged_sparse_matrix_is_refused_before_compiled_code_sees_it(kind, how):
    rng = np.random.default_rng(0)
    X = kind(rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.5))
    y = np.arange(60) % 2
    bad = damaged(X, how)
    for model in (
        LinearClassifier(),
        BoostingClassifier(max_iter=1),
        TreeClassifier(),
        RuleClassifier(n_rules=1),
    ):
        with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
            model.fit(bad, y)
        model.fit(X, y)
        with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
            model.predict_proba(bad)


def test_a_coordinate_outside_of_the_matrix_is_refused():
    X = sparse.coo_matrix(np.eye(6))
    X.col[2] = 10**8
    with pytest.raises(ValueError, match="X is not a valid sparse matrix: a coordinate"):
        BoostingClassifier(max_iter=1).fit(X, [0, 1] * 3)


def test_a_cell_given_twice_is_a_sum():
    twice = sparse.csr_array((np.array([1.0, 2.0, 5.0]), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    for form in (twice, twice.tocsc()):
        table = Schema.fit(form)[1]
        assert table.column(1).tolist() == [3.0, 0.0]
    assert twice.nnz == 3  # what was given is not changed


# --- what is no table, and labels -----------------------------------------------------------------


def test_a_query_is_refused_with_what_to_do():
    frame = pl.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    model = LinearClassifier(alpha=0.1).fit(frame, [0, 1, 0, 1])
    with pytest.raises(TypeError, match=r"LazyFrame.*\.collect\(\)"):
        LinearClassifier().fit(frame.lazy(), [0, 1, 0, 1])
    for method in (model.predict, model.predict_proba):
        with pytest.raises(TypeError, match=r"LazyFrame.*\.collect\(\)"):
            method(frame.lazy())
    with pytest.raises(TypeError, match=r"y is a LazyFrame.*\.collect\(\)"):
        LinearClassifier().fit(frame, pl.LazyFrame({"y": [0, 1, 0, 1]}))


def test_a_relation_of_duckdb_is_refused_with_what_to_do():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select * from (values (0.0), (1.0), (2.0), (3.0)) as t(a)")
    with pytest.raises(TypeError, match=r"DuckDBPyRelation.*\.df\(\)"):
        LinearClassifier().fit(relation, [0, 1, 0, 1])
    model = LinearClassifier(alpha=0.1).fit(relation.df(), [0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict_proba(relation.pl()), model.predict_proba(relation.df()))


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.Series([3, 1, 3, 1], dtype="Int64"), "i"),
        (pd.array([True, False, True, False], dtype="boolean"), "b"),
        (pd.Series([3, 1, 3, 1], dtype="int64[pyarrow]"), "i"),
        (pd.Series(["b", "a", "b", "a"], dtype="string"), "O"),
    ],
)
def test_nullable_labels_keep_their_type(labels, kind):
    model = LinearClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], labels)
    assert model.classes_.dtype.kind == kind
    assert model.predict([[0.0]]).dtype == model.classes_.dtype
    assert model.classes_.tolist() == sorted(set(labels.tolist()))
    missing = labels.copy()
    missing[0] = pd.NA
    with pytest.raises(ValueError, match="1 of 4 labels are missing"):
        LinearClassifier().fit([[0.0], [1.0], [2.0], [3.0]], missing)


def mixed(n=50):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    kind = np.array(["a", "b", None, "c"], dtype=object)[rng.integers(0, 4, n)]
    return pa.table(
        {"x": pa.array(x, from_pandas=True), "kind": pa.array(kind).dictionary_encode(), "z": x + 1}
    )


@pytest.mark.parametrize("make", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow])
def test_a_frame_is_converted_in_pieces(make, monkeypatch):
    frame = make(mixed())
    table = Schema.fit(frame)[1]
    encode = [None, lambda codes: 10 * codes, None]
    ((_, _, whole),) = table.chunks(encode)
    monkeypatch.setattr(tables, "_FRAME_CHUNK", 7)
    pieces = list(table.chunks(encode))
    assert [(start, stop) for start, stop, _ in pieces] == [(k, min(k + 7, 50)) for k in range(0, 50, 7)]
    np.testing.assert_array_equal(np.concatenate([values for _, _, values in pieces]), whole)


def test_rows_of_a_frame_are_as_a_copy_of_them():
    frame = pa.concat_tables([mixed(20), mixed(30)])
    places = np.random.default_rng(1).permutation(50)[:25]
    places = places[np.array(frame.column("kind").take(pa.array(places)).to_pylist()) != "c"]
    view, copy = Rows(frame, places), frame.take(pa.array(places))
    (schema, table), (same, other) = Schema.fit(view), Schema.fit(copy)
    assert schema == same
    assert schema.categories[1] == ("a", "b")
    for f in range(3):
        np.testing.assert_array_equal(table.column(f), other.column(f))
    few = frame.take(pa.array(places[3:5])).select(["x", "kind"])
    assert view[3:5].taken().select(["x", "kind"]).equals(few)
    assert view[:0].taken().num_rows == 0
