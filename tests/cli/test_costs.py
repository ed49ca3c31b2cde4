"""Costs as people have them, at the command line: of rows, of a matrix, within ranges, within a budget."""

import csv
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import as_json, run
from samples import write

import propriety
from propriety import evaluation
from propriety.cli import options

N = 150
LINEAR = ("--model", "linear", "--folds", "2")
ROW_COSTS = ("--fn-cost", "amount", "--fp-cost", "0.5 + 0.1*amount")


def loans(n=N, seed=0):
    rng = np.random.default_rng(seed)
    years, amount = rng.integers(0, 20, n), np.round(rng.lognormal(2, 0.7, n), 2)
    bad = rng.random(n) < 1 / (1 + np.exp(0.5 + 0.15 * years - 0.08 * amount))
    state = np.array(["healthy", "polyp", "cancer"])[np.digitize(years + rng.normal(size=n) * 4, [6, 12])]
    return {
        "years": years.tolist(),
        "amount": amount.tolist(),
        "customer": [f"c{k}" for k in rng.integers(0, 30, n)],
        "opened": (np.datetime64("2024-01-01") + rng.permutation(n)).astype(str).tolist(),
        "count": rng.integers(1, 4, n).tolist(),
        "paid": np.where(bad, "bad", "good").tolist(),
        "state": state.tolist(),
    }


def table_of(path, without="state", **changes):
    return write(path, {k: v for k, v in (loans() | changes).items() if k != without})


MATRIX = ",cancer,healthy,polyp,abstain\ncancer,0,100,30,5\nhealthy,10,0,3,2\npolyp,10,8,0,2\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Tables, a matrix, and a model of either kind of costs, fitted once."""
    folder = tmp_path_factory.mktemp("costs")
    table_of(folder / "loans.csv")
    table_of(folder / "patients.csv", without="paid")
    (folder / "costs.csv").write_text(MATRIX)
    run("fit", folder / "loans.csv", "-t", "paid", *ROW_COSTS, *LINEAR, "-q", "-o", folder / "rows.propriety")
    run(
        "fit", folder / "patients.csv", "-t", "state", "--cost-matrix", folder / "costs.csv",
        "--model", "tree", "--folds", "2", "-q", "-o", folder / "matrix.propriety",
    )  # fmt: skip
    return folder


def scored(path):
    return pq.read_table(path).to_pandas()


# --- costs of rows ------------------------------------------------------------------------------------


def test_the_costs_of_rows_are_those_of_their_columns(place):
    result = as_json("fit", place / "loans.csv", "-t", "paid", *ROW_COSTS, *LINEAR)
    ours, never, always = result["judgements"]
    data = loans()
    amount, bad = np.array(data["amount"]), np.array(data["paid"]) == "bad"
    assert never["total_cost"] == pytest.approx(amount[bad].sum())
    assert always["total_cost"] == pytest.approx((0.5 + 0.1 * amount[~bad]).sum())
    least = min(never["total_cost"], always["total_cost"])
    assert ours["savings"] == pytest.approx(1 - ours["total_cost"] / least)
    assert ours["savings_low"] < ours["savings"] < ours["savings_high"]
    assert result["threshold"] is None
    assert result["costs"]["fn_cost"] == "amount"
    assert "amount" in [c["name"] for c in result["columns"]]  # known when it is decided: a feature as well
    assert result["target"]["positive"] == "bad"


def test_predict_makes_the_costs_of_a_new_table(place, tmp_path):
    table = write(tmp_path / "new.csv", {k: v for k, v in loans(60, 1).items() if k not in ("paid", "state")})
    run("predict", place / "rows.propriety", table, "--out", tmp_path / "s.parquet", "--chunk-mb", "0")
    out = scored(tmp_path / "s.parquet")
    p, amount = out["probability"], out["amount"]
    alarm = 0.5 + 0.1 * amount
    np.testing.assert_array_equal(out["decision"] == "bad", p >= alarm / (alarm + amount))
    expected = np.where(out["decision"] == "bad", (1 - p) * alarm, p * amount)
    np.testing.assert_allclose(out["expected_cost"], expected)
    result = as_json("explain", place / "rows.propriety", table, "--row", "3")
    assert result["threshold"] == pytest.approx(float(alarm[2] / (alarm[2] + amount[2])))
    assert result["decision"] == out["decision"][2]


def test_explain_says_how_the_costs_were_stated(place):
    shown = run("explain", place / "rows.propriety").stdout
    assert "0.5 + 0.1*amount" in shown
    assert "one for each row" in shown


def test_a_column_of_the_costs_may_be_no_feature_and_is_needed_all_the_same(place, tmp_path):
    common = ("-t", "paid", *ROW_COSTS, *LINEAR, "--drop", "amount", "--save", tmp_path / "m")
    result = as_json("fit", place / "loans.csv", *common)
    assert "amount" not in [c["name"] for c in result["columns"]]
    data = loans(20)
    del data["amount"]
    table = write(tmp_path / "t.csv", {**data, "Amount": loans(20)["amount"]})
    shown = " ".join(
        run("predict", tmp_path / "m", table, "--out", tmp_path / "s.csv", code=3).stderr.split()
    )
    assert "no column 'amount', which the costs need" in shown
    assert "did you mean 'Amount'" in shown
    assert not (tmp_path / "s.csv").exists()


def test_a_row_whose_cost_is_missing_is_named_at_prediction_too(place, tmp_path):
    data = loans(20)
    data["amount"][4] = -3
    shown = run("predict", place / "rows.propriety", write(tmp_path / "t.csv", data), code=3).stderr
    assert "fn_cost = amount is negative in row 5" in " ".join(shown.split())


def test_the_same_costs_by_columns_and_by_numbers_decide_the_same(place, tmp_path):
    table = table_of(tmp_path / "t.csv", nine=[9] * N)
    judged = []
    for cost in ("9", "nine*1"):
        result = as_json("fit", table, "-t", "paid", "--fn-cost", cost, "--loss", "Log", *LINEAR)
        judged.append({k: v for k, v in result["judgements"][0].items() if k != "seconds"})
    assert judged[0] == pytest.approx(judged[1])


def test_stakes_weight_the_rows_of_the_fit(place, tmp_path):
    common = ("fit", place / "loans.csv", "-t", "paid", *ROW_COSTS, *LINEAR, "-q")
    for name, more in (("plain", ()), ("staked", ("--set", "costs__weight_by_stakes=true"))):
        run(*common, *more, "--save", tmp_path / name)
    table = propriety.tables.open_source(str(place / "loans.csv")).read()
    plain, staked = (propriety.load(tmp_path / name).predict_proba(table) for name in ("plain", "staked"))
    assert np.abs(plain - staked).max() > 0.01


def test_a_search_is_judged_by_the_costs_of_rows(place):
    result = as_json(
        "fit", place / "loans.csv", "-t", "paid", "--fn-cost", "amount", "--model", "linear", "--search",
        "--holdout", "0.3",
    )  # fmt: skip
    assert "log loss" in result["verdict"]


def test_compare_takes_costs_of_rows_for_every_model(place):
    result = as_json(
        "compare", place / "loans.csv", "-t", "paid", *ROW_COSTS, "--models", "linear,logistic",
        "--folds", "2", "--groups", "customer",
    )  # fmt: skip
    assert "no 'customer' on both sides" in result["judged_by"]
    first, second = result["judgements"][:2]
    assert result["differences"][0]["more_per_1000"] == pytest.approx(
        second["cost_per_1000"] - first["cost_per_1000"]
    )


# --- a matrix, several classes ------------------------------------------------------------------------


def test_a_matrix_decides_by_the_least_expected_cost(place, tmp_path):
    summary = as_json(
        "predict", place / "matrix.propriety", place / "patients.csv", "--out", tmp_path / "s.parquet"
    )
    out = scored(tmp_path / "s.parquet")
    labels = ["cancer", "healthy", "polyp"]
    P = out[[f"probability_{label}" for label in labels]].to_numpy()
    expected = P @ np.array([[0, 100, 30, 5], [10, 0, 3, 2], [10, 8, 0, 2]])
    np.testing.assert_allclose(out["expected_cost"], expected.min(axis=1))
    decided = [[*labels, "abstain"].index(d) for d in out["decision"]]
    np.testing.assert_allclose(expected[np.arange(N), decided], expected.min(axis=1))
    assert sum(summary["decided"].values()) == N
    assert summary["decided"]["abstain"] == (out["decision"] == "abstain").sum() > 0


def test_the_judgement_of_a_matrix_is_the_mean_cost_of_its_decisions(place):
    common = ("-t", "state", "--cost-matrix", place / "costs.csv", "--model", "tree", "--holdout", "0.4")
    result = as_json("fit", place / "patients.csv", *common)
    ours, *constants = result["judgements"]
    assert {"mistakes_per_1000", "abstained_per_1000"} <= set(ours)
    assert "always 'abstain'" in [c["model"] for c in constants]
    assert ours["savings"] == pytest.approx(1 - ours["cost_per_1000"] / constants[0]["cost_per_1000"])
    assert result["costs"]["cost_matrix"]["cancer"] == {
        "cancer": 0,
        "healthy": 100,
        "polyp": 30,
        "abstain": 5,
    }
    assert result["target"]["classes"] == ["cancer", "healthy", "polyp"]


def test_subgroups_are_printed_of_two_classes_and_refused_aloud_of_several(place):
    few = ("--model", "tree", "--folds", "2")
    told = as_json(
        "fit", place / "loans.csv", "-t", "paid", "--fn-cost", "amount", *few, "--subgroup", "years"
    )
    parts = told["subgroups"]["years"]
    assert sum(part["n"] for part in parts) == told["rows"]
    assert sum(part["positives"] for part in parts) == told["positives"]
    more, low, high = parts[0]["differences"]["cost"]
    assert low < more < high
    assert len({part["threshold"] for part in parts}) > 1
    shown = run("fit", place / "patients.csv", "-t", "state", *few, "--subgroup", "state")
    assert "--subgroup is for two classes" in shown.stderr


def test_explain_of_three_classes_shows_the_class_decided(place):
    result = as_json("explain", place / "matrix.propriety", place / "patients.csv", "--row", "2")
    assert set(result["probabilities"]) == {"cancer", "healthy", "polyp"}
    assert result["expected_costs"][result["decision"]] == min(result["expected_costs"].values())
    assert result["base_score"] + sum(result["contributions"].values()) == pytest.approx(result["score"])
    shown = run("explain", place / "matrix.propriety").stdout
    assert "simplex.Log()" in shown
    assert "abstain" in shown


@pytest.mark.parametrize("model", ["linear", "rules"])
def test_three_labels_without_a_word_are_three_classes(place, model):
    more = ("--set", "n_rules=3") if model == "rules" else ()
    result = as_json("fit", place / "patients.csv", "-t", "state", "--model", model, "--folds", "2", *more)
    ours = result["judgements"][0]
    assert ours["cost_per_1000"] == pytest.approx(ours["mistakes_per_1000"])
    assert ours["cost_per_1000"] < result["judgements"][1]["cost_per_1000"]


def test_compare_of_three_classes_holds_ours_against_others(place):
    common = ("-t", "state", "--cost-matrix", place / "costs.csv", "--folds", "2")
    result = as_json("compare", place / "patients.csv", *common, "--models", "tree,logistic")
    assert len(result["differences"]) == 1
    assert all(j["log_loss"] < 2 for j in result["judgements"][:2])


def test_a_matrix_of_two_classes_is_a_threshold_or_a_reject_option(place, tmp_path):
    (tmp_path / "two.csv").write_text(",bad,good\nbad,0,9\ngood,1,0\n")
    (tmp_path / "reject.csv").write_text(",bad,good,abstain\nbad,0,9,0.5\ngood,1,0,0.5\n")
    common = ("fit", place / "loans.csv", "-t", "paid", *LINEAR)
    two = as_json(*common, "--cost-matrix", tmp_path / "two.csv")
    plain = as_json(*common, "--fn-cost", "9", "--loss", "Log")
    assert two["threshold"] == pytest.approx(plain["threshold"]) == pytest.approx(0.1)
    reject = as_json(*common, "--cost-matrix", tmp_path / "reject.csv", "--save", tmp_path / "m")
    assert reject["judgements"][0]["abstained_per_1000"] > 0
    run("predict", tmp_path / "m", place / "loans.csv", "--out", tmp_path / "s.parquet")
    out = scored(tmp_path / "s.parquet")
    assert set(out["decision"]) <= {"bad", "good", "abstain"}
    middle = (out["probability"] > 1 / 18) & (out["probability"] < 0.5)
    assert (out["decision"][middle] == "abstain").all()


# --- ranges, benefits, budgets ------------------------------------------------------------------------


def test_a_range_is_decided_for_its_mean_and_kept(place, tmp_path):
    result = as_json(
        "fit", place / "loans.csv", "-t", "paid", "--fn-cost", "5..20", *LINEAR, "--save", tmp_path / "m"
    )
    assert result["threshold"] == pytest.approx(1 / (1 + 15 / np.log(4)))
    assert "5..20" in run("explain", tmp_path / "m").stdout
    assert propriety.load(tmp_path / "m").threshold == pytest.approx(result["threshold"])


def test_benefits_are_costs_below_zero(place):
    result = as_json(
        "fit", place / "loans.csv", "-t", "paid", "--fp-cost", "1", "--fn-cost", "0", "--tp-benefit", "4",
        *LINEAR,
    )  # fmt: skip
    assert result["threshold"] == pytest.approx(0.2)
    ours, never, _ = result["judgements"]
    assert never["cost_per_1000"] == 0
    assert ours["cost_high"] < 0
    assert ours["cost_low"] < ours["cost_per_1000"]


@pytest.mark.parametrize(("budget", "most"), [("20", 20), ("0.1", 15)])
def test_a_budget_acts_on_so_many_rows_in_pieces_too(place, tmp_path, budget, most):
    model, table, out = place / "rows.propriety", place / "loans.csv", tmp_path / "s.parquet"
    summary = as_json("predict", model, table, "--out", out, "--budget", budget, "--chunk-mb", "0")
    assert summary["decided_positive"] == most
    frame = scored(out)
    p, amount = frame["probability"], frame["amount"]
    saving = p * amount - (1 - p) * (0.5 + 0.1 * amount)
    assert saving[frame["decision"] == "bad"].min() >= saving[frame["decision"] == "good"].max()


def test_a_budget_is_judged(place):
    common = ("fit", place / "loans.csv", "-t", "paid", *ROW_COSTS, *LINEAR)
    result = as_json(*common, "--budget", "30")
    ours = result["judgements"][0]
    assert ours["acted_on_per_1000"] == pytest.approx(200)
    assert [j["model"] for j in result["judgements"][1:]] == ["never 'bad'"]
    assert "acts on 30 of 150 test rows within the budget" in " ".join(
        run(*common, "--budget", "30").stdout.split()
    )


# --- weights, groups, time ----------------------------------------------------------------------------


def test_columns_of_weights_groups_and_time_are_no_features_unless_kept(place):
    roles = ("--weights", "count", "--groups", "customer", "--time", "opened")
    result = as_json("fit", place / "loans.csv", "-t", "paid", "--model", "linear", *roles)
    assert [c["name"] for c in result["columns"]] == ["years", "amount"]
    assert "in order of 'opened'" in result["judged_by"]
    assert "no 'customer' on both sides" in result["judged_by"]
    kept = as_json("fit", place / "loans.csv", "-t", "paid", "--model", "linear", *roles, "--keep", "count")
    assert "count" in [c["name"] for c in kept["columns"]]


def test_the_report_says_which_split_judged_it(place, tmp_path):
    page = tmp_path / "r.html"
    run(
        "fit", place / "loans.csv", "-t", "paid", "--model", "tree", "--fn-cost", "2..9", "--time", "opened",
        "--holdout", "0.3", "--report", page, "-q",
    )  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert "Evaluated by the latest 30% of the rows by &#x27;opened&#x27;" in text
    assert "Uncertain costs" in text
    assert "would be decided otherwise" in text


def test_a_search_keeps_groups_together(place):
    result = as_json(
        "fit", place / "loans.csv", "-t", "paid", "--fn-cost", "4", "--model", "linear", "--search",
        "--groups", "customer", "--holdout", "0.3",
    )  # fmt: skip
    assert "log loss" in result["verdict"]


# --- what is refused ----------------------------------------------------------------------------------

MATRICES = {
    "a label that is not in the data": (MATRIX.replace("polyp", "flu"), "the label 'flu'"),
    "too small": (",cancer,healthy\ncancer,0,1\nhealthy,1,0\n", "for 2 classes and lacks 'polyp'"),
    "not square": (",cancer,healthy\ncancer,0,1\n", "'healthy' is in one of them"),
    "negative": (MATRIX.replace("8", "-8"), "deciding 'healthy' for 'polyp' is negative"),
    "missing": (MATRIX.replace("8", ""), "deciding 'healthy' for 'polyp' is missing"),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_bad_matrix_is_refused_before_anything_is_fitted(place, tmp_path, name):
    content, message = MATRICES[name]
    (tmp_path / "m.csv").write_text(content)
    arguments = ("fit", place / "patients.csv", "-t", "state", "--cost-matrix", tmp_path / "m.csv")
    result = run(*arguments, "--save", tmp_path / "model", code=3)
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "model").exists()
    error = json.loads(run(*arguments, "--json", code=3).stdout)
    assert message in error["error"]
    assert error["code"] == 3


WRONG = [
    (("--cost-matrix", "costs.csv", "--fn-cost", "3"), 2, "give either --cost-matrix or --fn-cost, not both"),
    (("--cost-matrix", "costs.csv", "--positive", "bad"), 2, "leave one of them out"),
    (("--cost-matrix", "none.csv"), 3, "no file none.csv"),
    (("--fn-cost", "amout"), 3, "did you mean 'amount'"),
    (("--fn-cost", "loan_offset"), 3, "there is no column 'loan_offset'"),
    (("--offset", "x_fn_cost"), 3, "there is no column 'x_fn_cost'"),
    (("--fn-cost", "amount*fp_cost*"), 2, "a column is lacking at the end of 'amount*fp_cost*'"),
    (("--offset", "3"), 2, "--offset must be made of columns, got '3'"),
    (("--fn-cost", "amount*"), 2, "--fn-cost: a number or a column is lacking"),
    (("--fn-cost", "amount - 50"), 3, "--fn-cost = amount - 50 is negative in row 1"),
    (("--fn-cost", "-3"), 2, "--fn-cost must be positive"),
    (("--fn-cost", "paid*2"), 3, "the costs use the target 'paid'"),
    (("--fn-cost", "customer"), 3, "need numbers in column 'customer'"),
    (("--fp-cost", "9..2"), 2, "must be a range low..high, the lower end first"),
    (("--tp-benefit", "1..2"), 2, "ranges are for --fp-cost and --fn-cost"),
    (("--budget", "1.5"), 2, "--budget must be a number of rows, or a share"),
    (("--budget", "-1"), 2, "--budget must be"),
    (("--groups", "custmer"), 3, "did you mean 'customer'"),
    (("--time", "customer"), 3, "neither numbers nor dates"),
    (("--weights", "opened"), 3, "not all numbers"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG, ids=lambda v: str(v)[:40])
def test_wrong_costs_are_refused_with_what_to_do(place, monkeypatch, arguments, code, message):
    monkeypatch.chdir(place)
    for command in (("fit", "loans.csv", "--save", "never"), ("compare", "loans.csv", "--models", "linear")):
        result = run(*command, "-t", "paid", *arguments, code=code)
        assert message in " ".join(result.stderr.split())
    assert not (place / "never").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fn-cost", "3"), "3 different values: .*--positive.*--cost-matrix"),
        (("--cost-matrix", "costs.csv", "--budget", "3"), "--budget needs two classes"),
    ],
)
def test_two_sided_costs_of_three_classes_need_a_word(place, monkeypatch, arguments, message):
    monkeypatch.chdir(place)
    code = 3 if "--fn-cost" in arguments else 2
    shown = " ".join(run("fit", "patients.csv", "-t", "state", *arguments, code=code).stderr.split())
    assert re.search(message, shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("matrix.propriety", "patients.csv", "--budget", "3"), "--budget needs two classes"),
        (("rows.propriety", "-", "--budget", "3"), "cannot be standard input"),
        (("rows.propriety", "loans.csv", "--budget", "0.5e-"), ""),
        (("rows.propriety", "loans.csv", "--budget", "2.5"), "--budget must be"),
    ],
)
def test_wrong_budgets_of_predict(place, monkeypatch, arguments, message):
    monkeypatch.chdir(place)
    assert message in " ".join(run("predict", *arguments, code=2).stderr.split())


def test_a_missing_group_and_a_missing_time_are_named(tmp_path):
    data = loans()
    customers, days = [*data["customer"][:6], "", *data["customer"][7:]], ["", *data["opened"][1:]]
    table = table_of(tmp_path / "t.csv", customer=customers, opened=days)
    for option, message in (("--groups", "group in row 7"), ("--time", "time in row 1")):
        name = "customer" if option == "--groups" else "opened"
        assert message in run("fit", table, "-t", "paid", option, name, *LINEAR, code=3).stderr


def test_a_linear_model_of_a_table_has_its_ridge(place):
    model = propriety.load(place / "rows.propriety")
    assert model.estimator.alpha == 1 / N


def test_the_numbers_of_the_judgement_are_those_of_the_library(place, tmp_path):
    """Scored rows, judged by hand with `evaluation`."""
    run("predict", place / "rows.propriety", place / "loans.csv", "--out", tmp_path / "s.csv")
    with (tmp_path / "s.csv").open() as file:
        rows = list(csv.DictReader(file))
    amount = np.array([float(row["amount"]) for row in rows])
    costs = {"fp_cost": 0.5 + 0.1 * amount, "fn_cost": amount, "pos_label": "bad"}
    decided = [row["decision"] for row in rows]
    summary = evaluation.cost_summary([row["paid"] for row in rows], decided, **costs)
    assert summary.constant in ("bad", "good")
    expected = np.array([float(row["expected_cost"]) for row in rows])
    assert summary.mean.low < expected.mean() < summary.mean.high  # calibrated on its own rows


# --- an offset, lists of settings, words -----------------------------------------------------------------


OFFSET = ("--offset", "amount/10 - 1", "--model", "linear", "--folds", "2")


def test_an_offset_of_columns_is_kept_and_evaluated_by_every_command(place, tmp_path):
    model, page = tmp_path / "m.propriety", tmp_path / "r.html"
    result = as_json("fit", place / "loans.csv", "-t", "paid", *OFFSET, "-o", model, "--report", page)
    assert result["offset"] == "amount/10 - 1"
    champion, bad = np.array(loans()["amount"]) / 10 - 1, np.array(loans()["paid"]) == "bad"
    alone = result["judgements"][1]
    assert alone["model"] == "the offset alone"
    assert alone["misses_per_1000"] == pytest.approx(1000 * np.mean((champion < 0) & bad))
    names = [c["name"] for c in result["columns"]]
    assert "amount" not in names  # as weights are no feature
    assert "Scores include an offset" in page.read_text(encoding="utf-8")
    run("predict", model, place / "loans.csv", "-o", tmp_path / "s.parquet")
    fitted = propriety.load(model)
    table = pq.read_table(tmp_path / "s.parquet")
    data, offset = loans(), np.array(loans()["amount"]) / 10 - 1
    X = fitted.features(table)[0]
    expected = fitted.estimator.predict_proba(X, offset=offset)[:, 1]
    np.testing.assert_allclose(table.column("probability").to_numpy(), expected, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict_proba(table)[:, 1], expected)
    np.testing.assert_allclose(
        fitted.decision_function(table), fitted.contributions(table).sum(axis=1) + offset
    )
    row = as_json("explain", model, place / "loans.csv", "--row", "4")
    assert row["offset"] == pytest.approx(offset[3])
    assert row["score"] == pytest.approx(fitted.decision_function(table)[3])
    assert row["probability"] == pytest.approx(expected[3])
    assert as_json("explain", model)["offset"] == "amount/10 - 1"
    lacking = write(tmp_path / "l.csv", {k: v for k, v in data.items() if k != "amount"})
    assert "no column 'amount', which the offset needs" in run("predict", model, lacking, code=3).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("--offset", "amount", "--model", "tree"),
            2,
            "--offset is for the models boosting, linear, kernel, got 'tree'",
        ),
        (("--offset", "amount", "--search"), 2, "--search takes no --offset"),
        (("--offset", "amont"), 3, "did you mean 'amount'"),
        (("--offset", "2"), 2, "--offset must be made of columns"),
        (("--offset", "amount*"), 2, "lacking at the end"),
        (("--offset", "1/(years - years)"), 3, "is missing or not finite in row 1"),
        (("--offset", "amount/1000"), 2, "say --score-scale probability to start from their log-odds"),
        (("--offset", "amount", "--score-scale", "probability"), 3, "between 0 and 1, neither included"),
        (("--offset", "amount", "--score-scale", "odds"), 2, "must be probability, log-odds, points"),
        (("--score-scale", "probability"), 2, "there is no --offset"),
    ],
)
def test_a_wrong_offset_is_refused(place, arguments, code, message):
    shown = run("fit", place / "loans.csv", "-t", "paid", *arguments, code=code).stderr
    assert message in " ".join(shown.split())


def test_an_offset_of_probabilities_starts_from_their_log_odds(place, tmp_path):
    model, p = tmp_path / "m.propriety", np.array(loans()["amount"]) / 100
    common = ("fit", place / "loans.csv", "-t", "paid", "--model", "linear", "--folds", "2")
    result = as_json(*common, "--offset", "amount/100", "--score-scale", "probability", "-o", model)
    assert result["offset"] == "the log-odds of amount/100"
    table = pa.table(loans())
    fitted = propriety.load(model)
    np.testing.assert_allclose(fitted.offset_for(table), np.log(p / (1 - p)), rtol=1e-12)
    as_stated = as_json(*common, "--offset", "amount/100", "--score-scale", "log-odds")
    assert as_stated["offset"] == "amount/100"


def test_compare_with_an_offset_holds_the_models_that_take_one_against_each_other(place):
    result = as_json(
        "compare", place / "loans.csv", "-t", "paid", "--offset", "amount/10 - 1", "--folds", "2"
    )
    names = [j["model"] for j in result["judgements"]]
    assert sorted(names[:-2]) == ["propriety boosting", "propriety kernel", "propriety linear"]
    shown = run(
        "compare", place / "loans.csv", "-t", "paid", "--offset", "amount", "-m", "linear,logistic", code=2
    ).stderr
    assert "got 'logistic'" in shown


def test_groups_reach_the_folds_of_the_model_itself(place, tmp_path):
    # A column that names the customer, and a class of customers: only a fold that parts customers learns it.
    rng = np.random.default_rng(0)
    customer = np.repeat(np.arange(40), 4)
    columns = {f"x{k}": np.repeat(rng.normal(size=40), 4) + 1e-3 * rng.normal(size=160) for k in range(12)}
    paid = np.repeat(np.where(rng.permutation(40) % 2, "good", "bad"), 4)
    path = write(
        tmp_path / "c.csv", {"customer": [f"c{k}" for k in customer], **columns, "paid": paid.tolist()}
    )
    rounds = {}
    for groups in ((), ("--groups", "customer")):
        drop = () if groups else ("--drop", "customer")
        run("fit", path, "-t", "paid", "--model", "boosting", "--holdout", "0.3", *groups, *drop, "-q",
            "-o", tmp_path / "m")  # fmt: skip
        rounds[bool(groups)] = propriety.load(tmp_path / "m").estimator.n_iter_
    assert rounds[True] < rounds[False]


def test_lists_can_be_set(place):
    result = as_json(
        "fit", place / "loans.csv", "-t", "paid", "--holdout", "0.3", "--model", "auto",
        "--set", "members=[linear, 'tree']", "--set", "n_folds=2",
    )  # fmt: skip
    assert "linear" in result["verdict"]
    assert "boosting" not in result["verdict"]
    assert options.settings(["a=[]", "b=[1, 2.5, none, x]", "c='7'"]) == {
        "a": [],
        "b": [1, 2.5, None, "x"],
        "c": "7",
    }


def test_a_printout_has_one_judgement_of_the_model(place, tmp_path):
    given = (
        "fit", place / "loans.csv", "-t", "paid", "--holdout", "0.3", "--set", "members=[linear]",
        "--report", tmp_path / "r.html",
    )  # fmt: skip
    shown, page = run(*given).stdout, (tmp_path / "r.html").read_text(encoding="utf-8")
    own = as_json(*given)["verdict"]
    assert "Deciding 'good' for everyone" in own
    assert re.search(r"members and their weights: linear \d", shown)
    for printed in (shown, page):
        assert "1,000 decisions cost" not in printed
        assert f"cost {re.search(r'1,000 decisions cost ([0-9.]+)', own)[1]}" not in printed


def test_rules_speak_of_the_labels_of_the_table(place, tmp_path):
    run(
        "fit", place / "loans.csv", "-t", "paid", "--model", "rules", "--set", "n_rules=2", "--folds", "2",
        "-q", "-o", tmp_path / "m",
    )  # fmt: skip
    explained = [as_json("explain", tmp_path / "m", place / "loans.csv", "-n", k) for k in range(1, 9)]
    because = [rule for row in explained for rule in row["because"]]
    assert because
    assert all(re.search(r"then (bad else good|good else bad)$", rule) for rule in because)


def test_a_table_of_several_classes_counts_what_it_leaves_out(place):
    shown = run(
        "fit", place / "patients.csv", "-t", "state", "--cost-matrix", place / "costs.csv", "--model", "tree",
        "--folds", "2",
    ).stdout  # fmt: skip
    assert "Of 4 decisions that could be taken for everyone, the 3 cheapest are shown." in " ".join(
        shown.split()
    )
