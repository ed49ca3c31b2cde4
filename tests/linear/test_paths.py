import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut

from propriety.linear import LinearClassifier, LinearPath, path


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    return X, (X[:, 0] - X[:, 1] + 1.5 * rng.standard_normal(200) > 0).astype(int)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_each_point_is_the_fit_at_its_alpha(noisy, ratio):
    X, y = noisy
    way = path(LinearClassifier(l1_ratio=ratio), X, y, alphas=[0.1, 0.01, 0.03])
    assert list(way.alphas) == [0.1, 0.03, 0.01]
    for alpha, coef, objective in zip(way.alphas, way.coefs, way.objectives, strict=True):
        alone = LinearClassifier(alpha=alpha, l1_ratio=ratio).fit(X, y)
        np.testing.assert_allclose(coef, alone.coef_, atol=1e-6)
        assert objective == pytest.approx(alone.trace_[-1], abs=1e-12)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_tailored_losses_follow_the_focus_at_every_alpha(noisy, ratio):
    X, y = noisy
    loss, alphas = "Tailored(0.3, 20)", [0.1, 0.03, 0.01]
    way = path(LinearClassifier(loss, l1_ratio=ratio), X, y, alphas=alphas)
    for alpha, coef, objective in zip(way.alphas, way.coefs, way.objectives, strict=True):
        alone = LinearClassifier(loss, alpha=alpha, l1_ratio=ratio).fit(X, y)
        np.testing.assert_allclose(coef, alone.coef_, atol=1e-6)
        assert objective == pytest.approx(alone.trace_[-1], abs=1e-10)


def test_first_alpha_is_where_slopes_begin(noisy):
    X, y = noisy
    way = path(LinearClassifier(l1_ratio=1.0), X * 7, y, alphas=30)
    assert np.count_nonzero(way.coefs[0]) == 0
    assert np.count_nonzero(way.coefs[1]) >= 1
    assert np.all(np.diff(way.objectives) < 0)


def test_cross_validation_chooses_alpha(noisy):
    X, y = noisy
    model = LinearPath(LinearClassifier(l1_ratio=1.0), alphas=25).fit(X, y)
    assert model.cv_loss_.shape == (5, 25)
    assert model.alpha_ == model.alphas_[np.argmin(model.cv_loss_.mean(axis=0))]
    assert model.alphas_[-1] < model.alpha_ < model.alphas_[0]
    cautious = LinearPath(LinearClassifier(l1_ratio=1.0), alphas=25, rule="one_se").fit(X, y)
    assert cautious.alpha_ > model.alpha_
    assert np.count_nonzero(cautious.coef_) <= np.count_nonzero(model.coef_)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_several_classes(three_classes):
    X, y = three_classes
    way = path(LinearClassifier(), X, y, alphas=[0.1, 0.01])
    assert way.coefs.shape == (2, 3, 3)
    alone = LinearClassifier(alpha=0.01).fit(X, y)
    np.testing.assert_allclose(way.coefs[1], alone.coef_, atol=1e-6)


def test_bad_parameters(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="a path needs one of the solvers"):
        path(LinearClassifier(solver="uls"), X, y)
    with pytest.raises(ValueError, match="rule must be"):
        LinearPath(rule="luck").fit(X, y)


def test_folds_without_a_class_are_refused(noisy):
    X, y = noisy
    order = np.argsort(y)
    with pytest.raises(ValueError, match="cv leaves a class without training rows"):
        LinearPath(alphas=3, cv=[(np.arange(50), np.arange(50, 200))]).fit(X[order], y[order])


def test_a_path_of_the_lasso_needs_a_solver_that_has_it(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match=r"solver='lbfgs' needs l1_ratio=0.*: fisher, newton$"):
        path(LinearClassifier(solver="lbfgs", l1_ratio=1.0), X, y, alphas=3)


def test_rows_of_weight_zero_keep_the_folds_numbers(noisy):
    X, y = noisy
    weight = np.where(np.arange(len(y)) < 40, 0, 1)
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    model = LinearPath(alphas=4, cv=folds).fit(X, y, sample_weight=weight)
    kept = [(train[weight[train] > 0] - 40, test[weight[test] > 0] - 40) for train, test in folds]
    other = LinearPath(alphas=4, cv=kept).fit(X[40:], y[40:])
    np.testing.assert_allclose(model.cv_loss_, other.cv_loss_, rtol=1e-12)


def test_groups_go_to_the_splitter():
    rng = np.random.default_rng(0)
    X, y, groups = rng.standard_normal((60, 2)), np.arange(60) % 2, np.repeat(np.arange(6), 10)
    model = LinearPath(alphas=4, cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    splits = list(LeaveOneGroupOut().split(X, y, groups))
    expected = LinearPath(alphas=4, cv=splits).fit(X, y)
    np.testing.assert_array_equal(model.cv_loss_, expected.cv_loss_)
    with pytest.raises(ValueError, match="groups must have one entry for each of 60 rows, got 59"):
        LinearPath(alphas=4).fit(X, y, groups=groups[1:])
