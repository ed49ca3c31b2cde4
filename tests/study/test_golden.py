"""Judged numbers: as they were recorded, and the same digits whoever reads the same predictions."""

import json

import golden
import numpy as np
import pytest

from propriety import evaluation
from propriety.auto.judgement import Judged
from propriety.cli.judging import Judgement, baselines
from propriety.costs import ResolvedCosts
from propriety.report import Report
from propriety.weights import Weights

RECORDED = json.loads(golden.PATH.read_text())
LABELS = {2: ("no", "yes"), 3: ("high", "low", "middle")}
#: What is asked of the same predictions: the costs, how rows count, and how decisions are limited.
QUESTIONS = {
    "plain": {"fn_cost": 4.0},
    "whole weights": {"fn_cost": 4.0, "weight": "copies"},
    "fractional weights": {"fn_cost": 4.0, "weight": "relative"},
    "groups": {"fn_cost": 4.0, "groups": True},
    "row costs": {"fp_cost": "amount", "fn_cost": 3.0},
    "row costs, groups, weights": {"fp_cost": "amount", "fn_cost": 3.0, "groups": True, "weight": "relative"},
    "benefits": {"tp_benefit": 3.0, "tn_benefit": 0.5},
    "matrix": {"cost_matrix": np.array([[0.0, 20, 4], [5, 0, 2], [3, 6, 0]])},
    "abstaining": {"cost_matrix": np.array([[0.0, 1, 0.3], [9, 0, 0.3]])},
    "budget": {"fn_cost": 4.0, "budget": 0.1},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("golden")
    golden.write(place)
    return place


def nearly(found, recorded):
    """The same words, and numbers to seven digits."""
    if isinstance(recorded, dict):
        assert found.keys() == recorded.keys()
        return all(nearly(found[key], recorded[key]) for key in recorded)
    if isinstance(recorded, list):
        return len(found) == len(recorded) and all(map(nearly, found, recorded))
    if isinstance(recorded, float):
        return found == pytest.approx(recorded, rel=1e-7, abs=1e-9)
    return found == recorded


@pytest.mark.parametrize("name", golden.CASES)
def test_numbers_are_those_recorded(name, folder):
    found = golden.measured(name, folder)
    assert nearly(found, RECORDED[name]), f"{found}; `python tests/study/golden.py --record` if it is meant"


def test_the_verdict_of_auto_is_the_recorded_one():
    assert golden.measured_auto() == RECORDED["auto"]


def digits(estimate):
    """Value and interval: equal but for the order of the sums."""
    return pytest.approx((estimate.value, estimate.low, estimate.high), rel=1e-12)


def predictions(k, n=120):
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(k), n)
    y = np.array([rng.choice(k, p=row) for row in P])
    return y, P


@pytest.mark.parametrize("name", QUESTIONS)
def test_all_readers_have_the_same_digits(name):
    asked = dict(QUESTIONS[name])
    matrix = asked.get("cost_matrix")
    k = 2 if matrix is None else len(matrix)
    y, P = predictions(k)
    n, rng = len(y), np.random.default_rng(2)
    budget, weight = asked.pop("budget", None), asked.pop("weight", None)
    weight = {"copies": rng.integers(1, 4, n), "relative": rng.uniform(0.2, 2, n)}.get(weight)
    groups = rng.integers(0, 30, n) if asked.pop("groups", False) else None
    terms = {
        term: rng.uniform(0.5, 2, n) if isinstance(value, str) else value for term, value in asked.items()
    }
    p = P[:, 1] if k == 2 else P
    costs, weights = ResolvedCosts.read(**terms), Weights.read(weight, n)

    judged = Judgement("model", y, p, weights, costs, budget, groups)
    numbers = [judged.numbers, *(j.numbers for j in baselines(LABELS[k], judged))]
    report = Report(
        y, p, **terms, budget=budget, sample_weight=weight, groups=groups, positive="yes", negative="no",
        classes=() if k == 2 else LABELS[k], name="model",
    )  # fmt: skip
    assert [n["model"] for n in numbers] == [line.name for line in report.lines]
    for row, line in zip(numbers, report.lines, strict=True):
        assert (row["cost_per_1000"], row["cost_low"], row["cost_high"]) == digits(line.cost)
        if "misses_per_1000" in row:
            assert (row["false_alarms_per_1000"], row["misses_per_1000"]) == (line.alarms, line.misses)
        else:
            assert row["mistakes_per_1000"] == line.wrong
        assert row.get("abstained_per_1000", 0.0) == line.abstained
    if "savings" in numbers[0]:
        shares = (numbers[0]["savings"], numbers[0]["savings_low"], numbers[0]["savings_high"])
        assert shares == digits(report.savings)
    else:
        assert report.savings is None

    if groups is None:
        decided = costs.decide(P) if budget is None else costs.decide_within(P, budget)
        labels = np.array([*LABELS[k], "abstain"])
        summary = evaluation.cost_summary(
            labels[y], labels[decided], **terms, sample_weight=weight, labels=LABELS[k]
        )
        assert 1000 * summary.mean.value == pytest.approx(numbers[0]["cost_per_1000"], rel=1e-12)
        assert 1000 * summary.mean.high == pytest.approx(numbers[0]["cost_high"], rel=1e-12)
    if budget is None:
        own = Judged(np.array(LABELS[k]), y, weights, costs, groups).judgement({}, P, 0.0)
        assert own.model.cost.value == numbers[0]["cost_per_1000"]
        assert own.model.cost.high == pytest.approx(numbers[0]["cost_high"], rel=1e-12)
        assert own.model.log_loss == pytest.approx(numbers[0]["log_loss"], rel=1e-12)
        assert own.constant.cost.value == min(row["cost_per_1000"] for row in numbers[1:])
        best = min((line for line in report.lines if line.constant), key=lambda line: line.cost.value)
        assert (own.saved.value, own.saved.low, own.saved.high) == digits(best.saved)
