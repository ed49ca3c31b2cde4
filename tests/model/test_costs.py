"""Costs as people have them, over the catalogue: a named class, costs of rows, benefits, matrices."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety import (
    AutoClassifier,
    BoostingClassifier,
    Costs,
    LinearClassifier,
    LossSearchCV,
    TreeClassifier,
    evaluation,
    losses,
)
from propriety.costs import CostsOfRowsError, MissingCostsWarning, PositiveClassWarning
from propriety.model import catalogue, contract, files
from propriety.model.offsets import OffsetClassifier

ROWS = catalogue.ESTIMATORS
SMALL = {"max_iter": 15, "n_rules": 4, "min_samples_leaf": 3, "random_state": 0, "alpha": 0.01}
every = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
some = pytest.mark.parametrize("row", [r for r in ROWS if r.key in ("linear", "tree")], ids=lambda r: r.key)


def small(row, **params):
    names = row.type._get_param_names()
    return row.type(**{name: value for name, value in SMALL.items() if name in names} | params)


def data(labels=("good", "bad"), n=150):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["amount"] = rng.lognormal(1, 1, n)
    score = X["a"] - 0.5 * X["b"] + 0.8 * rng.normal(size=n)
    cuts = np.quantile(score, np.arange(1, len(labels)) / len(labels))
    return X, np.array(labels)[np.digitize(score, cuts)]


# --- which class is which --------------------------------------------------------------------------


@every
def test_costs_follow_the_named_class(row):
    X, y = data()
    loss = "Log"
    model = small(row, loss=loss, fn_cost=9, pos_label="bad").fit(X, y)
    assert model.classes_.tolist() == ["bad", "good"]
    p_bad = model.predict_proba(X)[:, 0]
    np.testing.assert_array_equal(model.predict(X), np.where(p_bad >= 0.1, "bad", "good"))
    other = small(row, loss=loss, fn_cost=9, pos_label="good").fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    p_good = other.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(other.predict(X), np.where(p_good >= 0.1, "good", "bad"))
    # Scores and contributions stay those of classes_[1].
    np.testing.assert_array_equal(other.contributions(X), model.contributions(X))
    np.testing.assert_array_equal(other.importances(), model.importances())
    again = files.from_bytes(files.to_bytes(model))
    assert again.pos_label == "bad"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_tailored_loss_of_a_linear_model_follows_the_named_class():
    X, y = data()
    row = catalogue.entry("linear")
    first = small(row, loss="tailored", fn_cost=4, pos_label="bad").fit(X, y)
    assert first.loss_.loss == losses.Tailored(1 - 0.2)
    # The same problem with labels whose order is turned round.
    turned = small(row, loss="tailored", fn_cost=4).fit(X, (y == "bad").astype(int))
    np.testing.assert_allclose(first.predict_proba(X)[:, 0], turned.predict_proba(X)[:, 1], atol=1e-6)
    np.testing.assert_array_equal(first.predict(X) == "bad", turned.predict(X) == 1)


@every
def test_an_unsettled_class_is_named_in_a_warning(row):
    X, y = data()
    with pytest.warns(
        PositiveClassWarning, match=r"'good' was taken as the class whose miss.*pos_label='bad'"
    ):
        small(row, loss="Log", fn_cost=9).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "params", "warns"),
    [
        (("no churn", "churn"), {"fn_cost": 5}, True),
        (("left", "right"), {"fn_cost": 5}, True),
        (("left", "right"), {"fn_cost": "amount"}, True),
        (("left", "right"), {}, False),
        (("left", "right"), {"fn_cost": 5, "pos_label": "left"}, False),
        (("left", "right"), {"costs": Costs(matrix=[[0, 1], [5, 0]])}, False),
        (("no", "yes"), {"fn_cost": 5}, False),
        (("benign", "malignant"), {"fn_cost": 5}, False),
        ((0, 1), {"fn_cost": 5}, False),
        ((False, True), {"fn_cost": 5}, False),
    ],
)
def test_only_text_that_does_not_settle_it_warns(labels, params, warns):
    X, y = data(labels)
    model = small(catalogue.entry("tree"), **params)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert any(issubclass(w.category, PositiveClassWarning) for w in seen) == warns


# --- costs of rows ---------------------------------------------------------------------------------


@every
def test_each_row_is_decided_at_its_own_threshold(row):
    X, y = data((0, 1))
    amount = X["amount"].to_numpy()
    by_name = small(row, fn_cost="amount").fit(X, y)
    by_function = small(row, fn_cost=lambda X: X["amount"]).fit(X, y)
    by_array = small(row).fit(X, y, fn_cost=amount)
    p = by_name.predict_proba(X)[:, 1]
    expected = (p >= 1 / (1 + amount)).astype(int)
    np.testing.assert_array_equal(by_name.predict(X), expected)
    np.testing.assert_array_equal(by_function.predict(X), expected)
    np.testing.assert_array_equal(by_array.predict(X, fn_cost=amount), expected)
    assert 0 < np.mean(expected != (p >= 0.5)) < 1
    # What is fitted is the log loss, whatever the costs of the rows.
    np.testing.assert_array_equal(by_name.predict_proba(X), small(row, loss="Log").fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(by_array.predict_proba(X), by_name.predict_proba(X))
    np.testing.assert_array_equal(by_name.costs_for(X).threshold, 1 / (1 + amount))
    with pytest.raises(ValueError, match="differs by row"):
        by_name.costs_  # noqa: B018


@every
def test_stakes_are_weights(row):
    X, y = data((0, 1))
    staked = small(row, loss="Log", costs=Costs(fn="amount", weight_by_stakes=True)).fit(X, y)
    weighted = small(row, loss="Log").fit(X, y, sample_weight=1 + X["amount"])
    np.testing.assert_allclose(staked.predict_proba(X), weighted.predict_proba(X), atol=1e-6)
    assert np.abs(staked.predict_proba(X) - small(row, loss="Log").fit(X, y).predict_proba(X)).max() > 0.01


def test_benefits_reduce_to_the_matrix_of_four_cells():
    X, y = data((0, 1))
    amount = X["amount"].to_numpy()
    model = small(catalogue.entry("tree")).fit(X, y)
    matrix = np.zeros((len(X), 2, 2))
    matrix[:, 0, 1], matrix[:, 1, 0], matrix[:, 1, 1], matrix[:, 0, 0] = 2, 1, -amount, -0.5
    with_benefits = model.predict(X, costs=Costs(fp=2, fn=1, tp_benefit=amount, tn_benefit=0.5))
    np.testing.assert_array_equal(with_benefits, model.predict(X, costs=Costs(matrix=matrix)))
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(with_benefits, p >= 2.5 / (2.5 + 1 + amount))


def test_rows_without_stakes_are_decided_at_a_half_and_take_no_part():
    X, y = data((0, 1))
    fp, fn = np.ones(len(X)), X["amount"].to_numpy().copy()
    fp[:20] = fn[:20] = 0.0
    row = catalogue.entry("tree")
    model = small(row, costs=Costs(weight_by_stakes=True)).fit(X, y, fp_cost=fp, fn_cost=fn)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X, fp_cost=fp, fn_cost=fn)[:20], p[:20] >= 0.5)
    rest = small(row, costs=Costs(weight_by_stakes=True)).fit(
        X[20:], y[20:], fp_cost=fp[20:], fn_cost=fn[20:]
    )
    np.testing.assert_allclose(rest.predict_proba(X), model.predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="0 in all rows of a class"):
        small(row, costs=Costs(weight_by_stakes=True)).fit(X, y, fp_cost=fp * (y == 0), fn_cost=fn * (y == 0))


def test_forgotten_costs_of_rows_warn():
    X, y = data((0, 1))
    model = small(catalogue.entry("tree")).fit(X, y, fn_cost=X["amount"])
    with pytest.warns(MissingCostsWarning, match="predict was not"):
        model.predict(X)


@some
def test_costs_are_routed_through_pipelines_and_searches(row):
    X, y = data((0, 1))
    amount = X["amount"].to_numpy()
    with sklearn.config_context(enable_metadata_routing=True):
        last = (
            small(row, costs=Costs(weight_by_stakes=True), loss="Log")
            .set_fit_request(fn_cost=True)
            .set_predict_request(fn_cost=True)
        )
        pipeline = make_pipeline(StandardScaler(), last)
        pipeline.fit(X, y, fn_cost=amount)
        p = pipeline.predict_proba(X)[:, 1]
        np.testing.assert_array_equal(pipeline.predict(X, fn_cost=amount), p >= 1 / (1 + amount))
        held_out = cross_val_predict(pipeline, X, y, cv=3, params={"fn_cost": amount}, method="predict_proba")
        assert held_out.shape == (150, 2)
        grid = {f"{row.type.__name__.lower()}__costs__fp": [1.0, 2.0]}
        scorer = evaluation.cost_scorer().set_score_request(fn_cost=True)
        search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3).fit(X, y, fn_cost=amount)
        assert search.best_score_ < 0
        decided = search.best_estimator_.predict(X, fn_cost=amount)
        fp = search.best_params_[next(iter(grid))]
        p = search.predict_proba(X)[:, 1]
        np.testing.assert_array_equal(decided, p >= fp / (fp + amount))


def test_cross_validated_decisions_see_the_costs_of_their_own_rows():
    X, y = data((0, 1))
    amount = X["amount"].to_numpy()
    model = small(catalogue.entry("linear"), loss="Log")
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model.set_fit_request(fn_cost=True)
        P = cross_val_predict(routed, X, y, cv=3, params={"fn_cost": amount}, method="predict_proba")
    by_name = cross_val_predict(small(catalogue.entry("linear"), loss="Log", fn_cost="amount"), X, y, cv=3)
    np.testing.assert_array_equal(by_name, P[:, 1] >= 1 / (1 + amount))


# --- several classes -------------------------------------------------------------------------------

MATRIX = np.array([[0, 1, 4], [3, 0, 1], [20, 9, 0]])


@every
def test_a_matrix_decides_several_classes(row):
    X, y = data(("a", "b", "c"))
    model = small(row, costs=Costs(matrix=MATRIX)).fit(X, y)
    cheapest = model.classes_[np.argmin(model.predict_proba(X) @ MATRIX, axis=1)]
    np.testing.assert_array_equal(model.predict(X), cheapest)
    assert np.any(cheapest != model.classes_[np.argmax(model.predict_proba(X), axis=1)])
    again = files.from_bytes(files.to_bytes(model))
    np.testing.assert_array_equal(again.predict(X), cheapest)
    each = np.random.default_rng(1).random((len(X), 3, 3)) + 1
    each[:, range(3), range(3)] = 0
    expected = np.argmin(np.einsum("nt,ntk->nk", model.predict_proba(X), each), axis=1)
    np.testing.assert_array_equal(
        clone(model).set_params(costs=Costs(matrix=None)).fit(X, y).predict(X, costs=Costs(matrix=each)),
        model.classes_[expected],
    )


@some
def test_a_matrix_with_labels_serves_the_classes_that_occur(row):
    X, y = data(("a", "b", "c"))
    frame = pd.DataFrame(MATRIX, index=list("abc"), columns=list("abc"))
    frame["ask"] = 0.5
    shuffled = frame.loc[list("cab"), ["ask", "b", "c", "a"]]
    full = small(row, costs=Costs(matrix=np.column_stack([MATRIX, np.full(3, 0.5)]))).fit(X, y)
    for labelled in (shuffled, shuffled.to_dict("index")):
        np.testing.assert_array_equal(
            small(row, costs=Costs(matrix=labelled)).fit(X, y).predict(X), full.predict(X)
        )
    model = small(row, costs=Costs(matrix=frame.to_dict("index"))).fit(X[y != "b"], y[y != "b"])
    cells = frame.loc[["a", "c"], ["a", "c", "ask"]].to_numpy()
    cheapest = np.array(["a", "c", "abstain"])[np.argmin(model.predict_proba(X) @ cells, axis=1)]
    np.testing.assert_array_equal(model.predict(X), cheapest)
    again = files.from_bytes(files.to_bytes(model))
    np.testing.assert_array_equal(again.predict(X), cheapest)
    np.testing.assert_array_equal(model.predict(X, costs=Costs(matrix=frame)), cheapest)
    cost = evaluation.mean_cost(y, full.predict(X), costs=Costs(matrix=frame))
    plain = Costs(matrix=np.column_stack([MATRIX, np.full(3, 0.5)]))
    assert cost == evaluation.mean_cost(y, full.predict(X), costs=plain)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            {"a": {"a": 0, "b": 1}, "b": {"a": 1, "b": 0}},
            r"a row and a column for each class.*none for \['c'\]",
        ),
        ({"a": {"a": 0, "b": 1}, "b": {"a": 1}}, "the same decisions for each class: 'b' has"),
        ({"a": 1, "b": 2}, "a dict for each true class"),
    ],
)
def test_a_wrong_matrix_with_labels_is_refused(matrix, message):
    X, y = data(("a", "b", "c"))
    with pytest.raises(ValueError, match=message):
        small(catalogue.entry("tree"), costs=Costs(matrix=matrix)).fit(X, y)


@some
def test_a_last_column_abstains(row):
    X, y = data(("a", "b", "c"))
    matrix = np.column_stack([1 - np.eye(3), np.full(3, 0.3)])
    model = small(row, costs=Costs(matrix=matrix)).fit(X, y)
    sure = model.predict_proba(X).max(axis=1) > 0.7
    decided = model.predict(X)
    np.testing.assert_array_equal(decided == "abstain", ~sure)
    assert decided.dtype.kind == "U"
    numbers = small(row, costs=Costs(matrix=matrix, abstain_label=-1)).fit(
        X, np.searchsorted(["a", "b", "c"], y)
    )
    assert numbers.predict(X).dtype.kind == "i"
    np.testing.assert_array_equal(numbers.predict(X) == -1, ~sure)
    mixed = small(row, costs=Costs(matrix=matrix)).fit(X, np.searchsorted(["a", "b", "c"], y)).predict(X)
    assert mixed.dtype == object
    cost = evaluation.mean_cost(y, decided, costs=Costs(matrix=matrix))
    right = np.mean(np.where(sure, decided != y, 0.3))
    assert cost == pytest.approx(right)


def test_two_classes_may_abstain():
    X, y = data((0, 1))
    matrix = [[0, 1, 0.2], [1, 0, 0.2]]
    model = small(catalogue.entry("tree"), costs=Costs(matrix=matrix)).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X) == "abstain", (p > 0.2) & (p < 0.8))
    assert "→ abstain" in model.export_text()


# --- what is refused, before anything is fitted ----------------------------------------------------


@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({"fn_cost": -1}, {}, "fn_cost must be positive"),
        ({}, {"fn_cost": -np.ones(150)}, "fn_cost must be positive in every row, and is -1 in row 0"),
        (
            {},
            {"fp_cost": np.r_[np.ones(149), np.nan]},
            "fp_cost must be finite in every row, and is missing in",
        ),
        ({}, {"fn_cost": np.ones(149)}, "149 rows, but there are 150"),
        ({}, {"fn_cost": np.ones(150), "fp_cost": np.ones(10)}, "fp_cost has 10, fn_cost has 150"),
        ({"fn_cost": np.ones(150)}, {}, "give those to fit and predict"),
        ({"fn_cost": "price"}, {}, "fn_cost='price' is not a column of X"),
        ({"fn_cost": lambda X: np.ones(3)}, {}, "3 rows, but there are 150"),
        ({"costs": Costs(matrix=np.ones((3, 3)))}, {}, "cost_matrix is for 3 classes, and there are 2"),
        ({"costs": Costs(matrix=np.ones((2, 4)))}, {}, "must have shape"),
        ({"costs": Costs(matrix=[[0, 1], [5, 0]], fn=3)}, {}, "not both"),
        ({"costs": Costs(1, 9), "fn_cost": 3}, {}, "give costs or fn_cost, not both"),
        ({}, {"costs": Costs(1, 9), "fn_cost": np.ones(150)}, "give costs, or its short form fn_cost"),
        ({}, {"costs": pd.DataFrame({"miss": np.ones(150)})}, "must have columns among fp, fn"),
        ({"costs": Costs(matrix=[[0, 1], [5, 0]])}, {"fn_cost": np.ones(150)}, "not both"),
        ({"costs": Costs(matrix=[[1, 0], [5, 0]])}, {}, "cheaper than the right one"),
        ({"costs": Costs(tp_benefit=-3)}, {}, "fn_cost . tp_benefit must be positive"),
        ({"pos_label": "maybe"}, {}, "pos_label='maybe' is not one of the classes"),
        (
            {"costs": Costs(matrix=[[0, 1, 0], [5, 0, 0]], abstain_label=1)},
            {},
            "abstain_label=1 is one of the",
        ),
    ],
)
@every
def test_bad_costs_are_refused_before_the_fit(row, params, given, message):
    X, y = data((0, 1))
    model = small(row, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **given)
    assert not hasattr(model, "classes_")


def test_a_column_must_be_there_at_prediction():
    X, y = data((0, 1))
    model = small(catalogue.entry("tree"), fn_cost="amount").fit(X, y)
    with pytest.raises(ValueError, match="fn_cost='amount' is not a column of X"):
        model.predict(X.drop(columns="amount"))
    with pytest.raises(ValueError, match="X has no names: give a data frame"):
        model.predict(X.to_numpy())


def test_more_classes_need_a_matrix():
    X, y = data(("a", "b", "c"))
    for params in ({"fn_cost": 2}, {"fn_cost": "amount"}, {"costs": Costs(tp_benefit=1)}):
        with pytest.raises(ValueError, match=r"are for two classes, got 3 classes; give a cost matrix"):
            small(catalogue.entry("tree"), **params).fit(X, y)
    with pytest.raises(ValueError, match="pos_label is for two classes"):
        small(catalogue.entry("tree"), pos_label="a").fit(X, y)
    with pytest.raises(ValueError, match="weight_by_stakes is for two classes"):
        small(catalogue.entry("tree"), costs=Costs(weight_by_stakes=True, matrix=MATRIX)).fit(X, y)


@every
def test_costs_known_roughly_are_decided_for_their_mean(row):
    from scipy import stats

    X, y = data((0, 1))
    mean = 15 / np.log(4)
    model = small(row, loss="Log", fn_cost=(5, 20)).fit(X, y)
    assert model.costs_.threshold == pytest.approx(1 / (1 + mean))
    np.testing.assert_array_equal(files.from_bytes(files.to_bytes(model)).predict(X), model.predict(X))
    assert small(row, loss="Log", fn_cost=stats.gamma(3)).fit(X, y).costs_.threshold == pytest.approx(1 / 4)
    with pytest.raises(ValueError, match="is no range"):
        small(row, fn_cost=(20, 5)).fit(X, y)


@every
def test_a_budget_limits_how_often_the_model_acts(row):
    X, y = data()
    model = small(row, loss="Log", fn_cost="amount", pos_label="bad").fit(X, y)
    free, few = model.predict(X), model.predict(X, budget=5)
    assert np.sum(few == "bad") == 5 < np.sum(free == "bad")
    p = model.predict_proba(X)[:, 0]
    saving = p * X["amount"].to_numpy() - (1 - p)
    assert saving[few == "bad"].min() >= saving[few == "good"].max()
    np.testing.assert_array_equal(model.predict(X, budget=150), free)
    with pytest.raises(ValueError, match="two classes, without abstaining"):
        small(row, costs=Costs(matrix=[[0, 1, 0.1], [1, 0, 0.1]])).fit(X, y).predict(X, budget=3)


@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
def test_costs_by_a_column_are_kept_in_the_file(row):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"amount": rng.lognormal(3, 1, 200), "z": rng.normal(size=200)})
    y = (X["z"] + rng.normal(size=200) > 0).astype(int)
    model = row.type(fn_cost="amount", fp_cost=10.0).fit(X, y)
    again = files.from_bytes(files.to_bytes(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_costs_are_a_value_with_parameters():
    costs = Costs(1, 9, pos_label="bad")
    assert costs == Costs(fn=9, pos_label="bad") != Costs(fn=9)
    assert hash(costs) == hash(Costs(fn=9, pos_label="bad"))
    assert Costs(matrix=np.eye(2)) == Costs(matrix=np.eye(2)) != Costs(matrix=np.ones((2, 2)))
    assert clone(TreeClassifier(costs=costs)).costs is costs
    assert TreeClassifier(costs=costs).get_params()["costs__fn"] == 9
    model = TreeClassifier(fn_cost=5, pos_label="bad").set_params(costs__tp_benefit=2)
    assert model.costs == Costs(fn=5, tp_benefit=2, pos_label="bad")
    assert (model.fn_cost, model.pos_label) == (1.0, None)
    with pytest.raises(ValueError, match="has no parameter 'miss'"):
        model.set_params(costs__miss=2)
    X, y = data((0, 1))
    with pytest.raises(TypeError, match=r"costs must be a .*Costs or None"):
        TreeClassifier(costs={"fn": 9}).fit(X, y)


def test_costs_of_rows_may_come_in_a_frame():
    X, y = data((0, 1))
    amount = X["amount"]
    frame = pd.DataFrame({"fn": amount, "tp_benefit": 0.5})
    model = LinearClassifier("Log", alpha=0.01).fit(X, y, costs=frame)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X, costs=frame), p >= 1 / (1 + amount + 0.5))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(costs=True).set_score_request(costs=True)
        scores = cross_val_score(routed, X, y, cv=3, params={"costs": frame})
    assert np.all((scores > 0) & (scores < 1))


# --- without the rows, in files, in another order --------------------------------------------------


def test_a_model_whose_costs_differ_by_row_has_no_attribute_costs():
    X, y = data()
    by_row, same = (LinearClassifier(alpha=0.01, pos_label="bad", fn_cost=c).fit(X, y) for c in ("amount", 9))
    assert "classes_" in dir(by_row)  # newer versions of scikit-learn ask for every attribute
    assert not hasattr(by_row, "costs_")
    assert hasattr(same, "costs_")
    for model in (by_row, same):
        assert isinstance(model, contract.FittedModel)
    with pytest.raises(
        CostsOfRowsError, match=r"fn_cost='amount' differs by row.* see costs_for\(X\)"
    ) as error:
        by_row.costs_  # noqa: B018
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, AttributeError)
    assert by_row.costs_for(X).by_row


def test_a_frame_of_costs_is_kept_in_the_file_by_its_labels():
    X, y = data(("a", "b", "c"))
    frame = pd.DataFrame(
        [[0.0, 8, 2, 1], [3, 0, 1, 1], [9, 9, 0, 1]], index=["c", "a", "b"], columns=["c", "a", "b", "wait"]
    )
    model = TreeClassifier(costs=Costs(matrix=frame)).fit(X, y)
    again = files.from_bytes(files.to_bytes(model))
    assert again.costs.matrix["a"] == {"c": 3, "a": 0, "b": 1, "wait": 1}
    np.testing.assert_array_equal(again.costs_.matrix, model.costs_.matrix)
    assert "abstain" in set(again.predict(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.costs.matrix is frame


def amounts_in_thousands(X):
    return X["amount"] / 1000


@pytest.mark.parametrize("cost", [lambda X: X["amount"], amounts_in_thousands], ids=["lambda", "function"])
def test_a_function_of_costs_cannot_be_saved_and_the_error_says_what_to_do(cost, tmp_path):
    X, y = data()
    model = LinearClassifier(alpha=0.01, pos_label="bad", fn_cost=cost).fit(X, y)
    with pytest.raises(ValueError, match=r"fn_cost is a function of the rows.*fn_cost='column'.*no lambda"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
    if cost is amounts_in_thousands:  # as the error says
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_distribution_of_costs_cannot_be_saved_and_its_mean_decides_the_same():
    X, y = data()
    model = TreeClassifier(pos_label="bad", fn_cost=stats.uniform(2, 6)).fit(X, y)
    decided = model.predict(X)
    with pytest.raises(ValueError, match=r"fn_cost is a distribution.*model.set_params\(fn_cost=5\)"):
        files.to_bytes(model)
    again = files.from_bytes(files.to_bytes(model.set_params(fn_cost=5)))
    np.testing.assert_array_equal(again.predict(X), decided)


@some
def test_columns_in_another_order_are_refused_with_what_to_do(row):
    X, y = data()
    model = small(row, pos_label="bad").fit(X, y)
    turned = X[X.columns[::-1]]
    with pytest.raises(ValueError, match=r"same order(.|\n)*give X\[model.feature_names_in_\]"):
        model.predict(turned)
    np.testing.assert_array_equal(model.predict(turned[model.feature_names_in_]), model.predict(X))
    with pytest.raises(ValueError, match="Feature names unseen") as error:
        model.predict(X.rename(columns={"a": "z"}))
    assert "another order" not in str(error.value)


# --- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(alpha="cv"),
        TreeClassifier(ccp_alpha="min", cv=4, min_samples_leaf=1, random_state=0),
        BoostingClassifier(max_iter="cv", random_state=0),
        LossSearchCV(LinearClassifier(alpha="cv"), ["Squared"], criterion="Log", cv=GroupKFold(2)),
    ],
    ids=["linear", "tree", "boosting", "search"],
)
def test_no_fold_of_a_model_parts_a_group(model):
    # The class is that of the group, whatever the columns: who has seen a part of it knows the rest.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    X = np.repeat(rng.normal(size=(30, 12)), 4, axis=0) + 1e-3 * rng.normal(size=(120, 12))
    y = np.repeat(rng.permutation(np.arange(30) % 2), 4)
    together = clone(model).fit(X, y, groups=groups)
    # Each row a group of its own, which is to have none.
    apart = clone(model).fit(X, y, groups=np.arange(120))

    def sureness(fitted):
        return np.abs(getattr(fitted, "best_estimator_", fitted).decision_function(X)).mean()

    assert sureness(together) < 0.7 * sureness(apart)
    if not isinstance(model, LossSearchCV):
        with pytest.raises(ValueError, match=r"groups must name a group in every row, and none .* row 0"):
            clone(model).fit(X, y, groups=np.full(120, np.nan))


@every
def test_an_estimator_says_whether_it_takes_groups_and_an_offset(row):
    parameters = inspect.signature(row.type.fit).parameters
    assert row.type.capabilities.groups == ("groups" in parameters)
    if row.key == "auto":
        X, y = data()
        with pytest.raises(ValueError, match=r"AutoClassifier takes no offset.*BoostingClassifier or Linear"):
            AutoClassifier().fit(X, y, offset=np.zeros(len(y)))
    else:
        assert issubclass(row.type, OffsetClassifier) == ("offset" in parameters)


def test_contributions_add_up_to_the_score_less_the_offset():
    X, y = data()
    offset = np.linspace(-1, 1, len(y))
    for model in (LinearClassifier(alpha=0.01), BoostingClassifier(max_iter=5)):
        model.fit(X, y, offset=offset)
        expected = model.decision_function(X, offset=offset) - offset
        np.testing.assert_allclose(model.contributions(X).sum(axis=1), expected, atol=1e-9)


def test_a_search_of_parameters_goes_by_the_costs_that_the_estimator_states():
    """Accuracy would choose the strongest penalty here, which never decides for the rare and dear class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(rng.uniform(size=400) < 1 / (1 + np.exp(2.5 - X[:, 0])), "sick", "well")
    model = LinearClassifier(fp_cost=1, fn_cost=6, pos_label="sick")
    search = GridSearchCV(model, {"alpha": [0.01, 100.0]}, cv=3).fit(X, y)
    scoring = evaluation.cost_scorer(fp_cost=1, fn_cost=6, pos_label="sick")
    by_cost = GridSearchCV(model, {"alpha": [0.01, 100.0]}, scoring=scoring, cv=3).fit(X, y)
    ranks = [found.cv_results_["rank_test_score"].tolist() for found in (search, by_cost)]
    assert ranks[0] == ranks[1]
    accuracy = GridSearchCV(model, {"alpha": [0.01, 100.0]}, scoring="accuracy", cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 0.01} != accuracy.best_params_
    weight = rng.integers(1, 4, 400)
    fitted = search.best_estimator_
    costs = {"fp_cost": 1, "fn_cost": 6, "pos_label": "sick"}
    cost = evaluation.mean_cost(y, fitted.predict(X), sample_weight=weight, **costs)
    stake = np.where(y == "sick", 6, 1)
    assert fitted.score(X, y, weight) == pytest.approx(1 - cost / np.average(stake, weights=weight))
    rows = rng.uniform(1, 20, 400)
    decided = fitted.predict(X, fn_cost=rows)
    wrong = np.where(y == "sick", rows, 1) * (decided != y)
    assert fitted.score(X, y, fn_cost=rows) == pytest.approx(
        1 - wrong.sum() / np.where(y == "sick", rows, 1).sum()
    )
    plain = LinearClassifier(alpha=0.01).fit(X, y)
    assert plain.score(X, y) == np.mean(plain.predict(X) == y)
    scaled = LinearClassifier(alpha=0.01, fp_cost=2, fn_cost=2).fit(X, y)
    assert scaled.score(X, y) == pytest.approx(plain.score(X, y))
    with pytest.warns(UserWarning, match="nothing is at stake"):
        assert np.isnan(fitted.score(X, y, fp_cost=np.zeros(400), fn_cost=np.zeros(400)))
    with pytest.raises(ValueError, match=r"\['dead'\] that the model was not trained on"):
        fitted.score(X[:1], ["dead"])


@pytest.mark.parametrize("wrap", [VotingClassifier, StackingClassifier])
def test_members_of_those_who_number_labels_are_told_how_to_name_the_positive(wrap):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, "bad", "good")
    with pytest.raises(ValueError, match="VotingClassifier, StackingClassifier and others number the labels"):
        wrap([("a", LinearClassifier(fn_cost=9, pos_label="bad", alpha=0.01))]).fit(X, y)
    fitted = wrap([("a", LinearClassifier(fn_cost=9, pos_label=0, alpha=0.01))]).fit(X, y)
    assert set(fitted.predict(X)) == {"bad", "good"}
