"""AutoClassifier: members, weights, judgement, ladder, file."""

import numpy as np
import pandas as pd
import pytest
from tests.inside import members_of, read_by, schema_of

from propriety import AutoClassifier, losses
from propriety.auto import learning, members
from propriety.auto.members import MEMBERS
from propriety.data.folds import fold_numbers
from propriety.data.training import Training
from propriety.model import contract, files
from propriety.storage import container
from propriety.storage.checks import ModelFileError

SMALL = {"n_estimators": 20, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "noise": rng.normal(size=n),
        }
    )
    score = 2 * frame["size"].fillna(0) + (frame["color"] == "red")
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "sick", "well")


@pytest.fixture(scope="module")
def fitted(table):
    return AutoClassifier(fp_cost=1, fn_cost=4, pos_label="sick", **SMALL).fit(*table)


def test_the_score_is_the_weighted_sum_of_the_members_log_odds(table, fitted):
    X, _ = table
    total = fitted._stack.intercept[0]
    for name, model in fitted.members_.items():
        numbers = members_of(fitted)[0].numbers.of(read_by(fitted, X), schema_of(fitted))
        P = model.predict_proba(numbers if name == "linear" else X)
        p = np.clip(P[:, 1], 1 / (1 + np.exp(12)), 1 / (1 + np.exp(-12)))
        total = total + fitted.weights_[name] * np.log(p / (1 - p))
    np.testing.assert_allclose(fitted.decision_function(X), total, atol=1e-9)
    assert list(fitted.weights_) == ["linear", "forest", "boosting"]
    assert min(fitted.weights_.values()) >= 0


def test_the_judgement_is_near_what_new_rows_show(table):
    X, y = table
    rng = np.random.default_rng(1)
    chosen = rng.permutation(len(y))
    learn, later = chosen[:160], chosen[160:]
    model = AutoClassifier("Log", fn_cost=4, pos_label="sick", **SMALL).fit(X.iloc[learn], y[learn])
    wrong = model.predict(X.iloc[later]) != y[later]
    cost = 1000 * np.mean(np.where(y[later] == "sick", 4, 1) * wrong)
    judged = model.judgement_.model.cost
    assert abs(cost - judged.value) < 3 * (judged.high - judged.low)
    assert 0.3 < model.judgement_.slope < 3


def test_the_verdict_says_what_matters(fitted):
    text = fitted.verdict
    for words in (
        "1,000 decisions cost",
        "Deciding 'sick' for everyone",
        "Cost of each member alone: linear",
        "240 rows",
    ):
        assert words in text
    for member in fitted.judgement_.members:
        assert f"without it the log loss changes by {member.adds:+.2g}" in text


def test_a_copy_of_a_member_adds_nothing(monkeypatch, table):
    monkeypatch.setitem(MEMBERS, "forest", MEMBERS["linear"])
    model = AutoClassifier(members=("linear", "forest"), **SMALL).fit(*table)
    assert [member.adds for member in model.judgement_.members] == pytest.approx([0.0, 0.0], abs=1e-3)
    alone = AutoClassifier(members=("linear",), **SMALL).fit(*table)
    assert np.isnan(alone.judgement_.members[0].adds)


def test_where_no_model_helps_it_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    model = AutoClassifier(fn_cost=20, members=("linear",)).fit(X, y)
    assert "not significantly better" in model.verdict


def test_copies_and_weights_are_the_same_and_judge_honestly(table):
    X, y = table
    weight = np.arange(len(y)) % 3
    copies = np.repeat(np.arange(len(y)), weight)
    weighed = AutoClassifier(members=("linear", "forest"), **SMALL).fit(X, y, weight)
    copied = AutoClassifier(members=("linear", "forest"), **SMALL).fit(X.iloc[copies], y[copies])
    np.testing.assert_allclose(weighed.predict_proba(X), copied.predict_proba(X), atol=1e-5)
    alone = AutoClassifier(members=("linear", "forest"), **SMALL).fit(X, y)
    # Copies that were seen would make the forest look twice as good as it is.
    assert copied.judgement_.model.log_loss > 0.8 * alone.judgement_.model.log_loss


def test_rows_of_a_group_are_not_judged_by_their_like(table):
    X, y = table
    groups = np.arange(len(y)) // 4
    same = X.iloc[4 * groups]
    model = AutoClassifier(members=("forest",), **SMALL).fit(same, y[4 * groups], groups=groups)
    honest = AutoClassifier(members=("forest",), **SMALL).fit(X.iloc[::4], y[::4])
    assert model.judgement_.model.log_loss > 0.7 * honest.judgement_.model.log_loss


def test_one_that_can_be_read_says_what_that_costs(table):
    model = AutoClassifier(members=("linear", "forest"), interpretable=True, **SMALL).fit(*table)
    assert list(model.members_) in (["linear"], ["tree"], ["rules"])
    assert model.view == contract.TEXT
    assert "An interpretable model was kept" in model.verdict


def test_the_scorecard_adds_up_to_the_score(table):
    X, y = table
    model = AutoClassifier(members=("linear",), **SMALL).fit(X, y)
    lines = model.export_text(decimals=9).splitlines()
    score = np.full(len(y), float(lines[0].split("=")[1]))
    for line in lines[1:]:
        if " × " in line and not line.startswith("Recalibrated"):
            points, rest = line.split(" × ")
            name, fill = rest.split(", which counts as ")
            score += float(points) * X[name].fillna(float(fill.split(" if ")[0]))
        elif line.endswith(" is missing"):
            score += (
                float(line.split(" if ")[0]) * X[line.split(" if ")[1].removesuffix(" is missing")].isna()
            )
        elif " if color is " in line:
            score += float(line.split(" if ")[0]) * (X["color"] == line.rsplit(" ", 1)[1])
    np.testing.assert_allclose(score, np.log(_odds(model, X)), atol=2e-3)
    with pytest.raises(ValueError, match="2 members together have no text"):
        AutoClassifier(members=("linear", "forest"), **SMALL).fit(X, y).export_text()


def _odds(model, X):
    numbers = members_of(model)[0].numbers.of(read_by(model, X), schema_of(model))
    P = model.members_["linear"].predict_proba(numbers)
    return P[:, 1] / P[:, 0]


def test_the_curve_says_what_each_step_has_bought(table, fitted, capsys):
    ladder = fitted.judgement_.ladder
    assert [step.name for step in ladder] == ["linear", "linear + forest", "all members"]
    assert ladder[0].log_loss == fitted.judgement_.members[0].log_loss
    assert ladder[2].log_loss == fitted.judgement_.model.log_loss
    assert sorted(step.seconds for step in ladder) == [step.seconds for step in ladder]
    change = f"{ladder[2].log_loss - ladder[1].log_loss:+.2g}"
    assert f"the log loss by {change}." in fitted.judgement_.curve
    assert "more time would not help" in fitted.judgement_.curve
    AutoClassifier(members=("linear", "tree"), time_budget=1e3, verbose=1, **SMALL).fit(*table)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in shown] == ["linear", "tree"]
    assert "1 of 2 members, 99" in shown[0]
    assert shown[0].endswith(" s left")


def test_a_short_time_leaves_members_out(table):
    model = AutoClassifier(time_budget=1e-6, **SMALL).fit(*table)
    assert list(model.members_) == ["linear"]
    assert "Skipped for time: forest" in model.judgement_.curve
    assert len(model.judgement_.left_out) == 2
    assert "Skipped: time budget exceeded (forest" in model.verdict


def test_a_loss_is_that_of_the_last_stage(table):
    loss = losses.Tailored(0.2, 4).with_link(losses.links.Probit())
    model = AutoClassifier(loss, members=("linear",), **SMALL).fit(*table)
    assert model.loss_ == loss
    assert model.members_["linear"].loss_ == losses.Log().composite()


def test_members_that_are_not_there_are_refused(table):
    with pytest.raises(ValueError, match="members must be different ones of"):
        AutoClassifier(members=("linear", "network")).fit(*table)
    assert set(AutoClassifier().members) <= set(MEMBERS)


def test_the_file_keeps_members_weights_and_verdict(table, fitted):
    X, _ = table
    data = files.to_bytes(fitted)
    again = files.from_bytes(data)
    assert files.to_bytes(again) == data
    assert again.verdict == fitted.verdict
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.contributions(X), fitted.contributions(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state, arrays: arrays.update(weights=-arrays["weights"]), "weight is negative"),
        (lambda state, arrays: state["members"].pop(), "arrays of no use|shape"),
        (lambda state, arrays: state["members"][0].update(numbers=None), "columns do not fit"),
        (lambda state, arrays: state["judgement"].clear(), "no known type"),
        (lambda state, arrays: state["members"][0].update(name="forest"), "missing|shape|holds"),
    ],
)
def test_a_forged_file_is_refused(fitted, change, message):
    document, arrays = container.unpack(files.to_bytes(fitted))
    del document["format"], document["sha256"]
    change(document["state"], arrays)
    with pytest.raises(ModelFileError, match=message):
        files.from_bytes(container.pack(document, arrays))


def test_the_cheapest_member_comes_first_and_the_others_if_there_is_time(monkeypatch):
    """By a clock that only members move, so much for each row that they see."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3))
    y = (X[:, 0] + rng.normal(size=3_000) > 0).astype(int)
    clock, seconds = [0.0], {"linear": 0.02, "forest": 0.001, "boosting": 0.004}
    monkeypatch.setattr(learning.time, "perf_counter", lambda: clock[0])

    def priced(name):
        def fit(task):
            clock[0] += seconds[name] * task.training.n_rows
            P = np.tile([0.5, 0.5], (task.training.n_rows, 1))
            return members.Fitted(members.Member(name, MEMBERS["tree"](task).member.model), P)

        return fit

    monkeypatch.setattr(learning, "MEMBERS", {name: priced(name) for name in seconds})
    model = AutoClassifier(members=tuple(seconds), time_budget=40.0, random_state=0).fit(X, y)
    assert list(model.members_) == ["forest", "boosting"]
    assert model.judgement_.left_out == ("linear, about 60 s more",)
    assert clock[0] < 40.0


def test_a_trial_sees_some_rows_of_every_class(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(21), [8] + [200] * 20)
    training = Training.read("T", rng.normal(size=(len(y), 2)), y)
    task = members.Task(training, fold_numbers(training, 5), False, 5, 0, 1)
    few = task.some(500).training
    counts = np.bincount(few.codes)
    assert counts[0] == 8
    assert counts[1:].min() == counts[1:].max() == 25


@pytest.mark.parametrize("members", [["linear"], ["forest"]])
def test_a_category_of_rows_of_weight_zero_changes_nothing(members, tmp_path):
    rng = np.random.default_rng(0)
    name = rng.choice(["a", "b", "c", "d"], 400, p=[0.1, 0.3, 0.3, 0.3])
    y = rng.random(400) < np.array([0.5, 0.95, 0.05, 0.9])[np.searchsorted(["a", "b", "c", "d"], name)]
    frame, weight = pd.DataFrame({"name": pd.Categorical(name)}), np.where(name == "a", 0, 1)
    small = {"members": members, "n_estimators": 20, "random_state": 0, "n_jobs": 1}
    model = AutoClassifier(**small).fit(frame, y, weight)
    other = AutoClassifier(**small).fit(frame[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(model.predict_proba(frame), other.predict_proba(frame))
    model.save(tmp_path / "model")
    seen = pd.DataFrame({"name": pd.Categorical(["b", "c", "d"])})
    np.testing.assert_allclose(model.predict_proba(seen)[:, 1], [0.95, 0.05, 0.9], atol=0.07)
