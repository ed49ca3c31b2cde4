"""Reasons are the contributions that speak for the decision."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from propriety import BoostingClassifier, LinearClassifier
from propriety.model import catalogue

SMALL = {"max_iter": 10, "n_estimators": 10, "n_rules": 4, "random_state": 0, "members": ("linear", "forest")}


def rows(k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    score = X @ [1.0, -0.7, 0.4, 0.1] + 0.3 * rng.normal(size=200)
    return X, np.digitize(score, np.quantile(score, np.arange(1, k) / k))


@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
@pytest.mark.parametrize("k", [2, 3])
def test_reasons_are_the_largest_contributions_to_the_decision(row, k):
    X, y = rows(k)
    names = row.type._get_param_names()
    model = row.type(**{name: value for name, value in SMALL.items() if name in names}).fit(X, y)
    found = model.reasons(X[:30], n=2)
    parts, decided = model.contributions(X[:30])[..., :-1], model.predict(X[:30])
    for i in range(30):
        if k == 2:
            mine = parts[i] if decided[i] == 1 else -parts[i]
        else:
            mine = parts[i, decided[i]] - parts[i].mean(axis=0)
        mine = [(f"x{f}", mine[f]) for f in np.argsort(-mine, kind="stable")[:2] if mine[f] > 0]
        here = found[found["row"] == i]
        assert here["column"].tolist() == [name for name, _ in mine]
        np.testing.assert_allclose(here["points"], [value for _, value in mine])
        assert here["rank"].tolist() == list(range(1, len(mine) + 1))
        assert set(here["decision"]) <= {str(decided[i])}


def test_points_are_against_the_rows_that_are_decided_otherwise():
    X, y = rows(2)
    model = LinearClassifier(alpha=0.01).fit(X, y)
    approved = X[model.predict(X) == 0]
    refused = X[model.predict(X) == 1][:5]
    found = model.reasons(refused, n=4, reference=X)
    for i, x in enumerate(refused):
        points = model.coef_[0] * (x - approved.mean(axis=0))
        here = found[found["row"] == i]
        np.testing.assert_allclose(here["points"], sorted(points[points > 0], reverse=True))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_the_frame_is_of_the_kind_given_and_has_the_values(kind):
    X, y = rows(2)
    city = np.where(y == 1, "oslo", "bern")
    frame = kind({"size": [None, *X[1:, 0]], "city": city})
    model = BoostingClassifier(max_iter=5, random_state=0).fit(frame, y)
    found = model.reasons(frame, n=1)
    assert isinstance(found, kind)
    assert list(found["column"]) == ["city"] * 200
    assert list(found["value"]) == city.tolist()
    with pytest.raises(ValueError, match="n must be"):
        model.reasons(frame, n=0)
