"""Every row of the table of solvers: what it reaches, and what it refuses."""

import numpy as np
import pytest
from scipy import optimize

from propriety.linear import LinearClassifier
from propriety.linear.solvers import SOLVERS
from propriety.linear.updates import Norm, Uls
from propriety.losses import simplex
from propriety.storage.upgrade import upgraded

UPDATES = ["parallel", "sequential", "sequential2", "confidence", "sphere", "norm", "lp"]


BOUNDED_GROWTH = ["Log", "Exponential", "Matsushita", "GBoost(1)", "GLaplace(1)", "AlphaTunable(0.25)"]


@pytest.fixture(scope="module")
def small(make):
    return make(n=120, d=3, seed=5)


@pytest.fixture(scope="module")
def small_three(make):
    return make(n=90, d=2, seed=6, classes=3)


@pytest.mark.parametrize("loss", BOUNDED_GROWTH)
@pytest.mark.parametrize("solver", [*UPDATES, "uls"])
def test_every_solver_reaches_the_minimum_and_never_rises(small, solver, loss):
    X, y = small
    best = LinearClassifier(loss, tol=1e-10).fit(X, y).trace_[-1]
    few = solver == "lp"
    taken = Norm(4) if solver == "norm" else solver
    model = LinearClassifier(loss, solver=taken, tol=1e-5 if few else 1e-6).fit(X, y)
    assert abs(model.trace_[-1] - best) < 1e-8
    assert np.all(np.diff(model.trace_) <= 0)


@pytest.mark.parametrize(
    "loss", [simplex.Log(), simplex.PairwiseExponential(), simplex.MH(), simplex.OneVsRest("Matsushita")]
)
@pytest.mark.parametrize("solver", [*UPDATES, "uls"])
def test_several_classes_reach_the_minimum(small_three, solver, loss):
    X, y = small_three
    best = _minimum(X, y, loss)
    taken = Norm(4) if solver == "norm" else solver
    model = LinearClassifier(loss, solver=taken, tol=1e-5).fit(X, y)
    assert abs(model.trace_[-1] - best) < 1e-8
    assert np.all(np.diff(model.trace_) <= 0)
    smooth = LinearClassifier(loss, solver="fisher").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), smooth.predict_proba(X), atol=2e-3)


def _minimum(X, y, loss):
    """An oracle that shares nothing with the solvers: BFGS on the loss's own formulas."""
    K = 3
    A = np.column_stack([X, np.ones(len(X))])

    def f(b):
        F = A @ b.reshape(-1, K)
        return loss.value(y, F).mean(), (A.T @ loss.gradient(y, F)).ravel() / len(y)

    return optimize.minimize(f, np.zeros(A.shape[1] * K), jac=True, method="BFGS", options={"gtol": 1e-9}).fun


WEIGHTED = [
    *({"solver": Uls(features)} for features in ("one", "all", "active", 2)),
    *(
        {"solver": solver}
        for solver in ("parallel", "sequential", "sequential2", "confidence", "sphere", "gis", "iis")
    ),
    *({"solver": solver} for solver in ("fisher", "newton", "lbfgs")),
    {"solver": "lp", "tol": 1e-5},
]


@pytest.mark.parametrize("parameters", WEIGHTED, ids=lambda p: "-".join(map(str, p.values())))
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_copies(make, parameters, classes):
    """In the same number of rounds, too: rounding at the end decides nothing."""
    X, y = make(n=90, d=3, seed=5, classes=classes)
    weight = 1 + np.random.default_rng(0).integers(0, 3, len(y))
    copies = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    parameters = {"tol": 1e-7, "max_iter": 50_000, **parameters}
    weighted = LinearClassifier(**parameters).fit(X, y, sample_weight=weight)
    copied = LinearClassifier(**parameters).fit(*copies)
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-8)
    np.testing.assert_allclose(weighted.trace_[-1], copied.trace_[-1], atol=1e-12)
    assert weighted.converged_


REFUSED = [
    ({"loss": "GGauss(1)", "solver": "parallel"}, "bounded growth", {"fisher", "newton", "lbfgs", "uls"}),
    ({"loss": "Squared", "solver": "uls"}, "convex in the score, .* negative", {"fisher", "newton", "lbfgs"}),
    ({"loss": "Beta(-0.2, -0.6)", "solver": "uls"}, "a margin form, .* symmetric", {"fisher", "lbfgs"}),
    ({"solver": "parallel", "alpha": 0.1}, "alpha=0, .* got alpha=0.1", {"fisher", "newton", "lbfgs"}),
    ({"loss": "Exponential", "solver": "gis"}, "the log loss with the logit link", {"fisher", "uls", "lp"}),
    ({"solver": "lbfgs", "alpha": 0.1, "l1_ratio": 0.5}, "l1_ratio=0, .* got l1_ratio=0.5", {"fisher"}),
]


@pytest.mark.parametrize(("parameters", "lacking", "able"), REFUSED)
def test_what_cannot_be_done_is_refused_with_what_can(small, parameters, lacking, able):
    X, y = small
    words = rf"^solver='{parameters['solver']}' needs .*{lacking}.*; solvers that would do: "
    with pytest.raises(ValueError, match=words) as refused:
        LinearClassifier(**parameters).fit(X, y)
    offered = set(str(refused.value).split("solvers that would do: ")[1].split(", "))
    assert able <= offered <= set(SOLVERS) - {parameters["solver"]}
    for solver in offered:
        LinearClassifier(**{**parameters, "solver": solver, "tol": 1e-3}).fit(X, y)


def test_a_loss_without_margins_for_several_classes_is_refused(small_three):
    with pytest.raises(ValueError, match=r"Brier.* has none for several classes"):
        LinearClassifier(simplex.Brier(), solver="uls").fit(*small_three)


def test_every_solver_that_is_offered_works(small):
    X, y = small
    for solver in SOLVERS:
        assert LinearClassifier(solver=solver, tol=1e-4).fit(X, y).converged_, solver


def test_files_of_0_2_have_their_solver_as_a_value():
    given = {"solver": "uls", "features": "all", "p": 2.0}
    assert upgraded("LinearClassifier", given, {}) == {"solver": Uls("all")}
    assert upgraded("LinearClassifier", given | {"solver": "norm", "p": 3.0}, {}) == {"solver": Norm(3)}
    assert upgraded("LinearClassifier", {"solver": "fisher", "features": "one", "p": 2.0}, {}) == {
        "solver": "fisher"
    }
