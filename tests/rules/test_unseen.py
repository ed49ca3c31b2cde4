"""Rules and categories that were not in training."""

import numpy as np
import pandas as pd
import pytest
from tests.inside import schema_of

import propriety
from propriety import RuleClassifier


@pytest.mark.parametrize("some_missing", [False, True])
def test_an_unseen_category_scores_about_as_an_average_row(some_missing):
    rng = np.random.default_rng(0)
    level = rng.integers(12, size=1200)
    y = (rng.random(1200) < 1 / (1 + np.exp(-np.linspace(-2, 2, 12)[level]))).astype(int)
    names = pd.Series(level.astype(str))
    names[: 200 if some_missing else 0] = None
    y[: 200 if some_missing else 0] = rng.random(200 if some_missing else 0) < 0.95
    X = pd.DataFrame({"level": pd.Categorical(names)})
    model = RuleClassifier(n_rules=8, max_literals=1).fit(X, y)
    scores = model.decision_function(X)
    new = model.decision_function(pd.DataFrame({"level": pd.Categorical(["new"])}))[0]
    assert np.ptp(scores) > 2.0
    if some_missing:  # these have decided where a missing value goes
        assert new == scores[0] > scores.mean() + 0.5
    else:
        np.testing.assert_allclose(new, scores.mean(), atol=1e-10)


def two_columns(n, seed):
    rng = np.random.default_rng(seed)
    level, town = rng.integers(8, size=n), rng.integers(4, size=n)
    score = np.where((level % 3 == 0) & (town > 1), 2.5, -1.0)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return pd.DataFrame({"level": level.astype(str), "town": town.astype(str)}).astype("category"), y


@pytest.fixture(scope="module")
def model():
    return RuleClassifier(n_rules=6, max_literals=2).fit(*two_columns(1000, 0))


@pytest.mark.parametrize("new", ["level", "town", "both"])
def test_a_rule_holds_as_far_as_it_does_for_the_rows_of_its_other_literals(model, new):
    X, _ = two_columns(1000, 0)
    row = X[:1].copy()
    for name in ("level", "town") if new == "both" else (new,):
        row[name] = pd.Categorical(["new"])
    assert any(len(rule.literals) == 2 for rule in model.rules_)
    expected = model.intercept_
    for rule in model.rules_:
        holds = {c.name: c.holds(schema_of(model).read(X).column(c.column)) for c in rule.literals}
        degree = 1.0
        for name, held in holds.items():
            others = np.prod([h for other, h in holds.items() if other != name], axis=0).astype(bool)
            others = np.broadcast_to(others, len(X))
            unknown = new in (name, "both")
            degree *= held[others].mean() if unknown else held[0]
        expected += rule.coefficient * (2 * degree - 1)
    np.testing.assert_allclose(model.decision_function(row)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(model.contributions(row).sum(), expected, rtol=1e-12)


def test_a_file_keeps_it(model, tmp_path):
    row = pd.DataFrame({"level": ["new"], "town": ["1"]}).astype("category")
    model.save(tmp_path / "rules.propriety")
    again = propriety.load(tmp_path / "rules.propriety")
    np.testing.assert_array_equal(again.decision_function(row), model.decision_function(row))
