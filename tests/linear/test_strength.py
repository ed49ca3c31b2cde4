"""alpha="cv"."""

import numpy as np
import pytest
from scipy import special

from propriety.data.folds import fold_numbers
from propriety.data.training import NUMBERS, Training
from propriety.linear import LinearClassifier
from propriety.linear.settings import LinearSettings, loss_to_fit
from propriety.linear.strength import ALPHAS, N_FOLDS, cross_fit
from propriety.model import files


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 20))
    return X, (rng.random(90) < special.expit(1.5 * X[:, 0])).astype(int)


def test_the_chosen_penalty_has_the_least_held_out_loss(wide):
    X, y = wide
    model = LinearClassifier(alpha="cv").fit(X, y)
    assert model.alpha_ == model.alphas_[np.argmin(model.cv_loss_)]
    assert model.alphas_[-1] < model.alpha_ < model.alphas_[0]
    rng = np.random.default_rng(2)
    new = rng.standard_normal((4000, 20))
    labels = rng.random(4000) < special.expit(1.5 * new[:, 0])

    def loss(fitted):
        P = fitted.predict_proba(new)
        return -np.mean(np.log(P[np.arange(4000), labels.astype(int)]))

    assert loss(model) < 0.9 * loss(LinearClassifier().fit(X, y))


def test_the_penalty_does_not_see_units_order_or_copies(wide):
    X, y = wide
    model = LinearClassifier(alpha="cv").fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    other = LinearClassifier(alpha="cv").fit(X[order], y[order])
    np.testing.assert_allclose(other.cv_loss_, model.cv_loss_, rtol=1e-6)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = LinearClassifier(alpha="cv").fit(X, y, sample_weight=weight)
    copied = LinearClassifier(alpha="cv").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(copied.cv_loss_, weighted.cv_loss_, rtol=1e-6)
    np.testing.assert_allclose(copied.coef_, weighted.coef_, atol=1e-6)
    units = np.logspace(-3, 3, X.shape[1])
    given = LinearClassifier(alpha="cv").fit(X * units, y)
    fixed = LinearClassifier(alpha="cv").fit(X, y).alpha_
    # The rows have other hashes in other units, and so other folds, but the same penalty means the same fit.
    if given.alpha_ == fixed:
        np.testing.assert_allclose(given.coef_ * units, model.coef_, atol=1e-6)


def test_scores_of_held_out_rows_are_by_fits_without_them(wide):
    X, y = wide
    offset = np.random.default_rng(4).normal(size=len(y))
    model = LinearClassifier(alpha="cv")
    training = Training.read("T", X, y, reads=NUMBERS, offset=offset)
    folds = fold_numbers(training, N_FOLDS)
    settings, loss = LinearSettings.read(model), loss_to_fit(model, training.costs)
    crossed, fit = cross_fit(training, loss, settings, folds)
    assert np.all(np.isfinite(crossed.scores))
    held = folds == 2
    spread = X[~held].std(axis=0)
    alone = LinearClassifier(alpha=crossed.alpha).fit(X[~held] / spread, y[~held], offset=offset[~held])
    expected = alone.decision_function(X[held] / spread, offset=offset[held])
    np.testing.assert_allclose(crossed.scores[held, 0], expected, atol=1e-6)
    values = losses_of(y, crossed.scores[:, 0])
    assert crossed.curve.min() == pytest.approx(values.mean(), rel=1e-9)
    fitted = model.fit(X, y, offset=offset)
    np.testing.assert_allclose(fitted.coef_, fit.coef)


def losses_of(y, score):
    return np.logaddexp(0, np.where(y > 0, -score, score))


def test_the_choice_is_kept_in_a_file_and_forgotten_by_another_fit(wide):
    X, y = wide
    model = LinearClassifier(alpha="cv").fit(X, y)
    again = files.from_bytes(files.to_bytes(model))
    assert again.alpha == "cv"
    assert again.alpha_ == model.alpha_
    np.testing.assert_array_equal(again.alphas_, ALPHAS)
    np.testing.assert_array_equal(again.cv_loss_, model.cv_loss_)
    model.set_params(alpha=0.1).fit(X, y)
    assert model.alpha_ == 0.1
    assert not hasattr(model, "alphas_")


def test_several_classes_choose_too(three_classes):
    X, y = three_classes
    model = LinearClassifier(alpha="cv").fit(X, y)
    assert model.cv_loss_.min() < np.log(3)


def test_what_cannot_be_chosen_is_refused(wide):
    X, y = wide
    with pytest.raises(ValueError, match="alpha='cv' needs one of the solvers fisher, newton, lbfgs"):
        LinearClassifier(alpha="cv", solver="uls").fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        LinearClassifier(alpha="best").fit(X, y)
    with pytest.raises(ValueError, match="rows of each class in two folds"):
        LinearClassifier(alpha="cv").fit([[0.0], [1.0]], [0, 1])
