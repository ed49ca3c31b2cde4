import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from propriety import losses
from propriety.linear import LinearClassifier
from propriety.linear.updates import Uls
from propriety.separators import margins, uls


@pytest.fixture(scope="module")
def small(make):
    return make(n=120, d=3, seed=5)


@pytest.mark.parametrize("features", ["one", "active", "all", 2])
@pytest.mark.parametrize("loss", ["Log", "Exponential", "Matsushita"])
def test_uls_identity_zero_edges_and_minimum(small, features, loss):
    X, y = small
    best = LinearClassifier(loss, tol=1e-10).fit(X, y).trace_[-1]
    model = LinearClassifier(loss, solver=Uls(features)).fit(X, y)
    assert abs(model.trace_[-1] - best) < 1e-10
    report = model.report_
    assert report.identity_gap < 1e-12
    assert len(report.rounds) == model.n_iter_
    assert report.rounds[0].edge > report.rounds[-1].edge or features == "all"
    if features == "all":
        assert model.n_iter_ == 1
    if loss == "Exponential":
        assert report.bound == np.inf
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


@pytest.mark.filterwarnings("ignore::propriety.linear.SeparationWarning")
@pytest.mark.parametrize("features", ["one", "all", "active"])
def test_weights_are_copies_where_the_classes_are_separated(features):
    """15 rows of 30 columns in three classes: no minimum, so the rounds themselves must agree."""
    check_sample_weight_equivalence_on_dense_data("LinearClassifier", LinearClassifier(solver=Uls(features)))
