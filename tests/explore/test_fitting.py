import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from tests.explore.serving import small

from propriety import LinearClassifier, TreeClassifier, evaluation, losses
from propriety.explore import datasets, fitting
from propriety.explore.fitting import MODELS, judged

THRESHOLDS = np.array([0.1, 0.5])


def test_models_are_those_of_the_library_on_rows_that_were_not_fitted():
    data, loss = small(), losses.Tailored(0.1, 20)
    rows, judging = data.split
    assert not set(rows) & set(judging)
    assert len(rows) + len(judging) == len(data.y)
    answer = judged(data, loss, THRESHOLDS, cells=5)
    json.dumps(answer, allow_nan=False)
    assert [model["name"] for model in answer["models"]] == list(MODELS)
    model = LinearClassifier(loss=loss, **MODELS["linear"][1]).fit(data.X[rows], data.y[rows])
    log = LinearClassifier(loss="Log()", **MODELS["linear"][1]).fit(data.X[rows], data.y[rows])
    y, p = data.y[judging], model.predict_proba(data.X[judging])[:, 1]
    q = log.predict_proba(data.X[judging])[:, 1]
    linear = answer["models"][0]
    cost = 1000 * (np.mean((p >= 0.1) & (y == 0)) + 9 * np.mean((p < 0.1) & (y == 1)))
    assert linear["cost"][0] == pytest.approx(cost, rel=1e-4)
    cost_of_log = 1000 * (np.mean((q >= 0.1) & (y == 0)) + 9 * np.mean((q < 0.1) & (y == 1)))
    assert linear["difference"][0] == pytest.approx(cost - cost_of_log, rel=1e-3, abs=1e-9)
    assert linear["log_loss"] == pytest.approx(evaluation.mean_loss(y, p), rel=1e-3)
    low, high = data.frame
    corner = model.predict_proba([[high[0], low[1]]])[0, 1]
    assert linear["plane"]["p"][4] == pytest.approx(corner, rel=1e-3, abs=1e-4)
    rate, at, _ = evaluation.recalibrate(y, p).blocks
    np.testing.assert_allclose(linear["reliability"]["p"], at, rtol=1e-3)
    np.testing.assert_allclose(linear["reliability"]["rate"], rate, rtol=1e-3)


def test_models_are_fitted_by_as_many_threads_as_asked(monkeypatch):
    threads = []

    def noting(key):
        def made(**given):
            threads.append(given["n_jobs"])
            return entry(key).type(**given)

        return SimpleNamespace(type=made)

    entry = fitting.entry
    monkeypatch.setattr(fitting, "entry", noting)
    judged(small(), losses.Log(), THRESHOLDS, cells=3, n_jobs=2)
    assert threads == [2, 2, 1]  # boosting has a number of its own


def test_the_log_loss_does_not_differ_from_itself():
    for model in judged(small(), losses.Log(), THRESHOLDS, cells=3)["models"]:
        assert model["difference"] == [0, 0]
        assert model["verdict"] == [0, 0]


def test_a_verdict_is_an_interval_that_leaves_out_zero():
    data, loss = datasets.curved(), losses.Tailored(0.1, 20)
    model = judged(data, loss, THRESHOLDS)["models"][2]
    p, log = (fitting.fitted(data, "boosting", of).p for of in (loss, losses.Log()))
    low, high = evaluation.murphy_difference(data.y[data.split[1]], p, log).band(THRESHOLDS)
    assert low[0] > 0
    assert low[1] < 0 < high[1]
    assert model["verdict"] == [1, 0]


def test_a_loss_without_a_weight_is_fitted_by_the_tree_alone():
    data = small()
    linear, tree, boosting = judged(data, losses.CostWeighted(0.1), THRESHOLDS, cells=3)["models"]
    assert "has no weight function" in linear["error"] == boosting["error"]
    rows, judging = data.split
    expected = TreeClassifier(loss=losses.CostWeighted(0.1), **MODELS["tree"][1]).fit(
        data.X[rows], data.y[rows]
    )
    cost = evaluation.murphy_curve(data.y[judging], expected.predict_proba(data.X[judging])[:, 1])(0.5)
    assert tree["cost"][1] == pytest.approx(2000 * cost, rel=1e-4)


def test_a_table_with_categories_and_gaps_is_fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    frame = pa.table(
        {
            "x": np.where(rng.uniform(size=120) < 0.1, np.nan, x),
            "c": pa.array(rng.choice(["a", "b"], 120)).dictionary_encode(),
        }
    )
    data = datasets.of_table("t.csv", frame, (x > 0).astype(int), "yes")
    assert not data.plane
    assert data.columns == ("x", "c")
    models = judged(data, losses.Squared(), THRESHOLDS)["models"]
    assert all("error" not in model and "plane" not in model for model in models)


def test_two_columns_of_numbers_are_a_plane_and_long_tables_are_cut():
    n = datasets.MOST_ROWS + 10
    frame = pa.table({"a": np.arange(n, dtype=float), "b": np.ones(n)})
    data = datasets.of_table("long.csv", frame, np.arange(n) % 2, "1")
    assert data.plane
    assert len(data.y) == datasets.MOST_ROWS
    assert "5,010 rows" in data.about
    assert "5,000 of them" in data.about
    assert data.described()["plane"]["columns"] == ["a", "b"]


def test_a_class_of_one_row_is_refused():
    frame = pa.table({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="fewer than two rows of one class"):
        datasets.of_table("few.csv", frame, np.array([0, 0, 1]), "1").described()


def test_the_same_question_is_answered_from_memory():
    data = small()
    assert fitting.fitted(data, "linear", losses.Log()) is fitting.fitted(data, "linear", losses.Log())
