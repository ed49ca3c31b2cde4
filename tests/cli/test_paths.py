"""What a command writes is none of what it reads, by whatever path; many files are one table."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from running import run
from samples import columns, write

FIT = ("--target", "sick", "--model", "linear", "--holdout", "0.3", "--quiet")


@pytest.fixture
def place(folder, tmp_path, monkeypatch):
    """The current folder, with a table, a link and a second name of it, a matrix and a model."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", columns(60))
    os.symlink("t.csv", "link.csv")
    os.link("t.csv", "second.csv")
    (tmp_path / "costs.csv").write_text("sick,no,yes\nno,0,1\nyes,9,0\n")
    (tmp_path / "m.onnx").write_bytes((folder / "linear.propriety").read_bytes())
    (tmp_path / "inside").mkdir()
    return tmp_path


OVERWRITING = [
    ("fit", "t.csv", *FIT, "--save", "t.csv"),
    ("fit", "t.csv", *FIT, "--report", "inside/../t.csv"),
    ("fit", "link.csv", *FIT, "--save", "t.csv"),
    ("fit", "t.csv", *FIT, "--save", "link.csv"),
    ("fit", "t.csv", *FIT, "--save", "second.csv"),
    ("fit", "t.csv", *FIT, "--cost-matrix", "costs.csv", "--save", "costs.csv"),
    ("fit", "*.csv", *FIT, "--save", "t.csv"),
    ("fit", ".", *FIT, "--save", "t.csv"),
    ("fit", "t.csv", *FIT, "--save", "new", "--report", "inside/../new"),
    ("predict", "m.onnx", "t.csv", "--out", "t.csv"),
    ("predict", "m.onnx", "t.csv", "--out", "m.onnx"),
    ("export", "m.onnx", "--onnx"),
]


@pytest.mark.parametrize("line", OVERWRITING, ids=lambda line: " ".join(line).replace(" ".join(FIT), ""))
def test_an_output_that_is_an_input_or_another_output_is_refused(place, line):
    before = {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()}
    shown = " ".join(run(*line, code=2).stderr.split())
    assert "name another file" in shown or "name two files" in shown
    assert {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()} == before


def test_standard_input_and_output_are_files_too(place):
    command = [sys.executable, "-m", "propriety"]
    with open("t.csv", "rb") as table:
        line = [*command, "predict", "m.onnx", "-", "--out", "t.csv"]
        done = subprocess.run(line, stdin=table, capture_output=True, text=True, check=False)
    assert (done.returncode, "--out t.csv is the file" in done.stderr) == (2, True)
    size = os.path.getsize("t.csv")
    with open("t.csv", "ab") as table:
        line = [*command, "predict", "m.onnx", "t.csv"]
        done = subprocess.run(line, stdout=table, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "standard output is the file" in done.stderr) == (2, True)
    assert os.path.getsize("t.csv") == size


# --- many files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_many_files_are_predicted_as_one_table(folder, tmp_path, ending):
    whole = columns(60)
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for k in range(3):
        part = {name: values[20 * k : 20 * k + 20] for name, values in whole.items()}
        if k == 1:  # in another order
            part = dict(reversed(part.items()))
        table = pa.table(part)
        path = tmp_path / "in" / f"{k}.{ending}"
        csv.write_csv(table, path) if ending == "csv" else pq.write_table(table, path)
    one = tmp_path / f"one.{ending}"
    csv.write_csv(pa.table(whole), one) if ending == "csv" else pq.write_table(pa.table(whole), one)
    written = []
    for source in (one, tmp_path / "in" / f"*.{ending}", tmp_path / "in"):
        out = tmp_path / "out" / "s.jsonl"
        run("predict", folder / "linear.propriety", source, "--out", out)
        written.append(out.read_text())
    assert written[0] == written[1] == written[2]
    assert len(written[0].splitlines()) == 60


def test_files_that_are_no_one_table_are_refused_and_named(folder, tmp_path):
    write(tmp_path / "1.csv", columns(20))
    write(tmp_path / "2.csv", {**columns(20), "more": range(20)})
    pattern = tmp_path / "?.csv"
    shown = run("predict", folder / "linear.propriety", pattern, code=3).stderr
    assert "2.csv has a column 'more'" in " ".join(shown.split())
    (tmp_path / "2.csv").unlink()
    pq.write_table(pa.table(columns(20)), tmp_path / "2.csv")
    assert "as parquet" in run("predict", folder / "linear.propriety", pattern, code=3).stderr
    shown = run("predict", folder / "linear.propriety", tmp_path / "?.parquet", code=3).stderr
    assert "no file matches" in shown
