"""Gains, lift, precision and recall, subgroups and flips."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from propriety import evaluation
from propriety.costs import ResolvedCosts
from propriety.evaluation.subgroups import in_parts, share
from propriety.weights import Weights


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(size=n), 2)
    return (rng.uniform(size=n) < p).astype(int), p, rng.integers(0, 4, n)


def test_areas_are_those_of_scikit_learn():
    y, p, weight = sample()
    for w in (None, weight):
        curve = evaluation.ranking_curve(y, p, sample_weight=w)
        assert curve.average_precision == pytest.approx(average_precision_score(y, p, sample_weight=w))
        assert curve.area == pytest.approx(roc_auc_score(y, p, sample_weight=w))


def test_gain_lift_and_precision_count_the_first_rows():
    rng = np.random.default_rng(1)
    p = rng.permutation(200) / 200
    y = (rng.uniform(size=200) < p).astype(int)
    curve, order = evaluation.ranking_curve(y, p), np.argsort(-p)
    for k in (1, 20, 150, 200):
        hits = y[order[:k]].sum()
        assert curve.gain(k / 200) == pytest.approx(hits / y.sum())
        assert curve.precision(k / 200) == pytest.approx(hits / k)
        assert curve.lift(k / 200) == pytest.approx(hits / k / y.mean())
    np.testing.assert_allclose(curve.lift([0.0, 1.0]), [curve.lift(1 / 200), 1.0])
    with pytest.raises(ValueError, match="one class"):
        evaluation.ranking_curve([1, 1], [0.5, 0.6])


def test_subgroups_have_the_numbers_of_their_rows():
    y, p, weight = sample()
    by = np.where(np.arange(300) % 3 == 0, "a", "b")
    costs = ResolvedCosts.of_mistakes(1, 4)
    first, second = evaluation.subgroups(y, p, by, costs=costs, sample_weight=weight)
    rows = by == "a"
    given = {"sample_weight": weight[rows]}
    assert first.cost.value == pytest.approx(
        evaluation.mean_cost(y[rows], (p[rows] >= 0.2).astype(int), fp_cost=1, fn_cost=4, **given)
    )
    missed = np.average(p[rows & (y == 1)] < 0.2, weights=weight[rows & (y == 1)])
    assert first.missed.value == pytest.approx(missed)
    assert first.gap.value == pytest.approx(np.average(p[rows] - y[rows], weights=weight[rows]))
    assert (first.name, second.name) == ("a", "b")
    assert first.n + second.n == np.sum(weight > 0)
    for name, more in first.differences.items():
        own, other = getattr(first, name), getattr(second, name)
        assert more == own.minus(other)
        assert second.differences[name].value == pytest.approx(-more.value)
    assert set(first.to_dict()["differences"]) == {"cost", "gap", "alarmed", "missed", "false_alarms"}
    assert first.to_dict()["cost"] == [first.cost.value, first.cost.low, first.cost.high]
    assert first.threshold == pytest.approx(0.2)
    alone = evaluation.subgroups([0, 0], [0.1, 0.2], ["a", "a"])[0]
    assert alone.differences == {}
    assert alone.missed is None
    assert alone.false_alarms.high > 0.5  # two rows say little


def test_wilsons_interval_covers_a_rare_share():
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        found = share(rng.uniform(size=60) < 0.03, Weights(60))
        inside += found.low <= 0.03 <= found.high
    assert inside / 400 > 0.92


def test_parts_are_of_equal_size_and_keep_equal_values_together():
    parts = in_parts(np.repeat(np.arange(10.0), 7), 4)
    assert set(parts) == {0, 1, 2, 3}
    assert all(len(set(parts[i : i + 7])) == 1 for i in range(0, 70, 7))
    assert set(in_parts(np.zeros(5), 4)) == {0}


def test_a_flip_turns_the_decision_by_the_least_change_of_what_is_allowed():
    rng = np.random.default_rng(3)
    columns = {"x": rng.normal(size=200), "z": rng.normal(size=200), "c": rng.choice(["a", "b"], 200)}

    def predict(c):
        score = (
            np.asarray(c["x"], float) + 0.2 * np.asarray(c["z"], float) + 0.5 * (np.asarray(c["c"]) == "b")
        )
        return 1 / (1 + np.exp(-score))

    for row in range(20):
        before = predict({k: v[[row]] for k, v in columns.items()})[0]
        flip = evaluation.nearest_flip(predict, columns, row, 0.6)
        changed = {k: np.array([flip.changes.get(k, (None, v[row]))[1]]) for k, v in columns.items()}
        after = predict(changed)[0]
        assert after == pytest.approx(flip.probability)
        assert (after >= 0.6) != (before >= 0.6)
        only = evaluation.nearest_flip(predict, columns, row, 0.6, allowed=["z"])
        assert only is None or set(only.changes) == {"z"}
    assert evaluation.nearest_flip(lambda c: np.full(len(c["x"]), 0.2), columns, 0, 0.6) is None
