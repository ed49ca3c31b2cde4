"""Monitoring: no alarm without a change, one for each kind of change, and files that remember."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import propriety
from propriety.cli.app import app
from propriety.errors import ArgumentError
from propriety.storage import ModelFileError
from propriety.study.monitor import Monitor, _drift
from propriety.study.reference import Distribution, Reference
from propriety.weights import Weights


def write(path, n, seed, *, shift=0.0, slope=1.5, kinds="abc", labels=True):
    """Rows of a logistic model, with a column of ready scores."""
    rng = np.random.default_rng(seed)
    x, kind = rng.normal(shift, 1, n), rng.choice(list(kinds), n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(1 - slope * x)), "yes", "no")
    p = 1 / (1 + np.exp(1 - 1.5 * x))
    rows = zip(x, rng.integers(0, 9, n), kind, p, y, strict=True)
    lines = [f"{a:.4f},{b},{c},{q:.5f},{d if labels else ''}" for a, b, c, q, d in rows]
    path.write_text("\n".join(["x,z,kind,p,y", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("monitor")
    table = write(place / "t.csv", 1200, 0)
    call("fit", table, "-t", "y", "--drop", "p", "--fn-cost", "4", "--model", "linear", "-o", place / "m")
    return place


def call(*words, code=0):
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_rows_as_they_were_raise_no_alarm(folder):
    for seed in range(1, 6):
        told = call("monitor", folder / "m", write(folder / "same.csv", 600, seed))
        assert (told["status"], told["findings"], told["labelled_rows"]) == (0, [], 600)
        assert [change["name"] for change in told["changes"]] == ["cost", "slope", "gap"]


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"shift": 1.0, "labels": False}, {"columns", "scores", "decisions"}),
        ({"kinds": "abd", "labels": False}, {"columns"}),
        ({"slope": 0.0}, {"cost", "slope", "gap"}),
    ],
)
def test_each_change_has_its_finding_and_the_exit_status_is_1(folder, changed, names):
    told = call("monitor", folder / "m", write(folder / "new.csv", 600, 9, **changed), code=1)
    assert {finding["check"] for finding in told["findings"]} == names
    assert (told["judgement"] is None) == ("labels" in changed)
    if "kinds" in changed:
        first = told["columns"][0]
        assert (first["name"], first["part"], first["now"]) == ("kind", "c", 0)


def test_months_are_counted_and_judged_on_their_own_and_have_a_page(folder, tmp_path):
    """A month has the numbers of its rows alone; the page has all of them."""
    rows = []
    for k, shift in enumerate((0.0, 1.5)):
        table = write(tmp_path / "m.csv", 400, 20 + k, shift=shift)
        head, *lines = table.read_text().splitlines()
        rows += [f"{line},{1 + i % 28:02}/0{k + 2}/2024" for i, line in enumerate(lines)]
    rows[3] = rows[3].rpartition(",")[0] + ","
    both = tmp_path / "both.csv"
    both.write_text("\n".join([f"{head},issued", *rows]) + "\n")
    asked = ("monitor", folder / "m", both)
    told = call(*asked, "--month", "issued=%d/%m/%Y", "--report", tmp_path / "r.html", code=1)
    assert list(told["months"]) == ["2024-02", "2024-03", "no date"]
    first, second, none = told["months"].values()
    assert (first["rows"], second["rows"], none["rows"]) == (399, 400, 1)
    assert (first["status"], second["status"]) == (0, 1)
    alone = call("monitor", folder / "m", table, code=1)
    assert second["columns"] == alone["columns"]
    assert second["judgement"] == alone["judgement"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for words in ("By month", "2024-03", "Cost and calibration", f"<b>{second['columns'][0]['psi']:.3g}</b>"):
        assert words in page
    assert "no dates of the form" in call(*asked, "--month", "issued", code=3)["error"]
    assert "there is no column 'nobody'" in call(*asked, "--month", "nobody", code=3)["error"]


def test_pieces_count_as_the_whole_and_rows_of_the_fit_are_known_again(folder):
    told = call("monitor", folder / "m", folder / "t.csv")
    assert "fitted to some of these rows" in told["warnings"][0]
    assert (told["judgement"], told["status"]) == (None, 0)
    assert [drift["psi"] for drift in told["columns"]] == pytest.approx([0, 0, 0], abs=1e-9)
    reference = Reference.read(propriety.load(folder / "m").summary["reference"])
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=90), "z": np.ones(90), "kind": np.array(["a", "b", "missing"] * 30)}
    p, decided = rng.uniform(size=90), np.arange(90) % 2
    whole, pieces = Monitor(reference, ("no", "yes")), Monitor(reference, ("no", "yes"))
    whole.add(columns, p)
    for part in (slice(0, 40), slice(40, 90)):
        pieces.add({name: values[part] for name, values in columns.items()}, p[part])
    for monitor in (whole, pieces):
        monitor.decide(decided)
    assert whole.to_dict() == pieces.to_dict()


def test_shares_are_those_of_the_weights_and_missing_values_are_a_part():
    values = np.array([1.0, 2.0, np.nan, 3.0])
    weight = np.array([2, 1, 1, 0])
    copies = np.repeat(values, weight)
    known = Distribution.of("x", values, Weights.read(weight, 4), parts=3)
    assert known.shares[-1] == 0.25
    assert known.counts(values, weight.astype(float)).tolist() == known.counts(copies).tolist()
    drift = _drift(known, 1000, np.append(np.zeros(len(known.shares) - 1), 500.0))
    assert (drift.part, drift.now, drift.changed) == ("missing", 1, True)


def test_parts_of_large_numbers_have_no_exponents():
    known = Distribution("x", (0.2,) * 5, (0.01695, 2020.0, 255_621.0))
    assert known.parts[1:4] == ("0.01695 to 2020", "2020 to 255,621", "255,621 or more")


def test_files_that_remember_nothing_or_nonsense_are_refused(folder, tmp_path):
    model = propriety.load(folder / "m")
    document = model.summary.pop("reference")
    model.save(tmp_path / "old")
    assert "fit it again" in call("monitor", tmp_path / "old", folder / "t.csv", code=2)["error"]
    assert Reference.read(Reference.read(document).document()) == Reference.read(document)
    column = document["columns"][0]
    for wrong in (
        {},
        document | {"columns": 3},
        document | {"n_rows": 0},
        document | {"columns": [column | {"shares": column["shares"][1:]}]},
    ):
        with pytest.raises(ModelFileError, match="training rows"):
            Reference.read(wrong)


def test_ready_scores_are_judged_as_predictions_are(folder, tmp_path):
    table = write(folder / "scores.csv", 400, 3)
    told = call("validate", table, "-t", "y", "-s", "p", "-s", "z2", "--fn-cost", "4", code=3)
    assert "z2" in told["error"]
    given = ("validate", table, "-t", "y", "--score", "p", "--fn-cost", "4", "--drop", "z")
    told = call(*given, "--report", tmp_path / "r.html")
    rows = np.genfromtxt(table, delimiter=",", skip_header=1, usecols=3)
    labels = np.genfromtxt(table, delimiter=",", skip_header=1, usecols=4, dtype=str)
    known = propriety.Study.from_predictions(labels, rows, fn_cost=4, pos_label="yes", name="p")
    assert told["judgements"] == [j.to_dict() for j in known.judgements]
    assert "<!DOCTYPE html>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "--folds is for models that are fitted" in call(*given, "--folds", "3", code=2)["error"]
    low = call("validate", table, "-t", "y", "-s", "x", "--fn-cost", "4", code=2)["error"]
    assert low.startswith("--score of 'x' must be probabilities between 0 and 1")
    twice = ("validate", table, "-t", "y", "-s", "x", "--score-scale", "log-odds", "-s", "x")
    odds = call(*twice, code=2)["error"]
    assert "name of another way to decide" in odds


def test_scores_may_be_log_odds_or_points(folder, tmp_path):
    """All scales of the same scores are judged alike, and points start a model as their log-odds do."""
    table = write(tmp_path / "scores.csv", 400, 3)
    x, _, _, p, _ = np.genfromtxt(table, delimiter=",", skip_header=1).T
    labels = np.genfromtxt(table, delimiter=",", skip_header=1, usecols=4, dtype=str)
    odds = np.log(p / (1 - p))
    points = 500 - 40 * (odds - np.log(1 / 20)) / np.log(2)
    rows = zip(p.tolist(), odds.tolist(), points.tolist(), labels, strict=True)
    table.write_text(
        "\n".join(["p,odds,points,y", *(f"{a!r},{b!r},{c!r},{d}" for a, b, c, d in rows)]) + "\n"
    )
    asked, starts = ("validate", table, "-t", "y", "--fn-cost", "4", "-s"), []
    known = call(*asked, "p", "--drop", "odds", "--drop", "points")["judgements"][0]["log_loss"]
    for score, scale in (("odds", "log-odds"), ("points", "points:500,20,40")):
        told = call(*asked, score, "--score-scale", scale)["judgements"][0]
        assert told["log_loss"] == pytest.approx(known)
        few = ("--model", "boosting", "--set", "max_iter=1", "--folds", "2", "-o", tmp_path / score)
        call("fit", table, "-t", "y", "--offset", score, "--score-scale", scale, *few)
        starts.append(propriety.load(tmp_path / score))
    frame = propriety.tables.open_source(str(table)).read()
    np.testing.assert_allclose(*(model.offset_for(frame) for model in starts), rtol=1e-9)
    study = propriety.Study.from_predictions(labels, points, scale="points:500,20,40", pos_label="yes")
    assert study.judgement.log_loss == pytest.approx(known)
    for wrong in ("odds", "points:1", "points:600,0,20", "log-odds:3"):
        with pytest.raises(ArgumentError, match="scale must"):
            propriety.Study.from_predictions(labels, points, scale=wrong, pos_label="yes")
    with pytest.warns(UserWarning, match="if these are probabilities, give their log-odds"):
        propriety.LinearClassifier().fit(x[:, None], labels, offset=p)
