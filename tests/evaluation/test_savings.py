"""Total cost, its interval and savings; the numbers of savings are those of empulse 0.13.1."""

import numpy as np
import pytest

from propriety import Costs, evaluation
from propriety.costs import PositiveClassWarning, ResolvedCosts
from propriety.evaluation.judging import savings_estimate
from propriety.evaluation.thresholds import cost_curve
from propriety.weights import Weights

# rng = np.random.default_rng(0); y = rng.integers(0, 2, 200); d = np.where(rng.random(200) < 0.7, y, 1 - y)
# fp, fn = rng.lognormal(0, 1, 200), rng.lognormal(1, 1, 200); tp, tn = rng.random(200) * 0.3, ... * 0.2
# empulse.metrics.savings_score(y, d, fp_cost=fp, fn_cost=fn, tp_cost=tp, tn_cost=tn), cost_loss(...)


def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    d = np.where(rng.random(200) < 0.7, y, 1 - y)
    fp, fn = rng.lognormal(0, 1, 200), rng.lognormal(1, 1, 200)
    return y, d, fp, fn, rng.random(200) * 0.3, rng.random(200) * 0.2


def test_savings_are_those_of_empulse():
    y, d, fp, fn, tp, tn = rows()
    assert evaluation.cost_summary(y, d, fp_cost=fp, fn_cost=fn).savings == pytest.approx(-0.8846842192060926)
    assert evaluation.cost_summary(y, d, fp_cost=1, fn_cost=9).savings == pytest.approx(-3.977528089887641)
    summary = evaluation.cost_summary(y, d, costs=Costs(fp=fp, fn=fn, tp_benefit=-tp, tn_benefit=-tn))
    assert summary.savings == pytest.approx(-0.7635440207308062)
    assert summary.total.value == pytest.approx(270.0253725114626)


def test_the_intervals_are_those_of_a_mean():
    y, d, fp, fn, _, _ = rows()
    summary = evaluation.cost_summary(y, d, fp_cost=fp, fn_cost=fn)
    costs = np.where(y == d, 0, np.where(y == 1, fn, fp))
    half = 1.959964 * costs.std(ddof=1) / np.sqrt(200)
    assert summary.mean.high - summary.mean.value == pytest.approx(half, rel=0.15)
    assert summary.total.high == pytest.approx(200 * summary.mean.high)
    always = np.where(y == 1, 0, fp)
    assert summary.constant == 1
    assert summary.saved.value == pytest.approx(np.mean(always - costs))
    doubled = evaluation.cost_summary(y, d, fp_cost=fp, fn_cost=fn, sample_weight=np.full(200, 2))
    assert doubled.total.value == pytest.approx(2 * summary.total.value)


def test_several_classes_are_compared_with_the_cheapest_constant(rng):
    y, d = rng.integers(0, 3, 100), rng.integers(0, 3, 100)
    matrix = np.column_stack([rng.random((3, 3)) * (1 - np.eye(3)), [0.2, 0.1, 0.2]])
    summary = evaluation.cost_summary(y, d, costs=Costs(matrix=matrix))
    constants = [matrix[y, k].mean() for k in range(4)]
    assert summary.constant == (
        ["0", "1", "2", "abstain"][np.argmin(constants)]
        if np.argmin(constants) == 3
        else np.argmin(constants)
    )
    assert summary.savings == pytest.approx(1 - matrix[y, d].mean() / min(constants))


def test_the_named_class_and_its_column():
    y, P = (
        np.array(["bad", "good", "good", "bad"]),
        np.array([[0.3, 0.7], [0.05, 0.95], [0.2, 0.8], [0.9, 0.1]]),
    )
    turned = (y == "bad").astype(int)
    for function in (evaluation.murphy_curve, evaluation.decision_curve):
        np.testing.assert_allclose(
            function(y, P, pos_label="bad")([0.1, 0.4]), function(turned, P[:, 0])([0.1, 0.4])
        )
    costs = {"fp_cost": 1, "fn_cost": 9}
    curve = cost_curve(y, P, **costs, pos_label="bad")
    assert curve.theory == 0.1
    assert curve(0.1) == cost_curve(turned, P[:, 0], **costs)(0.1) == 0.25
    matrix = [[0, 9], [1, 0]]  # of true bad, true good
    by_matrix = cost_curve(y, P, costs=Costs(matrix=matrix, pos_label="bad"))
    np.testing.assert_array_equal(by_matrix.costs, curve.costs)
    assert by_matrix.theory == 0.1
    assert evaluation.mean_loss(y, P, "Log", pos_label="bad") == evaluation.mean_loss(turned, P[:, 0], "Log")
    decided = np.where(P[:, 0] >= 0.1, "bad", "good")
    assert evaluation.mean_cost(y, decided, **costs, pos_label="bad") == 0.25
    with pytest.warns(PositiveClassWarning, match="'good' was taken"):
        assert evaluation.mean_cost(y, decided, **costs) == 9 / 4
    with pytest.warns(PositiveClassWarning, match="'good' was taken"):
        evaluation.best_threshold(y, P, **costs)


def test_stakes_weigh_the_murphy_curve():
    y, _, fp, fn, _, _ = rows()
    p = np.clip(0.3 * y + np.random.default_rng(1).random(200) * 0.7, 0, 1)
    curve = evaluation.murphy_curve(y, p, fp_cost=fp, fn_cost=fn)
    weighted = evaluation.murphy_curve(y, p, fp + fn)
    grid = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(curve(grid), weighted(grid))
    np.testing.assert_array_equal(
        evaluation.murphy_curve(y, p, fp_cost=2, fn_cost=5)(grid), evaluation.murphy_curve(y, p)(grid)
    )
    # Where all rows have one threshold and differ in their stakes, it is the cost in units of the mean stake.
    stake = fp + fn
    cost = evaluation.mean_cost(y, p >= 0.2, fp_cost=0.2 * stake, fn_cost=0.8 * stake)
    both = evaluation.murphy_curve(y, p, fp_cost=0.2 * stake, fn_cost=0.8 * stake)
    assert both(0.2) * stake.mean() == pytest.approx(cost)


def test_large_sums_and_losses_are_said_in_plain_numbers():
    told = str(evaluation.cost_summary([0, 1] * 100, [1, 0] * 100, fp_cost=500, fn_cost=818))
    assert told.startswith("659 a decision")
    assert "131,800 in all; deciding 1 for everyone costs 250 a decision, 409 less (" in told


def test_no_share_of_a_profit_can_be_saved():
    with pytest.raises(ValueError, match=r"cost_summary\(...\).saved"):
        evaluation.cost_summary([0, 1], [0, 1], costs=Costs(tp_benefit=5)).savings  # noqa: B018


def test_a_scorer_takes_costs_of_rows():
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=100), "amount": rng.lognormal(size=100)})
    y = (X["a"] + rng.normal(size=100) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    by_name = evaluation.cost_scorer(fn_cost="amount")(model, X, y)
    assert by_name == evaluation.cost_scorer()(model, X, y, fn_cost=X["amount"])
    decided = model.predict_proba(X)[:, 1] >= 1 / (1 + X["amount"])
    assert by_name == pytest.approx(-evaluation.mean_cost(y, decided.astype(int), fn_cost=X["amount"]))
    with pytest.raises(TypeError, match="not colour"):
        evaluation.cost_scorer()(model, X, y, colour=1)
    assert (
        repr(evaluation.cost_scorer(fn_cost=9, pos_label=0))
        == "cost_scorer(Costs(fn=9, pos_label=0), by='proba')"
    )


def test_a_budget_is_spent_where_it_saves_most(rng):
    p, y = rng.random(60), rng.integers(0, 2, 60)
    fp, fn = rng.lognormal(size=60), rng.lognormal(size=60)
    curve = evaluation.budget_curve(y, p, fp_cost=fp, fn_cost=fn)
    saving = p * fn - (1 - p) * fp
    costs = ResolvedCosts.of_mistakes(fp, fn)
    for k in (0, 1, 7, 30, 60):
        acted = costs.decide_within(p, k)
        assert acted.sum() == min(k, np.sum(saving >= 0))
        np.testing.assert_array_equal(np.sort(np.argsort(-saving)[: acted.sum()]), np.flatnonzero(acted))
        assert costs.of_rows(y, acted).sum() == pytest.approx(curve(k))
    np.testing.assert_array_equal(costs.decide_within(p, 60), costs.decide(p))
    np.testing.assert_array_equal(costs.decide_within(p, 0.1), costs.decide_within(p, 6))
    top = np.argsort(-saving)[:10]
    assert curve.lift(10) == pytest.approx(y[top].mean() / y.mean())
    assert curve.costs[curve.best] == curve.costs.min()
    for bad in (-1, 1.5, "many", True):
        with pytest.raises(ValueError, match="budget must be a number of rows"):
            costs.decide_within(p, bad)


def test_sensitivity_by_a_grid(rng):
    p = rng.random(500)
    result = evaluation.cost_sensitivity(p, 1, (5, 20))
    assert (result.low, result.high) == (pytest.approx(1 / 21), pytest.approx(1 / 6))
    assert result.threshold == pytest.approx(1 / (1 + 15 / np.log(4)))
    assert result.changed.value == np.mean((p >= 1 / 21) & (p < 1 / 6))
    fn = np.exp(np.linspace(np.log(5), np.log(20), 20001))
    fn = (fn[1:] * fn[:-1]) ** 0.5
    act, stay = (1 - p)[:, None], p[:, None] * fn
    middle = np.where((p >= result.threshold)[:, None], act, stay)
    assert result.regret.value == pytest.approx(np.mean(middle - np.minimum(act, stay)), rel=0.02)
    known = evaluation.cost_sensitivity(p, 1, 9)
    assert (known.changed.value, known.regret.value) == (0, 0)


def test_sensitivity_agrees_with_the_recommendation():
    from propriety import recommend

    advice, result = recommend((1, 2), (5, 20)), evaluation.cost_sensitivity([0.1], (1, 2), (5, 20))
    assert (advice.low, advice.high) == (result.low, result.high)
    assert advice.threshold == pytest.approx(result.threshold, rel=1e-12)


def test_sensitivity_of_rows_and_benefits_is_that_of_each_row_alone(rng):
    p, amount = rng.random(40), rng.lognormal(size=40)
    costs = Costs(amount, (5, 20), tp_benefit=2, tn_benefit=amount / 2)
    result = evaluation.cost_sensitivity(p, costs=costs)
    alone = [evaluation.cost_sensitivity([p[i]], costs=costs.take([i])) for i in range(40)]
    np.testing.assert_allclose(result.threshold, np.ravel([one.threshold for one in alone]))
    np.testing.assert_allclose(result.low, 1.5 * amount / (1.5 * amount + 22))
    np.testing.assert_allclose(result.high, 1.5 * amount / (1.5 * amount + 7))
    assert result.changed.value == pytest.approx(np.mean([one.changed.value for one in alone]))
    assert result.regret.value == pytest.approx(np.mean([one.regret.value for one in alone]))
    # A benefit forgone is a cost: what counts is the excess.
    excess = evaluation.cost_sensitivity(p, costs=Costs(1.5 * amount, (5, 20), tp_benefit=2))
    assert excess.regret.value == pytest.approx(result.regret.value)


def test_the_interval_of_savings_covers_as_often_as_it_says():
    """A ratio of means over draws of rows: the linearized interval against the spread of the ratio itself."""
    rng = np.random.default_rng(5)
    shares, intervals = [], []
    for _ in range(400):
        constant = rng.lognormal(size=200)
        costs = constant * (rng.random(200) < 0.4) * rng.random(200)
        estimate = savings_estimate(costs, constant, Weights(200))
        shares.append(estimate.value)
        intervals.append((estimate.low, estimate.high))
    width = np.mean([high - low for low, high in intervals])
    assert width == pytest.approx(2 * 1.96 * np.std(shares), rel=0.15)
    assert np.mean([low < 0.8 < high for low, high in intervals]) == pytest.approx(0.95, abs=0.04)
