"""Universal linear separators and the Bregman updates."""

import warnings

import numpy as np
import pytest
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from propriety import losses
from propriety.linear import LinearClassifier, bregman, margins, uls
from propriety.losses import simplex

UPDATES = ["parallel", "sequential", "sequential2", "sphere", "lp"]
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
    model = LinearClassifier(loss, solver=solver, tol=1e-5 if few else 1e-6).fit(X, y)
    assert abs(model.trace_[-1] - best) < 1e-8
    assert np.all(np.diff(model.trace_) <= 0)


def test_iterative_scaling_reaches_the_minimum(small, small_three):
    for X, y in (small, small_three):
        best = LinearClassifier(tol=1e-10).fit(X, y).trace_[-1]
        model = LinearClassifier(solver="gis", tol=1e-5).fit(X, y)
        assert abs(model.trace_[-1] - best) < 1e-8
        assert np.all(np.diff(model.trace_) <= 0)
        assert model.n_iter_ > 5 * LinearClassifier(solver="parallel", tol=1e-5).fit(X, y).n_iter_


@pytest.mark.parametrize(
    "loss", [simplex.Log(), simplex.PairwiseExponential(), simplex.MH(), simplex.OneVsRest("Matsushita")]
)
@pytest.mark.parametrize("solver", [*UPDATES, "uls"])
def test_several_classes_reach_the_minimum(small_three, solver, loss):
    X, y = small_three
    best = _minimum(X, y, loss)
    model = LinearClassifier(loss, solver=solver, tol=1e-5).fit(X, y)
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


@pytest.mark.parametrize("features", ["one", "active", "all", 2])
@pytest.mark.parametrize("loss", ["Log", "Exponential", "Matsushita"])
def test_uls_identity_zero_edges_and_minimum(small, features, loss):
    X, y = small
    best = LinearClassifier(loss, tol=1e-10).fit(X, y).trace_[-1]
    model = LinearClassifier(loss, solver="uls", features=features).fit(X, y)
    assert abs(model.trace_[-1] - best) < 1e-10
    report = model.report_
    assert report.identity_gap < 1e-12
    assert len(report.rounds) == model.n_iter_
    assert report.rounds[0].edge > report.rounds[-1].edge or features == "all"
    if features == "all":
        assert model.n_iter_ == 1
    if loss == "Exponential":
        assert np.isnan(report.bound)
    else:
        assert report.bound >= len(report.rounds)
    assert "rounds" in str(report)


def test_uls_round_leaves_no_edge_on_its_features(small):
    X, y = small
    weight = np.full(len(y), 1 / len(y))
    problem = margins.binary(X, y, losses.Log().composite(), weight)
    state = uls.step(uls.start(problem, np.zeros(3)), problem, 2)
    chosen = list(state.rounds[0].features)
    assert len(chosen) == 2
    assert np.abs(state.edges[chosen]).max() < 1e-12
    assert np.abs(state.edges).max() > 1e-6


def test_uls_with_exponential_loss_is_adaboost():
    """With features ±1 the coefficient is ½ log((1 − error)/error), and the next weighted error is ½."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(200, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(200) > 0).astype(int)
    model = LinearClassifier(
        "Exponential", solver="uls", fit_intercept=False, max_iter=1, tol=1.0
    ).set_params(tol=1e-12)
    with pytest.warns(Warning, match="stopped after 1 steps"):
        model.fit(X, y)
    errors = np.array([np.mean((X[:, j] > 0) != y) for j in range(5)])
    j = int(np.argmax(np.abs(0.5 - errors)))
    expected = 0.5 * np.log((1 - errors[j]) / errors[j])
    np.testing.assert_allclose(model.coef_[0, j], expected, atol=1e-10)
    assert np.count_nonzero(model.coef_) == 1
    w = np.exp(-(2 * y - 1) * X[:, j] * expected)
    np.testing.assert_allclose(w @ ((X[:, j] > 0) != y) / w.sum(), 0.5, atol=1e-10)


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


@pytest.mark.parametrize(
    ("loss", "growth"), [("Log", 1.0), ("Exponential", 1.0), ("GLaplace(2)", 0.25), ("GLog(2)", 0.5)]
)
def test_rate_of_growth(loss, growth):
    assert losses.as_composite(loss, None).growth == pytest.approx(growth, rel=1e-6)


@pytest.mark.parametrize("loss", BOUNDED_GROWTH)
def test_growth_bounds_the_loss(loss):
    """φ(v + δ) ≤ φ(v) + (w/L)(e^{−Lδ} − 1)."""
    c = losses.as_composite(loss, None)
    L = c.growth
    v, delta = np.meshgrid(np.linspace(-6, 6, 61), np.linspace(-3, 3, 61))
    bound = c.margin_loss(v) + c.example_weight(v) / L * np.expm1(-L * delta)
    assert np.all(c.margin_loss(v + delta) <= bound * (1 + 1e-9) + 1e-12)


def test_what_cannot_be_done_is_refused_with_the_reason(small):
    X, y = small
    with pytest.raises(ValueError, match="unbounded growth"):
        LinearClassifier("GGauss(1)", solver="parallel").fit(X, y)
    with pytest.raises(ValueError, match="not convex in the score"):
        LinearClassifier("Squared", solver="uls").fit(X, y)
    with pytest.raises(ValueError, match="no margin loss"):
        LinearClassifier("Beta(-0.2, -0.6)", solver="uls").fit(X, y)
    with pytest.raises(ValueError, match="without a penalty"):
        LinearClassifier(solver="parallel", alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="log loss with the logit link"):
        LinearClassifier("Exponential", solver="gis").fit(X, y)
    with pytest.raises(ValueError, match="no L1 penalty"):
        LinearClassifier(solver="lbfgs", alpha=0.1, l1_ratio=0.5).fit(X, y)


WEIGHTED = [
    *({"solver": "uls", "features": features} for features in ("one", "all", "active", 2)),
    *({"solver": solver} for solver in ("parallel", "sequential", "sequential2", "sphere", "gis")),
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


@pytest.mark.filterwarnings("ignore::propriety.linear.SeparationWarning")
@pytest.mark.parametrize("features", ["one", "all", "active"])
def test_weights_are_copies_where_the_classes_are_separated(features):
    """15 rows of 30 columns in three classes: no minimum, so the rounds themselves must agree."""
    check_sample_weight_equivalence_on_dense_data(
        "LinearClassifier", LinearClassifier(solver="uls", features=features)
    )


def test_a_small_loss_of_several_classes_is_not_none():
    loss = margins.MultinomialMargins(2)
    np.testing.assert_allclose(
        loss.values(np.array([40.0, 41.0])).sum(), np.exp(-40) + np.exp(-41), rtol=1e-14
    )
    v = np.array([-3.0, 2.0])
    np.testing.assert_allclose(loss.values(v).sum(), np.log(1 + np.exp(-v).sum()), rtol=1e-14)
