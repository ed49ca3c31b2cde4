"""Scorecards: points that add up, the table of them, the choice of columns, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.inside import read_by

import propriety
from propriety import Costs, LinearClassifier, ScorecardClassifier, losses


def applicants(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "amount": rng.lognormal(8, 1, n),
            "job": pd.Categorical(
                rng.choice(["clerk", "driver", "none", "pilot"], n, p=[0.5, 0.3, 0.18, 0.02])
            ),
            "noise": rng.normal(size=n),
        }
    )
    F = -1 + 0.03 * (X["age"] < 30) * 60 + 0.8 * (X["amount"] > 4000) + (X["job"] == "none")
    X.loc[rng.random(n) < 0.1, "amount"] = np.nan
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-F)), "bad", "good")


X, y = applicants()
MODEL = ScorecardClassifier(costs=Costs(fn=5, pos_label="bad")).fit(X, y)


def test_points_are_those_of_the_table_and_make_the_probability():
    table = MODEL.points_table()
    base = int(MODEL.export_text().split()[0])
    row = X.iloc[[3]].assign(job=pd.Categorical(["clerk"]), age=20.0)
    parts = table.set_index(["column", "bin"])["points"]
    assert np.all(parts == np.rint(parts))
    assert parts.groupby("column").min().eq(0).all()
    total = MODEL.points(row)[0]
    possible = parts.groupby("column").apply(list)
    sums = {base}
    for options in possible:
        sums = {s + p for s in sums for p in options}
    assert any(abs(total - s) < 1e-9 for s in sums)
    points = MODEL.points(X)
    odds = MODEL.predict_proba(X)[:, 1] / MODEL.predict_proba(X)[:, 0]  # against "bad"
    np.testing.assert_allclose(np.diff(points), 20 * np.diff(np.log2(odds)), atol=1e-9)
    at_base = points - 20 * np.log2(odds / 50)
    assert np.all(np.abs(at_base - 600) <= 0.5)


def test_the_text_says_where_the_decision_changes():
    limit = float(MODEL.export_text().rsplit("up to ", 1)[1].split()[0])
    np.testing.assert_array_equal(MODEL.predict(X) == "bad", MODEL.points(X) <= limit)


def test_the_table_counts_the_rows():
    table = MODEL.points_table()
    for _, part in table.groupby("column"):
        assert part["count"].sum() == len(X)
        assert part["positives"].sum() == (y == "bad").sum()
    assert list(table) == ["column", "bin", "count", "share", "positives", "rate", "woe", "iv", "points"]
    assert np.corrcoef(table["rate"], table["woe"])[0, 1] < -0.9
    frame = ScorecardClassifier().fit(pl.from_pandas(X), y).points_table()
    assert isinstance(frame, pl.DataFrame)


def test_columns_that_say_nothing_are_left_out():
    few = ScorecardClassifier(max_columns=3).fit(X, y)
    assert "noise" not in few.columns_
    assert {"age", "job"} <= set(MODEL.columns_)
    assert len(ScorecardClassifier(max_columns=1).fit(X, y).columns_) == 1
    rng = np.random.default_rng(3)
    nothing = ScorecardClassifier().fit(rng.normal(size=(300, 5)), rng.integers(0, 2, 300))
    assert np.ptp(nothing.predict_proba(rng.normal(size=(300, 5)))[:, 1]) < 0.2
    assert nothing.cv_loss_.shape == (1, 16)


def test_a_monotone_column_is_monotone():
    rng = np.random.default_rng(0)
    x = rng.random((800, 1))
    labels = rng.random(800) < 0.5 + 0.3 * np.sin(9 * x[:, 0])
    grid = np.linspace(0, 1, 101)[:, None]
    for sign in (1, -1):
        p = ScorecardClassifier(monotonic_cst=[sign], max_bins=8).fit(x, labels).predict_proba(grid)[:, 1]
        assert np.all(sign * np.diff(p) >= 0)
    free = ScorecardClassifier(max_bins=8).fit(x, labels).decision_function(grid)
    assert np.ptp(np.sign(np.diff(free))) == 2


def test_without_rounding_it_is_the_linear_model_of_the_evidence():
    model = ScorecardClassifier(round_points=False, alpha=0).fit(X, y)
    composite = losses.Log().composite()
    Z = np.column_stack(
        [
            bins.evidence(composite.link)[bins.place(read_by(model, X).column(bins.feature))]
            for bins in model._cards[0].columns
        ]
    )
    linear = LinearClassifier().fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(Z), atol=1e-6)
    shown = str(model.summary(X, y))
    assert all(name in shown for name in model.columns_)


@pytest.mark.parametrize("loss", ["Squared", "Tailored(0.2, 5)", "Log().with_link(CLogLog())"])
def test_any_loss(loss):
    model = ScorecardClassifier(losses.parse(loss)).fit(X, y)
    assert len(model.columns_) >= 2
    assert model.score(X, y) > 0.6
    assert "odds of 50 to 1 against good" in model.export_text()


def test_several_classes_have_a_card_each(tmp_path):
    labels = np.where(X["age"] > 60, "old", y)
    model = ScorecardClassifier().fit(X, labels)
    table = model.points_table()
    assert set(table["class"]) == {"bad", "good", "old"}
    assert model.points(X).shape == (len(X), 3)
    assert model.predict_proba(X)[labels == "old", 2].mean() > 0.8
    model.save(tmp_path / "m.propriety")
    again = propriety.load(tmp_path / "m.propriety")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.export_text() == model.export_text()
    with pytest.raises(ValueError, match="summary is for two classes"):
        model.summary(X, labels)


def test_what_cannot_be_is_refused():
    for wrong in ({"pdo": 0}, {"base_odds": 0}, {"max_columns": 0}, {"max_bins": 1}, {"min_bin_share": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ScorecardClassifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="no form of one class against the rest"):
        ScorecardClassifier("simplex.Log()").fit(X, np.where(X["age"] > 60, "old", y))
    with pytest.raises(ValueError, match="column 2 is categorical"):
        ScorecardClassifier(monotonic_cst={"job": 1}).fit(X, y)
