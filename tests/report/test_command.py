"""``propriety fit --report``, from the table to the page."""

import csv
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
    result = fit(table, "--model", model, "--report", str(tmp_path / "r.html"))
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for part in (
        "A miss costs 5 times",
        "2-fold cross-validation: 240 rows",
        "logistic regression",
        "log-loss boosting",
        "Column &#x27;leak&#x27; alone nearly tells the target",
        "of the first half of the table",
        "constant: 1",
        "14.6%",  # of the numbers are missing
    ):
        assert part in page, part
    assert "<img" not in page
    cost = re.search(r"│ propriety \w+ +│ +([\d.]+) │", result.stdout)[1]
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
