"""Model files of every release load for ever and predict the same."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
import pytest
from sklearn.base import clone

import propriety
from propriety import Costs, losses
from propriety.boosting import Algorithm
from propriety.model import files
from propriety.model.catalogue import ESTIMATORS

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in GOLDEN.glob("*/*.propriety") if not path.stem.startswith("table-"))
TABLES = sorted(GOLDEN.glob("*/table-*.propriety"))
#: Trees and rules add up stored numbers, which is the same on every machine. A product of matrices, an
#: exponential and what follows from them may differ in the last digits between processors.
ULPS = 8


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_old_file_predicts_the_same(path):
    expected = np.load(path.with_name("expected.npz"))
    model, rows = propriety.load(path), expected["rows"]
    if path.stem == "boosting-frame":
        rows = pd.DataFrame(rows, columns=["age", "size", "dose", "site"])
    if path.stem.startswith("linear"):
        rows = np.nan_to_num(rows)
    scores, p = model.decision_function(rows), model.predict_proba(rows)
    if path.stem.startswith("linear"):
        np.testing.assert_allclose(scores, expected[f"{path.stem}.score"], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(p, expected[f"{path.stem}.probability"], rtol=1e-13, atol=1e-13)
    else:
        np.testing.assert_array_max_ulp(p, expected[f"{path.stem}.probability"], ULPS)
        if path.stem.startswith("tree"):
            np.testing.assert_array_max_ulp(scores, expected[f"{path.stem}.score"], ULPS)
        else:
            np.testing.assert_array_equal(scores, expected[f"{path.stem}.score"])
    np.testing.assert_array_equal(model.predict(rows), expected[f"{path.stem}.decision"])


@pytest.mark.parametrize("path", TABLES, ids=name_of)
def test_an_old_table_model_decides_the_same(path):
    model = propriety.load(path)
    table = pa_csv.read_csv(path.with_name("table.csv"))
    expected = pd.read_csv(path.with_suffix(".csv"))
    np.testing.assert_allclose(model.predict_proba(table)[:, 1], expected["probability"], rtol=1e-12)
    np.testing.assert_array_equal(model.predict(table), expected["decision"])


#: Estimators that no release has had.
UNRELEASED = {"kernel", "scorecard"}


def test_every_kind_of_model_has_a_golden_file():
    kinds = {path.stem.split("-")[0] for path in FILES}
    assert kinds == {row.key for row in ESTIMATORS} - UNRELEASED
    assert {path.stem for path in TABLES} >= {"table-boosting", "table-linear", "table-rules", "table-tree"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_old_model_can_be_fitted_and_saved_again(path):
    """Its parameters are known by their names of today."""
    model = propriety.load(path)
    assert files.to_bytes(files.from_bytes(files.to_bytes(model))) == files.to_bytes(model)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, model.n_features_in_)) / 1.0, np.arange(60) % len(model.classes_)
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    if {"time_budget", "n_estimators"} <= set(model.get_params()):
        model.set_params(n_estimators=2, n_folds=2)
    fitted = clone(model).fit(X, model.classes_[y])
    assert fitted.loss_ == model.loss_ or path.stem in REFITTED


#: The link of a calibrated model, and the losses of a bag, are learned from the rows.
REFITTED = {"boosting-default", "auto", "rules-bag", "rules-classes"}


def test_parameters_of_0_2_are_parts_of_others():
    kept = {path.stem: propriety.load(path).get_params() for path in FILES if path.parent.name == "0.2.0"}
    expected = {"weak_learner": "stump", "init": "zero", "step": "sign"}
    named = kept["boosting-sequential"]["algorithm"]
    assert named == Algorithm(
        **{**expected, "weak_learner": "histogram"}, coefficient="bregman", sequential=True
    )
    assert kept["boosting-adaboost"]["algorithm"] == Algorithm(
        **expected, criterion="gradient", coefficient="line"
    )
    assert kept["boosting"]["costs"] == Costs(fn=4, tp_benefit=1, pos_label="no")
    assert kept["tree"]["costs"] == Costs(weight_by_stakes=True, abstain_label="none")
    assert kept["boosting-default"]["algorithm"] == "gradient"
    gain = propriety.load(GOLDEN / "0.2.0" / "boosting-gain.propriety")
    assert gain.loss == gain.loss_ != losses.GLog().composite()
