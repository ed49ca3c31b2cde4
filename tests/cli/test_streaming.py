"""``propriety fit`` over many files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import as_json, run

import propriety
from propriety.cli import streaming
from propriety.distributed import out_of_core

N = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    for k in range(3):
        size, kind = rng.normal(size=N), rng.choice(["a", "b"], N)
        rows = {
            "size": size,
            "kind": kind,
            "when": np.datetime64("2024-01-01") + rng.integers(0, 300, N).astype("timedelta64[D]"),
            "amount": rng.random(N) + 0.5,
            "late": np.where(size + (kind == "b") + rng.normal(size=N) > 0.5, "yes", "no"),
        }
        pq.write_table(pa.table(rows), path / f"{k}.parquet")
    return path


@pytest.mark.parametrize("few", [0, 10_000])
def test_many_files_make_a_model_that_is_judged_and_kept(few, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core, "FEW", few)
    saved = tmp_path / "m.propriety"
    told = as_json(
        "fit", folder / "*.parquet", "-t", "late", "--fn-cost", "3", "--set", "max_iter=5", "-o", saved
    )
    assert told["rows"] == 3 * N
    assert "of 2,700 rows held out" in told["judged_by"]
    ours, never = (j for j in told["judgements"] if j["model"] in ("propriety boosting", "never 'yes'"))
    assert ours["cost_per_1000"] < 0.6 * never["cost_per_1000"]
    model = propriety.load(saved)
    assert model.summary["rows"] == 3 * N
    assert 0.6 * 3 * N < model.summary["rows_fitted"] < 0.9 * 3 * N
    run("predict", saved, folder / "1.parquet", "--out", tmp_path / "decided.csv")
    assert (tmp_path / "decided.csv").exists()


@pytest.mark.parametrize(
    ("model", "settings"),
    [("tree", ["ccp_alpha=0.001"]), ("forest", ["n_estimators=5", "max_leaf_nodes=20"])],
)
def test_trees_and_forests_read_many_files_too(model, settings, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core, "FEW", 0)
    saved, given = tmp_path / "m.propriety", [word for one in settings for word in ("--set", one)]
    asked = ("fit", folder, "-t", "late", "--fn-cost", "3", "--model", model)
    told = as_json(*asked, *given, "-o", saved)
    cost = {judged["model"]: judged["cost_per_1000"] for judged in told["judgements"]}
    assert cost[f"propriety {model}"] < 0.7 * cost["never 'yes'"]
    assert propriety.load(saved).summary["rows"] == 3 * N
    if model == "tree":
        refused = run(*asked, code=2).stderr
        assert "ccp_alpha='one_se' learns from folds" in refused


def test_it_says_beforehand_what_it_will_take(folder, monkeypatch):
    monkeypatch.setattr(out_of_core, "FEW", 0)
    told = run("fit", folder, "-t", "late", "--set", "max_iter=2", "--memory", "4GB").stdout
    assert "2,700 rows of 6 columns in " in told
    assert "bins and scores in memory, about " in told
    monkeypatch.setattr(out_of_core, "_LEAST_ROWS", 500)
    told = run("fit", folder, "-t", "late", "--set", "max_iter=2", "--memory", "1MB")
    assert "parts that take turns" in " ".join(told.stdout.split())
    assert told.stderr.count("memory=1 MB is less than the") == 1


def test_the_sample_keeps_no_more_than_its_rows(tmp_path):
    table = pa.table({"x": np.arange(300_000.0)})
    pq.write_table(table, tmp_path / "t.parquet")
    sample = streaming._sample(streaming._open(str(tmp_path)))
    assert sample.num_rows == streaming._SAMPLE
    assert sample.get_total_buffer_size() < 1.5 * 8 * streaming._SAMPLE


def test_rows_that_judge_have_no_part_in_the_fit(folder, monkeypatch):
    monkeypatch.setattr(out_of_core, "FEW", 0)
    seen = []
    monkeypatch.setattr(
        streaming, "_study", lambda judging, rows, order, fitted, showing: seen.append((judging, rows))
    )
    with pytest.raises(AttributeError, match="NoneType"):  # there is no study to be shown
        run("fit", folder, "-t", "late", "--set", "max_iter=1", "--fn-cost", "amount")
    judging, rows = seen[0]
    first, batches = rows.batches(rows.columns, 0, 1000)
    weights = np.concatenate([b.column(b.num_columns - 1).to_numpy() for b in batches])
    assert first == 0
    assert np.sum(weights == 0) == len(judging.y) == np.sum(rows.judges(0, 3 * N))
    raw = pa.concat_tables([pq.read_table(folder / f"{k}.parquet") for k in range(3)])
    amounts = raw.column("amount").to_numpy()
    np.testing.assert_array_equal(judging.of_rows["fn_cost"], amounts[weights == 0])
    labels = raw.column("late").to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(judging.y, labels[weights == 0] == "yes")


def test_many_files_have_a_report(folder, tmp_path):
    """It has subgroups by columns of the files, also of those that the model does not use."""
    page = tmp_path / "r.html"
    asked = ("--subgroup", "kind,when", "--drop", "when", "--actionable", "size", "--unit", "€")
    run("fit", folder, "-t", "late", "--fn-cost", "3", "--set", "max_iter=5", *asked, "--report", page)
    text = page.read_text(encoding="utf-8")
    for words in ("Decisions by kind", "Decisions by when", "Counterfactuals", "€"):
        assert words in text


def test_what_is_not_available_is_refused(folder):
    for more, words in (
        (("--folds", "3"), "--folds is not available"),
        (("--groups", "kind"), "--groups is not available"),
        (("--search",), "--search is not available"),
        (("--rivals", "linear"), "--rivals needs a table in memory"),
        (("--subgroup", "nobody"), "nobody"),
        (("--format", "csv"), "--format is not available"),
        (("--model", "linear"), "got 'linear'"),
        (("--memory", "much"), "--memory must be a number of bytes"),
    ):
        code = 3 if "nobody" in more else 2
        assert words in run("fit", folder, "-t", "late", *more, code=code).stderr
    assert "no file matches" in run("fit", folder / "*.pq", "-t", "late", code=3).stderr
    assert "there is no column 'lat'" in run("fit", folder, "-t", "lat", code=3).stderr
