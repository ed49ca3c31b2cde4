"""Probabilities with ties, weights with zeros, and labels that follow them badly enough to be judged."""

import numpy as np
import pytest


def make_rows(n=200, seed=0, decimals=2):
    rng = np.random.default_rng(seed)
    eta = rng.uniform(0.02, 0.98, n)
    y = (rng.uniform(size=n) < eta).astype(int)
    p = np.clip(np.round(eta**1.5 + rng.normal(0, 0.1, n), decimals), 0.01, 0.99)
    weight = rng.integers(0, 4, n).astype(float)
    return y, p, weight, eta


@pytest.fixture(scope="session")
def rows():
    return make_rows()
