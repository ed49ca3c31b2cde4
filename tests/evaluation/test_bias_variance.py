"""Bias and variance by any loss: the identity, known special cases, and what they should show."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from propriety import losses
from propriety.evaluation import theory

SMOOTH = [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)]


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_identity_for_every_loss(loss):
    rng = np.random.default_rng(0)
    q = rng.beta(2, 3, (7, 40))
    eta = rng.uniform(size=40)
    weight = rng.integers(0, 3, 40)
    known = theory.decompose_fits(q, eta, loss, known=True, sample_weight=weight)
    assert known.noise + known.bias + known.variance == pytest.approx(known.total, rel=1e-8)
    assert min(known.bias, known.variance) >= 0
    labels = theory.decompose_fits(q, (eta > 0.5).astype(float), loss)
    assert labels.bias + labels.variance == pytest.approx(labels.total, rel=1e-8)
    assert labels.noise is None


def test_squared_loss_is_the_textbook():
    q = np.random.default_rng(1).uniform(size=(9, 20))
    eta = np.linspace(0.1, 0.9, 20)
    parts = theory.decompose_fits(q, eta, "Squared", known=True)
    np.testing.assert_allclose(parts.mean, q.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(parts.variances, q.var(axis=0), atol=1e-12)
    np.testing.assert_allclose(parts.biases, (q.mean(axis=0) - eta) ** 2, atol=1e-12)


def test_log_loss_averages_log_odds():
    q = np.random.default_rng(1).uniform(0.1, 0.9, size=(9, 5))
    parts = theory.decompose_fits(q, np.full(5, 0.5), "Log", known=True)
    mean = np.log(q / (1 - q)).mean(axis=0)
    np.testing.assert_allclose(parts.mean, 1 / (1 + np.exp(-mean)), rtol=1e-12)


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    eta = np.where((X[:, 0] < 0.5) == (X[:, 1] < 0.5), 0.15, 0.85)
    return X, (rng.uniform(size=n) < eta).astype(int), eta


def test_rigid_learners_have_bias_and_flexible_ones_variance():
    X, y, eta = data()
    settings = {"eta": eta, "n_repeats": 10, "random_state": 0, "clip": 1e-3}
    for loss in ("Log", "Tailored(0.3, 5)"):
        rigid = theory.bias_variance(LogisticRegression(), X, y, loss, **settings)
        flexible = theory.bias_variance(KNeighborsClassifier(15), X, y, loss, **settings)
        assert rigid.bias > flexible.bias
        assert flexible.variance > 2 * rigid.variance
        assert rigid.noise == flexible.noise
    assert "noise" in str(rigid)


def test_reproducible_and_any_labels_and_given_test_rows():
    X, y, _ = data()
    names = np.array(["no", "yes"])[y]
    first = theory.bias_variance(GaussianNB(), X, names, "Squared", n_repeats=3, random_state=4)
    again = theory.bias_variance(GaussianNB(), X, names, "Squared", n_repeats=3, random_state=4)
    assert first.total == again.total
    assert first.probabilities.shape == (3, 120)
    X_test, y_test, eta_test = data(50, 1)
    given = {"n_repeats": 3, "random_state": 0, "replace": False, "train_size": 0.5}
    by_label = theory.bias_variance(
        GaussianNB(), X, names, "Log", X_test=X_test, y_test=np.array(["no", "yes"])[y_test], **given
    )
    by_truth = theory.bias_variance(GaussianNB(), X, names, "Log", X_test=X_test, eta=eta_test, **given)
    assert by_label.variance == pytest.approx(by_truth.variance, rel=1e-12)
    assert by_label.bias + by_label.variance == pytest.approx(by_label.total, rel=1e-9)
    weighted = theory.bias_variance(
        GaussianNB(), X, y, "Log", sample_weight=1.0 + y, n_repeats=3, random_state=0
    )
    assert weighted.bias + weighted.variance == pytest.approx(weighted.total, rel=1e-9)


def test_bad_arguments_are_named():
    X, y, _ = data(60)
    with pytest.raises(ValueError, match="some fits are certain"):
        theory.bias_variance(DecisionTreeClassifier(), X, y, "Log", random_state=0)
    with pytest.raises(TypeError, match="no canonical link"):
        theory.bias_variance(GaussianNB(), X, y, "CostWeighted(0.2)", random_state=0)
    with pytest.raises(ValueError, match="every training sample is the same"):
        theory.bias_variance(GaussianNB(), X, y, replace=False)
    with pytest.raises(ValueError, match="n_repeats"):
        theory.bias_variance(GaussianNB(), X, y, n_repeats=1)
    with pytest.raises(ValueError, match="needs y_test"):
        theory.bias_variance(GaussianNB(), X, y, X_test=X)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        theory.bias_variance(KNeighborsClassifier(), X, y, "Squared", sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="two classes, found 3"):
        theory.bias_variance(GaussianNB(), X, np.arange(60) % 3)
