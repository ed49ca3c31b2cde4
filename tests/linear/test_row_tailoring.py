"""Losses tailored to the costs of each row."""

import mpmath
import numpy as np
import pytest
from scipy import special

from propriety import Costs, losses
from propriety.linear import LinearClassifier
from propriety.linear.objective import BinaryLoss
from propriety.linear.row_tailoring import RowTailored, TailoredRows
from propriety.losses.links import Logit
from propriety.model import files

EXTREME = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6])
EVERY = slice(None)


def rows_of(c, y, focus, offset=None):
    return TailoredRows(RowTailored(0.3, focus), c, y, np.ones(len(y)), offset)


@pytest.mark.parametrize("focus", [0.5, 2, 10, 40])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_each_row_has_the_tailored_loss_of_its_threshold(focus, label):
    F = np.linspace(-20, 20, 41)
    for c in EXTREME:
        composite = losses.Tailored(c, focus).with_link(Logit())
        mass = special.beta(focus * c, focus * (1 - c))
        rows = rows_of(np.full(41, c), np.full(41, label), focus)
        close = {"rtol": 1e-8 if c in (EXTREME[0], EXTREME[-1]) else 1e-11, "atol": 1e-300}
        values, gradients = rows.values_and_gradients(EVERY, F[:, None])
        np.testing.assert_allclose(values, composite.value(label, F) / mass, **close)
        np.testing.assert_array_equal(values, rows.values(EVERY, F[:, None]))
        np.testing.assert_allclose(gradients[:, 0], composite.gradient(label, F) / mass, **close)
        np.testing.assert_array_equal(gradients, rows.gradients(EVERY, F[:, None]))
        fisher, hessian = (rows.curvatures(EVERY, F[:, None], kind)[:, 0, 0] for kind in ("fisher", "newton"))
        np.testing.assert_allclose(fisher, composite.fisher(F) / mass, **close)
        # The Hessian changes its sign, and there its digits cancel.
        size = np.abs(hessian) + fisher + np.abs(gradients[:, 0])
        np.testing.assert_array_less(
            np.abs(hessian - composite.hessian(label, F) / mass), 1e-8 * size + 1e-300
        )


@pytest.mark.parametrize("c", [1e-6, 1 - 1e-6, 0.2])
@pytest.mark.parametrize("F", [-30.0, 0.5, 12.0])
def test_values_are_the_integrals_of_the_density(c, F):
    """∫ (1 − t) β(t) dt from p to 1 for y = 1, ∫ t β(t) dt from 0 to p for y = 0."""
    with mpmath.workdps(40):
        a, b = mpmath.mpf(10) * c, 10 * (1 - mpmath.mpf(c))
        p = 1 / (1 + mpmath.exp(-F))
        one = mpmath.betainc(b + 1, a, 0, 1 / (1 + mpmath.exp(F))) / mpmath.beta(a, b)
        zero = mpmath.betainc(a + 1, b, 0, p) / mpmath.beta(a, b)
    found = rows_of(np.full(2, c), np.array([1.0, 0.0]), 10).values(EVERY, np.full((2, 1), F))
    np.testing.assert_allclose(found, [float(one), float(zero)], rtol=1e-9, atol=1e-300)


def test_the_offset_is_part_of_the_score():
    rng = np.random.default_rng(0)
    y, F, offset = rng.integers(0, 2, 6).astype(float), rng.normal(size=6), rng.normal(size=6)
    with_offset, without = rows_of(EXTREME, y, 5, offset), rows_of(EXTREME, y, 5)
    np.testing.assert_allclose(
        with_offset.values(EVERY, F[:, None]), without.values(EVERY, (F + offset)[:, None])
    )
    half = slice(1, None, 2)
    np.testing.assert_allclose(
        with_offset.sample(2).gradients(EVERY, F[::2, None]),
        with_offset.gradients(slice(0, None, 2), F[::2, None]),
    )
    assert with_offset.curvatures(half, F[half, None], "newton").shape == (3, 1, 1)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_equal_thresholds_give_the_model_of_the_one_tailored_loss(problem, alpha):
    X, y = problem
    stake = np.random.default_rng(0).uniform(0.5, 2, len(y))
    one = LinearClassifier("Tailored(0.2, 4)", alpha=alpha, tol=1e-10).fit(X, y)
    each = LinearClassifier("tailored(4)", alpha=alpha, tol=1e-10)
    each.fit(X, y, fp_cost=stake, fn_cost=4 * stake)
    assert each.loss_ == one.loss_
    np.testing.assert_allclose(each.coef_, one.coef_, atol=1e-8)
    staked = LinearClassifier("tailored(4)", alpha=alpha, costs=Costs(weight_by_stakes=True), tol=1e-10)
    staked.fit(X, y, fp_cost=stake, fn_cost=4 * stake)
    weighted = LinearClassifier("Tailored(0.2, 4)", alpha=alpha, tol=1e-10).fit(X, y, sample_weight=stake)
    np.testing.assert_allclose(staked.coef_, weighted.coef_, atol=1e-6)


def test_the_objective_is_that_of_the_one_tailored_loss(problem):
    _, y = problem
    y, F = y.astype(float), np.random.default_rng(0).normal(size=(len(y), 1))
    one, each = BinaryLoss(losses.Tailored(0.2, 4).composite(), y), rows_of(np.full(len(y), 0.2), y, 4)
    for a, b in zip(one.values_and_gradients(EVERY, F), each.values_and_gradients(EVERY, F), strict=True):
        np.testing.assert_allclose(a / one.scale, b / each.scale, rtol=1e-12)


def test_rows_turn_the_boundary_where_their_money_is():
    """Hand and Vinciotti's ramp: the best line at a threshold is the ray at that angle."""
    rng = np.random.default_rng(2005)
    X = rng.random((4000, 2))
    eta = np.arccos(X[:, 0] / np.hypot(X[:, 0], X[:, 1])) / (np.pi / 2)
    y = (rng.random(4000) < eta).astype(int)
    c = np.where(rng.random(4000) < 0.5, 0.25, 0.35)
    log = LinearClassifier(alpha=1e-4).fit(X, y, fp_cost=c, fn_cost=1 - c)
    each = LinearClassifier("tailored", alpha=1e-4).fit(X, y, fp_cost=c, fn_cost=1 - c)

    def cost(model):
        decided = model.predict(X, fp_cost=c, fn_cost=1 - c)
        return np.mean(np.where(decided == 1, c * (y == 0), (1 - c) * (y == 1)))

    assert cost(each) < 0.98 * cost(log)
    summary = each.summary()
    assert np.all(summary.columns["se_robust"] > 0)
    again = files.from_bytes(files.to_bytes(each))
    np.testing.assert_array_equal(again.predict_proba(X), each.predict_proba(X))


def test_rows_that_their_costs_decide_take_no_part(problem):
    X, y = problem
    rng = np.random.default_rng(0)
    fp, fn = rng.uniform(0.5, 1, len(y)), rng.uniform(1, 3, len(y))
    fp[:40] = 0.0  # always decided for the positive class
    model = LinearClassifier("tailored(3)").fit(X, y, fp_cost=fp, fn_cost=fn)
    rest = LinearClassifier("tailored(3)").fit(X[40:], y[40:], fp_cost=fp[40:], fn_cost=fn[40:])
    np.testing.assert_allclose(model.coef_, rest.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="every row of a class"):
        LinearClassifier("tailored").fit(X, y, fp_cost=np.where(y, 1.0, 0.0), fn_cost=np.ones(len(y)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"link": "Probit"}, "has the logit link, got link='Probit'"),
        ({"solver": "uls", "loss": "tailored(0.5)"}, "solver='uls'"),
        ({"loss": "tailored(0)"}, "must have a focus above 0"),
        ({"loss": "tailored(x)"}, "must have a focus above 0"),
    ],
)
def test_what_cannot_be_tailored_is_refused(problem, parameters, message):
    X, y = problem
    model = LinearClassifier(**{"loss": "tailored"} | parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, fn_cost=np.linspace(1, 2, len(y)))


def test_several_classes_are_refused(three_classes):
    with pytest.raises(ValueError, match="loss='tailored' is for two classes, got 3"):
        LinearClassifier("tailored").fit(*three_classes)
