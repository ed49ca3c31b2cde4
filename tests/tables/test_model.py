"""A model over a table keeps the contract of a fitted model, whatever estimator is inside."""

import numpy as np
import pyarrow as pa
import pytest

from propriety.model import catalogue, files
from propriety.model.contract import FittedModel
from propriety.tables import TableModel

KEYS = [entry.key for entry in catalogue.ESTIMATORS]


@pytest.fixture(params=KEYS)
def model(models, request):
    return models[request.param]


def test_it_is_a_fitted_model(model):
    assert isinstance(model, FittedModel)
    assert model.loss_ == model.estimator.loss_
    assert model.view == model.estimator.view
    assert model.classes_.tolist() == ["no", "yes"]


def test_it_decides_by_the_costs_of_its_estimator(model, table):
    p = model.predict_proba(table)
    assert model.threshold == model.costs.threshold == 0.1
    np.testing.assert_array_equal(model.predict(table) == "yes", p[:, 1] >= 0.1)
    model_features, _ = model.features(table)
    np.testing.assert_array_equal(
        model.decision_function(table), model.estimator.decision_function(model_features)
    )


def test_contributions_of_columns_add_up_to_the_score(model, table):
    parts = model.contributions(table)
    assert parts.shape == (160, len(model.columns.columns) + 1)
    np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(table), atol=1e-9)
    assert np.ptp(parts[:, -1]) == 0
    by_feature = model.feature_contributions(model.columns.encode(table)[0])
    assert by_feature.shape == (160, len(model.columns.features) + 1)
    dates = [f.startswith("when.") for f in model.columns.features]
    when = model.columns.names.index("when")
    np.testing.assert_allclose(by_feature[:, :-1][:, dates].sum(axis=1), parts[:, when], atol=1e-12)


def test_a_column_that_is_not_used_adds_nothing_and_counts_nothing(models, table):
    model = models["tree"]
    shares = model.importances()
    assert shares.sum() == pytest.approx(1)
    unused = shares == 0
    assert unused.any()
    assert not model.contributions(table)[:, :-1][:, unused].any()


def test_the_terms_of_numbers_are_summed_to_their_columns(models, table):
    """By hand: coefficient times number, the terms of a column together."""
    model = models["linear"]
    X, coefficients = model.features(table)[0], model.estimator.coef_[0]
    color = [j for j, f in enumerate(model.numbers.owners) if model.columns.features[f] == "color"]
    assert len(color) == 3
    parts = model.contributions(table)[:, model.columns.names.index("color")]
    by_hand = X[:, color] @ coefficients[color]
    np.testing.assert_allclose(parts - parts.mean(), by_hand - by_hand.mean(), atol=1e-9)
    assert model.importances().sum() == pytest.approx(1)


def test_words_are_the_rules_that_each_row_meets(models, table):
    words = models["tree"].words(table)
    assert len(words) == 160
    assert all(len(rules) == 1 for rules in words)
    assert models["boosting"].words(table) == [[] for _ in range(160)]
    with pytest.warns(FutureWarning, match=r"words\(table\)\[0\]"):
        assert models["tree"].because(table) == words[0]


def test_it_comes_back_from_its_file_byte_by_byte(model, table, tmp_path):
    model.save(tmp_path / "m")
    again = files.load(tmp_path / "m")
    assert isinstance(again, TableModel)
    assert (again.columns, again.target, again.numbers, again.summary) == (
        model.columns,
        model.target,
        model.numbers,
        model.summary,
    )
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_any_data_frame_is_read(models, table):
    polars = pytest.importorskip("polars")
    model = models["boosting"]
    p = model.predict_proba(table)
    np.testing.assert_array_equal(model.predict_proba(table.to_pandas()), p)
    np.testing.assert_array_equal(model.predict_proba(polars.from_arrow(table)), p)
    np.testing.assert_array_equal(model.predict_proba(pa.Table.from_batches(table.to_batches(7))), p)
