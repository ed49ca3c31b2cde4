"""A loss that is chosen as columns are boosted, against rounds by hand."""

import numpy as np
import pytest
from scipy.optimize import brentq

from propriety import LinearClassifier, losses
from propriety.linear.updates import Uls
from propriety.separators.bags import BAGS


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.standard_normal(90) > 0.4).astype(int)


def by_hand(X, y, bag, choose, rounds):
    """Margins and the loss of each round: the best step along the column of largest edge, for each loss.

    The loss of least errors or of largest edge; ties go to the log loss, then the first.
    """
    M = X * (2 * y - 1)[:, None]
    v, chosen = np.zeros(len(y)), []
    for _ in range(rounds):
        found = []
        for k, loss in enumerate(bag):
            composite = losses.as_composite(loss)
            w = composite.example_weight(v)
            edges = M.T @ w
            m = M[:, np.argmax(np.abs(edges))]
            a = brentq(lambda a, m=m, c=composite, v=v: m @ c.example_weight(v + a * m), -20, 20, xtol=1e-13)
            after = v + a * m
            errors = np.mean((after * (2 * y - 1) >= 0) != y)
            value = errors if choose == "risk" else -np.abs(edges).max() / w.sum()
            found.append((round(value, 12), loss != losses.Log(), k, after))
        _, _, k, v = min(found, key=lambda entry: entry[:3])
        chosen.append(losses.as_composite(bag[k]))
    return v, chosen


@pytest.mark.parametrize("choose", ["risk", "edge"])
def test_rounds_are_those_by_hand(data, choose):
    X, y = data
    bag = [losses.Mu(1 / 3), losses.Exponential(), losses.Log()]
    model = LinearClassifier("bag", solver=Uls(bag=bag, choose=choose), fit_intercept=False, max_iter=12).fit(
        X, y
    )
    v, chosen = by_hand(X, y, bag, choose, 12)
    assert [composite.loss for composite in model.chosen_] == [
        losses.as_composite(loss).loss for loss in chosen
    ]
    assert len(set(model.chosen_)) > 1
    assert model.loss_ == model.chosen_[-1]
    np.testing.assert_allclose(model.decision_function(X) * (2 * y - 1), v, atol=1e-6)
    assert model.trace_[-1] == pytest.approx(np.mean(model.predict(X) != y))


def test_scores_of_a_bounded_link_stay_inside(data):
    X, y = data
    model = LinearClassifier("bag", solver=Uls(bag=["Squared()"]), max_iter=30).fit(X, y)
    assert np.abs(model.decision_function(X)).max() <= 1 + 1e-12
    adaptive = LinearClassifier("bag", solver=Uls(choose="edge"), max_iter=25).fit(X, y)
    assert {composite.loss for composite in adaptive.chosen_} <= set(BAGS[1])


def test_once_is_the_loss_of_least_risk(data):
    X, y = data
    bag = ["Matsushita()", "Exponential()", "Squared()"]
    model = LinearClassifier("bag", solver=Uls(bag=bag, choose="once"), fn_cost=3, max_iter=20).fit(X, y)
    alone = [
        LinearClassifier("bag", solver=Uls(bag=[loss]), fn_cost=3, max_iter=20).fit(X, y) for loss in bag
    ]
    costs = [np.mean(np.where(y == 1, 3, 1) * (each.predict(X) != y)) for each in alone]
    assert np.ptp(costs) > 0
    best = alone[int(np.argmin(costs))]
    assert model.trace_[-1] == pytest.approx(min(costs))
    np.testing.assert_array_equal(model.coef_, best.coef_)
    assert set(model.chosen_) == {best.loss_}


def test_what_a_bag_does_not_go_with(data):
    X, y = data
    with pytest.raises(ValueError, match="chooses a loss in every round of solver='uls', got 'fisher'"):
        LinearClassifier("bag").fit(X, y)
    with pytest.raises(ValueError, match="bag=2 is for loss='bag', and loss is 'auto'"):
        LinearClassifier(solver=Uls(bag=2)).fit(X, y)
    with pytest.raises(ValueError, match="loss='bag' is for two classes, and y has 3"):
        LinearClassifier("bag", solver="uls").fit(X, np.arange(90) % 3)
    plain = LinearClassifier("bag", solver="uls", max_iter=2).fit(X, y)
    plain.set_params(loss="Log", solver="fisher", max_iter=None).fit(X, y)
    assert not hasattr(plain, "chosen_")
