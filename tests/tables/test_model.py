"""A model over a table keeps the contract of a fitted model, whatever estimator is inside."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from samples import SMALL

from propriety import Costs
from propriety.data.numbers import Numbers
from propriety.model import catalogue, files
from propriety.model.contract import FittedModel
from propriety.tables import TableCosts, TableError, TableModel, infer

KEYS = [entry.key for entry in catalogue.ESTIMATORS]


@pytest.fixture(params=KEYS)
def model(models, request):
    return models[request.param]


def test_it_is_a_fitted_model(model):
    assert isinstance(model, FittedModel)
    assert model.loss_ == model.estimator.loss_
    assert model.view == model.estimator.view
    assert model.classes_.tolist() == ["no", "yes"]


def test_it_is_adapted_as_its_estimator_is(model, table):
    X, _ = model.features(table)
    adapted = model.adapt(prevalence={"no": 0.9, "yes": 0.1})
    expected = model.estimator.adapt(prevalence=0.1).predict_proba(X)
    np.testing.assert_array_equal(adapted.predict_proba(table), expected)
    again = files.from_bytes(files.to_bytes(adapted))
    np.testing.assert_array_equal(again.predict_proba(table), expected)
    y = model.classes_[np.arange(len(X)) % 2]
    np.testing.assert_array_equal(
        model.adapt(table, y).predict_proba(table),
        model.estimator.adapt(X, np.arange(len(X)) % 2).predict_proba(X),
    )


def test_it_decides_by_the_costs_of_its_estimator(model, table):
    p = model.predict_proba(table)
    assert model.threshold == model.costs_.threshold == 0.1
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


# --- costs of rows, several classes -------------------------------------------------------------------


def with_row_costs(model, **texts):
    return replace(model, row_costs=TableCosts.read(texts, model.columns.names))


def test_costs_of_columns_decide_each_row_and_come_back_from_the_file(models, table, tmp_path):
    model = with_row_costs(models["tree"], fn_cost="age", fp_cost="100 - age")
    assert model.has_row_costs
    with pytest.raises(ValueError, match="differ by row, by the columns 'age'"):
        model.costs_  # noqa: B018
    age = np.array([float(v) for v in table.column("age").to_pylist()])
    p = model.predict_proba(table)[:, 1]
    np.testing.assert_array_equal(model.predict(table) == "yes", p >= (100 - age) / 100)
    model.save(tmp_path / "m")
    again = files.load(tmp_path / "m")
    assert again.row_costs.texts == model.row_costs.texts
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_column_of_the_costs_that_is_not_there_is_named(models, table):
    model = with_row_costs(models["tree"], fn_cost="age")
    model = replace(model, row_costs=TableCosts.read({"fn_cost": "price"}, ["price"]))
    with pytest.raises(TableError, match="no column 'price', which the costs need"):
        model.check(table.column_names)
    with pytest.raises(TableError, match="no column 'price', which the costs need"):
        model.predict(table)


def test_a_budget_acts_on_the_rows_of_largest_saving(models, table):
    model = models["tree"]
    decided = model.predict(table, budget=7)
    p = model.predict_proba(table)[:, 1]
    assert np.sum(decided == "yes") == 7
    assert p[decided == "yes"].min() >= np.sort(p)[-7]


@pytest.mark.parametrize("key", KEYS)
def test_a_model_of_three_classes_keeps_the_contract(table, tmp_path, key):
    findings = infer(table, "color", several=True)
    frame, _ = findings.columns.encode(table)
    matrix = np.array([[0.0, 1, 4, 0.5], [1, 0, 1, 0.5], [9, 1, 0, 0.5]])
    estimator = catalogue.entry(key).type(costs=Costs(matrix=matrix), **SMALL.get(key, {}))
    numbers = Numbers.fit(frame) if estimator.reads_numbers else None
    estimator.fit(frame if numbers is None else numbers(frame), findings.codes)
    model = TableModel(estimator, findings.columns, findings.target, numbers)
    assert model.decisions.tolist() == ["blue", "green", "red", "abstain"]
    expected = model.predict_proba(table) @ matrix
    decided = model.predict(table)
    np.testing.assert_allclose(
        expected[np.arange(160), [model.decisions.tolist().index(d) for d in decided]], expected.min(axis=1)
    )
    parts = model.contributions(table)
    assert parts.shape == (160, 3, len(model.columns.columns) + 1)
    np.testing.assert_allclose(parts.sum(axis=-1), model.decision_function(table), atol=1e-9)
    model.save(tmp_path / "m")
    again = files.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(table), decided)
    assert again.target == model.target
