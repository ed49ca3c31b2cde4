"""Every algorithm of the papers has one name, which makes the estimator that runs it."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from propriety import LinearClassifier, RuleClassifier, TreeClassifier, algorithms
from propriety.losses import Log, Matsushita
from propriety.model.catalogue import ESTIMATORS

PAGE = (Path(__file__).parents[1] / "docs" / "papers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(120, 3)) / 18  # at least 0, and a row's sum at most 1, for iterative scaling
    y = (X[:, 0] + 0.2 * rng.normal(size=120) > 0.15).astype(int)
    return X, y


def test_names_are_unique_and_on_the_page():
    assert len(set(algorithms.names())) == len(algorithms.names())
    listed = re.findall(r"^\| `(\w+)` \| `(\w+)` \| ([^|]*) \|", PAGE, flags=re.MULTILINE)
    assert listed == [(row.name, row.estimator, row.place) for row in algorithms.ALGORITHMS.values()]


@pytest.mark.parametrize("name", algorithms.names())
def test_a_name_makes_its_estimator_and_any_parameter_overrides(name):
    row = algorithms.ALGORITHMS[name]
    type_ = next(entry.type for entry in ESTIMATORS if entry.name == row.estimator)
    model = algorithms.make(name, pos_label=1, loss="Log()")
    assert type(model) is type_
    assert (model.pos_label, model.loss) == (1, "Log()")
    given = {**type_().get_params(deep=False), **row.parameters}
    assert clone(algorithms.make(name)).get_params(deep=False) == given
    assert row.place.startswith("[")
    assert row.title


BOOSTED = algorithms.names("BoostingClassifier")


@pytest.mark.parametrize("name", [name for name in algorithms.names() if name not in BOOSTED])
def test_algorithms_without_trees_in_rounds_fit(data, name):
    X, y = data
    model = algorithms.make(name)
    if isinstance(model, LinearClassifier):
        model.set_params(tol=0.05)
    assert np.isfinite(model.fit(X, y).predict_proba(X)).all()


def test_linear_separators_and_rules_have_no_constant_feature(data):
    X, y = data
    for name in algorithms.names():
        model = algorithms.make(name)
        if isinstance(model, RuleClassifier) or name.startswith("uls_linear"):
            assert not model.fit_intercept
    rules = algorithms.make("uls_rules", loss=Matsushita()).fit(X, y)
    assert rules.intercept_ == 0
    assert np.all(algorithms.make("uls_linear").fit(X, y).intercept_ == 0)


def test_the_tree_has_the_shares_of_its_leaves(data):
    X, y = data
    model = algorithms.make("udt").fit(X, y)
    assert isinstance(model, TreeClassifier)
    assert model.loss_.loss == Log()
    leaf = model.apply(X)
    p = model.predict_proba(X)[:, 1]
    for node in np.unique(leaf):
        assert p[leaf == node] == pytest.approx(y[leaf == node].mean())
        rows = X[leaf == node]
        # Grown to the end: a leaf is of one class, or its rows cannot be told apart.
        assert len(np.unique(y[leaf == node])) == 1 or len(np.unique(rows, axis=0)) == 1


def test_histograms_have_ten_bins_and_leaves_of_one_row():
    """As the page of the algorithms says; [M] gives no number of bins."""
    rows = np.random.default_rng(0).normal(size=(200, 1))
    for name in ("boostlr", "boostlr_sign"):
        model = algorithms.make(name, max_iter=1).fit(rows, rows[:, 0] > 0)
        assert len(np.unique(model.decision_function(rows))) <= 10
        assert model._binner.n_bins.tolist() == [10]
    # Bins of two rows, whose labels change from one to the next.
    X, y = np.arange(20.0)[:, None], np.arange(20) // 2 % 2
    assert algorithms.make("boostlr", max_iter=1).fit(X, y).score(X, y) == 1


def test_unknown_names_are_errors_that_list_the_known():
    with pytest.raises(ValueError, match="no algorithm 'adaboost'; there are discrete_adaboost, real_"):
        algorithms.make("adaboost")
    with pytest.raises(ValueError, match="estimator must be one of BoostingClassifier, LinearClassifier"):
        algorithms.names("SVC")
