"""Rounds of boosted rules: AdaBoost by hand, what ends them, and the choice of a loss."""

from itertools import pairwise

import numpy as np
import pytest

from propriety import RuleClassifier, losses
from propriety.rules import learning
from propriety.separators import bags

LOSSES = ["Log()", "Exponential()", "Matsushita()", "Squared()", "Mu(0.3)"]


class Stumps:
    """AdaBoost with every stump, by the book: the scores after each round, and the edges."""

    def __init__(self, X, y, weight, rounds):
        cuts = [(f, t) for f in range(X.shape[1]) for t in np.unique(X[:, f])[:-1]]
        H = np.array([np.where(X[:, f] > t, 1.0, -1.0) for f, t in cuts])
        signs, F = 2.0 * y - 1, np.zeros(len(y))
        self.scores, self.edges, self.of_constant = [], [], []
        for _ in range(rounds):
            w = weight * np.exp(-signs * F)
            w /= w.sum()
            edges = H @ (w * signs)
            k = int(np.argmax(np.abs(edges) > np.abs(edges).max() * (1 - 1e-9)))
            error = w[np.sign(edges[k]) * H[k] != signs].sum()
            F = F + np.sign(edges[k]) * 0.5 * np.log((1 - error) / error) * H[k]
            self.scores.append(F)
            self.edges.append(abs(edges[k]))
            self.of_constant.append(abs(w @ signs))


@pytest.fixture(scope="module")
def unbalanced():
    """300 rows of which most are of class 1: the constant rule has a larger edge than any stump."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (300, 4)).astype(float)
    p = 0.55 + 0.2 * (X[:, 0] > 0) + 0.1 * (X[:, 1] > 1) - 0.15 * (X[:, 2] > 0) * (X[:, 3] > 1)
    return X, (rng.random(300) < p).astype(int), rng.uniform(0.5, 2.0, 300)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_exponential_loss_without_intercept_is_adaboost_round_by_round(unbalanced, weighted):
    X, y, w = unbalanced
    weight = w if weighted else np.ones(300)
    by_hand = Stumps(X, y, weight, 8)
    assert by_hand.of_constant[0] > by_hand.edges[0]
    for rounds, F in enumerate(by_hand.scores, 1):
        model = RuleClassifier(
            "Exponential()", max_literals=1, criterion="edge", fit_intercept=False, n_rules=rounds
        ).fit(X, y, weight)
        assert model.n_iter_ == rounds
        np.testing.assert_allclose(model.edges_, by_hand.edges[:rounds], atol=1e-12)
        np.testing.assert_allclose(model.decision_function(X), F, atol=1e-12)


def test_balanced_classes_are_adaboost_too(data):
    X, y = data
    model = RuleClassifier(
        "Exponential()", max_literals=1, criterion="edge", fit_intercept=False, n_rules=12
    ).fit(X, y)
    assert model.n_iter_ == 12
    np.testing.assert_allclose(
        model.decision_function(X), Stumps(X, y, np.ones(400), 12).scores[-1], atol=1e-12
    )


@pytest.mark.parametrize("loss", ["Log()", "Exponential()", "Matsushita()"])
@pytest.mark.parametrize("max_literals", [1, 2])
def test_boosting_by_entropy_goes_on_without_an_intercept(unbalanced, loss, max_literals):
    X, y, _ = unbalanced
    model = RuleClassifier(loss, max_literals=max_literals, fit_intercept=False, n_rules=8).fit(X, y)
    assert model.n_iter_ == 8
    assert model.edges_.min() > 1e-9
    values = [
        np.mean(model.set_params(n_rules=n).fit(X, y).loss_.value(y, model.decision_function(X)))
        for n in range(9)
    ]
    assert all(b < a for a, b in pairwise(values))


def test_where_the_entropy_prefers_a_rule_without_an_edge_the_largest_edge_is_taken():
    # 20 rows of class 0 and 80 of class 1. Column 0 tells 30 of the latter, and as ±1 is right on 50 rows of
    # 100; column 1 tells less of the classes, and is right on 52.
    y, X = np.repeat([0, 1], [20, 80]), np.zeros((100, 2))
    X[70:, 0] = 1
    X[[*range(8), *range(20, 60)], 1] = 1
    assert RuleClassifier(max_literals=1, n_rules=1).fit(X, y).rules_[0].literals[0].column == 0
    model = RuleClassifier(max_literals=1, n_rules=1, fit_intercept=False).fit(X, y)
    assert model.rules_[0].literals[0].column == 1
    assert model.edges_[0] == pytest.approx(0.04)


def test_a_rule_that_tells_nothing_but_has_an_edge_is_of_use_without_an_intercept():
    X, y = np.repeat([[0.0], [1.0]], [20, 40], axis=0), np.tile([0, 1, 1, 1], 15)
    model = RuleClassifier("Exponential()", max_literals=1, fit_intercept=False, n_rules=1).fit(X, y)
    assert model.n_iter_ == 1
    # As ±1 it is right on 3/4 of the 40 rows and wrong on 3/4 of the 20.
    assert model.edges_[0] == pytest.approx(1 / 6)
    assert RuleClassifier("Exponential()", max_literals=1).fit(X, y).n_iter_ == 0


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "Squared()"])  # it is renormalized
def test_the_loss_falls_and_the_constant_has_no_edge(data, loss):
    X, y = data
    values = []
    for n in range(5):
        model = RuleClassifier(loss, n_rules=n).fit(X, y)
        F = model.decision_function(X)
        values.append(np.mean(model.loss_.value(y, F)))
        assert abs(np.mean(model.loss_.gradient(y, F))) < 1e-10
    assert all(b < a for a, b in pairwise(values))


def test_a_perfect_rule_ends_boosting():
    X = np.arange(20.0)[:, None]
    for update in ("corrective", "classical"):
        model = RuleClassifier(fit_intercept=False, update=update).fit(X, X[:, 0] > 11)
        assert model.n_iter_ == 1
    assert str(model.rules_[0]) == "if x0 > 11.5 then True else False"
    assert model.separated_
    assert "no finite coefficients" in model.export_text()
    np.testing.assert_allclose(model.predict_proba(X)[-1, 1], 20.5 / 21)


@pytest.mark.parametrize("update", ["classical", "corrective"])
def test_a_bounded_link_keeps_the_score_inside(data, update):
    X, y = data
    model = RuleClassifier("Squared()", update=update, n_rules=20).fit(X, y)
    assert sum(abs(rule.coefficient) for rule in model.rules_) + abs(model.intercept_) <= 1 + 1e-12
    assert np.abs(model.decision_function(X)).max() <= 1 + 1e-12


def preferred(values, composites):
    """Of least value; of equals the log loss, then the first."""
    least = [c for v, c in zip(values, composites, strict=True) if v == pytest.approx(min(values), rel=1e-12)]
    return next((c for c in least if c.loss == losses.Log()), least[0])


def test_each_round_takes_the_loss_of_least_risk_or_largest_edge(data, monkeypatch):
    X, y = data
    proposed, taken = [], []
    propose, take = learning.propose, learning.take

    def watched_propose(sample, grower, state, composite):
        proposal = propose(sample, grower, state, composite)
        proposed.append((len(state.edges), proposal[0]))
        return proposal

    def watched_take(sample, state, grown, given):
        new = take(sample, state, grown, given)
        taken.append((len(state.edges) - 1, new, learning.empirical_risk(sample, new, given.costs)))
        return new

    monkeypatch.setattr(learning, "propose", watched_propose)
    monkeypatch.setattr(learning, "take", watched_take)
    for choose in ("risk", "edge"):
        proposed.clear()
        taken.clear()
        model = RuleClassifier("bag", choose=choose, n_rules=6).fit(X, y)
        for k, chosen in enumerate(model.chosen_):
            tried = [state for number, state in proposed if number == k]
            assert [state.composite.loss for state in tried] == list(bags.BAGS[1])
            fitted = [(new, risk) for number, new, risk in taken if number == k]
            if choose == "risk":
                assert [new.composite for new, _ in fitted] == [state.composite for state in tried]
                assert chosen == preferred([risk for _, risk in fitted], [new.composite for new, _ in fitted])
            else:
                edges = [-state.edges[-1] for state in tried]
                assert chosen == preferred(edges, [state.composite for state in tried])
                assert [new.composite for new, _ in fitted] == [chosen]
        assert model.loss_ == model.chosen_[-1]
        assert len(set(model.chosen_)) > 1


def test_one_loss_for_the_training_set(data):
    X, y = data
    bag = ["Log()", "Squared()", "Matsushita()"]
    model = RuleClassifier("bag", bag=bag, choose="once").fit(X, y)
    errors = {loss: np.mean(RuleClassifier(loss).fit(X, y).predict(X) != y) for loss in bag}
    assert repr(model.loss_.loss) == min(errors, key=errors.get)
    assert np.mean(model.predict(X) != y) == min(errors.values())


def test_the_squared_loss_in_a_bag_keeps_the_score_inside(data):
    X, y = data
    model = RuleClassifier("bag", bag=["Log()", "Squared()"], choose="edge", n_rules=15).fit(X, y)
    assert {repr(c.loss) for c in model.chosen_} == {"Log()", "Squared()"}
    k = max(i for i, c in enumerate(model.chosen_) if c.loss == losses.Squared())
    until = RuleClassifier("bag", bag=["Log()", "Squared()"], choose="edge", n_rules=k + 1).fit(X, y)
    assert np.abs(until.decision_function(X)).max() <= 1
