"""KernelClassifier against kernel logistic regression by its definition, and its draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from tests.inside import landmarks_of, numbers_of, rate_of

from propriety import KernelClassifier, LinearClassifier, losses
from propriety.kernel import features, learning
from propriety.kernel.features import gaussian


def moons(n=200):
    X, y = make_moons(n, noise=0.25, random_state=0)
    return np.round(X, 2), y


def test_it_minimizes_the_mean_loss_and_the_norm():
    X, y = moons(60)
    model = KernelClassifier(width=0.7, alpha=0.01, tol=1e-9).fit(X, y)
    points = model.landmarks_
    assert len(points) == 60
    rate = rate_of(model)
    K = gaussian(points, points, rate)
    values = gaussian(numbers_of(model, X), points, rate)

    def objective(theta):
        F = values @ theta[:-1] + theta[-1]
        residual = (1 / (1 + np.exp(-F)) - y) / len(y)
        norm = K @ theta[:-1]
        value = np.mean(np.logaddexp(0, F) - y * F) + 0.005 * theta[:-1] @ norm
        return value, np.append(values.T @ residual + 0.01 * norm, residual.sum())

    found = minimize(objective, np.zeros(61), jac=True, method="BFGS", options={"gtol": 1e-8})
    reached = objective(np.append(model.dual_coef_[0], model.intercept_))[0]
    assert reached == pytest.approx(found.fun, abs=1e-7)


def test_folds_choose_what_loses_least_on_held_out_rows():
    X, y = moons()
    model = KernelClassifier().fit(X, y)
    assert model.cv_loss_.shape == (len(model.widths_), len(model.alphas_))
    best = np.unravel_index(np.nanargmin(model.cv_loss_), model.cv_loss_.shape)
    assert (model.width_, model.alpha_) == (model.widths_[best[0]], model.alphas_[best[1]])
    loss = losses.Log().composite().value(y, model.oof_decision_function_)
    assert np.mean(loss) == pytest.approx(np.nanmin(model.cv_loss_))
    new_X, new_y = make_moons(500, noise=0.25, random_state=1)
    assert model.score(new_X, new_y) > LinearClassifier().fit(X, y).score(new_X, new_y) + 0.05


def test_scores_out_of_fold_are_by_fits_without_them():
    X, y = moons()
    folds = np.arange(len(y)) % 4
    model = KernelClassifier(width=0.5, alpha=0.01, tol=1e-9).fit(X, y, folds=folds)
    weight = (folds != 2).astype(float)
    # The features are those of all rows, as are the scales of the columns.
    landmarks = landmarks_of(model)
    Z, rate = numbers_of(model, X), rate_of(model)
    phi, _ = features.features_of(Z, np.ones(len(y)), landmarks.points, rate)
    alone = LinearClassifier(alpha=0.01).fit(phi, y, weight)
    np.testing.assert_allclose(
        model.oof_decision_function_[folds == 2], alone.decision_function(phi[folds == 2]), atol=1e-3
    )


@pytest.mark.parametrize("n_landmarks", [20, 300])
def test_neither_copies_nor_the_order_of_rows_matter(n_landmarks):
    X, y = moons()
    weight = np.arange(len(y)) % 3
    copies = np.repeat(np.arange(len(y)), weight)[::-1]
    weighted = KernelClassifier(n_landmarks=n_landmarks, tol=1e-9).fit(X, y, weight)
    copied = KernelClassifier(n_landmarks=n_landmarks, tol=1e-9).fit(X[copies], y[copies])
    np.testing.assert_array_equal(weighted.landmarks_, np.unique(weighted.landmarks_, axis=0))
    np.testing.assert_allclose(weighted.landmarks_, copied.landmarks_, rtol=1e-12)
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-6)


def test_many_rows_choose_by_some_and_have_fewer_landmarks(monkeypatch):
    X, y = moons(400)
    monkeypatch.setattr(learning, "_TRIAL", 100)
    monkeypatch.setattr(learning, "_VALUES", 400 * 25)
    model = KernelClassifier().fit(X, y)
    assert len(model.landmarks_) == 25
    again = KernelClassifier().fit(X[::-1], y[::-1])
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-5)
    assert np.isfinite(model.oof_decision_function_).all()
    new_X, new_y = make_moons(500, noise=0.25, random_state=1)
    assert model.score(new_X, new_y) > 0.9


def test_categories_and_missing_values_are_read():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=200), "kind": pd.Categorical(rng.choice(list("abc"), 200))})
    y = (X["x"] > 0) ^ (X["kind"] == "b")
    X.loc[::10, "x"] = np.nan
    model = KernelClassifier().fit(X, y)
    assert model.score(X[X["x"].notna()], y[X["x"].notna()]) > 0.95
    unseen = X[:5].assign(kind=pd.Categorical(["d"] * 5))
    assert np.isfinite(model.predict_proba(unseen)).all()


def test_a_value_far_out_is_far_from_every_landmark():
    X, y = moons()
    model = KernelClassifier(width=1.0, alpha=0.01).fit(X, y)
    far = np.array([[1e300, 0.0], [-1e300, 1e300]])
    np.testing.assert_allclose(model.decision_function(far), model.intercept_[0])


@pytest.mark.parametrize(
    ("params", "argument"),
    [({"width": 0.0}, "width"), ({"alpha": "auto"}, "alpha"), ({"n_landmarks": 0}, "n_landmarks")],
)
def test_bad_parameters_are_named(params, argument):
    with pytest.raises(ValueError, match=argument):
        KernelClassifier(**params).fit(*moons(20))


def test_any_loss_and_link():
    X, y = moons()
    for loss, link in (("Squared", None), ("Log", "Probit"), ("Tailored(0.2)", None)):
        model = KernelClassifier(loss, link=link, width=0.5, alpha=0.01, fn_cost=4).fit(X, y)
        assert model.score(X, y) > 0.85
