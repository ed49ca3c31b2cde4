"""Rows drawn by class stand for a population: the study is what it would be of rows of that population."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.running import as_json, run

import propriety
from propriety import LinearClassifier, Study, evaluation
from propriety.errors import ArgumentError
from propriety.evaluation.thresholds import cost_curve

SHARE = 0.05


def drawn(n, share, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 2)) + y[:, None], y


@pytest.mark.parametrize(
    "model",
    ["linear", "logistic", make_pipeline(StandardScaler(), LinearClassifier()), LogisticRegression()],
    ids=["ours", "by-name", "pipeline", "others"],
)
def test_a_study_of_a_balanced_sample_has_the_numbers_of_the_population(model):
    X, y = drawn(4000, 0.5, 0)
    study = Study(model, X, y, fn_cost=9, cv=2, prevalence=SHARE)
    true = Study(model, *drawn(40_000, SHARE, 1), fn_cost=9, cv=2)
    assert study.weights.mean(study.y) == pytest.approx(SHARE)
    assert study.weights.mean(study.p) == pytest.approx(SHARE, abs=0.01)
    for ours, theirs in zip(study.judgements[:2], true.judgements[:2], strict=True):
        assert ours.cost.low < theirs.cost.value < ours.cost.high
        assert ours.misses == pytest.approx(theirs.misses, rel=0.2, abs=1)
    assert study.judgement.log_loss == pytest.approx(true.judgement.log_loss, rel=0.1)
    assert "weighted to 95% '0', 5% '1'" in study.summary()
    assert study.judgement.positives == y.sum()
    told = any("adapted to the prevalence on this page" in str(finding) for finding in study.warnings)
    if isinstance(study.model, LogisticRegression) or model == "logistic":
        assert told
    else:
        assert not told
        adapted = study.model.predict_proba(drawn(20_000, SHARE, 2)[0])[:, 1]
        assert adapted.mean() == pytest.approx(SHARE, abs=0.01)


def test_several_classes_and_ready_scores():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 900)
    X = rng.normal(size=(900, 2)) + (y == "b")[:, None] - 2 * (y == "c")[:, None]
    shares = {"a": 0.9, "b": 0.06, "c": 0.04}
    study = Study("linear", X, y, cv=2, prevalence=shares)
    assert study.weights.mean(study.y == 2) == pytest.approx(0.04)
    np.testing.assert_allclose(study.weights.mean(study.p.T), list(shares.values()), atol=0.02)
    X, y = drawn(2000, 0.5, 0)
    p = LinearClassifier().fit(X, y).adapt(prevalence=SHARE).predict_proba(X)[:, 1]
    ready = Study.from_predictions(
        y, p, fn_cost=9, prevalence=SHARE, by={"half": np.where(X[:, 0] > 0.5, "high", "low")}
    )
    summary = evaluation.cost_summary(y, p >= 0.1, fn_cost=9, prevalence=SHARE)
    assert ready.judgement.cost.value == pytest.approx(1000 * summary.mean.value)
    assert (ready.judgement.cost.high / 1000) == pytest.approx(summary.mean.high)
    # An interval over the rows as they were drawn: no unseen miss has the weight of a common row.
    assert summary.mean.high - summary.mean.low < 0.6 * summary.mean.value
    parts = ready.subgroups("half")
    assert sum(part.rate.value * ready.weights.array[ready.judging.by["half"] == part.name].sum()
               for part in parts) == pytest.approx(SHARE * 2000)  # fmt: skip
    with pytest.raises(ArgumentError, match="prevalence must"):
        Study("linear", X, y, prevalence=2.0)


def test_decision_and_cost_curves_of_a_population():
    X, y = drawn(3000, 0.5, 0)
    p = LinearClassifier().fit(X, y).adapt(prevalence=SHARE).predict_proba(X)[:, 1]
    weight = np.where(y == 1, SHARE / y.mean(), (1 - SHARE) / (1 - y.mean()))
    curve, given = evaluation.decision_curve(y, p, prevalence=SHARE), evaluation.decision_curve(y, p, weight)
    assert curve.rate == pytest.approx(SHARE)
    assert curve(0.1) == pytest.approx(given(0.1))
    costs = cost_curve(y, p, fn_cost=9, prevalence=SHARE)
    assert costs(0.1) == pytest.approx(
        evaluation.cost_summary(y, p >= 0.1, fn_cost=9, prevalence=SHARE).mean.value
    )


def test_commands_adapt_and_know_the_prevalence(tmp_path):
    X, y = drawn(1000, 0.5, 0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(late=np.where(y, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    new, z = drawn(1000, SHARE, 1)
    frame = pd.DataFrame(new, columns=["a", "b"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    late = np.where(np.arange(1000) < 500, np.where(z, "yes", "no"), "")
    frame.assign(late=late).to_csv(tmp_path / "labelled.csv", index=False)
    asked = ("fit", tmp_path / "t.csv", "-t", "late", "--fn-cost", "9", "--model", "linear", "--folds", "2")
    plain, known = tmp_path / "plain.propriety", tmp_path / "known.propriety"
    as_json(*asked, "--save", plain)
    told = as_json(*asked, "--save", known, "--prevalence", "0.05")
    assert "weighted to 95% 'no', 5% 'yes'" in told["judged_by"]
    assert told["positives"] == np.sum(y)

    def mean(path):
        return float(propriety.load(path).predict_proba(frame)[:, 1].mean())

    assert mean(plain) > 0.2
    assert mean(known) == pytest.approx(SHARE, abs=0.015)
    by_share, by_rows, by_labels = (tmp_path / f"{k}.propriety" for k in range(3))
    shares = as_json("adapt", plain, "--prevalence", "no=0.95,yes=0.05", "--save", by_share)
    assert shares["text"] == "shares of the classes 95% of no, 5% of yes"
    assert mean(by_share) == pytest.approx(mean(known))
    found = as_json("adapt", plain, tmp_path / "new.csv", "--reference", tmp_path / "t.csv", "-o", by_rows)
    assert found["intervals"]["yes"][0] < SHARE < found["intervals"]["yes"][1]
    assert found["p_value"] > 0.001
    labelled = as_json("adapt", plain, tmp_path / "labelled.csv", "-o", by_labels)
    assert "500 labelled rows" in labelled["text"]
    assert labelled["warnings"] == []
    old = as_json("adapt", plain, tmp_path / "t.csv", "-o", tmp_path / "old.propriety")
    assert old["warnings"] == ["the model was fitted to these rows: give rows that it has not seen"]
    assert mean(by_labels) == pytest.approx(SHARE, abs=0.02)
    unlabelled = as_json(
        "adapt", plain, tmp_path / "labelled.csv", "--no-labels", "-o", tmp_path / "u.propriety"
    )
    assert unlabelled["shares"] == found["shares"]
    assert "95% of no" in run("explain", by_share).stdout
    assert json.loads(run("explain", by_share, "--json").stdout)["adapted"] == shares["text"]
    for wrong, says in (
        ((), "give either"),
        (("--prevalence", "2"), "in (0, 1)"),
        (("--prevalence", "x"), "yes=0.5"),
    ):
        assert says in run("adapt", plain, *wrong, "--save", tmp_path / "x.propriety", code=2).stderr


@pytest.mark.parametrize("search", [False, True], ids=["model", "search"])
def test_models_and_pages_say_in_the_users_words_to_what_they_are_adapted(search):
    X, y = drawn(400, 0.5, 0)
    model = GridSearchCV(LinearClassifier(), {"alpha": [0.01]}, cv=2) if search else LinearClassifier()
    study = Study(model, X, y, cv=2, prevalence=SHARE, class_names=["paid", "late"])
    told = "shares of the classes 95% of paid, 5% of late"
    assert study.adapted == told
    assert told in study.report()
    fitted = LinearClassifier().fit(X, y).adapt(prevalence=SHARE)
    assert f"probabilities adapted: {told}" in fitted.export_text(class_names=["paid", "late"])
    few = Study.from_estimator(fitted.adapt(X[:200], y[:200]), X[200:], y[200:])
    assert "slope of the log-odds" in few.adapted
