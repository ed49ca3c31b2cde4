"""Margins: numbers and picture."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from propriety import plots
from propriety.evaluation import theory

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(200, 3)), axis=1)]
    return X, y


def test_margins_of_two_classes_are_those_of_their_columns(data):
    X, y = data
    y = y == "a"
    P = LogisticRegression().fit(X, y).predict_proba(X)
    margins = theory.normalized_margins(y, P[:, 1])
    np.testing.assert_allclose(margins, np.where(y, 1, -1) * (P[:, 1] - P[:, 0]))
    np.testing.assert_allclose(theory.normalized_margins(y, P), margins)
    np.testing.assert_allclose(theory.normalized_margins(y, P, classes=[False, True]), margins, atol=1e-15)


def test_margins_of_several_classes(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    margins = theory.normalized_margins(y, model.predict_proba(X), classes=model.classes_)
    np.testing.assert_array_equal(margins > 0, model.predict(X) == y)
    assert np.all(np.abs(margins) <= 1)


def test_the_distribution_counts_rows(data):
    rng = np.random.default_rng(1)
    margins, w = rng.uniform(-1, 1, 50).round(1), rng.integers(0, 4, 50)
    distribution = theory.margin_distribution(margins, w)
    for theta in (-1, -0.25, 0, 0.3, 1):
        assert distribution(theta) == pytest.approx(w[margins <= theta].sum() / w.sum())
    assert distribution.mean == pytest.approx(np.average(margins, weights=w))
    copies = theory.margin_distribution(np.repeat(margins, w))
    np.testing.assert_allclose(copies.shares, distribution.shares)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.normalized_margins([0, 1], [0.2, 1.2]), "p"),
        (lambda: theory.normalized_margins([0, 1], [0.2]), "row"),
        (lambda: theory.normalized_margins([0, 1, 2], np.full((3, 4), 0.25)), "classes"),
        (
            lambda: theory.normalized_margins([0, 9], np.full((2, 3), 0.3), classes=[0, 1, 2]),
            "not in classes",
        ),
        (lambda: theory.margin_distribution([0.5, 2.0]), "lie in"),
        (lambda: theory.margin_distribution([]), "margins"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_picture_is_the_distribution(data):
    X, y = data
    model, ax = LogisticRegression().fit(X, y), Figure().subplots()
    display = plots.MarginDisplay.from_estimator(model, X, y, ax=ax)
    theta, share = display.line_.get_data()
    inner = slice(1, -1)
    np.testing.assert_allclose(display.distribution(theta[inner]), share[inner])
    assert (theta[0], share[0], theta[-1], share[-1]) == (-1, 0, 1, 1)
    assert ax.get_legend().get_texts()[0].get_text() == "LogisticRegression"
    second = plots.MarginDisplay.from_predictions(y == "a", model.predict_proba(X)[:, 0], name="a", ax=ax)
    assert second.line_.get_color() != display.line_.get_color()
    assert second.ax_ is ax
