import numpy as np
import pytest

from propriety import losses
from propriety.linear import LinearClassifier
from propriety.separators import bregman, margins


@pytest.fixture(scope="module")
def small(make):
    return make(n=120, d=3, seed=5)


@pytest.fixture(scope="module")
def small_three(make):
    return make(n=90, d=2, seed=6, classes=3)


def test_first_parallel_step_is_the_papers(small):
    X, y = small
    weight = np.full(len(y), 1 / len(y))
    problem = margins.binary(X, y, losses.Log().composite(), weight)
    updates = bregman.Updates.make(problem, "parallel")
    M = X * (2 * y - 1)[:, None]
    M = M / np.abs(M).sum(axis=1).max()
    q = np.full(len(y), 0.5)
    plus, minus = q @ np.maximum(M, 0), q @ np.maximum(-M, 0)
    expected = 0.5 * np.log(plus / minus) * (M[0, 0] / (X * (2 * y - 1)[:, None])[0, 0])
    np.testing.assert_allclose(updates.step(updates.start(np.zeros(3))).coef, expected, rtol=1e-9)


def test_iterative_scaling_reaches_the_minimum(small, small_three):
    for X, y in (small, small_three):
        best = LinearClassifier(tol=1e-10).fit(X, y).trace_[-1]
        model = LinearClassifier(solver="gis", tol=1e-5).fit(X, y)
        assert abs(model.trace_[-1] - best) < 1e-8
        assert np.all(np.diff(model.trace_) <= 0)
        assert model.n_iter_ > 5 * LinearClassifier(solver="parallel", tol=1e-5).fit(X, y).n_iter_
