"""SQL queries against the models they were made of, run by DuckDB and SQLite."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from propriety import (
    BoostingClassifier,
    Costs,
    ForestClassifier,
    LinearClassifier,
    RuleClassifier,
    TreeClassifier,
)
from propriety.export import sql
from propriety.model import catalogue

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

SMALL = {
    "auto": {"members": ("linear", "forest", "boosting", "kernel"), "n_estimators": 10, "random_state": 0},
    "boosting": {"max_iter": 10, "min_samples_leaf": 3},
    "forest": {"n_estimators": 10, "random_state": 0},
    "kernel": {"n_landmarks": 40, "width": 1.0, "alpha": 0.01},
    "linear": {"alpha": 0.01},
    "tree": {"min_samples_leaf": 3},
    "rules": {"n_rules": 4},
}


def rows(n_classes, mixed=True, n=150):
    """Numbers, text and whole numbers as categories, with missing values; a name that must be quoted."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", 'the "b"', "select"])
    score = X["a"] - 0.5 * X['the "b"'] + 0.3 * rng.normal(size=n)
    if mixed:
        kind = rng.choice(["it's", "blue", "green", "red"], n)
        score += 2.0 * np.isin(kind, ["blue", "red"])
        X["kind"] = pd.Categorical(kind).set_categories(["blue", "green", "it's", "red", "new"])
        X["code"] = pd.Categorical(rng.choice([1, 5, 9], n))
        for name in X.columns:
            X.loc[rng.random(n) < 0.1, name] = np.nan
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.array(["Yes", "it's not", "yes?"])[np.digitize(score, cuts)]


def answer(query, X, dialect):
    """The result of a query over the rows, in their order."""
    table = X.assign(id=np.arange(len(X)))
    for name in table.columns:
        if table[name].dtype == "category":
            table[name] = table[name].astype(object).where(table[name].notna(), None)
    if dialect == "sqlite":
        with sqlite3.connect(":memory:") as connection:
            table.to_sql("t", connection, index=False)
            found = pd.read_sql_query(query, connection)
        connection.close()
    else:
        with duckdb.connect() as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
            found = connection.execute(query).df()
    return found.sort_values("id", ignore_index=True)


def assert_same(model, X, dialect, atol=1e-12):
    found = answer(model.to_sql("t", dialect=dialect, keep=["id"]), X, dialect)
    P = found.filter(like="p_").to_numpy(dtype=np.float64)
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=atol)
    np.testing.assert_array_equal(found["decision"].to_numpy(), model.predict(X))


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
def test_every_estimator_gives_the_same_in_a_database(row, n_classes, dialect):
    X, y = rows(n_classes, mixed=row.key != "linear")
    costs = (
        {"fn_cost": 3.0, "pos_label": "Yes"}
        if n_classes == 2
        else {"costs": Costs(matrix=[[0, 1, 5], [2, 0, 1], [9, 1, 0]])}
    )
    model = row.type(**SMALL.get(row.key, {}), **costs).fit(X, y)
    if row.key != "linear":
        X.loc[:5, "kind"] = "new"
    assert_same(model, X, dialect)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("estimator", [LinearClassifier, BoostingClassifier])
def test_ordered_classes(estimator, dialect):
    X, y = rows(3, mixed=estimator is BoostingClassifier)
    small = {"alpha": 0.01} if estimator is LinearClassifier else SMALL["boosting"]
    model = estimator(multiclass="ordinal", **small).fit(X, y)
    assert_same(model, X, dialect)


@pytest.mark.parametrize("calibrate", ["platt", "beta", "isotonic"])
def test_calibration_is_in_the_query(calibrate):
    X, y = rows(2)
    model = BoostingClassifier(max_iter="cv", calibrate=calibrate, random_state=0).fit(X, y)
    assert_same(model, X, "duckdb")


@pytest.mark.parametrize("link", ["Probit", "CLogLog", "Cauchit", "Identity", "Logit(0.5)"])
def test_links(link):
    X, y = rows(2, mixed=False)
    loss = "Squared" if link == "Identity" else "Log"
    model = LinearClassifier(loss=loss, link=link, alpha=0.1, fn_cost=2.5, pos_label="Yes").fit(X, y)
    for dialect in ("duckdb", "sqlite"):
        assert_same(model, X, dialect, atol=1e-11)


def test_what_costs_by_row_cannot_decide_has_probabilities():
    X, y = rows(2)
    model = TreeClassifier(fn_cost="a", pos_label="Yes").fit(X.assign(a=X["a"].abs().fillna(1.0)), y)
    found = answer(model.to_sql("t", keep=["id"]), X.assign(a=1.0), "duckdb")
    assert list(found) == ["id", "p_Yes", "p_it's not"]


def test_abstaining_and_a_column_with_the_name_of_what_is_computed():
    X, y = rows(2)
    costs = Costs(matrix=[[0, 1, 0.3], [4, 0, 0.3]], abstain_label="ask")
    model = ForestClassifier(n_estimators=5, costs=costs, random_state=0).fit(X, y)
    query = model.to_sql("t", keep=["id", "_v0"])
    found = answer(query, X.assign(_v0=7), "duckdb")
    np.testing.assert_array_equal(found["decision"].to_numpy(), model.predict(X))
    assert set(found["_v0"]) == {7}
    assert "ask" in set(found["decision"])


def test_some_thousand_leaves_and_missing_numbers_fit_into_sqlite():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2000, 5)), columns=list("abcde")).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.random(2000) < 1 / (1 + np.exp(-X.fillna(0.0).sum(axis=1)))
    model = BoostingClassifier(max_iter=120, max_leaf_nodes=31, early_stopping=False).fit(X, y)
    assert_same(model, X, "sqlite")


def test_what_cannot_be_is_refused(monkeypatch):
    X, y = rows(2)
    model = RuleClassifier(n_rules=2).fit(X, y)
    with pytest.raises(ValueError, match="dialect must be one of 'duckdb', 'sqlite', got 'oracle'"):
        model.to_sql("t", dialect="oracle")
    monkeypatch.setitem(sql._LONGEST, "sqlite", 100)
    with pytest.raises(ValueError, match="and SQLite takes 100: fit a smaller"):
        model.to_sql("t", dialect="sqlite")
    with pytest.raises(ValueError, match="offset"):
        BoostingClassifier(max_iter=2).fit(X, y, offset=np.zeros(len(y))).to_sql("t")
