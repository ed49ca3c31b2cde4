"""propriety export: the model of the table and the model of onnxruntime say the same."""

import numpy as np
import pyarrow as pa
import pytest
from running import as_json, run
from samples import columns

import propriety
from propriety.tables.columns import Columns

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


def feeds_of(model, table, dtype):
    """What goes in, by hand: numbers, text, and the parts of dates."""
    frame, _ = model.columns.encode(table)
    feeds = {}
    for column in model.columns.columns:
        for feature in column.features:
            values = frame.column(feature)
            if column.kind == "category":
                text = [[v if v is not None else "?"] for v in values.to_pylist()]
                feeds[feature] = np.array(text, dtype=object)
            else:
                feeds[feature] = values.to_numpy().astype(dtype)[:, None]
    return feeds


@pytest.mark.parametrize("float32", [False, True])
@pytest.mark.parametrize("kind", ["boosting", "linear", "tree", "rules"])
def test_a_model_of_a_table_is_exported(folder, tmp_path, kind, float32):
    path = tmp_path / "m.onnx"
    options = ["--float32"] if float32 else []
    told = as_json("export", folder / f"{kind}.propriety", "--onnx", "--out", path, *options)
    model = propriety.load(folder / f"{kind}.propriety")
    assert isinstance(model.columns, Columns)
    assert set(told["inputs"]) == set(model.columns.features)
    table = pa.table(columns(60, seed=1))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = feeds_of(model, table, np.float32 if float32 else np.float64)
    label, P = session.run(None, feeds)
    np.testing.assert_allclose(P, model.predict_proba(table), rtol=0, atol=1e-4 if float32 else 1e-12)
    if not float32:  # the table's own numbers are no float32
        np.testing.assert_array_equal(label, model.predict(table))


def test_by_default_it_is_written_beside_the_model_and_dates_are_told(folder, tmp_path):
    path = tmp_path / "tree.propriety"
    path.write_bytes((folder / "tree.propriety").read_bytes())
    result = run("export", path, "--onnx")
    assert (tmp_path / "tree.onnx").exists()
    dates = [c for c in propriety.load(path).columns.columns if c.kind == "date"]
    assert ("is a part of a date" in result.stderr) == bool(dates)


@pytest.mark.parametrize("kind", ["boosting", "linear"])
def test_a_query_gives_what_the_model_gives(folder, tmp_path, kind):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    path = tmp_path / "m.sql"
    arguments = ("--sql", "--table", "frame", "--keep", "age", "--out", path)
    as_json("export", folder / f"{kind}.propriety", *arguments)
    model = propriety.load(folder / f"{kind}.propriety")
    table = pa.table(columns(60, seed=1))
    frame, _ = model.columns.encode(table)
    with duckdb.connect() as connection:
        connection.register("frame", frame)
        found = connection.execute(path.read_text(encoding="utf-8")).df()
    P = found.filter(like="p_").to_numpy(dtype=float)
    np.testing.assert_allclose(P, model.predict_proba(table), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found["decision"], model.predict(table))
    assert found.columns[0] == "age"


def test_a_language_must_be_named(folder):
    assert "--onnx" in run("export", folder / "tree.propriety", code=2).stderr
