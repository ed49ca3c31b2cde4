"""Model files of every release load for ever and predict the same."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
import pytest

import propriety

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in GOLDEN.glob("*/*.propriety") if not path.stem.startswith("table-"))
TABLES = sorted(GOLDEN.glob("*/table-*.propriety"))
#: Trees and rules add up stored numbers, which is the same on every machine. A product of matrices, an
#: exponential and what follows from them may differ in the last digits between processors.
ULPS = 8


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_old_file_predicts_the_same(path):
    expected = np.load(path.with_name("expected.npz"))
    model, rows = propriety.load(path), expected["rows"]
    if path.stem == "boosting-frame":
        rows = pd.DataFrame(rows, columns=["age", "size", "dose", "site"])
    if path.stem.startswith("linear"):
        rows = np.nan_to_num(rows)
    scores, p = model.decision_function(rows), model.predict_proba(rows)
    if path.stem.startswith("linear"):
        np.testing.assert_allclose(scores, expected[f"{path.stem}.score"], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(p, expected[f"{path.stem}.probability"], rtol=1e-13, atol=1e-13)
    else:
        np.testing.assert_array_max_ulp(p, expected[f"{path.stem}.probability"], ULPS)
        if path.stem.startswith("tree"):
            np.testing.assert_array_max_ulp(scores, expected[f"{path.stem}.score"], ULPS)
        else:
            np.testing.assert_array_equal(scores, expected[f"{path.stem}.score"])
    np.testing.assert_array_equal(model.predict(rows), expected[f"{path.stem}.decision"])


@pytest.mark.parametrize("path", TABLES, ids=name_of)
def test_an_old_table_model_decides_the_same(path):
    model = propriety.load(path)
    table = pa_csv.read_csv(path.with_name("table.csv"))
    expected = pd.read_csv(path.with_suffix(".csv"))
    np.testing.assert_allclose(model.predict_proba(table)[:, 1], expected["probability"], rtol=1e-12)
    np.testing.assert_array_equal(model.predict(table), expected["decision"])


def test_every_kind_of_model_has_a_golden_file():
    kinds = {path.stem.split("-")[0] for path in FILES}
    assert kinds >= {"boosting", "linear", "tree", "rules"}
    assert {path.stem for path in TABLES} == {f"table-{kind}" for kind in kinds}
