"""Studies from Python: what is fitted to what, what judges it, and the same digits from every door."""

import json

import numpy as np
import pandas as pd
import pytest
from golden import columns, write
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from propriety import BoostingClassifier, Costs, LinearClassifier, Study, TreeClassifier
from propriety.cli.app import app
from propriety.costs import PositiveClassWarning
from propriety.errors import ArgumentError

TABLE = pd.DataFrame(columns())
X, Y = TABLE[["years", "size", "amount"]].astype(float), TABLE["late"]
COSTS = Costs(fn=4, pos_label="yes")


def study(model="linear", x=X, y=Y, **given):
    return Study(model, x, y, **{"costs": COSTS, "cv": 3} | given)


def test_the_command_line_has_the_digits_of_the_library(tmp_path):
    write(tmp_path)
    given = (
        "fit", tmp_path / "late.csv", "-t", "late", "--model", "linear", "--fn-cost", "amount",
        "--folds", "2",
        "--groups", "customer", "--weights", "weight", "--drop", "opened", "--rivals", "logistic", "--json",
    )  # fmt: skip
    told = json.loads(CliRunner().invoke(app, list(map(str, given))).stdout)
    known = study(
        x=TABLE.drop(columns=["late", "level", "opened"]), costs=Costs(fn="amount", pos_label="yes"), cv=2,
        groups="customer", sample_weight="weight", rivals=["logistic"],
    ).to_dict()  # fmt: skip
    for key in ("judgements", "differences"):
        for one, other in zip(told[key], known[key], strict=True):
            assert one.keys() == other.keys()
            for name in one.keys() - {"seconds"}:
                same = one[name] if isinstance(one[name], str | None) else pytest.approx(one[name], rel=1e-9)
                assert other[name] == same
    assert told["judged_by"] == known["judged_by"]


def test_its_own_predictions_give_its_own_digits():
    made = study(rivals={"tree": TreeClassifier(max_leaf_nodes=4)}, sample_weight=TABLE["weight"])
    told, rows = made.predictions, made.split.rows
    again = Study.from_predictions(
        Y[rows], told["p"], X.iloc[rows], costs=COSTS, sample_weight=TABLE["weight"][rows]
    )
    assert again.judgement.cost == made.judgement.cost
    assert told["cost"].sum() == pytest.approx(np.sum(again.rows.row_costs(again.decided)))
    assert (told["decision"] == "yes").sum() == np.sum(made.decided)
    odds = Study.from_predictions(Y[rows], np.log(told["p"] / (1 - told["p"])), costs=COSTS, scale="log-odds")
    np.testing.assert_allclose(odds.p, told["p"])


def test_what_is_given_is_cloned_and_what_is_frozen_is_not_fitted():
    given = LogisticRegression()
    assert study(given).judgement.cost.value > 0
    assert not hasattr(given, "coef_")
    given.fit(X, Y)
    frozen = Study(FrozenEstimator(given), X, Y, costs=COSTS)
    np.testing.assert_array_equal(frozen.p, given.predict_proba(X)[:, 1])
    assert frozen.model is given
    assert Study.from_estimator(given, X, Y, costs=COSTS).judgement.cost == frozen.judgement.cost
    with pytest.raises(ArgumentError, match="rivals must be fitted and frozen"):
        Study(FrozenEstimator(given), X, Y, rivals={"tree": TreeClassifier()})


@pytest.mark.parametrize("model", ["linear", "tree"])
def test_reversals_are_those_of_the_model_that_judged_the_row(model):
    made = study(model, cv=4, n_jobs=1)
    found = [one for one in made.counterfactuals(n=20) if one.flip is not None]
    assert len(found) > 5
    models, threshold = made.models_of_parts, made.costs.threshold
    for one in found:
        row = {name: values[[one.row]].copy() for name, values in made.features.items()}
        fitted = models[made.split.parts[one.row]]
        assert fitted.probabilities(pd.DataFrame(row))[0] == pytest.approx(made.p[one.row])
        for name, (_, new) in one.flip.changes.items():
            row[name][0] = new
        then = fitted.probabilities(pd.DataFrame(row))[0]
        assert then == pytest.approx(one.flip.probability)
        assert (then >= threshold) != (made.p[one.row] >= threshold)


def test_effects_and_importances_ask_the_models_that_judged():
    made = study(BoostingClassifier(max_iter=5, random_state=0), rivals=["logistic"])
    for k, fitted in enumerate(made.models_of_parts):
        mine = made.split.parts[made.effects.rows] == k
        rows = made.split.rows[made.effects.rows[mine]]
        np.testing.assert_allclose(made.effects.parts[mine], fitted.model.contributions(X.iloc[rows])[:, :-1])
    assert made.importance["size"].low > 0 > made.importance["amount"].low


class Stopping(GaussianNB):
    """A classifier whose fits are counted, and whose third one is interrupted once."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Stopping.fits += 1
        if Stopping.fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_a_study_goes_on_after_an_interruption():
    Stopping.fits = 0
    made = study(Stopping(), cv=4)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert made.run() is made
    assert Stopping.fits == 4 + 1 + 1  # folds, the model that is kept, and the one that was interrupted
    assert made.judgement.cost == study(GaussianNB(), cv=4).judgement.cost


def test_rivals_get_the_weights_or_an_error():
    weight = TABLE["weight"]
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    searched = GridSearchCV(piped, {"logisticregression__C": [0.1]}, cv=2)
    rivals = {"piped": piped, "searched": searched, "plain": LogisticRegression(C=0.1)}
    made = study(rivals=rivals, sample_weight=weight, holdout=0.4, cv=None)
    train, test = made.split.pairs[0]
    known = make_pipeline(StandardScaler(), LogisticRegression())
    known.fit(X.iloc[train], Y[train], logisticregression__sample_weight=weight[train])
    np.testing.assert_allclose(made.rivals["piped"], known.predict_proba(X.iloc[test])[:, 1])
    assert not np.allclose(made.rivals["searched"], made.rivals["piped"])
    with pytest.raises(ArgumentError, match="sample_weight cannot be used: the fit of KNeighborsClassifier"):
        study(rivals={"near": KNeighborsClassifier()}, sample_weight=weight).run()
    assert "near" in study(rivals={"near": KNeighborsClassifier()}).rivals


def test_a_classifier_without_probabilities_decides_by_predict():
    splitter = KFold(3, shuffle=True, random_state=0)
    made = study(rivals={"perceptron": Perceptron(random_state=0)}, cv=splitter)
    judged = made.judgements[-1]
    assert (judged.name, judged.log_loss) == ("perceptron", None)
    model = Perceptron(random_state=0).fit(X.iloc[made.split.pairs[0][0]], Y[made.split.pairs[0][0]])
    n = len(made.split.pairs[0][1])
    decided = (model.predict(X.iloc[made.split.pairs[0][1]]) == "yes").astype(int)
    np.testing.assert_array_equal(made.rules[-1].decided[:n], decided)


def test_columns_that_have_a_role_are_no_features():
    made = study(
        x=TABLE.drop(columns=["level", "start"]), y="late", groups="customer", sample_weight="weight",
        time="opened", gap=5, by=["customer"],
    )  # fmt: skip
    assert set(made.features) == {"years", "size", "kind", "amount", "copies"}
    for train, test in made.split.pairs:
        opened, customer = TABLE["opened"].astype("datetime64[s]"), TABLE["customer"]
        assert opened[train].max() < opened[test].min() - pd.Timedelta(days=5)
        assert not set(customer[train]) & set(customer[test])
    assert made.time_name == "opened"
    assert len(made.subgroups("customer")) == 10
    assert len(made.over_time(3)) == 3
    assert made.facts.target == "late"


def test_rows_of_ones_own_may_judge():
    made = study(LinearClassifier(), X[:150], Y[:150], cv=None, test=(X[150:], Y[150:]))
    known = LinearClassifier(costs=COSTS).fit(X[:150], Y[:150])
    np.testing.assert_allclose(made.p, known.predict_proba(X[150:])[:, 1])
    assert made.split.text == "90 rows given to judge"


def test_costs_of_the_model_are_those_of_the_study():
    stated = LinearClassifier(costs=COSTS)
    assert study(stated, costs=None).judgement.cost == study(LinearClassifier()).judgement.cost
    with pytest.raises(ArgumentError, match="those of the model are"):
        study(stated, costs=Costs(fn=9, pos_label="yes"))
    by_row = study(
        TreeClassifier(max_leaf_nodes=4), costs=Costs(fn=TABLE["amount"].to_numpy(), pos_label="yes")
    )
    by_column = study(TreeClassifier(max_leaf_nodes=4), costs=Costs(fn="amount", pos_label="yes"))
    assert by_row.judgement.cost == by_column.judgement.cost
    assert by_row.stated == {} != by_column.stated


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cv": 3, "holdout": 0.2}, "holdout is one way to split"),
        ({"groups": "nobody"}, "groups is not a column of X"),
        ({"model": "woods"}, "model 'woods' is none of the models"),
        ({"rivals": {"never 'yes'": TreeClassifier()}}, "name of another way to decide"),
        ({"offset": np.zeros(len(X)), "model": "tree"}, "offset cannot be the start of propriety tree"),
        ({"cases": ("year", 0)}, "cases must be a period"),
        ({"capacity": 2000}, "capacity must be above 0"),
        ({"class_names": ["a"]}, "class_names must name the 2 classes"),
        ({"gap": 3}, "gap is 0 or more, between rows that are split by time"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused_by_name(given, message):
    with pytest.raises(ArgumentError, match=message):
        study(**given)


def test_a_side_that_labels_do_not_settle_is_warned_of():
    y, p = np.array(["bad", "good"] * 40), np.tile([0.3, 0.6], 40)
    with pytest.warns(PositiveClassWarning, match="'good' was taken as the class whose miss costs fn_cost"):
        Study.from_predictions(y, p, fn_cost=4)
    said = Study.from_predictions(y, 1 - p, fn_cost=1.2, fp_cost=1, pos_label="bad").headline
    assert "−" not in said.split("(95%")[0]


def test_a_saving_that_is_none_is_a_loss_in_words():
    y, p = np.array([0, 1] * 20), np.tile([0.6, 0.6], 20)
    p[[1, 3]] = 0.4
    said = Study.from_predictions(y, p).headline
    assert said.startswith("No significant saving: the model loses 50")


def test_several_classes_take_the_same_path():
    costs = Costs(matrix=[[0, 9, 4], [5, 0, 2], [3, 6, 0]])
    made = study("tree", y=TABLE["level"], costs=costs, rivals=["logistic"])
    assert made.p.shape == (len(X), 3)
    assert made.judgement.cost.value < made.best_constant.cost.value
    assert len(made.to_frame()) == len(made.judgements) == 5
    assert "lowest cost" in made.verdict or "cheapest" in made.verdict
    assert "<!DOCTYPE html>" in made.report()


def test_classes_in_order_are_judged_by_their_distance():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    y = np.array([2, 9, 10])[np.digitize(X["a"] + rng.logistic(size=400), [-1, 1])]
    study = Study(LinearClassifier(multiclass="ordinal", alpha=1e-3), X, y)
    assert list(map(str, study.labels)) == ["2", "9", "10"]
    np.testing.assert_array_equal(study.costs.matrix, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
