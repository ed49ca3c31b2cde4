"""Judged decisions: a row of weight k is k rows, and the numbers are those of the decisions."""

import numpy as np
import pytest

from propriety.costs import ResolvedCosts
from propriety.evaluation.judging import RIVAL, DecisionRule, JudgedRows, differences, judge
from propriety.weights import Weights

COSTS = ResolvedCosts.of_mistakes(1, 4)


def test_a_row_of_weight_k_is_k_rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=90)
    y, weight = (rng.uniform(size=90) < p).astype(int), rng.integers(0, 9, 90)
    copies = np.repeat(np.arange(90), weight)
    weighted = JudgedRows(y, ("no", "yes"), COSTS, Weights.read(weight, 90))
    repeated = JudgedRows(y[copies], ("no", "yes"), COSTS, Weights(len(copies)))
    one = judge(weighted, [weighted.rule("m", p)])[0].to_dict()
    other = judge(repeated, [repeated.rule("m", p[copies])])[0].to_dict()
    assert one.pop("model") == other.pop("model")
    assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("positive", [0, 1])
def test_the_numbers_are_those_of_the_decisions(positive):
    labels = ("well", "sick") if positive else ("sick", "well")
    y = np.array([1, 1, 0, 0, 0]) if positive else np.array([0, 0, 1, 1, 1])
    costs = ResolvedCosts.of_mistakes(1, 4, positive=positive)
    rows = JudgedRows(y, labels, costs, Weights(5))
    model, never, always = judge(rows, [rows.rule("m", [0.1, 0.9, 0.2, 0.1, 0.1]), *rows.constants])
    assert model.cost.value == pytest.approx(1000 * (4 + 1) / 5)
    assert (model.false_alarms, model.misses, model.mistakes) == (200, 200, 400)
    assert (model.total, model.quality["area_under_roc"]) == (pytest.approx(5.0), pytest.approx(2 / 3))
    assert model.log_loss == pytest.approx(-np.mean(np.log([0.1, 0.9, 0.8, 0.9, 0.9])))
    assert (never.name, never.cost.value) == ("never 'sick'", pytest.approx(1600))
    assert (always.name, always.cost.value) == ("always 'sick'", pytest.approx(600))
    assert model.savings.value == pytest.approx(1 - 1000 / 600)
    assert always.dearer.value == pytest.approx(-400)


def test_an_interval_of_costs_that_cannot_be_negative_ends_at_0():
    rows = JudgedRows(np.array([0, 1, 1]), ("no", "yes"), ResolvedCosts.of_mistakes(1, 40), Weights(3))
    bringing = JudgedRows(rows.y, rows.labels, ResolvedCosts.of_mistakes(1, 40, tp_benefit=2), Weights(3))
    (cost,), (benefit,) = (judge(r, [r.rule("m", [0.0, 0.0, 0.0])]) for r in (rows, bringing))
    assert cost.cost.low == 0
    assert benefit.cost.low < 0


def test_an_impossible_label_costs_a_finite_log_loss():
    rows = JudgedRows(np.array([0, 1]), ("no", "yes"), COSTS, Weights(2))
    several = JudgedRows(np.array([0, 1]), ("a", "b", "c"), ResolvedCosts.equal(3), Weights(2))
    P = np.array([[1.0, 0, 0], [1, 0, 0]])
    (two,), (three,) = judge(rows, [rows.rule("m", [0.0, 0.0])]), judge(several, [several.rule("m", P)])
    assert two.log_loss == three.log_loss == pytest.approx(-np.log(1e-15) / 2)


def test_differences_are_paired_and_corrected_for_their_number():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = (rng.uniform(size=400) < p).astype(int)
    rows = JudgedRows(y, ("no", "yes"), ResolvedCosts.of_mistakes(), Weights(400))
    noisy = [np.clip(p + s * rng.normal(size=400), 0, 1) for s in (0.02, 0.25, 2.0)]
    rules = [rows.rule("true", p), *(rows.rule(f"noisy {k}", q, RIVAL) for k, q in enumerate(noisy))]
    found = {d.second: d for d in differences(rows, rules[::-1])}
    costs = {rule.name: rows.row_costs(rule.decided) for rule in rules}
    best = min(costs, key=lambda name: costs[name].mean())
    assert {d.first for d in found.values()} == {best}
    far = found["noisy 2"]
    assert far.significant
    assert far.estimate.value == pytest.approx(1000 * np.mean(costs["noisy 2"] - costs[best]))
    assert far.p_holm == pytest.approx(3 * far.p_value)
    assert all(d.p_value <= d.p_holm <= 1 for d in found.values())
    near = min(found.values(), key=lambda d: d.estimate.value)
    assert not near.significant


def test_a_budget_allows_no_decision_for_everyone_but_never():
    rows = JudgedRows(np.array([0, 1, 1]), ("no", "yes"), COSTS, Weights(3), budget=1)
    assert [rule.name for rule in rows.constants] == ["never 'yes'"]
    (model,) = judge(rows, [rows.rule("m", [0.9, 0.8, 0.95])])
    assert model.acted_on == pytest.approx(1000 / 3)


def test_intervals_hold_where_few_rows_are_positive():
    """Cost, savings and differences, 8 expected positives of 160 rows; the normal interval covers 70%."""
    rng, held = np.random.default_rng(0), []
    for _ in range(300):
        y = (rng.random(160) < 0.05).astype(np.intp)
        decided = np.where(rng.random(160) < np.where(y == 1, 0.15, 0.04), 1 - y, y)
        rows = JudgedRows(y, ("no", "yes"), ResolvedCosts.of_mistakes(1, 19), Weights(160))
        rules = [DecisionRule(str(k), "model", np.full(160, k)) for k in (0, 1)]
        model, never, always = judge(rows, [DecisionRule("model", "model", decided), *rules])
        cost = 0.05 * 0.15 * 19 + 0.95 * 0.04
        truths = (model.cost, cost), (never.dearer, 0.95 - cost), (always.dearer, 0.95 - cost)
        held.append([e.low <= 1000 * truth <= e.high for e, truth in truths])
        if model.savings is not None:
            held[-1].append(model.savings.low <= 1 - cost / 0.95 <= model.savings.high)
    assert min(np.mean([each[k] for each in held if k < len(each)]) for k in range(4)) > 0.93


def test_no_miss_among_few_positives_does_not_make_savings_sure():
    y = np.zeros(1000, dtype=np.intp)
    y[:23] = 1
    rows = JudgedRows(y, ("no", "yes"), ResolvedCosts.of_mistakes(1, 42), Weights(1000))
    decided = y.copy()
    decided[23:30] = 1
    model, never = judge(rows, [DecisionRule("m", "model", decided), rows.constants[0]])
    assert model.cost.high > 1000 * 42 * 2 / 1000  # two misses of 1,000 may be
    assert never.dearer.low < 650
    assert model.savings.low < 0.9
    assert rows.positives == 23
