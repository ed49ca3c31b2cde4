"""Contributions of a kernel machine against the definition of Shapley values."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from tests.inside import landmarks_of, numbers_of, rate_of

from propriety import KernelClassifier
from propriety.kernel import shapley
from propriety.kernel.features import gaussian


def rows(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], n))
    X.loc[rng.random(n) < 0.2, "b"] = np.nan
    y = (X["a"] * X["c"] + (X["kind"] == "x") + 0.3 * rng.normal(size=n) > 0.3).to_numpy()
    return X, y


def value(model, Z, columns, present):
    """The score of rows of which some columns are known, the others drawn from the landmarks, each alone."""
    landmarks, rate = landmarks_of(model), rate_of(model)
    share = landmarks.weight / landmarks.weight.sum()
    total = np.ones((len(Z), len(landmarks.points)))
    for f, terms in enumerate(columns):
        points = landmarks.points[:, terms]
        total *= (
            gaussian(Z[:, terms], points, rate) if f in present else share @ gaussian(points, points, rate)
        )
    return total @ model.dual_coef_[0] + model.intercept_[0]


def test_contributions_are_shapley_values():
    X, y = rows()
    model = KernelClassifier(n_landmarks=30, width=0.7, alpha=1e-3).fit(X, y, np.arange(len(y)) % 3 + 1)
    Z, d = numbers_of(model, X[:8]), X.shape[1]
    owners = np.array(landmarks_of(model).numbers.owners)
    columns = [np.flatnonzero(owners == f) for f in range(d)]
    expected = np.zeros((len(Z), d + 1))
    expected[:, d] = value(model, Z, columns, ())
    for f in range(d):
        others = [g for g in range(d) if g != f]
        for size in range(d):
            share = factorial(size) * factorial(d - size - 1) / factorial(d)
            for known in combinations(others, size):
                gain = value(model, Z, columns, (*known, f)) - value(model, Z, columns, known)
                expected[:, f] += share * gain
    np.testing.assert_allclose(model.contributions(X[:8]), expected, atol=1e-10)


def test_with_fewer_nodes_the_sum_is_exact_and_the_values_are_near(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 12))
    model = KernelClassifier(n_landmarks=40, width=1.0, alpha=1e-2).fit(X, X[:, 0] * X[:, 1] > 0)
    exact = model.contributions(X)
    monkeypatch.setattr(shapley, "_NODES", 3)
    near = model.contributions(X)
    np.testing.assert_allclose(near.sum(axis=1), model.decision_function(X), atol=1e-10)
    assert 0 < np.abs(near - exact).max() < 0.01 * np.abs(exact).max()


def test_a_column_that_is_constant_contributes_nothing():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:, 1] = 5.0
    model = KernelClassifier(width=1.0, alpha=1e-2).fit(X, X[:, 0] > 0)
    assert not model.contributions(X)[:, 1].any()
    assert model.importances() == pytest.approx([1, 0])


def test_without_any_column_that_varies_the_score_is_constant():
    X, y = np.full((20, 2), 3.0), np.arange(20) % 4 == 0
    model = KernelClassifier().fit(X, y)
    parts = model.contributions(X)
    assert not parts[:, :2].any()
    np.testing.assert_allclose(parts[:, 2], model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.25, atol=1e-6)
