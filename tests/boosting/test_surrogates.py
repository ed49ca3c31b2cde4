"""Boosting finds the minimum of a user's margin loss itself."""

import numpy as np
import pytest
from scipy.optimize import minimize
from surrogates import SURROGATES

from propriety import BoostingClassifier, losses
from propriety.boosting import Algorithm

RNG = np.random.default_rng(1)
X = RNG.integers(0, 3, (90, 2)).astype(float)
y = (X @ [1.0, -0.7] - 0.4 + 1.1 * RNG.standard_normal(90) > 0).astype(int)
SIGN = 2 * y - 1
# Stumps on two columns of three values span these.
H = np.column_stack([np.ones(len(y)), *(X[:, [j]] <= np.array([0.0, 1.0]) for j in range(2))])
EXACT = {
    "learning_rate": 1.0,
    "min_samples_leaf": 1,
    "min_weight_leaf": 0,
    "l2_regularization": 0,
    "calibrate": None,
    "early_stopping": False,
    "splitter": "best",
    "subsample": 1.0,
    "max_features": 1.0,
}


@pytest.mark.parametrize("name", SURROGATES)
def test_boosted_stumps_find_the_minimum_of_phi(name):
    s = SURROGATES[name]
    best = minimize(
        lambda b: np.mean(s.phi(SIGN * (H @ b))),
        np.zeros(H.shape[1]),
        jac=lambda b: H.T @ (SIGN * s.slope(SIGN * (H @ b))) / len(y),
        options={"gtol": 1e-10},
    )
    loss = losses.from_margin_loss(s.phi)
    ways = (
        (80, {"step": "fisher"}),
        (80, {"step": "newton"}),
        (8, {"step": "gradient", "coefficient": "corrective"}),
    )
    for max_iter, way in ways:
        algorithm = Algorithm(weak_learner="stump", **way)
        model = BoostingClassifier(loss, algorithm=algorithm, max_iter=max_iter, max_step=None, **EXACT)
        F = model.fit(X, y).decision_function(X)
        assert np.mean(s.phi(SIGN * F)) <= best.fun + 1e-8, way
