"""Judged numbers: as they were recorded, and the same digits whoever reads the same predictions."""

import json

import golden
import numpy as np
import pandas as pd
import pytest

from propriety import Costs, evaluation
from propriety.auto.judgement import judgement
from propriety.costs import ResolvedCosts
from propriety.evaluation.judging import CONSTANT, JudgedRows, judge
from propriety.study import Study
from propriety.study.numbers import number
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
    """The same words, and numbers to seven digits; there may be more numbers than were recorded."""
    if isinstance(recorded, dict):
        return all(key in found and nearly(found[key], recorded[key]) for key in recorded)
    if isinstance(recorded, list):
        return len(found) == len(recorded) and all(map(nearly, found, recorded))
    if isinstance(recorded, float):
        return found == pytest.approx(recorded, rel=1e-7, abs=1e-9, nan_ok=True)
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

    rows = JudgedRows(y, LABELS[k], costs, weights, groups, budget)
    judged = judge(rows, [rows.rule("model", p), *rows.constants])
    study = Study.from_predictions(
        y, P, costs=Costs.of_terms(terms), budget=budget, sample_weight=weight, groups=groups,
        class_names=LABELS[k], name="model",
    )  # fmt: skip
    for one, other in zip(judged, study.judgements, strict=True):
        assert nearly(one.to_dict(), other.to_dict())
    model = judged[0]

    if groups is None:
        decided = costs.decide(P) if budget is None else costs.decide_within(P, budget)
        labels = np.array([*LABELS[k], "abstain"])
        summary = evaluation.cost_summary(
            labels[y], labels[decided], costs=Costs.of_terms(terms), sample_weight=weight, labels=LABELS[k]
        )
        assert 1000 * summary.mean.value == pytest.approx(model.cost.value, rel=1e-12)
        assert 1000 * summary.mean.high == pytest.approx(model.cost.high, rel=1e-12)
    if budget is None:
        own = judgement(rows, {}, P, 0.0)
        assert own.model.cost == model.cost
        assert own.model.log_loss == pytest.approx(model.log_loss, rel=1e-12)
        best = min((j for j in judged if j.kind == CONSTANT), key=lambda j: j.cost.value)
        assert (own.constant.cost, own.saved) == (best.cost, best.dearer)


FEATURES = ["years", "size", "kind", "amount"]
#: Options of the commands, and what they are to a study; columns by their names.
ALIKE = {
    "plain": ({}, {"cv": 2}),
    "weights": ({"--weights": "copies"}, {"sample_weight": "copies", "holdout": 0.4}),
    "groups": ({"--groups": "customer"}, {"groups": "customer", "cv": 2}),
    "time": ({"--time": "opened"}, {"time": "opened", "cv": 2}),
    "offset": ({"--offset": "start"}, {"offset": "start", "cv": 2}),
    "budget": ({"--budget": "0.1"}, {"budget": 0.1, "holdout": 0.4}),
}


@pytest.mark.parametrize("name", ALIKE)
def test_fit_compare_the_report_and_a_study_say_the_same_of_the_same_rows(name, folder, tmp_path):
    options, given = ALIKE[name]
    table = pd.read_csv(folder / "late.csv")
    split = ("--folds", "2") if "cv" in given else ("--holdout", "0.4")
    dropped = [c for c in table.columns if c not in (*FEATURES, "late", *options.values())]
    shared = [
        str(folder / "late.csv"), "-t", "late", "--fn-cost", "4", *split,
        *(word for pair in options.items() for word in pair),
        *(word for column in dropped for word in ("--drop", column)),
    ]  # fmt: skip
    fitted = golden.told("fit", *shared, "--model", "linear", "--report", str(tmp_path / "r.html"))
    compared = golden.told("compare", *shared, "--models", "linear,boosting")
    columns = [value for value in given.values() if isinstance(value, str)]
    study = Study(
        "linear", table[[*FEATURES, *columns]], table["late"], costs=Costs(1, 4, pos_label="yes"), **given
    )
    ours = study.judgement.to_dict()
    for told in (fitted["judgements"], compared["judgements"]):
        model = next(judgement for judgement in told if judgement["model"] == "propriety linear")
        for key in ("cost_per_1000", "cost_low", "cost_high", "log_loss", "brier"):
            assert model[key] == pytest.approx(ours[key], rel=1e-9)
    assert number(ours["cost_per_1000"]) in (tmp_path / "r.html").read_text(encoding="utf-8")
