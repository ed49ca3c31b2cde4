"""Decisions, costs, thresholds and net benefit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import TunedThresholdClassifierCV

from propriety import Costs, evaluation
from propriety.evaluation.thresholds import cost_curve

ASYMMETRIC = np.array([[0.0, 3.0, 9.0], [1.0, -0.5, 2.0], [7.0, 4.0, 0.0]])


def test_cost_of_decisions_is_the_confusion_matrix_times_the_costs(rows):
    y, p, weight, _ = rows
    decision = Costs(2, 5).decide(p)
    counts = confusion_matrix(y, decision, sample_weight=weight)
    expected = (2 * counts[0, 1] + 5 * counts[1, 0]) / counts.sum()
    result = evaluation.mean_cost(y, decision, fp_cost=2, fn_cost=5, sample_weight=weight)
    assert result == pytest.approx(expected, rel=1e-12)
    cost_weighted = evaluation.mean_loss(y, p, f"CostWeighted({2 / 7})", sample_weight=weight)
    assert result == pytest.approx(7 * cost_weighted, rel=1e-12)


def test_asymmetric_costs_of_several_classes_row_is_the_truth():
    X, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    model = LogisticRegression(C=0.01).fit(X, names)
    P = model.predict_proba(X)
    true = np.searchsorted(model.classes_, names)
    decision = Costs(matrix=ASYMMETRIC).decide(P)
    by_hand = [np.argmin([sum(row[t] * ASYMMETRIC[t, k] for t in range(3)) for k in range(3)]) for row in P]
    np.testing.assert_array_equal(decision, by_hand)
    expected = np.mean([ASYMMETRIC[t, k] for t, k in zip(true, decision, strict=True)])
    assert evaluation.mean_cost(true, decision, costs=Costs(matrix=ASYMMETRIC)) == pytest.approx(
        expected, rel=1e-12
    )
    labels = model.classes_[decision]
    assert evaluation.mean_cost(
        names, labels, costs=Costs(matrix=ASYMMETRIC), labels=model.classes_
    ) == pytest.approx(expected, rel=1e-12)
    assert evaluation.cost_scorer(costs=Costs(matrix=ASYMMETRIC))(model, X, names) == pytest.approx(-expected)
    # The transposed matrix decides otherwise: the orientation is not a matter of taste.
    assert np.any(decision != Costs(matrix=ASYMMETRIC.T).decide(P))
    order = evaluation.mean_cost(
        names, labels, costs=Costs(matrix=ASYMMETRIC[::-1, ::-1]), labels=model.classes_[::-1]
    )
    assert order == pytest.approx(expected, rel=1e-12)


def test_least_expected_cost_is_least():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.5, 0.5, 0.5], 60)
    best = evaluation.expected_cost(P, costs=Costs(matrix=ASYMMETRIC))
    for k in range(3):
        assert best <= evaluation.expected_cost(P, np.full(60, k), costs=Costs(matrix=ASYMMETRIC)) + 1e-12
    two = Costs(matrix=[[0, 1], [4, 0]]).decide(P[:, :2] / P[:, :2].sum(axis=1, keepdims=True))
    share = P[:, 1] / P[:, :2].sum(axis=1)
    np.testing.assert_array_equal(two, share >= 0.2)


def test_costs_of_each_row(rows):
    y, p, weight, _ = rows
    rng = np.random.default_rng(1)
    fp, fn = rng.uniform(0.5, 2, len(y)), rng.uniform(0.5, 9, len(y))
    decision = Costs(fp, fn).decide(p)
    np.testing.assert_array_equal(decision, p >= fp / (fp + fn))
    np.testing.assert_allclose(Costs(fp, fn).threshold, fp / (fp + fn))
    expected = np.average(np.where(y == decision, 0, np.where(y == 1, fn, fp)), weights=weight)
    given = {"fp_cost": fp, "fn_cost": fn, "sample_weight": weight}
    assert evaluation.mean_cost(y, decision, **given) == pytest.approx(expected, rel=1e-12)
    assert cost_curve(y, p, **given).theory_cost == pytest.approx(expected, rel=1e-12)
    matrices = np.zeros((len(y), 2, 2))
    matrices[:, 0, 1], matrices[:, 1, 0] = fp, fn
    assert evaluation.mean_cost(
        y, decision, costs=Costs(matrix=matrices), sample_weight=weight
    ) == pytest.approx(expected)
    forecast = evaluation.expected_cost(p, fp_cost=fp, fn_cost=fn, sample_weight=weight)
    by_hand = np.average(np.where(decision == 1, (1 - p) * fp, p * fn), weights=weight)
    assert forecast == pytest.approx(by_hand, rel=1e-12)


def test_threshold_of_a_matrix_is_the_excess_of_wrong_over_right():
    assert Costs(matrix=[[1, 4], [10, 3]]).threshold == pytest.approx(3 / (3 + 7))
    p = np.linspace(0, 1, 101)
    by_matrix = Costs(matrix=[[1, 4], [10, 3]]).decide(p)
    np.testing.assert_array_equal(by_matrix, p >= 0.3)


def test_best_threshold_is_found_by_trying_all(rows):
    y, p, weight, _ = rows
    for fp, fn in [(1, 1), (1, 9), (5, 1)]:
        result = evaluation.best_threshold(y, p, fp_cost=fp, fn_cost=fn, sample_weight=weight)
        tried = [
            evaluation.mean_cost(y, p >= t, fp_cost=fp, fn_cost=fn, sample_weight=weight)
            for t in np.linspace(0, 1, 401)
        ]
        assert result.cost == pytest.approx(min(tried), rel=1e-12)
        at_it = evaluation.mean_cost(y, p >= result.value, fp_cost=fp, fn_cost=fn, sample_weight=weight)
        assert at_it == pytest.approx(result.cost, rel=1e-12)
        assert result.theory == fp / (fp + fn)


def test_best_threshold_keeps_the_theory_where_it_is_as_good():
    result = evaluation.best_threshold([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], fp_cost=1, fn_cost=2)
    assert result.value == result.theory
    away = evaluation.best_threshold([0, 0, 1, 1], [0.01, 0.02, 0.08, 0.09])
    assert 0.02 < away.value <= 0.08
    assert away.cost == 0 < away.theory_cost
    sure = evaluation.best_threshold([0, 0], [1.0, 0.9], pos_label=1)
    assert sure.value <= 1
    assert sure.cost == pytest.approx(0.5)  # p = 1 is decided for class 1 by any threshold up to 1


def test_net_benefit_by_its_definition(rows):
    y, p, weight, _ = rows
    curve = evaluation.decision_curve(y, p, weight)
    c = np.array([0.05, 0.2, 0.33, 0.7])
    for t, result, everyone in zip(c, curve(c), curve.all(c), strict=True):
        alarm = p >= t
        by_hand = np.average(alarm * y - alarm * (1 - y) * t / (1 - t), weights=weight)
        assert result == pytest.approx(by_hand, rel=1e-10)
        assert everyone == pytest.approx(np.average(y - (1 - y) * t / (1 - t), weights=weight), rel=1e-10)
    value = (p >= 0.2) * (y - (1 - y) * 0.25)
    plain = evaluation.decision_curve(y, p)
    assert plain.standard_error(0.2) == pytest.approx(np.std(value, ddof=1) / np.sqrt(len(y)), rel=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Costs(0, 1).threshold, "fp_cost must be positive"),
        (lambda: Costs(matrix=np.zeros((3, 3))).threshold, "is for two classes"),
        (lambda: Costs(matrix=[[2, 1], [1, 0]]).threshold, "cheaper than the right"),
        (lambda: Costs(matrix=[[0, 1, 2]]).decide([0.5]), r"shape \(K, K\)"),
        (lambda: Costs(fp=2, matrix=np.eye(2)).decide([0.5]), "not both"),
        (lambda: Costs(matrix=np.eye(3)).decide([[0.5, 0.5]]), "one column for each of 3"),
        (lambda: evaluation.mean_cost([0, 1], [0, 5]), "give labels="),
        (lambda: evaluation.mean_cost(["a", "b"], ["a", "c"], labels=["a", "b"]), "'c' is not among"),
        (lambda: evaluation.mean_cost([0, 1], [0, 1], fp_cost=[1, 2, 3]), "3 rows, but there are 2"),
        (lambda: evaluation.cost_scorer(by="guess"), "by must be"),
        (lambda: evaluation.decision_curve([0, 1], [0.1, 0.9])(1.0), "below 1"),
        (lambda: Costs().decide([[0.2, 0.3, 0.5]]), "3 columns: give cost_matrix"),
        (lambda: evaluation.expected_cost([0.5], [2]), "from 0 to 1"),
    ],
)
def test_bad_costs_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_best_threshold_is_never_worse_than_the_theory_where_costs_differ_by_row():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = (rng.uniform(size=400) < p).astype(int)
    fn_cost = np.exp(rng.normal(scale=2, size=400))  # from pennies to fortunes: one threshold cannot do
    found = evaluation.best_threshold(y, p, fp_cost=1, fn_cost=fn_cost)
    assert found.cost == found.theory_cost
    np.testing.assert_allclose(found.value, 1 / (1 + fn_cost))
    assert found.cost == pytest.approx(evaluation.mean_cost(y, p >= found.value, fp_cost=1, fn_cost=fn_cost))
    assert "each row's own threshold" in str(found)
    # Probabilities that are off by far: one threshold can then be the cheaper one.
    off = evaluation.best_threshold(y, p**6, fp_cost=1, fn_cost=1 + 0.01 * fn_cost)
    assert np.ndim(off.value) == 0
    assert off.cost < off.theory_cost


def test_a_threshold_is_tuned_by_what_decisions_cost():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + rng.normal(size=600) > 1, "bad", "good")
    weight = rng.integers(1, 4, 600)
    for by in ("proba", "predict"):
        scorer = evaluation.cost_scorer(fp_cost=1, fn_cost=9, pos_label="bad", by=by)
        tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer, cv=3, store_cv_results=True)
        tuned.fit(X, y)
        # Of "good", the last label: it is decided where "bad" is hardly possible.
        assert tuned.best_threshold_ > 0.75
        decided = tuned.predict(X)
        assert scorer._score_func(y, decided, sample_weight=weight) == pytest.approx(
            evaluation.mean_cost(y, decided, fp_cost=1, fn_cost=9, pos_label="bad", sample_weight=weight)
        )
        again = clone(tuned).fit(X, y)
        assert again.best_threshold_ == tuned.best_threshold_
