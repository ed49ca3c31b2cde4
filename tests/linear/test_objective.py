"""The objective against its formula and against differences."""

import numpy as np
import pytest
from scipy import sparse

from propriety import losses
from propriety.linear.design import Design
from propriety.linear.moments import moments
from propriety.linear.objective import BinaryLoss, Objective, SimplexRows, row_losses
from propriety.linear.penalties import Penalty
from propriety.losses import simplex

BINARY = ["Log", "Exponential", "Squared", "Tailored(0.3, 4)"]
SIMPLEX = [simplex.Log(), simplex.Brier(), simplex.PairwiseExponential()]


def make_objective(loss, n=300, form=np.asarray, n_jobs=None):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((n, 3)) * [1.0, 5.0, 0.2], rng.uniform(0.5, 2, n)
    if isinstance(loss, str):
        rows = BinaryLoss(losses.as_composite(loss, None), rng.integers(0, 2, n).astype(float))
    else:
        rows = SimplexRows(loss, rng.integers(0, 3, n), 3)
    design = Design(form(X), True, n_jobs, moments(form(X), weight))
    penalty = Penalty.make(design, 0.1, 0.0)
    theta = 0.5 * rng.standard_normal((4, rows.n_scores))
    return Objective(design, rows, weight, penalty), theta


def value_by_numpy(objective, theta):
    design, rows, w = objective.design, objective.loss, objective.weight
    F = (design.X @ (theta[:3] * design.inverse_scale[:, None])) + theta[3]
    own = rows.composite.value(rows.y, F[:, 0]) if F.shape[1] == 1 else rows.loss.value(rows.y, F)
    slopes = theta[:3] * design.inverse_scale[:, None]
    return w @ own + 0.05 * np.sum(slopes**2)


@pytest.mark.parametrize("loss", [*BINARY, *SIMPLEX], ids=repr)
@pytest.mark.parametrize("n", [300, 15_000])
def test_value_and_gradient(loss, n):
    objective, theta = make_objective(loss, n)
    point = objective.at(theta)
    assert point.value == pytest.approx(value_by_numpy(objective, theta), rel=1e-11)
    assert objective.value(theta, point.scores) == pytest.approx(point.value, rel=1e-11)
    for i, k in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[i, k] = 1e-5
        slope = (value_by_numpy(objective, theta + step) - value_by_numpy(objective, theta - step)) / 2e-5
        assert point.gradient[i, k] == pytest.approx(slope, abs=2e-8)


@pytest.mark.parametrize("loss", [*BINARY, *SIMPLEX], ids=repr)
def test_curvature_is_the_slope_of_the_gradient(loss):
    objective, theta = make_objective(loss)
    point = objective.at(theta)
    hessian = objective.curvature(point, "newton")
    product = objective.curvature_product(point, "newton")
    p, K = theta.shape
    for i, k in np.ndindex(p, K):
        step = np.zeros_like(theta)
        step[i, k] = 1.0
        slope = (
            objective.at(theta + 1e-5 * step).gradient - objective.at(theta - 1e-5 * step).gradient
        ) / 2e-5
        np.testing.assert_allclose(hessian[:, k * p + i].reshape(K, p).T, slope, atol=1e-6)
        np.testing.assert_allclose(product(step), slope, atol=1e-6)


@pytest.mark.parametrize("loss", ["Log", *SIMPLEX], ids=repr)
@pytest.mark.parametrize("stride", [1, 3])
def test_curvatures_in_pieces_are_those_of_all_rows_at_once(loss, stride, monkeypatch):
    objective, theta = make_objective(loss, 700)
    point = objective.at(theta)
    v = np.random.default_rng(1).standard_normal(theta.shape)

    def curvatures():
        matrix = objective.curvature(point, "fisher", stride)
        return (
            matrix,
            objective.curvature_diagonal(point, "fisher"),
            objective.curvature_product(point, "fisher")(v),
        )

    at_once = curvatures()
    monkeypatch.setattr("propriety.linear.objective._AT_ONCE", 1)
    for small, whole in zip(curvatures(), at_once, strict=True):
        np.testing.assert_allclose(small, whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", ["Log", simplex.Brier()], ids=repr)
def test_sparse_is_dense_and_threads_change_nothing(loss):
    (dense, theta), (thin, _) = make_objective(loss), make_objective(loss, form=sparse.csr_array)
    np.testing.assert_allclose(thin.at(theta).gradient, dense.at(theta).gradient, atol=1e-12)
    one, two = (make_objective(loss, 90_000, n_jobs=k)[0].at(theta) for k in (1, 2))
    assert one.value == two.value
    np.testing.assert_array_equal(one.gradient, two.gradient)


@pytest.mark.parametrize("loss", [*BINARY, *SIMPLEX], ids=repr)
def test_start_is_the_base_rate(loss):
    """The gradient by the intercept is 0 there."""
    objective, _ = make_objective(loss)
    start = objective.start()
    assert np.all(start[:3] == 0)
    np.testing.assert_allclose(objective.at(start).gradient[3], 0, atol=1e-12)


def test_restricted_objective_has_the_same_value():
    objective, theta = make_objective("Log")
    theta[1] = 0.0
    small = objective.restrict(np.array([0, 2])).at(theta[[0, 2, 3]])
    assert small.value == pytest.approx(objective.at(theta).value, rel=1e-12)
    np.testing.assert_allclose(small.gradient, objective.at(theta).gradient[[0, 2, 3]], atol=1e-13)


@pytest.mark.parametrize("loss", BINARY)
def test_know_nothing_costs_log_two_under_every_loss(loss):
    rows = BinaryLoss(losses.as_composite(loss, None), np.array([0.0, 1.0]))
    floor = rows.composite.loss.loss(1, 1.0), rows.composite.loss.loss(0, 0.0)
    values = rows.values(slice(None), np.full((2, 1), rows.composite.link(0.5))) - np.mean(floor)
    assert values.mean() / rows.scale == pytest.approx(np.log(2))


def test_one_class_against_the_rest_is_a_problem_for_each_class():
    codes = np.array([0, 1, 2, 1])
    parts = row_losses(simplex.OneVsRest("Squared"), codes, 3)
    assert [part.y.tolist() for part in parts] == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    assert [part.n_scores for part in row_losses(simplex.Log(), codes, 3)] == [3]
