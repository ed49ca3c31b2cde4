import numpy as np
import pytest


def make_problem(n=400, d=4, seed=0, classes=2):
    """Overlapping classes from a logistic model, so that every loss has a finite minimum."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if classes == 2:
        score = X @ np.linspace(1, -0.7, d) + 0.3
        return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    F = X @ rng.standard_normal((d, classes)) * 0.7 + rng.gumbel(size=(n, classes))
    return X, np.argmax(F, axis=1)


@pytest.fixture(scope="session")
def problem():
    return make_problem()


@pytest.fixture(scope="session")
def three_classes():
    return make_problem(n=300, d=3, seed=3, classes=3)


@pytest.fixture(scope="session")
def make():
    return make_problem
