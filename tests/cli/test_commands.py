"""The commands, called in process: what they print, write and return."""

import csv
import inspect
import io
import json
import re
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import as_json, run
from samples import ROWS, columns, text, write

import propriety
from propriety.auto import members as auto_members
from propriety.cli.app import COMMANDS
from propriety.tables import TableModel

COSTS = ("--target", "sick", "--fn-cost", "9")
FEW = ("--model", "boosting", "--set", "max_iter=5")


# --- fit ----------------------------------------------------------------------------------------------


def test_fit_shows_what_it_found_and_judges(folder, tmp_path):
    shown = run("fit", folder / "t.csv", *COSTS, *FEW, "--folds", "2", "--save", tmp_path / "m").stdout
    for part in (
        "160 rows",
        "positive class is 'yes' (by its name)",
        "color",
        "category",
        "3: blue, green, red",
    ):
        assert part in shown
    for part in (
        "identifier",
        "constant: 1",
        "as days, month, weekday",
        "2-fold cross-validation",
        "never 'yes'",
    ):
        assert part in shown
    assert "threshold for" in shown
    assert isinstance(propriety.load(tmp_path / "m"), TableModel)


def test_fit_for_machines_is_one_document_and_its_numbers_are_right(folder):
    result = as_json("fit", folder / "t.csv", *COSTS, "--model", "linear", "--folds", "3", "--seed", "4")
    assert result["target"]["positive"] == "yes"
    assert result["threshold"] == pytest.approx(0.1)
    ours, never, always = result["judgements"]
    sick = columns()["sick"].count("yes") / ROWS
    assert never["cost_per_1000"] == pytest.approx(9000 * sick)
    assert always["cost_per_1000"] == pytest.approx(1000 * (1 - sick))
    assert ours["cost_per_1000"] == pytest.approx(ours["false_alarms_per_1000"] + 9 * ours["misses_per_1000"])
    assert ours["cost_low"] < ours["cost_per_1000"] < ours["cost_high"]
    assert ours["cost_per_1000"] < never["cost_per_1000"]
    assert 0.7 < ours["area_under_roc"] < 1
    assert set(result["importances"]) == {column["name"] for column in result["columns"]}
    for name, rise in result["importances"].items():
        low, high = result["importance_intervals"][name]
        assert low <= rise <= high


def test_a_held_out_part_is_not_seen_by_the_model(folder, tmp_path):
    result = as_json(
        "fit", folder / "t.csv", *COSTS, "--model", "linear", "--holdout", "0.4", "--save", tmp_path / "m"
    )
    assert "40% of the rows" in result["judged_by"]
    assert propriety.load(tmp_path / "m").summary["rows_fitted"] == 96


def test_without_a_model_the_stack_is_fitted_and_says_what_it_is_worth(folder, tmp_path):
    few = ("--set", "n_estimators=10", "--holdout", "0.3")
    result = as_json("fit", folder / "t.csv", *COSTS, *few, "--save", tmp_path / "m")
    assert result["model"] == "auto"
    assert "1,000 decisions cost" in result["verdict"]
    assert list(propriety.load(tmp_path / "m").estimator.members_) == ["linear", "forest", "boosting"]


def test_a_loss_that_is_stated_is_fitted_by_boosting(folder):
    few = ("--set", "max_iter=5", "--folds", "2")
    result = as_json("fit", folder / "t.csv", *COSTS, "--loss", "Squared", *few)
    assert (result["model"], result["loss"]) == ("boosting", "Squared().with_link(Logit())")


def test_a_search_of_the_stack_shares_its_members(folder, monkeypatch):
    """The loss is that of the weights alone, so each split fits the members once, and all rows once more."""
    fits = []
    for name, member in auto_members.MEMBERS.items():
        monkeypatch.setitem(auto_members.MEMBERS, name, lambda task, f=member: fits.append(1) or f(task))
    few = ("--model", "auto", "--search", "--set", "members=[linear]", "--holdout", "0.3")
    result = as_json("fit", folder / "t.csv", *COSTS, *few)
    assert len(fits) == 5 + 1
    assert result["model"] == "auto"
    assert "log loss" in result["verdict"]


def test_every_estimator_of_the_catalogue_is_a_model(folder):
    from propriety.model.catalogue import ESTIMATORS

    shown = " ".join(run("fit", folder / "t.csv", *COSTS, "--model", "none", code=2).stderr.split())
    assert f"--model must be one of {', '.join(entry.key for entry in ESTIMATORS)}" in shown


def test_a_search_says_what_it_was_worth(folder):
    result = as_json("fit", folder / "t.csv", *COSTS, "--model", "linear", "--search", "--holdout", "0.3")
    assert "log loss" in result["verdict"]


def test_a_loss_can_be_stated_and_a_weight_column_given(tmp_path):
    data = columns()
    table = write(tmp_path / "t.csv", {**data, "w": [1, 2] * (ROWS // 2)})
    result = as_json(
        "fit", table, "--target", "sick", "--model", "linear", "--loss", "Squared", "--weight", "w"
    )
    assert result["loss"] == "Squared().with_link(Logit())"
    assert "w" not in [c["name"] for c in result["columns"]]


def test_fit_reads_standard_input():
    result = as_json("fit", "-", *COSTS, "--model", "linear", "--folds", "2", input=text(columns()))
    assert result["rows"] == ROWS


def test_quiet_is_quiet(folder):
    result = run("fit", folder / "t.csv", *COSTS, "--model", "linear", "--folds", "2", "--quiet")
    assert result.stdout == ""


def test_the_model_does_not_depend_on_the_number_of_threads(folder, tmp_path):
    common = ("fit", folder / "t.csv", *COSTS, *FEW, "--folds", "2", "--quiet")
    table = propriety.tables.open_source(str(folder / "t.csv")).read()
    scores = []
    for jobs in (1, 2):
        run(*common, "--jobs", jobs, "--save", tmp_path / "m")
        scores.append(propriety.load(tmp_path / "m").predict_proba(table))
    np.testing.assert_array_equal(*scores)


# --- the model file of a table ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["boosting", "linear", "tree", "rules"])
def test_a_table_model_reads_any_frame_and_comes_back(folder, tmp_path, name):
    import pandas as pd

    model = propriety.load(folder / f"{name}.propriety")
    model.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (folder / f"{name}.propriety").read_bytes()
    table = propriety.tables.open_source(str(folder / "t.csv")).read()
    p = model.predict_proba(table)
    assert p.shape == (ROWS, 2)
    np.testing.assert_array_equal(model.predict_proba(pd.read_csv(folder / "t.csv")), p)
    decided = model.predict(table)
    np.testing.assert_array_equal(decided == "yes", p[:, 1] >= 0.1)
    assert model.summary["rows"] == ROWS
    assert model.target.name == "sick"


# --- predict ------------------------------------------------------------------------------------------


def test_predict_adds_probability_decision_and_cost(folder, tmp_path):
    summary = as_json(
        "predict", folder / "boosting.propriety", folder / "t.csv", "--out", tmp_path / "s.parquet"
    )
    scored = pq.read_table(tmp_path / "s.parquet").to_pandas()
    p = scored["probability"].to_numpy()
    table = propriety.tables.open_source(str(folder / "t.csv")).read()
    np.testing.assert_array_equal(p, propriety.load(folder / "boosting.propriety").predict_proba(table)[:, 1])
    np.testing.assert_array_equal(scored["decision"] == "yes", p >= 0.1)
    np.testing.assert_allclose(scored["expected_cost"], np.where(p >= 0.1, 1 - p, 9 * p))
    assert list(scored.columns[:7]) == list(columns())
    assert summary["rows"] == ROWS
    assert summary["decided_positive"] == int((p >= 0.1).sum())
    assert summary["expected_cost_per_1000"] == pytest.approx(1000 * scored["expected_cost"].mean())


def test_predict_warns_of_training_rows(folder, tmp_path):
    model, out = folder / "boosting.propriety", tmp_path / "s.csv"
    [warning] = as_json("predict", model, folder / "t.csv", "--out", out, "--chunk-mb", "0")["warnings"]
    assert warning.startswith("the model was fitted to these rows")
    new = write(tmp_path / "new.csv", columns(seed=5))
    assert as_json("predict", model, new, "--out", out)["warnings"] == []


def test_predict_warns_of_dates_that_are_none(folder, tmp_path):
    data = columns(40, seed=5)
    data["when"][3:6] = ["hello", "2020-13-45", ""]
    table = write(tmp_path / "new.csv", data)
    out = tmp_path / "s.csv"
    [warning] = as_json("predict", folder / "linear.propriety", table, "--out", out)["warnings"]
    assert warning.startswith("column 'when' has values in 2 rows that are not dates")


def test_no_warning_of_random_splits_for_rows_split_by_time(tmp_path):
    data = columns(600)
    data["when"] = [f"2024-{1 + i // 50:02}-{1 + i % 28:02}" for i in range(600)]
    data["sick"] = ["yes" if i % 10 < (2 if i < 450 else 8) else "no" for i in range(600)]
    table, page = write(tmp_path / "t.csv", data), tmp_path / "r.html"
    common = ("fit", table, "--target", "sick", "--model", "linear")
    by_time = as_json(*common, "--time", "when", "--report", page)
    assert any("drifts" in text for text in by_time["warnings"])
    for shown in (*by_time["warnings"], page.read_text(encoding="utf-8")):
        assert "split at random" not in shown
        assert "random splits" not in shown


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet", "feather", "jsonl"])
def test_predict_in_pieces_gives_the_rows_of_one_piece(folder, tmp_path, ending):
    many = {name: values * 60 for name, values in columns().items()}
    table = write(tmp_path / "many.csv", many)
    out = tmp_path / f"s.{ending}"
    run("predict", folder / "boosting.propriety", table, "--chunk-mb", "0", "--out", out, "--only-scores")
    whole = propriety.load(folder / "boosting.propriety").predict_proba(
        propriety.tables.open_source(str(table)).read()
    )
    scored = propriety.tables.open_source(str(out)).read()
    p = np.array([float(v) for v in scored.column("probability").to_pylist()])
    np.testing.assert_array_equal(p, whole[:, 1])
    assert [f.name for f in tmp_path.iterdir() if f.name.startswith(".")] == []


def test_predict_of_many_files_writes_a_folder_and_goes_on(folder, tmp_path):
    new, scored, model = tmp_path / "new", tmp_path / "scored", folder / "boosting.propriety"
    new.mkdir()
    for k in range(3):
        pq.write_table(pa.table(columns(30, seed=k)), new / f"{k}.parquet")
    arguments = ("predict", model, f"{new}/*.parquet", "--out", f"{scored}/")
    summary = as_json(*arguments)
    assert (summary["rows"], summary["files"], summary["files_kept"]) == (90, 3, 0)
    p = [pq.read_table(scored / f"{k}.parquet").column("probability").to_pylist() for k in range(3)]
    expected = propriety.load(model).predict_proba(pq.read_table(new / "1.parquet"))[:, 1]
    np.testing.assert_array_equal(p[1], expected)
    mean = np.mean([value for part in p for value in part])
    assert summary["mean_probability"] == pytest.approx(mean)
    (scored / "1.parquet").unlink()  # as if it had been stopped
    summary = as_json(*arguments)
    assert (summary["rows"], summary["files_kept"]) == (30, 2)
    assert as_json(*arguments)["files_kept"] == 3
    assert "one file" in run(*arguments, "--budget", "5", code=2).stderr


def test_predict_without_out_writes_csv_to_standard_output(folder):
    result = run("predict", folder / "linear.propriety", "-", input=text(columns(20)))
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 20
    assert {"age", "probability", "decision", "expected_cost"} <= set(rows[0])


def test_predict_needs_no_target_and_any_order_of_columns(folder, tmp_path):
    data = columns()
    data.pop("sick")
    table = write(tmp_path / "t.csv", dict(reversed(data.items())))
    run("predict", folder / "linear.propriety", table, "--out", tmp_path / "a.csv", "--only-scores")
    run(
        "predict", folder / "linear.propriety", folder / "t.csv", "--out", tmp_path / "b.csv", "--only-scores"
    )
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_new_categories_are_counted_and_taken_as_missing(folder, tmp_path):
    data = columns()
    data["color"] = ["violet"] * 3 + data["color"][3:]
    table = write(tmp_path / "t.csv", data)
    result = run("predict", folder / "boosting.propriety", table, "--out", tmp_path / "s.csv")
    assert "'color' has values in 3 rows that were not seen at training" in result.stderr


MISMATCHES = {
    "a column renamed": (
        lambda d: {**{k: v for k, v in d.items() if k != "age"}, "Age": d["age"]},
        "no column 'age'.*'Age'",
    ),
    "columns lacking": (lambda d: {"id": d["id"]}, "lacks 4 columns.*'age', 'color', 'size', 'when'"),
    "text in a number": (
        lambda d: {**d, "age": [*d["age"][:41], "old", *d["age"][42:]]},
        "'age' holds 'old' in row 42",
    ),
    "a column of ours": (
        lambda d: {**d, "probability": d["age"]},
        "has a column 'probability' already.*--prefix",
    ),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_a_table_that_does_not_fit_is_explained_and_nothing_written(folder, tmp_path, name):
    change, message = MISMATCHES[name]
    table = write(tmp_path / "t.csv", change(columns()))
    code = 2 if name == "a column of ours" else 3
    result = run("predict", folder / "boosting.propriety", table, "--out", tmp_path / "s.csv", code=code)
    assert re.search(message, " ".join(result.stderr.split()))
    assert [f.name for f in tmp_path.iterdir()] == ["t.csv"]


def test_a_table_that_breaks_in_the_middle_leaves_no_file(folder, tmp_path):
    many = {name: values * 30 for name, values in columns().items()}
    (tmp_path / "t.csv").write_text(text(many) + "1,2\n")
    (tmp_path / "s.csv").write_text("old")
    result = run(
        "predict",
        folder / "boosting.propriety",
        tmp_path / "t.csv",
        "--chunk-mb",
        "0",
        "--out",
        tmp_path / "s.csv",
        code=3,
    )
    assert "row 4802 has 2 fields and the header 7" in " ".join(result.stderr.split())
    assert (tmp_path / "s.csv").read_text() == "old"
    assert sorted(f.name for f in tmp_path.iterdir()) == ["s.csv", "t.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nothing.propriety", "t.csv"), 2, "no model file"),
        (("t.csv", "t.csv"), 4, "no model file"),
        (("linear.propriety", "t.csv", "--out", "s.docx"), 2, "no format that can be written"),
        (("linear.propriety", "t.csv", "--json"), 2, "--json needs --out"),
        (("linear.propriety", "t.csv", "--out", "no/such/folder/s.csv"), 5, "No such file"),
    ],
)
def test_wrong_uses_of_predict_have_their_exit_codes(folder, monkeypatch, arguments, code, message):
    monkeypatch.chdir(folder)
    result = run("predict", *arguments, code=code)
    assert message in " ".join((result.stderr + result.stdout).split())


# --- compare, explain ---------------------------------------------------------------------------------


def test_compare_puts_models_side_by_side(folder):
    result = as_json("compare", folder / "t.csv", *COSTS, "--models", "linear,logistic,hist", "--folds", "2")
    names = [j["model"] for j in result["judgements"]]
    assert set(names[:3]) == {"propriety linear", "logistic regression", "scikit-learn boosting"}
    costs = [j["cost_per_1000"] for j in result["judgements"][:3]]
    assert costs == sorted(costs)
    assert result["differences"][0]["more_per_1000"] == pytest.approx(costs[1] - costs[0])


@pytest.mark.parametrize("peer", ["lightgbm", "xgboost"])
def test_compare_fits_peers_that_are_installed(folder, peer):
    pytest.importorskip(peer)
    result = as_json("compare", folder / "t.csv", *COSTS, "--models", peer, "--folds", "2")
    assert result["judgements"][0]["area_under_roc"] > 0.6


@pytest.mark.parametrize("name", ["boosting", "linear", "tree", "rules"])
def test_explain_adds_up_to_the_score(folder, name):
    result = as_json("explain", folder / f"{name}.propriety", folder / "t.csv", "--row", "7")
    assert result["base_score"] + sum(result["contributions"].values()) == pytest.approx(result["score"])
    assert result["values"]["age"] == str(columns()["age"][6])
    model = propriety.load(folder / f"{name}.propriety")
    table = propriety.tables.open_source(str(folder / "t.csv")).read()
    # A product of a matrix and one of a row are not rounded alike.
    assert result["probability"] == pytest.approx(model.predict_proba(table)[6, 1], rel=1e-12)
    assert (result["decision"] == "yes") == (result["probability"] >= 0.1)
    assert result["because"] == model.words(table)[6]
    assert bool(result["because"]) == (name in ("tree", "rules"))


@pytest.mark.parametrize("kind", ["linear", "boosting"])
def test_explain_compares_with_rows_decided_otherwise_and_says_what_would_change_it(folder, kind, tmp_path):
    saved, data = tmp_path / "m.propriety", folder / "t.csv"
    few = () if kind == "linear" else FEW[2:]
    run("fit", data, "-t", "sick", "--fn-cost", "1.5", "--model", kind, *few, "--quiet", "--save", saved)
    model, table = propriety.load(saved), propriety.tables.open_source(str(data)).read()
    decided = model.predict(table)
    others = decided != decided[6]
    parts = model.contributions(table)[:, :-1] * (1 if decided[6] == "yes" else -1)
    points = dict(zip(model.columns.names, parts[6] - parts[others].mean(axis=0), strict=True))
    result = as_json("explain", saved, data, "--row", "7")
    assert result["compared_with"] == {"rows": 160, "decided_otherwise": np.sum(others)}
    assert result["points"] == pytest.approx(points)
    found = model.reasons(table.slice(6, 1), n=9, reference=table).to_pydict()
    mine = dict(zip(found["column"], found["points"], strict=True))
    assert mine == pytest.approx({name: p for name, p in points.items() if p > 0})
    changes = result["counterfactual"]["changes"]
    changed = table.slice(6, 1).to_pydict() | {name: [str(new)] for name, (_, new) in changes.items()}
    assert model.predict(pa.table(changed))[0] != decided[6]
    again = as_json("explain", saved, data, "-n", "7", "--reference", data, "--actionable", "age,color")
    assert again["points"] == pytest.approx(points)
    assert again["counterfactual"] is None or set(again["counterfactual"]["changes"]) <= {"age", "color"}
    assert "nobody" in run("explain", saved, data, "--actionable", "nobody", code=3).stderr


def test_explain_describes_a_model_and_refuses_a_row_that_is_not_there(folder):
    shown = run("explain", folder / "linear.propriety").stdout
    assert "Log()" in shown
    assert re.search(
        r"^model +LinearClassifier", shown, re.MULTILINE
    )  # a long command does not hide the names
    result = run("explain", folder / "linear.propriety", folder / "t.csv", "--row", "999", code=3)
    assert "160 rows, so there is no row 999" in " ".join(result.stderr.split())
    run("explain", folder / "linear.propriety", folder / "t.csv", "--row", "0", code=2)


# --- losses, demo, help ------------------------------------------------------------------------


def test_losses_lists_describes_compares_and_draws(tmp_path):
    from propriety import losses

    listed = as_json("losses")
    assert [entry["name"] for entry in listed["losses"]] == losses.names()
    assert "Tailored" in run("losses").stdout
    one = as_json("losses", "Beta(6, 14)")
    assert one["properties"]["strict"]["holds"]
    assert one["values"][3]["weight"] == losses.Beta(6, 14).weight(0.5)
    assert as_json("losses", "brier")["loss"] == "Squared()"
    both = as_json("losses", "Log", "Squared().with_link(Probit())", "--plot", tmp_path / "f.png")
    assert [entry["loss"] for entry in both["losses"]] == ["Log()", "Squared().with_link(Probit())"]
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert "focal loss" in run("losses", "Focal", code=2).stderr
    assert "did you mean 'Tailored'" in run("losses", "Tailord", code=2).stderr
    run("losses", "Log", "--plot", tmp_path / "f.docx", code=2)


def test_every_command_has_help_with_examples():
    shown = run("--help").stdout
    for name, module, summary in COMMANDS:
        assert name in shown
        assert f"propriety {name}" in run(name, "--help").stdout
        command = getattr(import_module(module), f"{name}_command")
        assert inspect.getdoc(command).splitlines()[0] == summary
    assert "--install-completion" in shown
    assert propriety.__version__ in run("--version").stdout


def test_help_keeps_what_stands_in_brackets():
    assert 'pip install "propriety[onnx]"' in run("export", "--help").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "propriety" in run("--show-completion", shell).stdout.lower()


# --- tables that cannot be learned from ---------------------------------------------------------------

GOOD = columns(60)
TABLES = {
    "missing target": (text({k: v for k, v in GOOD.items() if k != "sick"}), "no column 'sick'"),
    "target with another case": (
        text({**{k: v for k, v in GOOD.items() if k != "sick"}, "Sick": GOOD["sick"]}),
        "did you mean 'Sick'",
    ),
    "one class": (text({**GOOD, "sick": ["no"] * 60}), "only one class: all 60 rows are 'no'"),
    "no label": (text({**GOOD, "sick": [""] * 60}), "no value in any row"),
    "empty": ("", "is empty"),
    "no rows": (",".join(GOOD) + "\n", "a header and no rows"),
    "ragged": (text(GOOD) + "1,2,3\n", "row 62 has 3 fields and the header 7"),
    "no column left": (text({"same": [1] * 60, "id": GOOD["id"], "sick": GOOD["sick"]}), "no column is left"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_bad_table_gets_a_message_and_writes_nothing(name, tmp_path):
    content, message = TABLES[name]
    (tmp_path / "t.csv").write_text(content)
    result = run("fit", tmp_path / "t.csv", *COSTS, "--save", tmp_path / "m", code=3)
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert [f.name for f in tmp_path.iterdir()] == ["t.csv"]
    error = json.loads(run("fit", tmp_path / "t.csv", *COSTS, "--json", code=3).stdout)
    assert message in f"{error['error']}; {error['advice']}"


def test_a_table_in_another_encoding_gets_a_message_with_the_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(text({**GOOD, "color": ["grün"] * 60}).encode("cp1252"))
    result = run("fit", tmp_path / "t.csv", *COSTS, code=3)
    assert "byte 0xFC in line 2" in " ".join(result.stderr.split())
    assert "--encoding" in result.stderr


def test_a_leak_and_an_identifier_are_pointed_out(tmp_path):
    data = {
        **GOOD,
        "outcome_code": [{"yes": 7, "no": 3}[s] for s in GOOD["sick"]],
        "patient_id": [9 * i + 4 for i in range(60)],
    }
    table = write(tmp_path / "t.csv", data)
    result = as_json("fit", table, *COSTS, "--model", "linear", "--folds", "2")
    assert any("'outcome_code' alone nearly determines the target" in w for w in result["warnings"])
    assert "identifier" in result["left_out"]["patient_id"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fp-cost", "0"), "--fp-cost must be positive and finite"),
        (("--loss", "Bta(6, 14)"), "did you mean 'Beta'"),
        (("--loss", "Hinge"), "hinge loss is least at"),
        (("--loss", "CostWeighted(0.1)"), "no weight function"),
        (("--model", "network"), "--model must be one of"),
        (("--set", "depth"), "--set needs NAME=VALUE"),
        (("--set", "depth=3"), "Invalid parameter 'depth'"),
        (("--folds", "1"), "--folds must be 2 or more"),
        (("--folds", "3", "--holdout", "0.2"), "not both"),
        (("--holdout", "2"), "between 0 and 1"),
        (("--decimal", ";"), "--decimal must be"),
        (("--delimiter", "ab"), "one character"),
        (("--search", "--loss", "Log"), "not both"),
    ],
)
def test_wrong_uses_of_fit_say_what_to_do(folder, arguments, message):
    result = run("fit", folder / "t.csv", *COSTS, *arguments, code=2)
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(("model", "words"), [("tree", "age"), ("rules", "says"), ("linear", "× age")])
def test_a_model_that_can_be_read_is_shown_without_a_table(folder, tmp_path, model, words):
    saved = tmp_path / "m"
    few = {"rules": ("--set", "n_rules=3"), "tree": ("--set", "ccp_alpha=0")}.get(model, ())
    run("fit", folder / "t.csv", *COSTS, "--model", model, *few, "--holdout", "0.3", "--save", saved)
    shown = run("explain", saved).stdout
    assert "The model in words" in shown
    text = as_json("explain", saved)["text"]
    assert text == propriety.load(saved).export_text()
    assert "yes" in text
    assert not re.search(r"then [01]\b|score of [01]\b", text)
    assert words in text
    assert shown.count(text.splitlines()[0][:40]) == 1


def test_a_value_that_is_no_number_is_told_with_what_can_be_done_in_predict(folder, tmp_path):
    saved = tmp_path / "m"
    run("fit", folder / "t.csv", *COSTS, "--model", "linear", "--holdout", "0.3", "--save", saved)
    bad = text(columns()).splitlines()
    names = bad[0].split(",")
    place = names.index(next(c["name"] for c in _columns(saved) if c["kind"] == "number"))
    cells = bad[1].split(",")
    cells[place] = "abc"
    (tmp_path / "bad.csv").write_text("\n".join([bad[0], ",".join(cells)]))
    told = run("predict", saved, tmp_path / "bad.csv", code=3).stderr
    assert "leave the cell empty" in told
    options = set(re.findall(r"--[a-z-]+", told))
    assert options <= set(re.findall(r"--[a-z-]+", run("predict", "--help").stdout))


def _columns(saved):
    return [{"name": c.name, "kind": c.kind} for c in propriety.load(saved).columns.columns]
