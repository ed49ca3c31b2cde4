"""``propriety fit --report``, from the table to the page."""

import csv
import html
import importlib.util
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from propriety.cli.app import app

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def table(tmp_path):
    """Rows whose first half has fewer positives; a leaking column, a category, a date, missing values."""
    rng = np.random.default_rng(0)
    n = 240
    x = rng.normal(size=n) + np.repeat([0, 1.5], n // 2)
    y = x + rng.normal(size=n) > 1
    days = np.datetime64("2024-01-01") + np.arange(n)
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["number", HOSTILE, "day", "leak", "same", "sick"])
        for i in range(n):
            number = "" if i % 7 == 0 else f"{x[i]:.3f}"
            writer.writerow(
                [number, HOSTILE if i % 3 else "b", days[i], 5 * y[i] + i / n, 1, "yes" if y[i] else "no"]
            )
    return tmp_path / "t.csv"


def fit(table, *more):
    result = CliRunner().invoke(
        app, ["fit", str(table), "-t", "sick", "--fn-cost", "5", "--folds", "2", *more]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize("model", ["linear", "tree"])
def test_the_command_writes_a_report(table, tmp_path, model):
    rivals = ("--rivals", "logistic, tree") if model == "linear" else ()
    result = fit(table, "--model", model, *rivals, "--report", str(tmp_path / "r.html"))
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for part in (
        *(("logistic regression", "propriety tree", "significantly cheaper than") if rivals else ()),
        "A miss costs 5 times",
        "2-fold cross-validation: 240 rows",
        "Column &#x27;leak&#x27; alone nearly determines the target",
        "in the earlier half of the test rows by",
        "constant: 1",
        "14.6%",  # of the numbers are missing
    ):
        assert part in page, part
    assert "<img" not in page
    if not rivals:
        assert "logistic regression" not in page
        assert "log-loss boosting" not in page
    cost = re.search(r"^propriety \w+ +([\d.]+) ", result.stdout, re.MULTILINE)[1]
    assert float(cost) == pytest.approx(
        float(re.search(r"1,000 cases cost ([\d.,]+)", page)[1].replace(",", "")), abs=0.6
    )


def test_a_tree_of_a_loss_without_a_weight_function_has_a_report(table, tmp_path):
    result = fit(
        table, "--model", "tree", "--loss", "CostWeighted(0.2)", "--report", str(tmp_path / "r.html")
    )
    assert result.exit_code == 0, result.stderr
    assert "<code>CostWeighted(0.2)</code>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_without_matplotlib_nothing_is_fitted(table, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else find(name, *a)
    )
    result = fit(table, "--report", str(tmp_path / "r.html"))
    assert result.exit_code == 2
    assert "propriety[plot]" in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_a_report_that_cannot_be_written_is_an_error(table, tmp_path):
    result = fit(table, "--model", "linear", "--quiet", "--report", str(tmp_path / "none" / "r.html"))
    assert result.exit_code == 5
    assert "Traceback" not in result.stderr


def test_units_periods_subgroups_and_what_may_change_are_asked_for_by_options(table, tmp_path):
    """A subgroup may be one that the model does not see; a date that the rows are in order of is a time."""
    asked = ("--unit", "€", "--cases", "120000", "--period", "year", "--subgroup", "leak", "--drop", "leak")
    asked += ("--actionable", "number")
    result = fit(table, "--model", "linear", *asked, "--report", str(tmp_path / "r.html"))
    assert result.exit_code == 0, result.stderr
    page = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", (tmp_path / "r.html").read_text(encoding="utf-8"))
    text = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))
    headline = re.search(r"Propriety linear saves .*? on 120,000 cases a year \(95% CI .*?\)", text)[0]
    assert "€" in headline
    assert headline in " ".join(result.stdout.split())
    assert "Decisions by leak" in text
    assert "The test rows in order of 'day'" in text
    assert "score of yes" in text
    changes = re.findall(r"(\w+) \S+ instead of", text)
    assert changes
    assert set(changes) == {"number"}
    told = " ".join(result.stderr.split())
    assert "rows are in order of 'day', but were split at random" in told
    assert told.count("columns drift") + told.count("column drifts") == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--cases", "0"), "--cases must be above 0, got 0"),
        (("--period", "year"), "there is no --cases"),
        (("--capacity", "2000"), "--capacity must be above 0"),
        (("--subgroup", "number,nobody"), "nobody"),
        (("--actionable", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_anything_is_fitted(table, given, says):
    result = fit(table, "--model", "linear", *given)
    assert result.exit_code in (2, 3)
    assert says in result.stderr


def test_a_calibrated_log_loss_is_called_the_default(table, tmp_path):
    result = fit(table, "--model", "boosting", "--report", str(tmp_path / "r.html"))
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Log(), logit link, recalibrated" in page
    assert "It is the default: the costs enter" in page
    assert "looks where the decision is made" not in page


def test_a_loss_that_is_set_was_asked_for(table, tmp_path):
    result = fit(table, "--model", "linear", "--set", "loss=Squared", "--report", str(tmp_path / "r.html"))
    assert result.exit_code == 0, result.stderr
    assert "It was given by name." in (tmp_path / "r.html").read_text(encoding="utf-8")
