"""The trace of a fit: the mean loss in its own units."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from propriety import losses
from propriety.linear import LinearClassifier
from propriety.losses import simplex


@pytest.mark.parametrize("solver", ["parallel", "sequential", "uls"])
@pytest.mark.parametrize(
    ("loss", "K", "first"),
    [
        ("Log", 2, np.log(2)),
        ("Exponential", 2, 1.0),
        ("Mu(0.4)", 2, losses.Mu(0.4).entropy(0.5)),
        (simplex.Log(), 3, np.log(3)),
        (simplex.PairwiseExponential(), 3, 2.0),
        (simplex.MH(), 3, 3.0),
    ],
    ids=repr,
)
def test_the_trace_is_the_mean_loss_in_its_own_units(solver, loss, K, first):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 2)), np.arange(60) % K
    model = LinearClassifier(loss, solver=solver, max_iter=5, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.trace_[0] == pytest.approx(first, rel=1e-9)
    mean = np.mean(model.loss_.value(y, model.decision_function(X)))
    assert model.trace_[-1] == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("loss", ["3 * Log()", simplex.MH(), simplex.Brier()], ids=repr)
def test_the_trace_of_the_smooth_solvers_is_the_mean_loss(loss):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((90, 2)), np.arange(90) % (2 if isinstance(loss, str) else 3)
    model = LinearClassifier(loss).fit(X, y)
    mean = np.mean(model.loss_.value(y, model.decision_function(X)))
    assert model.trace_[-1] == pytest.approx(mean, rel=1e-9)
